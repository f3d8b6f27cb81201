"""The space of plans for a model on a number of accelerators, and the best of them, all evaluated at once."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Bools, Floats, Ints, Number, Truth
from ffplan.base.record import record
from ffplan.training.axes import AXES, NUMBERS, OPTIONS, STRUCTURE, UNITS, ParallelPlans, divisors
from ffplan.training.constraints import REASONS, ROOM, reason_codes, violations
from ffplan.training.memory_margins import _peak_and_temporary, peak_bytes, worst_of
from ffplan.training.step import _least_time, step_parts, step_time
from ffplan.training.train_run import TrainRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ffplan.catalog.models import Transformer


PLACED = (*STRUCTURE, "data", "gpus")
"""Numbers of a plan that its structure gives."""
HALF = 2.0
"""Bytes of a number at 16 bits [byte]."""
SMALLER_MOMENTS = 2 * HALF
"""Bytes of a parameter that both moments of Adam save at 16 bits [byte]."""
_FIRST = 64
"""Number of structures with the lowest bounds, timed first [1]."""
_OF_DATA = ("ranks", "batch", "rounds", "expert-ranks", "shard", "schedule")
"""Rules that another number of data-parallel ranks may meet."""
_ROUNDING = 1e-9
"""Tolerance of a bound above a time, for rounding [1]."""
FSDP = 3
"""The ZeRO stage that gathers weights, in units of layers."""


@record
class _SearchSpace:
    structure: dict[str, tuple[int, ...]]
    """Values of every axis of the structure; 0 is the field's default."""
    options: dict[str, tuple[int, ...]]
    """Values of every option that is tried with each structure."""

    def without(self, option: str, value: int) -> _SearchSpace:
        """Return the space without one value of an option."""
        kept = tuple(choice for choice in self.options[option] if choice != value)
        return replace(self, options={**self.options, option: kept})


@record
class EvaluatedSpace:
    """The plans of a space, and which of them can run."""

    run: TrainRun
    """Workload and machine, with the structure and options of every plan: structures x recompute x sequence parallelism
    x ZeRO x gradients."""
    code: Ints
    """Position in `constraints.REASONS`."""
    refused: dict[str, int]
    """Plans of the whole space that cannot run, by reason."""
    candidates: int
    """Plans of the whole space."""
    options: dict[str, tuple[int, ...]]
    """Values of every option."""

    @property
    def plans(self) -> ParallelPlans:
        """Its plans."""
        return self.run.plans

    @property
    def feasible(self) -> bool:
        """Whether any plan can run."""
        return bool((self.code == 0).any())

    def step(self) -> Floats:
        """Return the time of a step of every plan [s]; infinite if it cannot run."""
        if not self.feasible:
            return np.full(self.code.shape, np.inf)
        return np.where(self.code == 0, step_time(step_parts(self.run)), np.inf)


def search_space(shape: Transformer, gpus: int, domain: int, fixed: dict[str, int]) -> _SearchSpace:
    """Return the values to try.

    Args:
        gpus: accelerators available.
        domain: accelerators that a scale-up switch joins, or of a node: tensor parallelism stays inside.
        fixed: axes and options with their one requested value.
    """
    values = {axis.array: axis.values(shape, gpus, domain) for axis in AXES if axis.values is not None}

    def chosen(known: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        return {name: (fixed[name],) if name in fixed else choices for name, choices in known.items()}

    return _SearchSpace(chosen(values), chosen(OPTIONS))


def _data(batch: int, gpus: int, mesh: Mapping[str, Floats], ways: Floats) -> Floats:
    """Return the data-parallel ranks of every structure: the largest divisor of the batch that fits.

    Divisors that make whole groups of expert parallelism go first, if there are any.
    """
    allowed = np.array(divisors(batch, gpus), dtype=float)
    fitting = np.maximum(gpus // ways, 1)
    # the largest divisor: ranks beyond it would have no whole micro-batch, and stay idle
    ranks: Floats = allowed[np.searchsorted(allowed, fitting, side="right") - 1]
    groups, inside = mesh["expert"] * mesh["expert_tensor"], mesh["context"] * mesh["tensor"]
    steps = groups / np.gcd(groups.astype(np.int64), inside.astype(np.int64))
    for step in np.unique(steps[steps > 1]):
        whole = allowed[allowed % step == 0]
        rows = np.flatnonzero((steps == step) & (fitting >= whole.min(initial=np.inf)))
        if rows.size:
            ranks[rows] = whole[np.searchsorted(whole, fitting[rows], side="right") - 1]
    return ranks


def _fewer_data(run: TrainRun, mesh: Mapping[str, Any], ways: Floats, gpus: int) -> Floats:
    """Return the most data-parallel ranks with which a structure breaks no rule; unchanged if none does.

    Fewer ranks have more micro-batches: a size of theirs, rounds of chunks, a schedule or `shard` may ask for that.
    """
    ranks: Floats = mesh["data"].copy()
    fixed = {name: broken for name, broken in _faults(run, mesh).items() if name not in _OF_DATA}
    rows = np.flatnonzero(reason_codes({"ranks": ways > gpus, **fixed}) == 0)
    for size in reversed(divisors(int(run.plans.batch), gpus)):
        near = rows[ways[rows] * size <= gpus]
        if near.size:
            some = {name: values[near] for name, values in mesh.items()}
            some |= {"data": np.full(near.size, float(size)), "gpus": ways[near] * size}
            sound = near[reason_codes(_faults(run, some)) == 0]
            ranks[sound] = size
            rows = np.setdiff1d(rows, sound, assume_unique=True)
    return ranks


def _faults(run: TrainRun, mesh: Mapping[str, Any]) -> dict[str, Truth]:
    """Return the rules that structures break whatever their options."""
    faults = violations(run.shape, replace(run.plans, **mesh), None)
    del faults["offload"]  # depends on ZeRO, an option
    return faults


def _mesh(space: _SearchSpace) -> dict[str, Any]:
    """Return every structure as flat arrays, without duplicates: values of no effect are left out."""
    values = [np.array(space.structure[name], dtype=float) for name in STRUCTURE]
    grids = np.meshgrid(*values, indexing="ij")
    mesh = {name: grid.ravel() for name, grid in zip(STRUCTURE, grids, strict=True)}
    # one stage has nothing to interleave, and TP 1 within experts is what TP 1 gives anyway
    same = (mesh["chunks"] > 1) & (mesh["pipeline"] == 1)
    if len(space.structure["expert_tensor"]) > 1:
        same |= (mesh["expert_tensor"] == 1) & (mesh["tensor"] == 1)
    return {name: sizes[~same] for name, sizes in mesh.items()}


def _columns(mesh: dict[str, Any]) -> dict[str, Any]:
    return {name: values[(slice(None), *(None,) * len(OPTIONS))] for name, values in mesh.items()}


def evaluate_space(
    run: TrainRun,
    space: _SearchSpace,
    gpus: int,
    limit: float,
    data: int | None = None,
    *,
    host_limit: float | None = None,
) -> EvaluatedSpace:
    """Return every plan of a space, and why those cannot run that cannot.

    Structures are sorted out first; possible ones are taken with all their options at once. If nothing can run on the
    most data-parallel ranks of each structure, fewer are tried.

    Args:
        run: workload and machine; its plans supply everything that no axis varies.
        gpus: accelerators available; plans use as many as the batch allows.
        limit: device memory [byte].
        data: data-parallel ranks, if fixed.
        host_limit: host memory that a rank may fill [byte]; not checked if omitted.
    """
    mesh = _mesh(space)
    mesh["expert_tensor"] = np.where(mesh["expert_tensor"] == 0, mesh["tensor"], mesh["expert_tensor"])
    ways = prod(mesh[axis.array] for axis in AXES if axis.ranks and axis.values is not None)

    def evaluated(ranks: Floats) -> EvaluatedSpace:
        placed = {**mesh, "data": ranks, "gpus": ways * ranks}
        return _evaluated_mesh(run, space, placed, gpus, limit, host_limit)

    if data is not None:
        return evaluated(np.full(ways.shape, float(data)))
    mesh["data"] = _data(int(run.plans.batch), gpus, mesh, ways)
    found = evaluated(mesh["data"])
    return found if found.feasible else evaluated(_fewer_data(run, {**mesh, "gpus": ways * mesh["data"]}, ways, gpus))


def _evaluated_mesh(
    run: TrainRun, space: _SearchSpace, mesh: dict[str, Any], gpus: int, limit: float, host_limit: float | None
) -> EvaluatedSpace:
    """Return structures with all options: limits of device and host memory [byte]."""
    options = prod(map(len, space.options.values()))
    structure = _faults(run, mesh)
    structure["accelerators"] = mesh["gpus"] > gpus
    code = reason_codes(structure)
    refused = {
        name: int((code == number).sum()) * options
        for number, name in enumerate(REASONS)
        if number and bool((code == number).any())
    }
    kept: dict[str, Any] = _columns({name: values[code == 0] for name, values in mesh.items()})
    names: dict[str, Any] = {
        name: np.array(values, dtype=float).reshape(-1, *(1,) * (len(space.options) - number - 1))
        for number, (name, values) in enumerate(space.options.items())
    }
    plans = replace(run.plans, **kept, **names)
    candidates = int(code.size) * options
    code = np.zeros((kept["gpus"].size, *map(len, space.options.values())), dtype=np.int8)
    if code.size:
        code[...] = _option_codes(run, plans, peak_bytes(run.shape, plans) > limit, host_limit)
    for number, name in enumerate(REASONS):
        count = int((code == number).sum()) if number else 0
        if count:
            refused[name] = refused.get(name, 0) + count
    return EvaluatedSpace(
        run=replace(run, plans=plans),
        code=code,
        refused=refused,
        candidates=candidates,
        options=space.options,
    )


def _sure_space(run: TrainRun, space: EvaluatedSpace, limit: float) -> EvaluatedSpace:
    """Return a space whose plans fit even with the runtime's reserved and temporary memory."""
    peak, temporary = _peak_and_temporary(run.shape, space.plans, run.margins)
    beyond = np.broadcast_to(worst_of(peak, temporary, run.margins) > limit, space.code.shape) & (space.code == 0)
    return replace(space, code=np.where(beyond, REASONS.index("memory"), space.code))


def best(seconds: Floats, top: int, tight: Bools | None = None) -> list[tuple[int, ...]]:
    """Return the positions of the best plans, one of each structure, the fastest first.

    Args:
        seconds: times of steps, structures along the first axis [s]; infinite if a plan cannot run.
        tight: plans to avoid if another of their structure takes the same time.
    """
    if seconds.size == 0:
        return []
    seconds = _rounded(seconds)
    least = _fastest_option(seconds)
    order = np.argsort(least, kind="stable")[:top]
    positions = []
    for row in order[np.isfinite(least[order])]:
        ties = seconds[row] == least[row]
        free = ties if tight is None else ties & ~tight[row]
        option = int((free if free.any() else ties).argmax())
        positions.append((int(row), *(int(place) for place in np.unravel_index(option, ties.shape))))
    return positions


def _rounded(seconds: Floats) -> Floats:
    """Return times rounded to twelve digits: vectorised powers differ in the last bit by place in an array, which must
    not choose among plans that take equally long."""
    mantissa, exponent = np.frexp(seconds)
    rounded: Floats = np.ldexp(np.round(np.ldexp(mantissa, 40)), exponent - 40)
    return rounded


LATER = ("shard", "offload", *ROOM)
"""Faults that depend on the options of a plan."""


@record
class Refinement:
    """Settings that every structure is tried with, beyond its options."""

    units: bool
    """Units of ZeRO 3 of other sizes."""
    reduced: bool
    """Gradients kept at 4 bytes and reduced at 2."""
    moments: bool
    """Moments of the optimizer at 2 bytes."""


def _refinements(base: ParallelPlans, options: dict[str, tuple[int, ...]], tried: Refinement) -> dict[str, Floats]:
    """Return every combination of options and refinements, as arrays that broadcast against structures in rows.

    Values that only make sense together share an axis: ZeRO stages with units, kept gradients with reduced ones.
    """
    units = UNITS if tried.units else (float(base.unit_layers),)
    sharded = [(zero, unit) for zero in options["zero"] for unit in (units if zero == FSDP else (base.unit_layers,))]
    kept = [
        (size, reduced)
        for size in options["gradient_bytes"]
        for reduced in ((0.0, HALF) if tried.reduced and size > HALF else (base.reduced_bytes,))
    ]
    states = (base.optimizer_bytes, *((base.optimizer_bytes - SMALLER_MOMENTS,) if tried.moments else ()))
    axes = (options["recompute"], options["sequence_parallel"], sharded, kept, states)

    def along(axis: int, values: Any) -> Floats:
        return np.array(values, dtype=float).reshape(-1, *(1,) * (len(axes) - 1 - axis))

    return {
        "recompute": along(0, axes[0]),
        "sequence_parallel": along(1, axes[1]),
        "zero": along(2, [zero for zero, _ in sharded]),
        "unit_layers": along(2, [unit for _, unit in sharded]),
        "gradient_bytes": along(3, [size for size, _ in kept]),
        "reduced_bytes": along(3, [reduced for _, reduced in kept]),
        "optimizer_bytes": along(4, states),
    }


def fastest(
    run: TrainRun,
    space: EvaluatedSpace,
    limit: float,
    tried: Refinement,
    top: int,
    host_limit: float | None = None,
    *,
    sure: bool = False,
) -> list[ParallelPlans]:
    """Return the best plans of a space over all options and refinements, one of each structure, the fastest first.

    Structures are timed whose bound is no longer than the time of enough others, so that the plans are the first of the
    same list for every `top`.

    Args:
        run: workload and machine; its plans have the states of the optimizer in full.
        space: an evaluated space, with the smallest states of the optimizer that are tried.
        limit: device memory [byte].
        tried: refinements beyond the options of the space.
        host_limit: host memory that a rank may fill [byte]; not checked if omitted.
        sure: take only plans that fit whatever the runtime reserves and takes for a moment.
    """
    space = _sure_space(run, space, limit) if sure else space
    if not space.feasible:
        return []
    base = replace(space.plans, optimizer_bytes=run.plans.optimizer_bytes)
    fields: Any = _refinements(base, space.options, tried)
    shape = np.broadcast_shapes(*(values.shape for values in fields.values()))

    def structures(rows: Ints) -> ParallelPlans:
        """Return some structures with every refinement."""
        placed: Any = {
            name: np.ravel(getattr(space.plans, name))[rows].reshape(-1, *(1,) * len(shape)) for name in PLACED
        }
        return replace(base, **placed, **fields)

    def timed(rows: Ints) -> tuple[Floats, Bools]:
        """Return the times of some structures with every refinement, and which are at the edge of memory."""
        plans, whole = structures(rows), (rows.size, *shape)
        peak, temporary = _peak_and_temporary(run.shape, plans, run.margins)
        tight = np.broadcast_to(worst_of(peak, temporary, run.margins) > limit, whole)
        refused = np.broadcast_to(_option_codes(run, plans, peak > limit, host_limit) > 0, whole)
        times = step_time(step_parts(replace(run, plans=plans)))
        return np.where(refused | tight if sure else refused, np.inf, times), tight

    rows, later, bound = _by_bound(space, top)
    seconds, tight = timed(rows)
    least = np.sort(_fastest_option(seconds))
    enough = least[top - 1] if top <= least.size else np.inf
    # a structure whose bound is above the slowest wanted plan cannot enter the list
    if (later := later[bound[later] <= enough * (1 + _ROUNDING)]).size:
        rows, more = np.concatenate([rows, later]), timed(later)
        order = np.argsort(rows)
        rows = rows[order]
        seconds, tight = (np.concatenate(pair)[order] for pair in zip((seconds, tight), more, strict=True))
    plans = structures(rows)
    return [single(plans, seconds.shape, place) for place in best(seconds, top, tight)]


def _by_bound(space: EvaluatedSpace, top: int) -> tuple[Ints, Ints, Floats]:
    """Return the structures that are timed first, the others that can run, and a time below which none comes [s].

    Units, moments and what gradients are reduced at change data parallelism and the optimizer alone, on which the bound
    does not rest: it holds for every refinement.
    """
    least = np.broadcast_to(_least_time(space.run), space.code.shape)
    bound = _fastest_option(np.where(space.code == 0, least, np.inf))
    order = np.argsort(bound, kind="stable")[: int(np.isfinite(bound).sum())]
    count = max(_FIRST, top)
    return np.sort(order[:count]), order[count:], bound


def _option_codes(run: TrainRun, plans: ParallelPlans, full: Truth, host_limit: float | None) -> Ints:
    """Return why options of plans are refused whose structures are possible, as positions in `constraints.REASONS`;
    `host_limit` [byte]."""
    faults = {**violations(run.shape, plans, None, host_limit), "memory": full}
    return reason_codes({name: faults[name] for name in LATER if name in faults})


def _fastest_option(seconds: Floats) -> Floats:
    least: Floats = seconds.min(axis=tuple(range(1, seconds.ndim)))
    return least


def nearest(evaluated: EvaluatedSpace, request: ParallelPlans) -> tuple[int, ...] | None:
    """Return the position of the runnable plan nearest to a request that cannot run; the faster of two equally near.

    Steps of an axis count by their powers of two; another recomputation, sequence parallelism, ZeRO stage or precision
    of gradients counts half a step, idle accelerators ten.

    Args:
        request: the plan that does not run, of plain numbers.
    """
    if not evaluated.feasible:
        return None
    p, step = evaluated.plans, evaluated.step()
    far = np.zeros(step.shape)
    for name in STRUCTURE:
        size = max(1.0, float(getattr(request, name)))
        # a factor of two either way is one step
        far = far + np.abs(np.log2(getattr(p, name) / size))
    for name in OPTIONS:
        # an option is half a step, whatever its value
        far = far + 0.5 * (np.asarray(getattr(p, name)) != float(getattr(request, name)))
    # another number of accelerators is the last resort
    far = np.where(np.isfinite(step), far + 10.0 * (p.gpus != request.gpus), np.inf)
    close = far <= far.min() + 1e-9
    place = int(np.where(close, step, np.inf).argmin())
    return tuple(int(index) for index in np.unravel_index(place, step.shape))


def single(plans: ParallelPlans, shape: tuple[int, ...], position: tuple[int, ...]) -> ParallelPlans:
    """Return one plan of many, with plain numbers."""

    def value(field: Number) -> Number:
        if isinstance(field, np.ndarray):
            return float(np.broadcast_to(field, shape)[position])
        return field

    numbers: dict[str, Any] = {name: value(getattr(plans, name)) for name in NUMBERS}
    return replace(plans, **numbers)
