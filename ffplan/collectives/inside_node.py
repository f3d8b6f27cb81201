"""Traffic between GPUs of a node that no switch joins: over a mesh of links, bridges between pairs, or PCIe.

Sources:
    [1] An et al., "Fire-Flyer AI-HPC", arXiv 2408.14158 (SC'24), section V-B1: bridges between pairs carry tensor
        parallelism.
    [2] Tillson, "A Hamiltonian decomposition of K*2m, 2m >= 8", J. Combinatorial Theory B 29 (1980): directed rings
        over all links of a full mesh, each link in one of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div, choose, maximum
from ffplan.collectives.bottleneck import Line, _on_nic_ports

if TYPE_CHECKING:
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.node.host import Port


def _link_factor(job: RankLayout) -> Number:
    """Return how often a byte of a ring counts on all links of a GPU; a job uses only links to its own ranks.

    Returns:
        Factor [1]; 1 if a switch joins the GPUs.

    Equation:
        mesh: (G - 1) / (p - 1) for p of G GPUs: p - 1 rings without a common link carry 1 / (p - 1) of it each; torus
        of k axes: k over the axes that p ranks span one after the other, an open axis counting half; other links: links
        of the GPU with most, over the links that rings can use

    Source:
        [2]; scaling book, chapter on TPUs: each full axis carries a ring in both directions.
    """
    torus = job.host.torus
    if torus:
        spanned, opened, _ = _axes_spanned(torus, job.per_node)
        # an open axis carries half: its ring has no link home
        return len(torus) / (spanned - opened / 2)
    if job.host.links is not None:
        # a GPU's ring rate is that of all its links, and rings use only some of them
        return job.host.links.most / job.host.links.rings
    if not job.host.mesh:
        return 1.0
    return (len(job.host.gpus) - 1) / maximum(job.per_node - 1, 1)


def _axes_spanned(torus: tuple[int, ...], ranks: Number) -> tuple[Number, Number, Number]:
    """Return the axes of a torus that ranks fill one after the other, and the open part.

    Args:
        torus: accelerators along each axis d(i) [1].
        ranks: ranks p [1].

    Returns:
        Axes s, 1 if the last of them is not full, and the ranks along it [1].

    Equation:
        s = 1 + the axes i > 1 with p > d(1) ... d(i - 1); ceil(p / (d(1) ... d(s - 1))) ranks along the last

    Source:
        Definition.
    """
    spanned: Number = 1.0
    before: Number = 1
    size, last = 1, torus[0] + 0 * ranks
    for axis, following in pairwise(torus):
        size *= axis
        beyond = ranks > size
        spanned = spanned + beyond * 1.0
        before = choose(beyond, size, before)
        last = choose(beyond, following, last)
    along = ceil_div(ranks, before)
    return spanned, (along < last) * 1.0, along


def _exchange_factor(job: RankLayout) -> Number:
    """Return how often a byte of an all-to-all counts on all links of a GPU.

    Returns:
        Factor [1]; on a torus, and on single links, the hops of the mean pair, else the factor of rings.

    Equation:
        k over the axes spanned, as for rings, x max(1, sum of hops): d / 4 on a closed axis of d, n / 3 on an open one
        of n ranks; other links: hops of the mean pair x links of the GPU with most / links of the mean GPU

    Source:
        Definition; Dally and Towles, "Principles and Practices of Interconnection Networks", section 5.2.
    """
    torus, links = job.host.torus, job.host.links
    if links is not None:
        return links.hops * links.most / links.mean
    if not torus:
        return _link_factor(job)
    spanned, opened, along = _axes_spanned(torus, job.per_node)
    # the mean distance of two points is a quarter round a ring and a third along a line
    hops: Number = opened * along / 3
    for number, axis in enumerate(torus):
        hops = hops + (spanned - opened > number) * axis / 4
    return _link_factor(job) * maximum(1.0, hops)


def _bridged(job: RankLayout) -> Number:
    """Return 1 if every rank shares a bridged pair with its neighbour, else 0.

    Args:
        job: ranks; a node's ranks fill pairs first.

    Equation:
        p even, p <= 2 pairs, neighbours on adjacent GPUs

    Source:
        [1].
    """
    pairs = len(job.host.pairs)
    if not pairs:
        return 0.0
    return (job.per_node % 2 == 0) * (job.per_node <= 2 * pairs) * job.adjacent * 1.0


def _one_pair(job: RankLayout) -> Number:
    """Return 1 if the job is a single bridged pair, else 0 [1].

    Equation:
        bridged, p = 2, N = 1

    Source:
        Definition.
    """
    return _bridged(job) * (job.per_node == 2) * (job.nodes == 1)


def _bridged_hops(job: RankLayout) -> Number:
    """Return the fraction of a ring's hops inside a node that cross a bridge [1].

    Equation:
        1 for a single pair, 1 / 2 where all ranks are bridged, else 0

    Source:
        Definition: every second hop of a ring joins the GPUs of a pair.
    """
    return (_bridged(job) + _one_pair(job)) / 2


def _ends(job: RankLayout, port: Port) -> tuple[int, int]:
    """Return how many chains of bridged GPUs leave a port over PCIe, and how many enter it so.

    A chain passes from pair to pair. It enters a port over a bridge at the second of a pair whose first is elsewhere,
    and leaves it so at the first of a pair whose second is elsewhere.
    """
    first = dict(job.host.pairs)
    second = {b: a for a, b in job.host.pairs}
    here = [gpu for gpu in port.gpus if gpu in first or gpu in second]
    out = sum(gpu in first and first[gpu] not in port.gpus for gpu in here)
    into = sum(gpu in second and second[gpu] not in port.gpus for gpu in here)
    # a port with bridged GPUs has a chain even if it neither begins nor ends over a bridge there
    chains = max(out, into, 1) if here else 0
    return chains - out, chains - into


def _flows(job: RankLayout, gpu: str) -> tuple[Number, Number]:
    """Return a GPU's received and sent bytes over PCIe for each byte of a ring [1]."""
    both, alone = _bridged(job), _one_pair(job)
    if any(gpu == a for a, _ in job.host.pairs):
        return 1.0 - alone, 1.0 - both
    if any(gpu == b for _, b in job.host.pairs):
        return 1.0 - both, 1.0 - alone
    return 1.0 - both, 1.0 - both


def _ring_lines(job: RankLayout, step: str, load: Number, nics: Number, *, bridge: str = "nvlink") -> list[Line]:
    """Return the ledger of a ring inside a node without switch or mesh, and of its NICs' root ports, in bytes per byte
    of message [1].

    GPUs of one root port are neighbours, so that one flow enters and one leaves each port. The first GPU of a bridged
    pair receives over PCIe and sends over the bridge, the second the other way round: each uses PCIe one way.

    Args:
        load: bytes that each rank sends per byte of message [1].
        nics: bytes that each NIC sends per byte of message [1].
        bridge: kind of resource that a bridge is.

    Equation:
        f in and out of every GPU; of bridged ones one way over PCIe and one over the bridge

    Source:
        [1]; definition of a ring.
    """
    lines = []
    for gpu in job.host.gpus:
        into, out = _flows(job, gpu)
        lines.append(Line(step, ("pcie_peer", gpu), load * into, load * out))
    both, alone = load * _bridged(job), load * _one_pair(job)
    for first, second in job.host.pairs:
        lines.append(Line("over bridges", (bridge, first), alone, both))
        lines.append(Line("over bridges", (bridge, second), both, alone))
    plain, far = 1.0 - _bridged(job), _bridged(job) - _one_pair(job)
    for port in job.host.ports:
        up, down = _ends(job, port) if job.host.pairs else (0, 0)
        alike = plain * (1.0 if port.gpus else 0.0)
        lines += _on_nic_ports(port, load * (alike + far * up), load * (alike + far * down), nics)
    return lines


def _chain_lines(job: RankLayout, chain: Number, between: Number, nics: Number) -> list[Line]:
    """Return the ledger of a chain inside a node without switch or mesh, up and down, with NICs at its head, in bytes
    per byte of message [1].

    Args:
        chain: bytes in and out of the busiest GPU on the chain per byte of message [1].
        between: bytes in and out of the node [1].
        nics: bytes that each NIC sends [1].

    Equation:
        of bridged GPUs one neighbour is across PCIe, if p > 2, and one across the bridge; the head has its bridge and
        the NICs

    Source:
        [1]; NVIDIA/nccl v2.30.7, src/graph (chains inside nodes).
    """
    both = _bridged(job)
    across = both * (job.per_node > 2)
    head = (1.0 - both) * maximum(chain, job.shared + between) + maximum(across, both * between)
    lines = [Line("chain and NIC at its head", ("pcie_peer", gpu), head, head) for gpu in job.host.gpus]
    lines += [Line("over bridges", ("nvlink", gpu), both, both) for pair in job.host.pairs for gpu in pair]
    for port in job.host.ports:
        ends = sum(_ends(job, port)) if job.host.pairs else 0
        # the first GPU is the head of the chain
        at_head = both * between * (1.0 if job.host.gpus[0] in port.gpus else 0.0)
        use = (1.0 - both) * chain * (1.0 if port.gpus else 0.0) + across * ends + at_head
        lines += _on_nic_ports(port, use, use, nics)
    return lines


def _unpaired_peers(job: RankLayout, port: Port) -> Number:
    """Return the GPUs of a port whose bridged partner sits at another port, where all ranks are bridged [1]."""
    apart = [pair for pair in job.host.pairs if (pair[0] in port.gpus) != (pair[1] in port.gpus)]
    return len(apart) * _bridged(job)
