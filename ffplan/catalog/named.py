"""Parts named on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import UsageError

if TYPE_CHECKING:
    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog

P = TypeVar("P", bound="Part")


def part_of(catalog: Catalog, kind: type[P], name: str, option: str) -> P:
    """Return a part given on the command line.

    Args:
        catalog: catalogue to search.
        option: command and option, for messages.

    Raises:
        UsageError: if the catalogue has no such part; the message suggests the nearest.
    """
    from ffplan.inputs.suggest import did_you_mean

    name = str(name)

    try:
        part = catalog.entry(name).part
    except KeyError:
        what = kind.kind_words
        near = did_you_mean(name, catalog.ids_of_model(kind), what=what)
        raise UsageError(f"{option}: no {what} `{name}`; {near}") from None
    if not isinstance(part, kind):
        from ffplan.base.formatting import article

        raise UsageError(f"{option}: `{name}` is {article(part.kind_words)}, not {article(kind.kind_words)}")
    return part
