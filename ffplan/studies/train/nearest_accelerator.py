"""Training constants of the nearest calibrated accelerator, and bands of times predicted with them."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import TYPE_CHECKING

from ffplan.base.files import data_folder
from ffplan.base.record import record
from ffplan.catalog.parts import Accelerator

if TYPE_CHECKING:
    from ffplan.catalog.evidence import EfficiencyFigure
    from ffplan.catalog.store import Catalog


@record
class _ErrorBand:
    """Errors of published runs that were predicted without what they are of."""

    band: float
    """Holds 80 % of absolute errors, as from P10 to P90 [1]."""
    within: float
    """Its part between the runs of one source: the same of distances from the source's mean error [1]."""
    runs: int
    basis: str


WITHIN = 0.068
"""Part of an error between the runs of one source, from `ffplan model accuracy training --leave-one-out source` [1]."""
_STACKS = "each software stack predicted without it"
DENSE = _ErrorBand(0.088, WITHIN, 253, f"published runs of dense models at 16 bits, {_STACKS}")
"""Dense models on calibrated accelerators: `ffplan model accuracy training --leave-one-out stack`."""
FP8 = _ErrorBand(0.121, WITHIN, 48, f"published runs of dense models at FP8, {_STACKS}")
"""The same at FP8."""
LONG = _ErrorBand(0.328, WITHIN, 21, f"published runs with sequences of 16,384 tokens or more, {_STACKS}")
"""The same with long sequences, at any precision."""
LONG_SEQUENCE = 16_384
"""Tokens of a sequence from which it is long [1]."""
EXPERTS = _ErrorBand(0.315, WITHIN, 23, f"published runs of mixtures of experts, {_STACKS}")
"""The same of models with experts."""
SIBLING = _ErrorBand(0.110, WITHIN, 345, "published runs, each accelerator predicted without it")
"""Accelerators with the efficiencies of another of their chip: `--leave-one-out accelerator`."""
KIN = _ErrorBand(0.077, WITHIN, 198, "published runs, each kind of chip predicted without it")
"""Accelerators with the efficiencies of another chip of their process: `--leave-one-out chip`."""
ESTIMATED = _ErrorBand(0.249, WITHIN, 345, "published runs, each chip predicted without its process")
"""Accelerators with the efficiencies of a chip of another process: `--leave-one-out process`."""
IMAGES = replace(ESTIMATED, basis=f"{ESTIMATED.basis}; none of them is of images")
"""Convolutional networks, of which no run is published with its settings."""
UNFITTED = replace(ESTIMATED, basis=f"{ESTIMATED.basis}; the catalogue has no fit of this part's own constants")
"""Accelerators with constants from elsewhere, which may be as far off as another process's."""


def _widest(*bands: _ErrorBand) -> _ErrorBand:
    return max(bands, key=lambda band: band.band)


_SIXTEEN = ("bf16", "fp16")
"""Precisions of 16 bits, the first that a part has counts."""


def _peak(part: Accelerator, precision: str = "16") -> float | None:
    """Return the dense peak at a precision, 16 for both kinds of 16 bits [TFLOP/s]; None if it has none."""
    names = _SIXTEEN if precision == "16" else (precision,)
    known = {str(name): rate.value for name, rate in part.peak.items()}
    return next((known[name] for name in names if name in known), None)


def distance(first: Accelerator, two: Accelerator) -> float:
    """Return how unlike two accelerators are [1].

    Equation:
        |ln (16-bit peak ratio)| + |ln (memory bandwidth ratio)|; infinite where one has no 16-bit peak

    Source:
        Definition: the two rates that most of a training step rests on.
    """
    peaks = _peak(first), _peak(two)
    if peaks[0] is None or peaks[1] is None:
        return float("inf")
    return abs(log(peaks[0] / peaks[1])) + abs(log(first.memory_bandwidth.value / two.memory_bandwidth.value))


def _constants(part: Accelerator) -> tuple[object, ...] | None:
    """Return the basis and the results of an accelerator's fit: peak, memory bandwidth, constants; None without one."""
    if part.training is None:
        return None
    figures = {name: value["value"] for name, value in part.training.model_dump().items() if isinstance(value, dict)}
    return _peak(part), part.memory_bandwidth.value, part.training.set, figures


def fitted(part: Accelerator, catalog: Catalog) -> bool:
    """Return whether the constants of an accelerator are from a fit in the shipped catalogue.

    Args:
        catalog: the catalogue that has it. A part in the user's folders has the fit of a shipped one with the same
            constants, peak and memory bandwidth.
    """
    place = catalog.locate(part.id)
    if place is not None and place[0].is_relative_to(data_folder("catalogs")):
        return True
    known = type(catalog)()
    others = (known.entry(name).part for name in known.ids_of("accelerator"))
    return any(
        isinstance(known_part, Accelerator) and _constants(known_part) == _constants(part) for known_part in others
    )


def _nearest_calibrated(part: Accelerator, catalog: Catalog) -> Accelerator | None:
    seen = catalog.fork()
    known = [seen.entry(name).part for name in seen.ids_of("accelerator") if name != part.id]
    calibrated = [
        accelerator
        for accelerator in known
        if isinstance(accelerator, Accelerator) and accelerator.training is not None
    ]
    near = [accelerator for accelerator in calibrated if distance(part, accelerator) < float("inf")]
    return min(near, key=lambda candidate: (*unlike(part, candidate), candidate.id), default=None)


def unlike(first: Accelerator, two: Accelerator) -> tuple[bool, bool, bool, float]:
    """Return the sort key of relatives: the same chip first, then one energy, one line, and `distance` [1]."""
    return not same_chip(first, two), not same_energy(first, two), not _same_line(first, two), distance(first, two)


def _same_line(first: Accelerator, two: Accelerator) -> bool:
    """Return whether two accelerators are of one maker and process, and both have scale-up links, or neither has.

    H20 is a Hopper whose GEMMs stay below its limit of power: its kernels are Hopper's, although the rates of an
    A100 are nearer to its own.
    """
    return _made_alike(first, two) and (first.nvlink is None) == (two.nvlink is None)


def same_chip(first: Accelerator, two: Accelerator) -> bool:
    """Return whether two accelerators have one kind of chip, whose long GEMMs are bound by power."""
    return first.chip is not None and first.chip == two.chip


def _made_alike(first: Accelerator, two: Accelerator) -> bool:
    return first.process is not None and first.process == two.process and first.vendor == two.vendor


def same_energy(first: Accelerator, two: Accelerator) -> bool:
    """Return whether long GEMMs of two accelerators are bound by power and spend alike on an operation.

    They share a chip, or are two chips by one maker on one family of processes. Whole steps on Hopper (4N) and on
    Blackwell (4NP), each fitted without the other, give 1.06 and 1.09 TFLOP/J at 16 bits.
    """
    if same_chip(first, two):
        return True
    return _made_alike(first, two) and first.chip is not None and two.chip is not None


def _best(part: Accelerator, precision: str, *, of_any: bool = False) -> float | None:
    """Return the fraction of the peak that the best measured GEMM reaches [1]; None if none is measured."""
    if precision == "16":
        return next((found for name in _SIXTEEN if (found := _best(part, name, of_any=of_any)) is not None), None)
    rate, peak = part.gemm.get(precision), part.peak.get(precision)  # type: ignore[call-overload]
    if rate is None or peak is None:
        return None
    best: float = rate.range[1] if of_any else rate.value
    return float(best / peak.value)


def _most(part: Accelerator, precision: str) -> float | None:
    return _best(part, precision, of_any=True) or _best(part, "16", of_any=True)


def power_ratio(part: Accelerator, relative: Accelerator, precision: str) -> float | None:
    """Return the fraction of the peak that long GEMMs reach on one of two accelerators of one energy over the other's.

    Args:
        precision: fp8, tf32, or 16 for both kinds of 16 bits.

    Returns:
        Ratio [1]; None if they do not spend alike, or a power or peak is unknown.

    Equation:
        P / P' x peak' / peak

    Source:
        Derived: the energy of an operation belongs to chip and process, so that the rate follows the limit of power.
    """
    if not same_energy(part, relative) or part.power is None or relative.power is None:
        return None
    peak, relative_peak = _peak(part, precision), _peak(relative, precision)
    if peak is None or relative_peak is None:
        return None
    return part.power.value / relative.power.value * relative_peak / peak


def gemm_fraction(part: Accelerator, relative: Accelerator, precision: str, fraction: float) -> float:
    """Return the fraction of its peak that large GEMMs reach on an accelerator, from a relative's [1].

    Args:
        precision: fp8, tf32, or 16 for both kinds of 16 bits.
        fraction: what the relative reaches at this precision [1].

    Equation:
        fraction x best of the part / best of the relative, best the best measured GEMM over the peak, at 16 bits where
        one of them has none at this precision; fraction where one has none at all; at most the best of the part, of
        any source.
        Between accelerators of one energy fraction x P / P' x peak' / peak instead, P their powers

    Source:
        Derived: what a layer keeps of the best GEMM belongs to software and shapes, the best GEMM to the part. It is
        51 % of the peak on MI300X and 80 % on H100 (MAMF finder of stas00/ml-engineering). GEMMs that last are held by
        power: on B200 short ones run at 1,300 to 1,470 TFLOP/s, long ones at 1,040 to 1,150 (MooreThreads/SimuMax,
        b200_bf16_ceperm.json), so that one chip at two limits runs them as the limits are.
    """
    if (paced := power_ratio(part, relative, precision)) is not None:
        return min(fraction * paced, _most(part, precision) or _most(relative, precision) or 1.0)
    for name in (precision, "16"):
        best, relative_best = _best(part, name), _best(relative, name)
        if best is not None and relative_best is not None:
            return min(fraction * best / relative_best, best)
    best = _best(part, "16")
    return fraction if best is None else min(fraction, best)


def _scaled(figure: EfficiencyFigure, part: Accelerator, relative: Accelerator, precision: str) -> EfficiencyFigure:
    return figure.model_copy(update={"value": gemm_fraction(part, relative, precision, figure.value)})


def with_nearest_constants(part: Accelerator, catalog: Catalog) -> tuple[Accelerator, str | None]:
    """Return an accelerator with training constants, and the id of the relative that they are of.

    Peaks and memory bandwidth stay its own; efficiencies, latencies and multiprocessors are the relative's, and at a
    precision that the relative lacks its efficiency at 16 bits. Those of GEMMs follow the best measured GEMM of both.
    """
    if part.training is not None:
        return part, None
    relative = _nearest_calibrated(part, catalog)
    if relative is None or relative.training is None:
        return part, None
    catalog.entry(relative.id)  # the result rests on its file
    rates = relative.training
    filled = {"matrix": _scaled(rates.matrix, part, relative, "16")}
    for name in ("fp8", "tf32"):
        known: EfficiencyFigure = getattr(rates, f"matrix_{name}") or rates.matrix
        filled[f"matrix_{name}"] = _scaled(known, part, relative, name)
    training = rates.model_copy(update=filled)
    sources = {**relative.sources, **part.sources, rates.matrix.source: relative.sources[rates.matrix.source]}
    return part.model_copy(update={"training": training, "sources": sources}), relative.id
