"""From a located document to a typed model, with located and actionable errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from ffplan.base.errors import Finding, InputError, did_you_mean, nearest
from ffplan.inputs.model import names_of
from ffplan.inputs.quantities import _is_ratio, describe, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.inputs.document import Document
    from ffplan.inputs.part_ids import PartNaming

M = TypeVar("M", bound=BaseModel)

_RULES = {"unit": "quantity-unit", "range": "number-range"}
_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "`true` or `false`",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "a mapping of fields",
    "model_attributes_type": "a mapping of fields",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping of fields",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def _model_at(model: type[BaseModel], path: Iterable[str | int]) -> type[BaseModel] | None:
    current: Any = model
    keyed = False
    for step in path:
        if isinstance(step, int) or keyed:
            keyed = False
            continue
        fields = getattr(current, "model_fields", None)
        if fields is None or step not in fields:
            return None
        current, keyed = _first_model(fields[step].annotation), get_origin(fields[step].annotation) is dict
        if current is None:
            return None
    return current if isinstance(current, type) and issubclass(current, BaseModel) else None


def _first_model(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        if (inner := _first_model(argument)) is not None:
            return inner
    return None


_PATTERNS = {
    "^[a-z0-9][": "start with a lower-case letter or a digit; then letters, digits, `.`, `+` and `-`",
    "^[A-Za-z]{2,12}:": "write vendor, family and model, such as `AuthenticAMD:143:49`, in quotes",
    "^[A-Za-z]": "write a code such as USD, or a word such as paper-unit",
    "^(19|20)\\d{2}(-(0[1-9]|1[0-2])(": "write a year, month or day: 2024, 2024-08 or 2024-08-31",
    "^(19|20)\\d{2}": "write a year or month: 2024 or 2024-08",
    "^[0-9a-f]{4}:": "write vendor and device as four hexadecimal digits each, such as `10de:20b0`, in quotes",
    "^[1-9][0-9]": "write a whole number from 1 to 9,999,999",
    "^(20": "write year and month, such as 2027-04",
    "^([0-9]+(?:,": "write a number of tokens, such as 300B or 2T",
}


def pattern_remedy(pattern: str) -> str:
    """Return the remedy for a text that does not match a pattern."""
    known = (text for start, text in _PATTERNS.items() if pattern.startswith(start))
    return next(known, f"write a text of the form `{pattern}`")


def _name(path: tuple[str | int, ...]) -> str:
    if not path:
        return "the file"
    if path[-1] == "[key]":
        return f"a key of {printable(str(path[-3]))}"
    if isinstance(path[-1], int):
        return f"{_name(path[:-1])}[{path[-1]}]"
    return printable(str(path[-1]))


def _fault(model: type[BaseModel], document: Document, error: Any) -> Finding:
    kind, path, value = error["type"], error["loc"], error["input"]
    context = error.get("ctx", {})
    name = _name(path)
    if kind == "extra_forbidden":
        owner = _model_at(model, path[:-1])
        known = names_of(owner) if owner else []
        replaced = getattr(owner, "replaced", {}).get(name)
        if replaced:
            message = f"the field `{name}` was replaced"
            return document.finding("schema-unknown-field", path, message, replaced, key=True)
        if name in known:
            message = f"the field `{name}` is given twice, under two names"
            return document.finding("schema-unknown-field", path, message, "keep one of them", key=True)
        return document.finding(
            "schema-unknown-field",
            path,
            f"the field `{name}` is not known here",
            did_you_mean(str(name), known, what="field"),
            key=True,
        )
    if kind == "missing":
        where = f" in `{'.'.join(str(step) for step in path[:-1])}`" if len(path) > 1 else ""
        return document.finding(
            "schema-missing-field",
            path[:-1],
            f"the field `{name}` is missing{where}",
            f"add `{name}:`",
        )
    if kind in _RULES:
        return document.finding(_RULES[kind], path, context["message"], context["remedy"])
    if kind == "rule":
        path = (*path, context["field"]) if "field" in context else path
        return document.finding(context["rule"], path, context["message"], context["remedy"])
    if kind in _BOUNDS:
        key, comparison = _BOUNDS[kind]
        bound = f"{comparison} {context[key]:,}"
        return document.finding(
            "number-range",
            path,
            f"`{name}` is {describe(value)}; it must be {bound}",
            f"write a number of {bound}",
        )
    if kind == "literal_error":
        options = [option.strip("'") for option in context["expected"].replace(" or ", ", ").split(", ")]
        return document.finding(
            "schema-choice",
            path,
            f"{describe(value)} is not a choice for `{name}`",
            did_you_mean(str(value), options, what="choice"),
        )
    return _type_fault(document, error, kind, path, value, name)


def _type_fault(document: Document, error: Any, kind: str, path: Any, value: Any, name: Any) -> Finding:
    if kind == "finite_number":
        return document.finding("number-range", path, f"`{name}` is not a finite number", "write a finite number")
    if kind == "string_pattern_mismatch":
        return document.finding(
            "schema-type",
            path,
            f"{describe(value)} does not do for `{name}`",
            pattern_remedy(error["ctx"]["pattern"]),
        )
    if kind == "too_short":
        least, length = error["ctx"]["min_length"], error["ctx"]["actual_length"]
        holds = f"has {length}" if length else "is empty"
        return document.finding(
            "schema-type", path, f"`{name}` {holds}", f"list at least {'one' if least == 1 else least}"
        )
    expected = _WANTED.get(kind)
    if expected is None:
        return document.finding(
            "schema-type",
            path,
            f"`{name}`: {error['msg'][0].lower()}{error['msg'][1:]}",
            "see `ffplan catalog schema` for the format",
        )
    shape = ", a ratio" if _is_ratio(value) else ", a text" if isinstance(value, str) else ""
    return document.finding(
        "schema-type",
        path,
        f"`{name}` is {describe(value)}{shape}; {expected} is wanted",
        f"write {expected}",
    )


def _echo(fault: Any, faults: list[Any]) -> bool:
    """Return whether a fault only repeats another: a short list of wrong items, or a misspelt required field."""
    if fault["type"] == "too_short":
        place = fault["loc"]
        return any(sibling["loc"][: len(place)] == place and len(sibling["loc"]) > len(place) for sibling in faults)
    if fault["type"] != "missing":
        return False
    *parent, name = fault["loc"]
    return any(
        sibling["type"] == "extra_forbidden"
        and list(sibling["loc"][:-1]) == parent
        and nearest(str(sibling["loc"][-1]), [str(name)]) is not None
        for sibling in faults
    )


class _Part:
    def __init__(self, document: Document, under: tuple[str | int, ...]) -> None:
        self.document, self.under = document, under

    def finding(self, rule: str, path: Iterable[str | int], message: str, remedy: str, **options: Any) -> Finding:
        return self.document.finding(rule, (*self.under, *path), message, remedy, **options)


def _validated(model: type[M], data: Any, place: Any, naming: PartNaming | None) -> M:
    try:
        return model.model_validate(data, context=naming)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise InputError(*{_fault(model, place, fault) for fault in faults if not _echo(fault, faults)}) from None


def validate_section(model: type[M], document: Document, name: str, naming: PartNaming | None = None) -> M:
    """Validate a section of a document as `model`.

    Args:
        document: the whole file, which has the section.
        naming: how it names parts; ids alone if None.

    Raises:
        InputError: with one located finding for every fault in the section.
    """
    data = document.data[name]
    if not isinstance(data, dict):
        raise InputError(
            document.finding(
                "schema-type",
                (name,),
                f"`{name}` is {describe(data)}; a mapping of fields is wanted",
                "write a mapping of fields",
            )
        )
    return _validated(model, data, _Part(document, (name,)), naming)


def validate(model: type[M], document: Document, data: Any = None, naming: PartNaming | None = None) -> M:
    """Validate a document as `model`.

    Args:
        document: the file, which locates faults.
        data: its data merged with the file it extends; the document's if None.
        naming: how it names parts; ids alone if None.

    Raises:
        InputError: with one located finding for every fault in the document.
    """
    return _validated(model, document.data if data is None else data, document, naming)
