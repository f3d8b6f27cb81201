"""Fields that hold the id of a part: aliases of ids in them, and unknown ids reported with the faults of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic_core import PydanticCustomError, core_schema

from ffplan.base.errors import did_you_mean
from ffplan.inputs.model import Identifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo

KINDS_KEY = "x-ffplan-kinds"
"""Key of the kinds of a part's id in a JSON Schema that is being made."""
MOST_NAMED = 6
"""Most ids that a message names for an ambiguous one."""


def _folded(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def meant(name: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that a name matches: the id itself up to case and `_`, else all ids that it abbreviates.

    An abbreviation has the first word of the id, and any of the others in their order; a number may leave out its
    unit: `h200` is `h200-sxm`, `a100-sxm-40` is `a100-sxm-40gb`. Ids that only begin so are then meant as
    well, so that `llama` is not `llama-13b` alone.
    """
    query = _folded(name)
    known = list(ids)
    if query in known:
        return [query]
    words = query.split("-")
    short = [known_id for known_id in known if _abbreviates(words, known_id.split("-"))]
    return [known_id for known_id in known if known_id in short or known_id.startswith(query)] if short else []


def _abbreviates(words: list[str], parts: list[str]) -> bool:
    """Return whether words are parts of an id in their order, the first of each the same."""
    if words[0] != parts[0]:
        return False
    rest = iter(parts[1:])
    return all(any(_same(word, part) for part in rest) for word in words[1:])


def _same(word: str, part: str) -> bool:
    """Return whether a word is a part of an id; a number may leave out its unit."""
    return word == part or (word.isdigit() and part.startswith(word) and part[len(word) :].isalpha())


def id_of(name: str, known: Iterable[str]) -> str:
    """Return the id that a name matches; the name itself if it matches none, or several.

    Args:
        known: the ids.
    """
    ids = list(known)
    if name in ids:
        return name
    several = meant(name, ids)
    return several[0] if len(several) == 1 else name


def unknown_part(
    name: str,
    known: Iterable[str],
    what: str,
    fact: Callable[[str], str] | None = None,
    called: Iterable[str] = (),
) -> tuple[str, str]:
    """Return fault and remedy of a name that is not an id.

    Args:
        known: ids of the kind.
        what: the kind, in words.
        fact: returns words that distinguish a part from others; empty if there are none.
        called: ids of parts whose names or product lines have the words of the name.
    """
    ids = list(known)
    several = meant(name, ids) or list(called)
    if len(several) > 1:
        facts = {candidate: fact(candidate) if fact else "" for candidate in several[:MOST_NAMED]}
        *first, last = [f"`{candidate}` ({told})" if told else f"`{candidate}`" for candidate, told in facts.items()]
        more = f" ({len(several) - MOST_NAMED} more)" if len(several) > MOST_NAMED else ""
        return f"`{name}` matches more than one {what}", f"write {', '.join(first)} or {last}{more}"
    near = did_you_mean(name, ids, what=what)
    remedy = "Otherwise describe it with `ffplan catalog new`, and give its folder with `--catalog`"
    return f"no {what} `{name}` in the catalogue", f"{near}{' ' if near.endswith('?') else '. '}{remedy}"


class _PartNames(Protocol):
    def id_of(self, name: str, kinds: Iterable[str]) -> str:
        """Return the id that a name matches; the name itself if it matches none, or several."""

    def unknown(self, name: str, kinds: tuple[str, ...]) -> tuple[str, str] | None:
        """Return message and remedy for a name that is not a part's id; None for an id."""


class PartNaming:
    """How ids of parts are validated: aliases become ids, and unknown ids are faults if `strict`.

    A design that is read names unknown ids with all other faults later; a design whose schema is wrong never gets
    there, and is validated once more with `strict`.
    """

    def __init__(self, names: _PartNames, *, strict: bool = False) -> None:
        self.names, self.strict = names, strict


class _PartId:
    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Replace an alias by its id before the id is validated."""
        return core_schema.with_info_before_validator_function(self._named, handler(source))

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        return {**handler(schema), KINDS_KEY: list(self.kinds)}

    def _named(self, value: Any, info: ValidationInfo) -> Any:
        naming: PartNaming | None = info.context
        if naming is None or not isinstance(value, str):
            return value
        name = naming.names.id_of(value, self.kinds)
        if naming.strict and (fault := naming.names.unknown(name, self.kinds)) is not None:
            message, remedy = fault
            context = {"rule": "reference-unknown", "message": message, "remedy": remedy}
            raise PydanticCustomError("rule", "{message}", context)
        return name


AcceleratorId = Annotated[Identifier, _PartId("accelerator")]
"""Catalogue id of an accelerator."""
ProcessorId = Annotated[Identifier, _PartId("cpu")]
"""Catalogue id of a processor."""
LinkId = Annotated[Identifier, _PartId("link")]
"""Catalogue id of a cable, or of fibre with transceivers."""
ModelId = Annotated[Identifier, _PartId("model")]
"""Catalogue id of a model."""
NicId = Annotated[Identifier, _PartId("nic")]
"""Catalogue id of a network adapter."""
OwnershipId = Annotated[Identifier, _PartId("ownership")]
"""Catalogue id of an ownership profile."""
PriceBookId = Annotated[Identifier, _PartId("price-book")]
"""Catalogue id of a price book."""
ReliabilityId = Annotated[Identifier, _PartId("reliability")]
"""Catalogue id of a reliability profile."""
RentBookId = Annotated[Identifier, _PartId("rent-book")]
"""Catalogue id of a rent book."""
ServerId = Annotated[Identifier, _PartId("server", "storage-server")]
"""Catalogue id of a server."""
StackId = Annotated[Identifier, _PartId("stack")]
"""Catalogue id of a software stack."""
StorageServerId = Annotated[Identifier, _PartId("storage-server")]
"""Catalogue id of a storage server."""
SwitchId = Annotated[Identifier, _PartId("switch")]
"""Catalogue id of a switch."""
