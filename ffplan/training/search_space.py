"""The space of plans for a model on a number of accelerators, and the best of them, all evaluated at once."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats, Ints, Number
from ffplan.base.record import record
from ffplan.training.axes import AXES, NUMBERS, OPTIONS, RECOMPUTE, STRUCTURE, UNITS, ParallelPlans, divisors
from ffplan.training.constraints import REASONS, ROOM, reason_codes, violations
from ffplan.training.step import step_parts, step_time

if TYPE_CHECKING:
    from ffplan.training.model_shape import ModelShape
    from ffplan.training.train_run import TrainRun


HALF = 2.0
"""Bytes of a number at 16 bits [byte]."""


@record
class SearchSpace:
    """Values to try, by fields of `ParallelPlans`."""

    structure: dict[str, tuple[int, ...]]
    """Values of every axis of the structure; 0 stands for the default of the field."""
    options: dict[str, tuple[int, ...]]
    """Values of every option that is tried with each structure."""

    def without(self, option: str, value: int) -> SearchSpace:
        """Return the space without one value of an option."""
        kept = tuple(item for item in self.options[option] if item != value)
        return replace(self, options={**self.options, option: kept})


@record
class EvaluatedSpace:
    """An evaluated space: feasible plans and their times."""

    plans: ParallelPlans
    """Structure and options of every plan: structures x recompute x sequence parallelism x ZeRO x gradients."""
    step: Floats
    """Time of a step [s]; infinite where a plan cannot run."""
    code: Ints
    """Position in `constraints.REASONS`."""
    refused: dict[str, int]
    """Plans of the whole space that cannot run, by reason."""
    candidates: int
    """Plans of the whole space."""


def search_space(shape: ModelShape, gpus: int, domain: int, fixed: dict[str, int]) -> SearchSpace:
    """Return the values to try.

    Args:
        shape: the model, plain numbers.
        gpus: accelerators available.
        domain: accelerators that a scale-up switch joins, or of a node: tensor parallelism stays inside.
        fixed: axes and options with the one value that is asked for.
    """
    values = {axis.array: axis.values(shape, gpus, domain) for axis in AXES if axis.values is not None}

    def chosen(known: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        return {name: (fixed[name],) if name in fixed else found for name, found in known.items()}

    return SearchSpace(chosen(values), chosen(OPTIONS))


def _data(batch: int, gpus: int, ways: Ints, fixed: int | None) -> Ints:
    """Return the data-parallel ranks of every structure: the most that divide the batch and fit."""
    if fixed is not None:
        return np.full(np.shape(ways), float(fixed))
    allowed = np.array(divisors(batch, gpus), dtype=float)
    at = np.searchsorted(allowed, np.maximum(gpus // ways, 1), side="right") - 1
    found: Ints = allowed[at]
    return found


def _mesh(space: SearchSpace) -> dict[str, Any]:
    """Return every structure as flat arrays, each once: what makes no difference is left out."""
    values = [np.array(space.structure[name], dtype=float) for name in STRUCTURE]
    grids = np.meshgrid(*values, indexing="ij")
    mesh = {name: grid.ravel() for name, grid in zip(STRUCTURE, grids, strict=True)}
    same = (mesh["chunks"] > 1) & (mesh["pipeline"] == 1)
    if len(space.structure["expert_tensor"]) > 1:
        same |= (mesh["expert_tensor"] == 1) & (mesh["tensor"] == 1)
    return {name: found[~same] for name, found in mesh.items()}


def _columns(mesh: dict[str, Any]) -> dict[str, Any]:
    """Return structures as columns against which options broadcast."""
    return {name: values[(slice(None), *(None,) * len(OPTIONS))] for name, values in mesh.items()}


def evaluate_space(
    run: TrainRun,
    space: SearchSpace,
    gpus: int,
    limit: float,
    data: int | None = None,
    *,
    host_limit: float | None = None,
) -> EvaluatedSpace:
    """Return every plan of a space with its time, in one evaluation.

    Structures are sorted out first; possible ones are evaluated with all their options at once.

    Args:
        run: workload and machine; its plans give what no axis has.
        space: values to try.
        gpus: accelerators available; plans use as many as the batch allows.
        limit: device memory [byte].
        data: data-parallel ranks, where they are fixed.
        host_limit: host memory that a rank may fill [byte]; not checked if omitted.
    """
    mesh, base = _mesh(space), run.plans
    mesh["expert_tensor"] = np.where(mesh["expert_tensor"] == 0, mesh["tensor"], mesh["expert_tensor"])
    ways = prod(mesh[axis.array] for axis in AXES if axis.ranks and axis.values is not None)
    mesh["data"] = _data(int(base.batch), gpus, ways, data)
    mesh["gpus"] = ways * mesh["data"]
    options = prod(map(len, space.options.values()))
    structure = violations(run.shape, replace(base, **mesh), None)
    structure["accelerators"] = mesh["gpus"] > gpus
    del structure["offload"]  # depends on ZeRO, an option
    code = reason_codes(structure)
    refused = {
        name: int((code == at).sum()) * options for at, name in enumerate(REASONS) if at and bool((code == at).any())
    }
    kept: dict[str, Any] = _columns({name: values[code == 0] for name, values in mesh.items()})
    names: dict[str, Any] = {
        name: np.array(values, dtype=float).reshape(-1, *(1,) * (len(space.options) - at - 1))
        for at, (name, values) in enumerate(space.options.items())
    }
    plans = replace(base, **kept, **names)
    candidates = int(code.size) * options
    if kept["gpus"].size == 0:
        return EvaluatedSpace(
            plans=plans,
            step=np.zeros((0, *(1,) * len(OPTIONS))),
            code=np.zeros((0, *(1,) * len(OPTIONS)), dtype=np.int8),
            refused=refused,
            candidates=candidates,
        )
    parts = step_parts(replace(run, plans=plans))
    seconds = np.asarray(step_time(parts))
    later = violations(run.shape, plans, limit, host_limit)
    more = reason_codes({name: later[name] for name in LATER if name in later})
    whole = np.broadcast_to(seconds, np.broadcast_shapes(seconds.shape, more.shape))
    more = np.broadcast_to(more, whole.shape)
    for at, name in enumerate(REASONS):
        count = int((more == at).sum()) if at else 0
        if count:
            refused[name] = refused.get(name, 0) + count
    return EvaluatedSpace(
        plans=plans, step=np.where(more == 0, whole, np.inf), code=more, refused=refused, candidates=candidates
    )


def best(found: EvaluatedSpace, top: int) -> list[tuple[int, ...]]:
    """Return the positions of the best plans, one of each structure, the fastest first."""
    if found.step.size == 0:
        return []
    flat = found.step.reshape(found.step.shape[0], -1)
    least = flat.min(axis=1)
    order = np.argsort(least, kind="stable")[:top]
    rest = found.step.shape[1:]
    return [
        (int(row), *(int(at) for at in np.unravel_index(int(flat[row].argmin()), rest)))
        for row in order
        if np.isfinite(least[row])
    ]


PARTLY = tuple(at for at, name in enumerate(RECOMPUTE) if at not in OPTIONS["recompute"])
"""Policies of recomputation that a search tries on the best plans only."""
LATER = ("shard", "offload", *ROOM)
"""Faults that depend on the options of a plan."""
REFINED = ("unit_layers", "reduced_bytes", "optimizer_bytes", "recompute")
"""Numbers of a plan that refinement replaces."""


@record
class Refinement:
    """What the best plans of a space are tried with, beyond the space."""

    units: bool
    """Units of ZeRO 3 of other sizes."""
    reduced: bool
    """Gradients kept at 4 bytes and reduced at 2."""
    moments: bool
    """Moments of the optimizer at 2 bytes."""
    policies: bool
    """Policies of recomputation that keep a part of a layer."""


def refined(
    run: TrainRun, plans: list[ParallelPlans], limit: float, wanted: Refinement, host_limit: float | None = None
) -> list[ParallelPlans]:
    """Return plans each with the fastest of its refinements, the fastest plan first.

    Args:
        run: workload and machine.
        plans: plans of plain numbers that fit.
        limit: device memory [byte].
        wanted: what is tried.
        host_limit: host memory that a rank may fill [byte]; not checked if omitted.
    """
    found = []
    for plan in plans:
        units = UNITS if wanted.units and plan.zero == 3 else (float(plan.unit_layers),)
        reduced = (0.0, 2.0) if wanted.reduced and plan.gradient_bytes > HALF else (float(plan.reduced_bytes),)
        states = (plan.optimizer_bytes, plan.optimizer_bytes - 4.0) if wanted.moments else (plan.optimizer_bytes,)
        again = (plan.recompute, *PARTLY) if wanted.policies else (plan.recompute,)
        axes = (units, reduced, np.array(states, dtype=float), np.array(again, dtype=float))
        grid = [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")]
        fields: dict[str, Any] = dict(zip(REFINED, grid, strict=True))
        tried = replace(plan, **fields)
        seconds = np.asarray(step_time(step_parts(replace(run, plans=tried)))) + np.zeros(len(grid[0]))
        full = violations(run.shape, tried, limit, host_limit)
        seconds = np.where(sum(np.asarray(full[name]) for name in ROOM if name in full), np.inf, seconds)
        at = int(seconds.argmin())
        one: dict[str, Any] = {name: float(axis[at]) for name, axis in zip(REFINED, grid, strict=True)}
        found.append((float(seconds[at]), replace(plan, **one)))
    return [plan for _, plan in sorted(found, key=lambda item: item[0])]


def nearest(found: EvaluatedSpace, asked: ParallelPlans) -> tuple[int, ...] | None:
    """Return the position of the plan that runs and is nearest to one that does not; the faster where two are as near.

    Steps of an axis count by their powers of two; another recomputation, sequence parallelism, ZeRO stage or precision
    of gradients counts half a step, idle accelerators ten.

    Args:
        found: an evaluated space.
        asked: the plan that does not run, of plain numbers.
    """
    if not np.isfinite(found.step).any():
        return None
    p, far = found.plans, np.zeros(found.step.shape)
    for name in STRUCTURE:
        wanted = max(1.0, float(getattr(asked, name)))
        far = far + np.abs(np.log2(getattr(p, name) / wanted))
    for name in OPTIONS:
        far = far + 0.5 * (np.asarray(getattr(p, name)) != float(getattr(asked, name)))
    far = np.where(np.isfinite(found.step), far + 10.0 * (p.gpus != asked.gpus), np.inf)
    close = far <= far.min() + 1e-9
    at = int(np.where(close, found.step, np.inf).argmin())
    return tuple(int(item) for item in np.unravel_index(at, found.step.shape))


def single(plans: ParallelPlans, shape: tuple[int, ...], at: tuple[int, ...]) -> ParallelPlans:
    """Return one plan of many, with plain numbers."""

    def value(field: Number) -> Number:
        if isinstance(field, np.ndarray):
            return float(np.broadcast_to(field, shape)[at])
        return field

    numbers: dict[str, Any] = {name: value(getattr(plans, name)) for name in NUMBERS}
    return replace(plans, **numbers)
