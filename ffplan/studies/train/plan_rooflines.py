"""A run on the scaling book's rooflines: the least batch and the largest TP size at which computing binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.collectives.switch_hierarchy import sharded_rate
from ffplan.results.training import Roofline
from ffplan.studies.train.level_rooflines import inside_rate, levels_of
from ffplan.training.rooflines import (
    data_parallel_tokens,
    expert_parallel_tokens,
    scattered_tokens,
    sharded_tokens,
    tensor_parallel_ways,
)
from ffplan.training.train_run import inner_stride, placement_of

if TYPE_CHECKING:
    from ffplan.training.train_run import TrainRun

NEAR = 0.01
"""Relative difference from which the plan's own roofline is listed next to the book's [1]."""


def _reduces_at(run: TrainRun, ways: float) -> tuple[float, bool]:
    """Return the bandwidth at which gradients are reduced [GB/s], and whether a switch inside the node does it.

    Args:
        run: workload, one plan of plain numbers, and machine.
        ways: shards of the gradients over inner axes [1].
    """
    p, host = run.plans, run.system.host
    ranks = p.sharing if p.zero else p.reducing
    nodes = placement_of(run, ranks, inner_stride(p)).nodes
    if float(nodes) <= 1:
        return inside_rate(run.system), host.joined and host.rates is not None and host.rates.nvls is not None
    levels = levels_of(run.system, float(p.gpus))
    spanned = [level for level in levels if ways < level.size] or levels[-1:]
    return float(min(sharded_rate(ways, level.size, level.inner, level.gbyte_s) for level in spanned)), False


def _critical(run: TrainRun, plain: float, needed: float, rate: float) -> float:
    """Return the tokens from which computing binds; for a model with experts, the tokens of its experts [1]."""
    experts = run.shape.experts
    if experts is None:
        return needed
    book = float(expert_parallel_tokens(experts.routed, experts.top_k, run.speeds.peak, rate))
    return book * needed / plain


def _here(run: TrainRun, rate: float, *, switched: bool) -> float:
    """Return the tokens from which computing binds, with the bytes that the plan reduces and gathers [1]."""
    p, peak, gradient = run.plans, run.speeds.peak, float(run.plans.wire_bytes)
    if p.zero == 3:
        return float(sharded_tokens(peak, rate, gradient, p.width))
    if p.zero and run.system.scatters:
        return float(scattered_tokens(peak, rate, gradient, p.width if p.zero == 1 else 0.0))
    return float(data_parallel_tokens(peak, rate, gradient, in_network=switched))


def _data(run: TrainRun) -> list[Roofline]:
    """Return the book's roofline of data parallelism, and the plan's own where it differs."""
    p, shape = run.plans, run.shape
    ways = float(p.tensor * p.pipeline * (p.expert if shape.experts is not None else 1))
    rate, switched = _reduces_at(run, ways)
    if p.reducing <= 1 or rate <= 0:
        return []
    often = float(p.micro_batches) if p.zero >= 2 else 1.0  # reduces, or gathers, for every micro-batch
    tokens = float(p.batch * shape.sequence / p.gpus) / often
    name, label = ("fsdp", "sharded data parallelism") if p.zero == 3 else ("data", "data parallelism")
    if shape.experts is not None:
        name, label = "experts", "experts and data"
    plain = float(data_parallel_tokens(run.speeds.peak, rate))
    book = _critical(run, plain, float(sharded_tokens(run.speeds.peak, rate)) if p.zero == 3 else plain, rate)
    here = _critical(run, plain, _here(run, rate, switched=switched), rate)
    found = [
        Roofline(
            name=name,
            label=f"{label}, book",
            unit="tokens a GPU",
            value=tokens,
            critical=book,
            computing_binds=tokens >= book,
        )
    ]
    if abs(here / book - 1) > NEAR:
        found.append(
            Roofline(
                name=f"{name}-here",
                label=f"{label}, here",
                unit="tokens a GPU",
                value=tokens,
                critical=here,
                computing_binds=tokens >= here,
            )
        )
    return found


def plan_rooflines(run: TrainRun) -> tuple[Roofline, ...]:
    """Return the rooflines of one plan.

    Args:
        run: workload, one plan of plain numbers, and machine.
    """
    p, shape, peak, found = run.plans, run.shape, run.speeds.peak, _data(run)
    if p.tensor > 1:
        width = shape.ffn if shape.experts is None else max(shape.ffn, shape.experts.ffn)
        most = float(tensor_parallel_ways(width, peak, inside_rate(run.system), run.system.domain))
        found.append(
            Roofline(
                name="tensor",
                label="tensor parallelism",
                unit="ways",
                value=float(p.tensor),
                critical=most,
                computing_binds=float(p.tensor) <= most,
            )
        )
    return tuple(found)
