"""Assumptions behind times of collectives, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import ids_listed, plural

if TYPE_CHECKING:
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.collectives.timing import CollectiveQuery


def collective_assumptions(query: CollectiveQuery, job: RankLayout) -> tuple[str, ...]:
    """Return the assumptions behind a table of times.

    Args:
        query: operation and library.
    """
    host, library = job.host, query.library
    accelerator = host.accelerator
    rates = host.rates
    found = [
        "Ranks go leaf by leaf and zone by zone; no other traffic, no congestion within the fabric.",
    ]
    if library.method == "nccl":
        name = library.id.upper()
        found.append(f"{name} chooses by its own cost model, which omits pipeline fill and some of the limits.")
        if host.joined and accelerator and accelerator.nvlink and not (rates and rates.ring):
            share = library.link_share.value if library.link_share else 1.0
            found.append(f"No collective of `{accelerator.id}` is measured: {share:.0%} of its NVLink rate is assumed.")
        if rates is None or rates.nvls is None:
            name = accelerator.id if accelerator else host.id
            found.append(f"No reduction in the scale-up switch (NVLS) is known of `{name}`.")
        if not host.joined:
            found.append("LL128 is left out without a scale-up switch, as NCCL does by default (recalled).")
        if not host.joined and host.sockets_with_gpus > 1 and all(cpu.socket_fabric is None for cpu in host.cpus):
            found.append(f"No bandwidth between sockets of `{host.cpus[0].id}` is known: that term is left out.")
        if not host.joined and (bare := host.without_limit()):
            found.append(f"No root-port limit of {ids_listed(bare)} is known: that term is left out.")
        if query.operation == "all-to-all":
            found.append("The cost of many small all-to-all messages beyond one hop is not modelled.")
        if query.operation in ("all-gather", "reduce-scatter"):
            found.append("Rings are timed by default; NCCL's PAT (--algorithm pat) has less latency on many nodes.")
    if library.method == "hfreduce":
        found.append("HFReduce is fitted at 184 MiB; copies and additions of small messages are left out.")
        found.append("Nodes carry the mean load of the double binary tree, 2 (N - 1) / N.")
    if library.method == "deepep" and query.routing is not None:
        found.append("The fixed time of a call was fitted on H800 with 400 Gb/s NICs.")
        if query.routing.sms is not None:
            found.append(
                f"{plural(query.routing.sms, 'multiprocessor')} at the rate of channels of NCCL copy tokens; rates of "
                "DeepEP by their number are not known here."
            )
        found.append("Every expert is as likely as any other; tokens are FP8 with scales out, BF16 back.")
    if host.peer_through_cpu and library.method == "nccl" and all(cpu.gpu_nic_peer is None for cpu in host.cpus):
        found.append(f"No GPU to NIC bandwidth through `{host.cpus[0].id}` is known: that term is left out.")
    return tuple(found)
