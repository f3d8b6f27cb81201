"""Assumptions behind times of training, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import GIB, gib, ids_listed, plural, stored
from ffplan.training.group_collectives import overlap_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.design.training import PlanFields
    from ffplan.node.host import Host
    from ffplan.results.training import TrainRow
    from ffplan.training.conv_step import ConvRun
    from ffplan.training.memory_margins import MemoryMargins
    from ffplan.training.train_run import TrainRun

_DAY_S = 86_400.0
_SHARDED = 64
"""Data-parallel ranks from which ZeRO 3 was measured to be slower than modelled."""


def _cost(share: float) -> str:
    if share:
        return f"Hidden NCCL collectives slow computing by {share * 100:.0f} % of their time."
    return "Overlap does not slow computing."


def _attention(run: TrainRun, plan: PlanFields) -> str:
    if plan.attention == "unfused":
        return "Attention is unfused."
    kernel = run.speeds.curve.kernel if run.speeds.curve is not None else ""
    rates = f" by {kernel}, at its measured rates by width of a head and length," if kernel else ""
    return f"Attention is fused{rates}" + (
        " and skips the blocks that a causal mask removes." if plan.causal_skip else "."
    )


def _experts(run: TrainRun, plan: PlanFields) -> str:
    even = "Tokens spread evenly over experts"
    if plan.imbalance > 1:
        even = f"The experts of the fullest rank have {plan.imbalance:g} times the mean of tokens"
    by = plan.dispatcher or run.speeds.dispatcher
    how = {
        "alltoall": "every copy is sent by itself",
        "allgather": "every rank gets all tokens of the ranks that share its experts",
    }.get(by, "a token is sent to a node once, and forwarded there")
    turns = (
        "; experts of a token are neighbours, which take turns, as in benchmarks and in no real run"
        if plan.routing == "in-turn"
        else ""
    )
    taken = f"; it takes {plural(plan.dispatch_sms, 'multiprocessor')}" if plan.dispatch_sms else ""
    return f"{even}; the dispatcher is {by}: {how}{turns}{taken}."


def _software(run: TrainRun, plan: PlanFields) -> list[str]:
    if plan.stack is None:
        return [
            "No software stack is named: element-wise kernels have the common value of all published stacks on this "
            "accelerator; `stack` in a plan, or --stack, names one."
        ]
    if not run.speeds.of_stack:
        return [
            f"The stack `{run.speeds.stack}` was not measured on this accelerator: element-wise kernels have the "
            "common value of all stacks."
        ]
    return [f"Element-wise kernels are as fast as in published runs of the stack `{run.speeds.stack}`."]


def copy_gaps(host: Host) -> list[str]:
    """Return which limits of copies between accelerators and host memory are unknown, one sentence each."""
    sentences = []
    if host.pcie is None:
        sentences.append(f"No PCIe link of `{host.id}` is known: copies to host memory lack that term.")
    if bare := host.without_limit():
        sentences.append(f"No root-port limit of {ids_listed(bare)} is known: copies to host memory lack that term.")
    return sentences


def _left(margins: MemoryMargins) -> str:
    left = f"{gib(margins.device)} of device memory are left to driver, libraries and fragments"
    beyond = f"what {margins.runtime} reserves beyond that is not known here"
    if margins.reserved is not None:
        low, high = (100 * share for share in margins.reserved)
        beyond = f"the allocator of {margins.runtime} was seen to reserve {low:.0f} to {high:.0f} % more"
    return f"{left}; --memory sets the limit. Memory is what is allocated: {beyond}."


def _training_assumptions(run: TrainRun, plan: PlanFields, *, given: bool) -> tuple[str, ...]:
    hidden = ", ".join(plan.overlap) or "nothing"
    reducer = run.system.reducer
    within = "" if reducer.method == "nccl" else " where groups fill nodes, by NCCL elsewhere"
    by = "" if plan.zero == 3 else f" by {reducer.id}{within}"
    sentences = [
        f"Overlapped with computing: {hidden}." + (f" {_cost(run.hiding)}" if plan.overlap else ""),
        "FLOPs count attention in full, without the halving of a causal mask, and the output layer.",
        _attention(run, plan),
        f"Gradients are kept at {plan.kept_bytes} bytes and reduced at {plan.reduced_bytes}{by}; the optimizer is Adam "
        f"with {plan.optimizer_bytes} bytes a parameter.",
        f"Ranks fill nodes in the order {', '.join(plan.order)}; no stragglers, no failures, no input stalls.",
    ]
    sentences += _software(run, plan)
    if plan.offload != "none" or plan.offload_layers:
        sentences += copy_gaps(run.system.host)
    if plan.mtp_layers:
        sentences.append(
            f"The last stage has {plural(plan.mtp_layers, 'layer')} more, to predict further tokens, each "
            "with a pass of the output layer; FLOPs leave them out."
        )
    if plan.elementwise == "eager":
        sentences.append("Every element-wise operation is a separate kernel; memory assumes fused kernels.")
    if not given:
        sentences.append(_left(run.margins))
    if run.shape.experts is not None:
        sentences.append(_experts(run, plan))
    if run.speeds.launch > 0:
        sentences.append(
            f"The host launches a layer in {run.speeds.launch * 1e3:.1f} ms, as in the runs that it was fitted on; "
            "captured graphs would not wait for it."
        )
    return tuple(sentences)


def _fsdp_assumption(rows: Sequence[TrainRow], calls: float = 0.0) -> tuple[str, ...]:
    """Take gather calls of the stack per layer; 0 for one call per unit."""
    fully = [row.plan for row in rows if row.plan.zero == 3 and row.plan.shard > 1]
    if not fully:
        return ()
    size, ahead = fully[0].unit_layers, "parameters" in fully[0].overlap
    each = "a layer" if size == 1 else f"{size} layers"
    if len({plan.unit_layers for plan in fully}) > 1:
        each = "a unit"
    unit = "unit"
    if calls:
        each, unit = f"each of {calls:g} tensors of a layer", "tensor"
    sentences = (
        f"ZeRO 3 gathers parameters and scatters gradients by {fully[0].reducer}, {each} at a time"
        f"{f' and one {unit} ahead' if ahead else ''}; embeddings before and after everything.",
    )
    if calls or not any(plan.data >= _SHARDED for plan in fully):
        return sentences
    return (
        *sentences,
        "ZeRO 3 hides its collectives as far as computing covers them; measurements of 2021 are far "
        "slower (Megatron SC 21, Table 2): `--stack deepspeed-2021` has their calls and their one NIC.",
    )


def _drives_assumption(rows: Sequence[TrainRow], per_node: int) -> tuple[str, ...]:
    row = next((row for row in rows if row.plan.offload_to == "drives"), None)
    if row is None:
        return ()
    ranks = min(per_node, row.plan.gpus)
    written = row.offloaded_gib * GIB * ranks / row.step_s * _DAY_S
    first = f" on {plural(row.plan.gpus, 'accelerator')}" if len(rows) > 1 else ""
    return (
        "States on drives pass through host memory in pieces, read, updated and written side by side; a drive reads or "
        f"writes at a time. Each step writes all of them: {stored(written)} a day to the drives of a node{first}.",
    )


def _conv_assumptions(run: ConvRun, plan: PlanFields, *, given: bool) -> tuple[str, ...]:
    hidden = "gradients" in plan.overlap
    sentences = [
        f"Gradients are reduced at {plan.reduced_bytes} bytes by {run.system.reducer.id} "
        f"{'during' if hidden else 'after'} the backward pass, in buckets of whole layers of {plan.bucket_mib:g} MiB "
        "or more.",
        *((_cost(overlap_cost(run.system, run.speeds.overlap)),) if hidden else ()),
        "The optimizer is SGD with momentum at 32 bits; ReLUs, norms, additions and poolings run unfused.",
        "Convolutions reach the GEMM rate fitted on transformers; the host's launches are left out.",
        "No stragglers, no failures, no input stalls.",
    ]
    return (*sentences, *(() if given else (_left(run.margins),)))
