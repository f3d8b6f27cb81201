"""Arguments of the functions, each read before the function sees it, with what the command line and files accept.

A parameter has one reader, by its name: it returns the value as the studies take it, or raises ValueError with the
fault and its remedy. None is a value only where the annotation says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from ffplan.api.keywords import FIELDS, Aim, refuse_unknown
from ffplan.base.errors import UsageError, did_you_mean
from ffplan.inputs.dimensions import AREA, DATA, DURATION, POWER
from ffplan.inputs.quantities import (
    LARGEST_AMOUNT,
    describe,
    parse_money,
    parse_quantity,
    parse_ratio,
    parse_share,
    parse_years,
)
from ffplan.inputs.series import MOST, series
from ffplan.inputs.workloads import parse_drafts, parse_hit, parse_rate, parse_tokens

if TYPE_CHECKING:
    from ffplan.inputs.dimensions import Dimension

Reader = Callable[[Any], Any]
F = TypeVar("F", bound=Callable[..., Any])
_MOST_WAYS = 4096
_MOST_SEED = 2**31
_MOST_TIME = 1e6
"""Most months or days of a purchase."""


class LoadedDesign:
    """A design among arguments, beside sources of one."""


def plain_value(value: Any) -> Any:
    """Return a value as YAML holds it: numpy's numbers and arrays as Python's, paths as text."""
    if isinstance(value, Path):
        return str(value)
    return value.tolist() if hasattr(value, "tolist") else value


def utf8(text: str, who: str) -> bytes:
    """Return text as a file holds it.

    Args:
        who: the function and its argument, for messages.

    Raises:
        UsageError: for a half of a character, which no file can hold.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise UsageError(f"{who}: {half!r} is half a character; give text that can be written as UTF-8") from None


def _said(value: Any) -> str:
    """Return a value as messages show it, a text as such, which `8` and 8 need."""
    return f"{describe(value)}, a text" if isinstance(value, str) else describe(value)


def _as_is(value: Any) -> Any:
    return value


def _design(value: Any) -> Any:
    if not isinstance(value, str | Path | LoadedDesign):
        raise ValueError(f"cannot load {type(value).__name__}; give a path, a name, YAML text or a design")
    return value


def _designs(value: Any) -> Any:
    """Read one design, or several."""
    if isinstance(value, str | Path | LoadedDesign):
        return value
    if not isinstance(value, Iterable):
        raise ValueError(f"cannot load {type(value).__name__}; give one design, or several")
    return tuple(_design(each) for each in value)


def _flag(value: Any) -> bool:
    given = plain_value(value)
    if not isinstance(given, bool):
        raise ValueError(f"{describe(given)} is neither True nor False")
    return given


def whole(least: int = 1, most: int = MOST) -> Reader:
    """Return the reader of a whole number within bounds."""

    def read(value: Any) -> int:
        given = plain_value(value)
        if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
            raise ValueError(f"{_said(given)}: give a whole number from {least:,} to {most:,}")
        return given

    return read


def number(least: float, most: float, text: Callable[[str], float] | None = None, *, above: bool = False) -> Reader:
    """Return the reader of a number within bounds.

    Args:
        least: the least.
        most: the most.
        text: reads a number with its unit; None if text is none.
        above: the number is more than the least.
    """
    words = f"{f'above {least:g}' if above else f'of at least {least:g}'} and at most {most:g}"

    def read(value: Any) -> float:
        given = plain_value(value)
        if text is not None and isinstance(given, str):
            given = text(given)
        real = isinstance(given, int | float) and not isinstance(given, bool)
        if not real or not least <= given <= most or (above and given == least):
            raise ValueError(f"{_said(given)}: give a number {words}")
        return float(given)

    return read


def _quantity(dimension: Dimension) -> Reader:
    def text(written: str) -> float:
        return parse_quantity(written, dimension)

    return number(0.0 if dimension.zero else dimension.smallest, dimension.largest, text)


def several(one: Reader, split: Callable[[str], Iterable[Any]] | None = None, *, least: int = 1) -> Reader:
    """Return the reader of one value or several, as a tuple.

    Args:
        one: reads each.
        split: returns the values in a text; None if a text is one value.
        least: values, at least [1].
    """

    def read(value: Any) -> tuple[Any, ...]:
        given = plain_value(value)
        if split is not None and isinstance(given, str):
            given = tuple(split(given))
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            return (one(given),)
        values = tuple(one(item) for item in given)
        if len(values) < least:
            raise ValueError("give one, or several")
        return values

    return read


def _name(value: Any) -> str:
    if not isinstance(value, str | Path):
        raise ValueError(f"{describe(plain_value(value))} is no name; give text")
    return str(value)


def _by_comma(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def one_of(*names: str) -> Reader:
    """Return the reader of one of some names."""

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"no {describe(value)}; {did_you_mean(str(value), names, what='choice')}")
        return value

    return read


def _effort(value: Any) -> Any:
    from ffplan.catalog.ownership import Effort

    return one_of(*get_args(Effort))(value)


def _core_policy(value: Any) -> Any:
    from ffplan.design.schema import CorePolicy

    return one_of(*get_args(CorePolicy))(value)


def _statistic(value: Any) -> Any:
    from ffplan.studies.serve.loads import STATISTICS

    return one_of(*STATISTICS)(value)


def _catalog(value: Any) -> Any:
    from ffplan.catalog.store import Catalog

    if not isinstance(value, Catalog):
        raise ValueError(f"{describe(plain_value(value))} is no catalogue; give `ffplan.Catalog(folders)`")
    return value


def mapping(of: str) -> Reader:
    """Return the reader of a mapping whose keys are texts."""

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(f"{describe(plain_value(value))} is no mapping of {of}")
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise ValueError(f"{describe(wrong)} is no text; give a mapping of {of}")
        return dict(value)

    return read


def _whole_numbers(text: str) -> list[int]:
    return [int(each) for each in _loads(text)]


def _loads(text: str) -> tuple[float, ...]:
    return _listed(text, sizes=False)


def _sizes(text: str) -> tuple[float, ...]:
    return _listed(text, sizes=True)


def _listed(text: str, *, sizes: bool) -> tuple[float, ...]:
    try:
        return series(text, "", sizes=sizes)
    except UsageError as error:
        raise ValueError(str(error).removeprefix(": ")) from None


def _tokens(value: Any) -> float:
    return parse_tokens(plain_value(value))


def _money(value: Any) -> Any:
    """Read an amount: a number in the currency of the price book, or text that names one."""
    return parse_money(value) if isinstance(value, str) else number(0.0, LARGEST_AMOUNT)(value)


def _drafts(value: Any) -> tuple[str, int, float]:
    if isinstance(value, tuple | list) and len(value) == 3:
        kind, drafted, accepted = value
        return _name(kind), whole()(drafted), number(0.0, 1.0)(accepted)
    return parse_drafts(value)


def _purchases(value: Any) -> tuple[tuple[float, float], ...]:
    """Read pairs of months and days."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"{describe(plain_value(value))}: give pairs of months and days, such as [(12, 30)]")
    read, pairs = number(0.0, _MOST_TIME), []
    for pair in value:
        given = plain_value(pair)
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ValueError(f"{describe(given)}: give pairs of months and days, such as [(12, 30)]")
        pairs.append((read(given[0]), read(given[1])))
    return tuple(pairs)


COUNTS = several(whole(), _whole_numbers)
"""Reader of whole numbers: one, several, or text such as `8,64` or `8..64`."""
FOLDERS = several(_name, least=0)
_NAMES = several(_name, _by_comma, least=0)
_PART_TOKENS = whole(1, MOST)

READERS: dict[str, Reader] = {
    **dict.fromkeys(("design", "source"), _design),
    **dict.fromkeys(("model", "plan", "profile", "prices", "switch", "library", "algorithm", "protocol"), _name),
    **dict.fromkeys(("operation", "baseline", "network", "file", "accelerator", "engine", "link"), _name),
    **dict.fromkeys(("precision", "kv", "endpoint_link"), _name),
    **dict.fromkeys(("catalogs", "overlays"), FOLDERS),
    **dict.fromkeys(("metrics", "allowed", "switches", "excluded"), _NAMES),
    **dict.fromkeys(("search", "sharp", "merged", "zipped", "disaggregate"), _flag),
    **dict.fromkeys(("gpus", "batch", "zones", "top"), whole()),
    **dict.fromkeys(("prompt", "output", "chunk"), _PART_TOKENS),
    **dict.fromkeys(("tensor", "pipeline", "expert", "data"), whole(1, _MOST_WAYS)),
    **dict.fromkeys(("capex", "tco"), _money),
    **dict.fromkeys(("floor", "rack_area"), _quantity(AREA)),
    **dict.fromkeys(("ttft", "tpot"), _quantity(DURATION)),
    **dict.fromkeys(("axes", "prefill", "decode"), _as_is),
    "aim": one_of(*get_args(Aim)),
    "at": _statistic,
    "best": whole(1, 50),
    "breakout": whole(1, 8),
    "catalog": _catalog,
    "chance": number(0.01, 0.99, parse_share),
    "changes": mapping("paths to values"),
    "concurrency": several(number(0.0, MOST, above=True), _loads, least=0),
    "core_policy": _core_policy,
    "days": number(0.01, 3650.0),
    "designs": _designs,
    "draws": whole(0, MOST),
    "effort": _effort,
    "endpoints": whole(2, 100_000_000),
    "images": number(1.0, 1e12),
    "later": _purchases,
    "memory": _quantity(DATA),
    "oversubscription": lambda value: parse_ratio(plain_value(value)),
    "pareto": mapping("metrics to min or max"),
    "planes": several(whole(2, 64), _whole_numbers),
    "prefix_hit": lambda value: parse_hit(plain_value(value)),
    "pue": number(1.0, 5.0),
    "racks": number(1.0, 1e9),
    "rails": whole(1, 512),
    "rate": several(number(0.0, 1e9, parse_rate, above=True), _by_comma, least=0),
    "sample": whole(2, MOST),
    "seed": whole(0, _MOST_SEED),
    "sizes": several(_quantity(DATA), _sizes),
    "slack": number(0.0, 10.0),
    "speculate": _drafts,
    "tiers": several(whole(1, 3), _whole_numbers),
    "tokens": _tokens,
    "vary": mapping("paths to values, such as {'nodes[0].count': [64, 128]}"),
    "watts": _quantity(POWER),
    "years": number(0.5, 20.0, parse_years),
}
"""Reader of a parameter by its name; a function may have another for one of its own."""
OF_PLAN = "PlanKeywords"
"""Keywords that the plan's own fields check."""


def _fault(error: ValueError) -> str:
    said = getattr(error, "context", None) or {}
    return f"{said['message']}; {said['remedy']}" if "remedy" in said else str(error)


_OPTION = re.compile(r"(?:(?:ffplan )?(?:\w+: ))?--([a-z-]+)")
"""Option of the command line at the start of a message, behind whose it is."""
_ARGUMENTS = {field: name for name, field in {**FIELDS, "metrics": "metric", "zipped": "zip"}.items()}


def _in_arguments(who: str, message: str, known: Container[str]) -> str | None:
    """Return a message that names an argument in place of an option; None for one that names none."""
    match = _OPTION.match(message)
    if match is None:
        return None
    option = match[1].replace("-", "_")
    name = next((name for name in (_ARGUMENTS.get(option), option, f"{option}s") if name in known), None)
    return None if name is None else f"{who}: {name}{message[match.end() :]}"


def reads(*, keywords: type | None = None, **own: Reader) -> Callable[[F], F]:
    """Return a decorator that reads the arguments of a function before it runs.

    Args:
        keywords: the keywords that it passes on, of which unknown ones are refused.
        own: readers of parameters that mean something else than in other functions.
    """

    def decorate(function: F) -> F:
        expected = signature(function)
        kinds = {
            name: parameter.annotation
            for name, parameter in expected.parameters.items()
            if parameter.kind is not Parameter.VAR_KEYWORD and name != "self"
        }
        checked = {name: own.get(name) or READERS[name] for name in kinds}
        passed_on = {} if keywords is None else keywords.__annotations__
        if keywords is not None and keywords.__name__ != OF_PLAN:
            checked |= {name: own.get(name) or READERS[name] for name in passed_on}
        optional = {name for name, kind in {**kinds, **passed_on}.items() if "None" in str(kind)}
        who = function.__name__

        def read(name: str, value: Any) -> Any:
            if name not in checked or (value is None and name in optional):
                return value
            try:
                return checked[name](value)
            except ValueError as error:
                raise UsageError(f"{who}: {name}: {_fault(error)}") from None

        @wraps(function)
        def checked_function(*args: Any, **given: Any) -> Any:
            if keywords is not None:
                refuse_unknown(function, keywords, {name: given[name] for name in given if name not in kinds})
            try:
                bound = expected.bind(*args, **given)
            except TypeError as error:
                raise UsageError(f"{who}: {error}") from None
            for name, value in bound.arguments.items():
                if expected.parameters[name].kind is Parameter.VAR_KEYWORD:
                    bound.arguments[name] = {key: read(key, item) for key, item in value.items()}
                else:
                    bound.arguments[name] = read(name, value)
            try:
                return function(*bound.args, **bound.kwargs)
            except UsageError as error:
                said = _in_arguments(who, str(error), {*kinds, *passed_on})
                if said is None:
                    raise
                raise UsageError(said) from None

        return cast("F", checked_function)

    return decorate
