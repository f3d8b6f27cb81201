"""Axes of a sweep: values of `--vary`, the points that they span, and the metrics of one design."""

from __future__ import annotations

import re
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.errors import UsageError
from ffplan.base.outcomes import DRAWS
from ffplan.base.plain import numbers, plain, steps
from ffplan.base.record import record
from ffplan.figures.address import path_of
from ffplan.inputs.document import parse_document

if TYPE_CHECKING:
    from collections.abc import Collection

    from ffplan.base.array_math import Ints
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign

_DRAWN = (".p10", ".p50", ".p90")
"""Ends of the paths of quantiles."""


def _column_of(metric: str, columns: Collection[str]) -> str:
    return metric if metric in columns else path_of(metric)


def _studied(
    design: ResolvedDesign, catalog: Catalog, metrics: tuple[str, ...]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the numbers of one design by their path, and its parts without a price.

    They are of its assessment, and of the studies that metrics ask for. With a part without a price there is no cost.
    """
    from ffplan.studies.design.design import study_design

    sections = {path_of(name).split(".")[0].split("[")[0] for name in metrics}
    assessment = study_design(design, catalog, all_scales=False).assessment
    figures = numbers(plain(assessment))
    unpriced: tuple[str, ...] = ()
    if assessment.cost is not None and assessment.cost.missing:
        unpriced = tuple(gap.part for gap in assessment.cost.missing)
        figures = {path: value for path, value in figures.items() if not path.startswith("cost.")}
    if sections & {"bom", "tco", "run"}:
        drawn = any(name.endswith(_DRAWN) for name in metrics)
        figures |= _money(design, catalog, run="run" in sections, priced=not unpriced, drawn=drawn)
    if sections & {"train", "goodput"}:
        figures |= _workload(design, catalog, goodput="goodput" in sections)
    if "serve" in sections:
        figures |= _served(design, catalog)
    return figures, unpriced


def _money(
    design: ResolvedDesign, catalog: Catalog, *, run: bool, priced: bool, drawn: bool = False
) -> dict[str, float]:
    """Return the numbers of a cost study; `drawn`: quantiles too, which are the draws of `ffplan cost`."""
    from ffplan.studies.cost.cost import study_cost
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.train.default_job import timed_workload

    timed = None
    if run:
        if design.workload is None or design.workload.tokens is None:
            raise UsageError("`run` metrics are of the design's `workload` with its `tokens`, which it does not have")
        timed = timed_workload(design, catalog, design.workload)
    cost = numbers(plain(study_cost(design, catalog, CostRequest(draws=DRAWS if drawn else 0), timed)))
    kinds = ("bom", "tco", "run") if priced else ()
    found = {path: value for path, value in cost.items() if path.split(".")[0] in kinds}
    return found if drawn else {path: value for path, value in found.items() if not path.endswith(_DRAWN)}


def _workload(design: ResolvedDesign, catalog: Catalog, *, goodput: bool) -> dict[str, float]:
    from ffplan.studies.train.default_job import workload_report

    if design.workload is None:
        raise UsageError("`train` and `goodput` metrics are of the design's `workload`, which it does not have")
    if not goodput:
        report = workload_report(design, catalog, design.workload)
        return {f"train.{path}": value for path, value in numbers(plain(report.rows[0])).items()}
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.goodput.goodput import study_goodput
    from ffplan.studies.operate.goodput_basis import goodput_basis, reliability_summary
    from ffplan.studies.operate.goodput_job import goodput_job

    job = goodput_job(design, catalog, None, None)
    assert job is not None
    figures = {} if job.report is None else numbers(plain(job.report.rows[0]))
    figures = {f"train.{path}": value for path, value in figures.items()}
    left = numbers(plain(reliability_summary(goodput_basis(design, catalog))))
    left |= numbers(plain(study_goodput(design, catalog, job, CostRequest(draws=0)).report.reliability))
    return figures | {f"goodput.{path}": value for path, value in left.items() if not path.endswith(_DRAWN)}


def _served(design: ResolvedDesign, catalog: Catalog) -> dict[str, float]:
    from ffplan.studies.serve.answer import stated_figures
    from ffplan.studies.serve.links import ServeError
    from ffplan.training.constraints import RefusedError

    if design.serving is None:
        raise UsageError("`serve` metrics are of the design's `serving`, which it does not have")
    try:
        return stated_figures(design, catalog)
    except ServeError as error:
        raise RefusedError(str(error), infeasible=error.infeasible) from None


_MOST_POINTS = 1_000_000_000
_MOST_VALUES = 10_000_000
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_LARGEST = 1e100
"""Largest number of a range, and one over the smallest start of a range by factors."""
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:(:|\*|#)({_NUMBER}))?")


@record
class SweptAxis:
    """Values that a path takes."""

    path: str
    """What differs: a path of the design, a price, or a figure of a part."""
    texts: tuple[str, ...] | None
    """Values as written; None for a range of numbers."""
    numbers: Any
    """Values as numbers, shape (values,); None if any is not numeric."""

    def __len__(self) -> int:
        return len(self.numbers if self.texts is None else self.texts)

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers that a float holds exactly."""
        return self.numbers is not None and bool(((self.numbers % 1 == 0) & (abs(self.numbers) < 2**53)).all())

    def text(self, index: int) -> str:
        """Return a value as it is written."""
        return self.texts[index] if self.texts is not None else f"{float(self.numbers[index]):.12g}"

    def value(self, index: int) -> Any:
        """Return a value as a file would hold it."""
        value: Any = parse_document(f"value: {self.text(index)}".encode(), f"--vary {self.path}").data["value"]
        return value


def _range(text: str, path: str) -> Any:
    """Return the numbers of `start..stop`, with `:step`, `*factor` or `#count`; None if the text is no range."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    start, stop, how = float(match[1]), float(match[2]), match[3]
    by = float(match[4]) if how else 1.0
    if max(abs(start), abs(stop), abs(by)) > _LARGEST or (how == "*" and 0 < start < 1 / _LARGEST):
        raise UsageError(f"--vary {path}={text}: a number is too large or too small for a range")
    if stop < start:
        raise UsageError(f"--vary {path}={text}: the range ends before it begins; write `{match[2]}..{match[1]}`")
    if how == "#":
        if by != int(by) or by < 2:
            raise UsageError(f"--vary {path}={text}: give a whole number of values, at least 2, such as `#11`")
        values: Any = np.linspace(start, stop, int(min(by, _MOST_VALUES + 1)))
    elif how == "*":
        if by <= 1 or start <= 0:
            raise UsageError(f"--vary {path}={text}: a factor is above 1, and the start above 0")
        count = int(np.floor(np.log(stop / start) / np.log(by) + 1e-9)) + 1
        values = start * by ** np.arange(min(count, _MOST_VALUES + 1))
    else:
        if by <= 0:
            raise UsageError(f"--vary {path}={text}: a step is above 0")
        values = start + by * np.arange(min((stop - start) / by + 1e-9, _MOST_VALUES) // 1 + 1)
    if len(values) > _MOST_VALUES:
        raise UsageError(f"--vary {path}={text}: more than {_MOST_VALUES:,} values; take larger steps")
    return values


def _ratio(text: str) -> float | None:
    """Return a number or a ratio such as 3:1; None if it is neither."""
    whole, _, part = text.partition(":")
    try:
        return float(whole) / (float(part) if part else 1.0)
    except (ValueError, ZeroDivisionError):
        return None


def axis(text: str) -> SweptAxis:
    """Return the axis of `PATH=VALUES`.

    Values are a list (`128,256,512`), or a range of numbers: `1..8` in steps of one, `64..1024:64` in steps,
    `64..4096*2` by a factor, `1..1.5#11` of a number of values.

    Raises:
        UsageError: if it is no path and values, or has no value.
    """
    path, equals, values = text.partition("=")
    path, values = path.strip(), values.strip()
    if not equals or not path:
        raise UsageError(f"--vary {text}: write PATH=VALUES, such as `nodes[0].count=64..1024:64`")
    if not values:
        raise UsageError(f"--vary {text}: no value; list them, such as `{path}=a,b`, or give a range, `1..8`")
    numbers = _range(values, path)
    if numbers is not None:
        return SweptAxis(path, None, numbers)
    texts = tuple(part.strip() for part in values.split(","))
    if not all(texts):
        raise UsageError(f"--vary {text}: a value is empty")
    twice = next((value for index, value in enumerate(texts) if value in texts[:index]), None)
    if twice is not None:
        raise UsageError(f"--vary {text}: `{twice}` stands twice")
    ratios = [_ratio(value) for value in texts]
    return SweptAxis(path, texts, None if None in ratios else np.array(ratios, float))


class Points:
    """The points of a sweep: which value of each axis each point takes."""

    def __init__(
        self, axes: tuple[SweptAxis, ...], *, zipped: bool = False, sample: int | None = None, seed: int = 0
    ) -> None:
        """Span axes, the last the fastest; zipped ones are paired, a sample is a Latin hypercube over them."""
        if not axes:
            raise UsageError("give at least one --vary PATH=VALUES")
        if zipped and sample is not None:
            raise UsageError("--zip pairs values and --sample draws them: give one of the two")
        paths = [steps(axis.path) for axis in axes]  # `nodes.0.count` is `nodes[0].count`
        twice = next((index for index, path in enumerate(paths) if path in paths[:index]), None)
        if twice is not None:
            raise UsageError(f"--vary {axes[twice].path}: the path is varied twice")
        self.axes: tuple[SweptAxis, ...] = axes
        self.zipped: bool = zipped
        self.sample: int | None = sample
        self.seed: int = seed
        lengths = [len(axis) for axis in axes]
        if zipped and len(set(lengths)) > 1:
            words = ", ".join(f"{axis.path} {len(axis):,}" for axis in axes)
            raise UsageError(f"--zip: axes of one length are paired; these have {words}")
        self.count: int = sample if sample is not None else lengths[0] if zipped else prod(lengths)
        if self.count > _MOST_POINTS:
            sizes = " x ".join(f"{length:,}" for length in lengths)
            raise UsageError(
                f"{sizes} = {self.count:,} points are more than {_MOST_POINTS:,}; take larger steps, fewer axes, or "
                "`--sample 100000`"
            )

    @cached_property
    def _strata(self) -> list[Ints]:
        """Values of each axis at each point of a Latin hypercube: as many points of each value as can be."""
        assert self.sample is not None
        random = np.random.default_rng(self.seed)
        columns = []
        for axis in self.axes:
            strata = random.permutation(self.sample)
            columns.append((strata * len(axis) // self.sample).astype(np.int32))
        return columns

    def indices(self, first: int, last: int) -> list[Ints]:
        """Return which value each axis has at the points from `first` up to `last`, shape (points,) each."""
        if self.sample is not None:
            return [column[first:last] for column in self._strata]
        number = np.arange(first, last)
        if self.zipped:
            return [number] * len(self.axes)
        columns: list[Ints] = []
        for axis in reversed(self.axes):
            columns.insert(0, number % len(axis))
            number = number // len(axis)
        return columns
