"""The space of plans for a model on so many accelerators, and the best of it: one evaluation for all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.arrays import Floats, Ints
from ffplan.base.record import record
from ffplan.training.constraints import REASONS, causes, codes
from ffplan.training.parallel_plan import NUMBERS, Plans
from ffplan.training.step import step_parts, step_time

if TYPE_CHECKING:
    from ffplan.training.microbatch import Run
    from ffplan.training.model_shape import Shape

MICRO = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Micro-batches that a search tries."""
NODE = 16
"""Most accelerators of a node; larger domains are several nodes on one scale-up switch."""
LONG = 16_384
"""Tokens of a sequence from which a search tries context parallelism."""
MOST_EXPERT_WAYS = 1_024
AXES = ("tensor", "context", "pipeline", "expert", "expert_tensor", "micro", "chunks")
"""Axes of the structure of plans."""


@record
class Space:
    """Values to try on every axis."""

    tensor: tuple[int, ...]
    context: tuple[int, ...]
    pipeline: tuple[int, ...]
    expert: tuple[int, ...]
    expert_tensor: tuple[int, ...]
    """0 stands for the ways of `tensor`."""
    micro: tuple[int, ...]
    chunks: tuple[int, ...]
    recompute: tuple[int, ...]
    sequence_parallel: tuple[int, ...]
    zero: tuple[int, ...]


@record
class Found:
    """A space weighed: feasible plans and their times."""

    plans: Plans
    """Structure and options of every plan: structures x recompute x sequence parallelism x ZeRO."""
    step: Floats
    """Time of a step [s]; infinite where a plan cannot run."""
    code: Ints
    """Position in `feasible.REASONS`."""
    refused: dict[str, int]
    """Plans of the whole space that cannot run, by reason."""
    weighed: int
    """Plans of the whole space."""


def divisors(number: int, most: int) -> tuple[int, ...]:
    """Return the divisors of a number up to `most`."""
    return tuple(value for value in range(1, min(number, most) + 1) if number % value == 0)


def _inside(ways: int, gpus: int, domain: int) -> bool:
    """Return whether groups of so many ranks fill a node, or what a job takes of one, so that none straddles two.

    Of scale-up domains over several nodes also powers of two count: what they leave of 72 stays idle.
    """
    return min(gpus, domain) % ways == 0 or (domain > NODE and ways & (ways - 1) == 0)


def space_of(shape: Shape, gpus: int, domain: int, fixed: dict[str, Any]) -> Space:
    """Return the values to try.

    Args:
        shape: the model, plain numbers.
        gpus: accelerators at hand.
        domain: accelerators that a scale-up switch joins, or those of a node: tensor parallelism stays inside.
        fixed: axes with the one value that is asked for.
    """
    layers, experts = int(shape.layers), shape.experts.routed if shape.experts else 1
    stages = sorted({*divisors(layers, gpus), *divisors(layers + 1, gpus), *divisors(layers + 2, gpus)})
    long = int(shape.sequence) >= LONG
    values = {
        "tensor": tuple(way for way in divisors(int(shape.heads), min(gpus, domain)) if _inside(way, gpus, domain)),
        "context": (1, 2, 4, 8, 16, 32) if long else (1,),
        "pipeline": tuple(value for value in stages if value <= layers),
        "expert": divisors(experts, min(gpus, MOST_EXPERT_WAYS)),
        "expert_tensor": (0, 1) if experts > 1 else (0,),
        "micro": MICRO, "chunks": divisors(layers, 16), "recompute": (0, 1, 2), "sequence_parallel": (0, 1),
        "zero": (0, 1, 2, 3),
    }  # fmt: skip
    return Space(**{name: (fixed[name],) if name in fixed else found for name, found in values.items()})


def _data(batch: int, gpus: int, ways: Ints, fixed: int | None) -> Ints:
    """Return the data-parallel ranks of every structure: the most that divide the batch and fit."""
    if fixed is not None:
        return np.full(np.shape(ways), float(fixed))
    allowed = np.array(divisors(batch, gpus), dtype=float)
    at = np.searchsorted(allowed, np.maximum(gpus // ways, 1), side="right") - 1
    found: Ints = allowed[at]
    return found


def _mesh(space: Space) -> dict[str, Any]:
    """Return every structure as flat arrays, each once: what makes no difference is left out."""
    grids = np.meshgrid(*(np.array(getattr(space, name), dtype=float) for name in AXES), indexing="ij")
    mesh = {name: grid.ravel() for name, grid in zip(AXES, grids, strict=True)}
    same = (mesh["chunks"] > 1) & (mesh["pipeline"] == 1)
    if len(space.expert_tensor) > 1:
        same |= (mesh["expert_tensor"] == 1) & (mesh["tensor"] == 1)
    return {name: values[~same] for name, values in mesh.items()}


def _columns(mesh: dict[str, Any]) -> dict[str, Any]:
    """Return structures as columns against which options broadcast."""
    return {name: values[:, None, None, None] for name, values in mesh.items()}


def weigh(run: Run, space: Space, gpus: int, limit: float, data: int | None = None) -> Found:
    """Return every plan of a space with its time, in one evaluation.

    Structures are sorted out first; those that can be are weighed with all their options at once.

    Args:
        run: workload and machine; its plans give what no axis has.
        space: values to try.
        gpus: accelerators at hand; plans use as many as the batch allows.
        limit: device memory [byte].
        data: data-parallel ranks, where they are fixed.
    """
    mesh, base = _mesh(space), run.plans
    mesh["expert_tensor"] = np.where(mesh["expert_tensor"] == 0, mesh["tensor"], mesh["expert_tensor"])
    ways = mesh["tensor"] * mesh["context"] * mesh["pipeline"]
    mesh["data"] = _data(int(base.batch), gpus, ways, data)
    mesh["gpus"] = ways * mesh["data"]
    options = len(space.recompute) * len(space.sequence_parallel) * len(space.zero)
    structure = causes(run.shape, replace(base, **mesh), None)
    structure["accelerators"] = mesh["gpus"] > gpus
    del structure["offload"]  # depends on ZeRO, an option
    code = codes(structure)
    refused = {
        name: int((code == at).sum()) * options for at, name in enumerate(REASONS) if at and bool((code == at).any())
    }
    kept: dict[str, Any] = _columns({name: values[code == 0] for name, values in mesh.items()})
    names: dict[str, Any] = {
        "recompute": np.array(space.recompute, dtype=float)[:, None, None],
        "sequence_parallel": np.array(space.sequence_parallel, dtype=float)[:, None],
        "zero": np.array(space.zero, dtype=float),
    }
    plans = replace(base, **kept, **names)
    weighed = int(code.size) * options
    if kept["gpus"].size == 0:
        return Found(plans, np.zeros((0, 1, 1, 1)), np.zeros((0, 1, 1, 1), dtype=np.int8), refused, weighed)
    parts = step_parts(replace(run, plans=plans))
    seconds = step_time(parts)
    later = causes(run.shape, plans, limit)
    more = codes({name: later[name] for name in ("shard", "offload", "memory")})
    whole = np.broadcast_to(seconds, np.broadcast_shapes(seconds.shape, more.shape))
    more = np.broadcast_to(more, whole.shape)
    for at, name in enumerate(REASONS):
        count = int((more == at).sum()) if at else 0
        if count:
            refused[name] = refused.get(name, 0) + count
    return Found(plans, np.where(more == 0, whole, np.inf), more, refused, weighed)


def best(found: Found, top: int) -> list[tuple[int, ...]]:
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


def nearest(found: Found, asked: Plans) -> tuple[int, ...] | None:
    """Return the position of the plan that runs and is nearest to one that does not; the faster where two are as near.

    Steps of an axis count by their powers of two; another recomputation, sequence parallelism or ZeRO stage counts half
    a step, idle accelerators ten.

    Args:
        found: a space weighed.
        asked: the plan that does not run, of plain numbers.
    """
    if not np.isfinite(found.step).any():
        return None
    p, far = found.plans, np.zeros(found.step.shape)
    for name in AXES:
        wanted = max(1.0, float(getattr(asked, name)))
        far = far + np.abs(np.log2(getattr(p, name) / wanted))
    for name in ("recompute", "sequence_parallel", "zero"):
        far = far + 0.5 * (np.asarray(getattr(p, name)) != float(getattr(asked, name)))
    far = np.where(np.isfinite(found.step), far + 10.0 * (p.gpus != asked.gpus), np.inf)
    close = far <= far.min() + 1e-9
    at = int(np.where(close, found.step, np.inf).argmin())
    return tuple(int(item) for item in np.unravel_index(at, found.step.shape))


def single(plans: Plans, shape: tuple[int, ...], at: tuple[int, ...]) -> Plans:
    """Return one plan of many, with plain numbers."""

    def value(field: Any) -> Any:
        if isinstance(field, np.ndarray):
            return float(np.broadcast_to(field, shape)[at])
        return field

    return replace(plans, **{name: value(getattr(plans, name)) for name in NUMBERS})
