"""A saved report, made again from the inputs that it names and the options that it holds."""

from __future__ import annotations

import re
from dataclasses import fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from ffplan.base.plain import leaves, plain
from ffplan.results.comparison import NO_OPTIONS, ComparisonOptions
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.difference import Cause, Difference, Reproduction
from ffplan.studies.explain.reproduce import _ABSENT, NoReportError, _written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.results.comparison import Comparison
    from ffplan.results.design import Assessment
    from ffplan.studies.explain.reproduce import _Saved

_DIGEST = 12
_JOB = ("training", "money", "workload", "verdicts")
"""Parts of a comparison that need its job."""
_NAMES = r"tool\.version|schema_version|design\.sha256|design\.file|catalog(\[.*)?|findings\[\d+\]\.file"
_IDENTITY = re.compile(rf"(designs\[\d+\]\.|training\.)?({_NAMES})$")
"""Paths that say what the report rests on; they are causes, not differences."""
_EFFORTS = ("tuned", "typical", "first-run")
_MOST = 10_000_000
_ENDS: dict[str, tuple[float, float]] = {
    "batch": (1, _MOST),
    "gpus": (1, _MOST),
    "tokens": (1, 1e18),
    "years": (0.5, 20),
    "draws": (0, _MOST),
    "seed": (0, 2**31),
}
"""Least and largest value of each option that is a number."""
_NEEDED = ("search", "draws", "seed")
"""Options that always have a value."""


def _suits(name: str, value: object) -> bool:
    """Return whether an option of a report is one that the command would take."""
    if value is None:
        return name not in _NEEDED
    if name == "search":
        return isinstance(value, bool)
    if name not in _ENDS:
        return isinstance(value, str) and (name != "effort" or value in _EFFORTS)
    whole = name not in ("tokens", "years")
    kinds: tuple[type, ...] = (int,) if whole else (int, float)
    low, high = _ENDS[name]
    return isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high  # type: ignore[operator]


def _options(value: dict[str, Any]) -> ComparisonOptions | None:
    """Return the options that a saved comparison holds; None of a report without them, from before they were kept.

    One that the command did not have yet is as it is where nobody gives it.

    Raises:
        NoReportError: if no comparison can have been asked for like that.
    """
    held = value.get("options")
    if held is None:
        return None
    names = [field.name for field in fields(ComparisonOptions)]
    if not isinstance(held, dict) or not set(held) <= set(names):
        raise NoReportError(f"`options` of a comparison are {', '.join(names)}")
    wrong = next((name for name in held if not _suits(name, held[name])), None)
    if wrong is not None:
        raise NoReportError(f"`options.{wrong}` is not what `ffplan compare` takes")
    return ComparisonOptions(**held)


def _not_repeated(value: dict[str, Any], options: ComparisonOptions | None) -> tuple[str, ...]:
    """Return the parts of a comparison that cannot be made again: a file's plan, or options, are not in the report."""
    if options is None:
        job = value.get("training") or value.get("money") or value.get("workload")
        return _JOB if job else ()
    return _JOB if options.plan is not None else ()


def _changed(what: str, then: str | None, now: str | None) -> Iterator[Cause]:
    if then != now:
        yield Cause(what, then and then[:_DIGEST], now and now[:_DIGEST])


def _files(holder: object) -> dict[str, str]:
    """Return the SHA-256 of each catalogue file that a part of a report rests on."""
    listed = holder.get("catalog") if isinstance(holder, dict) else None
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    named = [(part.get("path"), part.get("sha256")) for part in parts]
    return {path: digest for path, digest in named if isinstance(path, str) and isinstance(digest, str)}


def _causes(saved: _Saved, now: dict[str, Any], *, job: bool) -> Iterator[Cause]:
    """Yield the inputs of a report that have changed.

    Args:
        now: the report of today.
        job: whether the job of a comparison was made again.
    """
    again = now.get("designs", [now])
    yield from _changed("ffplan", saved.designs[0]["tool"]["version"], again[0]["tool"]["version"])
    yield from _changed("schema_version", str(saved.value.get("schema_version")), SCHEMA_VERSION)
    files: list[tuple[str, str | None, str | None]] = []
    for then, after in zip(saved.designs, again, strict=True):
        files.append((f"design {then['design']['file']}", then["design"]["sha256"], after["design"]["sha256"]))
        files += _both(then, after)
    if job:
        files += _both(saved.value.get("training"), now.get("training"))
    for file in dict.fromkeys(files):
        yield from _changed(*file)


def _both(then: object, now: object) -> list[tuple[str, str | None, str | None]]:
    before, after = _files(then), _files(now)
    return [(path, before.get(path), after.get(path)) for path in sorted(before | after)]


def _values(value: Any, left_out: tuple[str, ...]) -> dict[str, Any]:
    kept = {name: leaf for name, leaf in value.items() if name not in left_out}
    return {path: leaf for path, leaf in leaves(kept) if not _IDENTITY.match(path)}


def _differences(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Difference]:
    for path in [*then, *(path for path in now if path not in then)]:
        before, two = _written(then.get(path, _ABSENT)), _written(now.get(path, _ABSENT))
        if before == two:
            continue
        sides = (then.get(path), now.get(path))
        numbers = [float(side) for side in sides if isinstance(side, int | float) and not isinstance(side, bool)]
        change = numbers[1] / numbers[0] - 1 if len(numbers) == 2 and numbers[0] else None
        yield Difference(path, before, two, change if change is not None and isfinite(change) else None)


def _profile(report: dict[str, Any]) -> str | None:
    reliability = report.get("reliability")
    profile = reliability.get("profile") if isinstance(reliability, dict) else None
    return profile if isinstance(profile, str) else None


def _design_again(saved: dict[str, Any], examine: Callable[[str, str | None, bool], Assessment]) -> dict[str, Any]:
    """Return a design's report made today, with the levels and the profile of the saved one.

    The profile is an option where the very same file has another one.
    """
    file, levels = saved["design"]["file"], bool(saved.get("levels"))
    now: dict[str, Any] = plain(examine(file, None, levels))
    profile = _profile(saved)
    if profile in (None, _profile(now)) or saved["design"]["sha256"] != now["design"]["sha256"]:
        return now
    again: dict[str, Any] = plain(examine(file, profile, levels))
    return again


def reproduce(
    saved: _Saved,
    file: str,
    examine: Callable[[str, str | None, bool], Assessment],
    compared: Callable[[tuple[str, ...], tuple[str, ...], int, ComparisonOptions, bool], Comparison],
) -> Reproduction:
    """Return a saved report against the same one made today.

    Args:
        examine: assesses a design, given its file, a reliability profile if not its own, and whether with its levels.
        compared: compares designs, given their files, labels, the position of the baseline, options, and whether with
            a job.

    Raises:
        NoReportError: if no comparison can have been asked for like that.
        InputError: if a design can no longer be assessed.
    """
    left_out: tuple[str, ...] = ()
    if saved.kind == "comparison":
        options, labels = _options(saved.value), tuple(saved.value["labels"])
        left_out = _not_repeated(saved.value, options)
        files = tuple(design["design"]["file"] for design in saved.designs)
        baseline = labels.index(saved.value["baseline"])
        now = plain(compared(files, labels, baseline, options or NO_OPTIONS, not left_out and options is not None))
        now["options"] = {name: now["options"][name] for name in saved.value.get("options") or ()}
        unknown = () if options else ("options",)
    else:
        now, unknown = _design_again(saved.value, examine), ()
    then = _values(saved.value, (*left_out, *unknown))
    return Reproduction(
        schema_version=SCHEMA_VERSION,
        report=file,
        kind=saved.kind,
        values=len(then),
        causes=tuple(_causes(saved, now, job=not left_out)),
        differences=tuple(_differences(then, _values(now, (*left_out, *unknown)))),
        left_out=left_out,
    )
