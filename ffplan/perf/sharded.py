"""ZeRO 3: units whose parameters are gathered for computing and whose gradients are scattered, beside other units.

A unit is one layer or several. Embeddings are the root: gathered before anything can run, scattered after everything.
The unit computed last forward is computed first backward and stays. One communicator serves gathers before scatters,
and gathers at most one unit ahead.

Sources:
    [1] Rajbhandari et al., "ZeRO", SC'20, arXiv 1910.02054 (what is gathered and scattered).
    [2] Zhao et al., "PyTorch FSDP", arXiv 2304.11277, and torch 1.12.1, fully_sharded_data_parallel.py (units, root,
        gathering one unit ahead, one process group).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.elementwise import maximum
from ffplan.perf.passes import inner_stride, pace_share, place
from ffplan.perf.talk import group_time
from ffplan.perf.weights import held
from ffplan.record import record

if TYPE_CHECKING:
    from ffplan.perf.passes import Passes, Run


@record
class Unit:
    """Collectives of a unit [s]."""

    gather: Any
    scatter: Any

    def plus(self, other: Unit) -> Unit:
        """Return the sum of two."""
        return Unit(self.gather + other.gather, self.scatter + other.scatter)


@record
class Exposed:
    """What nothing hides of the collectives of ZeRO 3 in a step [s]."""

    gathers: Any
    gradients: Any


def forward_wait(root: Any, gather: Any, computing: Any, units: Any) -> Any:
    """Return what gathering parameters adds to a forward pass.

    Args:
        root: gathering the root r [s].
        gather: gathering a unit g [s].
        computing: time of all units w [s].
        units: units U [1].

    Returns:
        Time [s].

    Equation:
        r + g + (U - 1) max(0, g - w / U)

    Source:
        [2]. Root and first unit have nothing beside them; the next is gathered while a unit computes.
    """
    return root + gather + (units - 1) * maximum(0.0, gather - computing / units)


def backward_wait(root: Any, gather: Any, scatter: Any, computing: Any, units: Any) -> Any:
    """Return what gathering parameters and scattering gradients adds to a backward pass.

    Args:
        root: scattering the root's gradients r [s].
        gather: gathering a unit g [s].
        scatter: scattering a unit's gradients s [s].
        computing: time of all units w = U b [s].
        units: units U [1].

    Returns:
        Time [s].

    Equation:
        max(e + (U - 1) b, (U - 1) g + b, e + (U - 2) (g + s) + s) + s + r - U b, e = max(b, g), or b for one unit

    Source:
        [2]. The longest of three chains: computing; gathers, each of which the next unit waits for; and everything that
        the communicator carries. It agrees with a simulation of the events, which a test makes.
    """
    each, several = computing / units, (units > 1) * 1.0
    first = maximum(each, several * gather)
    carried = first + (units - 2) * (gather + scatter) + scatter
    chains = maximum(maximum(first + (units - 1) * each, (units - 1) * gather + each), carried)
    return maximum(0.0, chains - computing) + scatter + root


def _unit(run: Run, weights: Any, ranks: Any, stride: Any) -> Unit:
    """Return the collectives of so many parameters over the ranks that share them."""
    p, system = run.plans, run.system
    shared = np.minimum(np.where(np.asarray(p.shard) > 0, p.shard, ranks), ranks)
    spot = place(run, shared, stride)
    return Unit(
        group_time(system, "all-gather", spot, p.width * weights),
        group_time(system, "reduce-scatter", spot, p.gradient_bytes * weights),
    )


def _beside(waiting: Any, carried: Any, share: float) -> Any:
    """Return what collectives add where hiding them costs the computing a share of their time [s]."""
    return waiting + share * np.maximum(carried - waiting, 0.0)


def sharded(run: Run, each: Passes, count: Any, extra: Any, across: Any) -> Exposed:
    """Return what nothing hides of the collectives of ZeRO 3 in a step.

    Args:
        run: workload, plans and machine.
        each: a micro-batch in one layer.
        count: layers of a rank [1].
        extra: parameters outside the layers [1].
        across: reducing gradients between replicas of a shard, once a step [s].

    Raises:
        ValueError: where a library lacks a collective.
    """
    p, parts = run.plans, held(run.shape, run.plans, pace_share(run.shape, run.plans))
    stride, units = inner_stride(p), np.ceil(count / p.unit_layers)
    layers = count / units
    unit = _unit(run, layers * parts.layer, p.reducing, stride)
    if run.shape.experts is not None:
        unit = unit.plus(_unit(run, layers * parts.experts, p.expert_data, stride * p.expert))
    root = _unit(run, extra, p.reducing, stride)
    ahead, behind, share = count * each.ahead, count * each.behind, run.speeds.overlap
    hide_gathers, hide_gradients = "parameters" in p.overlap, "gradients" in p.overlap
    forward, again = root.gather + units * unit.gather, (units - 1) * unit.gather
    gathered = forward + again
    if hide_gathers:
        gathered = _beside(forward_wait(root.gather, unit.gather, ahead, units), forward, share)
    beside = unit.gather if hide_gathers else 0.0

    def backward(scatter: Any) -> tuple[Any, Any]:
        """Return what gathers, and what scatters of units add in the backward pass."""
        whole = units * scatter + root.scatter
        hidden = scatter if hide_gradients else 0.0
        at_end = root.scatter if hide_gradients else 0.0
        carried = (units - 1) * beside + units * hidden + at_end
        added = _beside(backward_wait(at_end, beside, hidden, behind, units), carried, share)
        mine = added * (units - 1) * beside / np.maximum(carried, 1e-30)
        return mine, added - mine + (0.0 if hide_gradients else whole)

    (gathers, scatters), (gathers_last, scatters_last) = backward(unit.scatter), backward(unit.scatter + across / units)
    before = p.micro_batches - 1
    return Exposed(p.micro_batches * gathered + before * gathers + gathers_last, before * scatters + scatters_last)
