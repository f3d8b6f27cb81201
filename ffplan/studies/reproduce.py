"""A saved report made again: what differs, and which of the things it rests on have changed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ffplan.base.plain import leaves, plain
from ffplan.base.record import record
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.reproduction import Cause, Difference, Reproduction
from ffplan.studies.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.results.design import Assessment

DIGEST = 12
"""Letters shown of a SHA-256."""
LEFT_OUT = ("training", "verdicts")
"""Parts of a comparison that need options which the report does not hold."""
_IDENTITY = re.compile(r"(designs\[\d+\]\.)?(tool\.version|schema_version|design\.sha256|design\.file|catalog(\[.*)?)$")
"""Paths that say what the report rests on; they are causes, not differences."""


class NoReportError(Exception):
    """The file is no report that names its inputs."""


@record
class Saved:
    """A saved report."""

    kind: str
    value: dict[str, Any]
    designs: tuple[dict[str, Any], ...]
    """Assessments in it."""


def read_report(text: str) -> Saved:
    """Return a saved report.

    Args:
        text: content of the file.

    Raises:
        NoReportError: where it is not the JSON of `ffplan design` or `ffplan compare`.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoReportError(f"this is no JSON: {error}") from None
    kind = "comparison" if isinstance(value, dict) and "designs" in value else "design"
    designs = value.get("designs") if kind == "comparison" else [value]
    if not isinstance(designs, list) or not designs or not all(map(_names_its_inputs, designs)):
        raise NoReportError(
            "this report does not name the files it rests on; save one with `ffplan design DESIGN -f json -o FILE`, or "
            "with `ffplan compare`"
        )
    labels = value.get("labels")
    if kind == "comparison" and not (
        isinstance(labels, list) and len(labels) == len(designs) and value.get("baseline") in labels
    ):
        raise NoReportError("this comparison does not name its designs and its baseline")
    return Saved(kind, value, tuple(designs))


def _names_its_inputs(value: Any) -> bool:
    """True for an assessment that names its program, its design and its parts."""
    if not isinstance(value, dict):
        return False
    tool, design, catalog = (value.get(name) for name in ("tool", "design", "catalog"))
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("version"), str)
        and isinstance(design, dict)
        and all(isinstance(design.get(name), str) for name in ("file", "sha256"))
        and isinstance(catalog, list)
        and all(
            isinstance(part, dict) and all(isinstance(part.get(name), str) for name in ("path", "sha256"))
            for part in catalog
        )
    )


def _changed(what: str, then: str | None, now: str | None) -> Iterator[Cause]:
    if then != now:
        yield Cause(what, then and then[:DIGEST], now and now[:DIGEST])


def _causes(saved: Saved, again: tuple[dict[str, Any], ...]) -> Iterator[Cause]:
    """Yield everything that the report rests on and that is no longer the same, each once."""
    yield from _changed("ffplan", saved.designs[0]["tool"]["version"], again[0]["tool"]["version"])
    yield from _changed("schema_version", str(saved.value.get("schema_version")), SCHEMA_VERSION)
    seen = set()
    for then, now in zip(saved.designs, again, strict=True):
        files: list[tuple[str, str | None, str | None]] = [
            (f"design {then['design']['file']}", then["design"]["sha256"], now["design"]["sha256"])
        ]
        before, after = ({part["path"]: part["sha256"] for part in side["catalog"]} for side in (then, now))
        files += [(path, before.get(path), after.get(path)) for path in sorted(before | after)]
        for item in files:
            if item not in seen:
                seen.add(item)
                yield from _changed(*item)


def _values(value: Any, left_out: tuple[str, ...]) -> dict[str, Any]:
    kept = {name: item for name, item in value.items() if name not in left_out}
    return {path: item for path, item in leaves(kept) if not _IDENTITY.match(path)}


def _written(values: dict[str, Any], path: str) -> str | None:
    return json.dumps(values[path], ensure_ascii=False) if path in values else None


def _differences(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Difference]:
    for path in [*then, *(path for path in now if path not in then)]:
        one, two = _written(then, path), _written(now, path)
        if one == two:
            continue
        numbers = [item for item in (then.get(path), now.get(path)) if type(item) in (int, float)]
        change = numbers[1] / numbers[0] - 1 if len(numbers) == 2 and numbers[0] else None
        yield Difference(path, one, two, change)


def reproduce(saved: Saved, file: str, examine: Callable[[str], Assessment]) -> Reproduction:
    """Return a saved report against the same one made today.

    Args:
        saved: the report.
        file: its name.
        examine: assesses a design, given its file.

    Raises:
        InputError: where a design can no longer be assessed.
    """
    assessed = tuple(examine(design["design"]["file"]) for design in saved.designs)
    again = tuple(plain(item) for item in assessed)
    left_out: tuple[str, ...] = ()
    now = again[0]
    if saved.kind == "comparison":
        left_out = LEFT_OUT if saved.value.get("training") else ()
        labels = tuple(saved.value["labels"])
        now = plain(compare(assessed, labels, labels.index(saved.value["baseline"])))
    then = _values(saved.value, left_out)
    return Reproduction(
        schema_version=SCHEMA_VERSION,
        report=file,
        kind=saved.kind,
        values=len(then),
        causes=tuple(_causes(saved, again)),
        differences=tuple(_differences(then, _values(now, left_out))),
        left_out=left_out,
    )
