"""Dispatch and combine of tokens: the nodes and GPUs that a token reaches, and the ledgers that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, choose, maximum, minimum
from ffplan.base.record import record
from ffplan.collectives.bottleneck import Line
from ffplan.collectives.inside_node import _link_factor

if TYPE_CHECKING:
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.node.host import Host

SCALE_BLOCK = 128
"""Elements that share one FP8 scale of four bytes."""


DEEPSEEK_V3 = {"tokens": 4096, "hidden": 7168, "top_k": 8, "experts": 256, "groups": 4}
"""Default tokens, width, experts of a token, experts, and most nodes of dispatch and combine."""


@record
class Routing:
    """Routing of tokens to experts."""

    tokens: int
    """Tokens of a GPU in one call."""
    hidden: int
    """Width of a token."""
    top_k: int
    """Experts that a token goes to."""
    experts: int
    """Experts, spread evenly over the GPUs."""
    groups: int
    """Most nodes that a token may reach."""
    sms: int | None = None
    """Multiprocessors that copy tokens; without limit if omitted."""

    def message_bytes(self, operation: str) -> float:
        """Return the size of a GPU's tokens [byte]."""
        return float(self.tokens * token_bytes(self.hidden, operation))


def token_bytes(hidden: Number, operation: str) -> Number:
    """Return the bytes of a token on the wire [byte].

    Args:
        hidden: width [1].
        operation: dispatch (FP8 with a scale of 4 bytes for every 128 elements) or combine (BF16).

    Equation:
        h (1 + 4 / 128) for dispatch, 2 h for combine

    Source:
        deepseek-ai/DeepEP README: FP8 dispatch, BF16 combine; DeepSeek-V3 report, arXiv 2412.19437 (scales).
    """
    return hidden * (1 + 4 / SCALE_BLOCK) if operation == "dispatch" else 2.0 * hidden


def _expected_hits(bins: Number, pool: Number, per_bin: Number, draws: int) -> Number:
    """Return how many bins are hit by distinct draws from a pool.

    Args:
        bins: bins b [1].
        pool: items in them altogether E [1].
        per_bin: items of one bin e [1].
        draws: distinct items drawn k [1].

    Returns:
        Expected number of bins with at least one drawn item [1].

    Equation:
        b (1 - C(E - e, k) / C(E, k))

    Source:
        Hypergeometric distribution.
    """
    missed: Number = 1.0
    for number in range(draws):
        # C(E - e, k) / C(E, k) factor by factor: no large binomials, and e need not be whole
        missed = missed * (pool - per_bin - number) / (pool - number)
    return bins * (1 - missed)


def _choose(pool: Number, drawn: int) -> Number:
    """Return the ways of drawing from a pool, whole or not [1]."""
    ways: Number = 1.0
    for number in range(drawn):
        ways = ways * maximum(0.0, pool - number) / (number + 1)
    return ways


def _grouped_hits(bins: Number, pool: int, groups: int, most: int, draws: int) -> Number:
    """Return how many bins are hit by draws that fall into a few groups only.

    Args:
        bins: bins b, each of neighbouring items [1].
        pool: items in them altogether E [1].
        groups: groups of neighbouring items g [1].
        most: groups g' that the items of one draw come from [1].
        draws: distinct items drawn k [1].

    Returns:
        Expected number of bins with at least one drawn item [1].

    Equation:
        b >= g: `expected_hits` of b g'/g bins with E' = E g'/g items.
        b < g: b sum over j of C(g/b, j) C(g - g/b, g' - j) / C(g, g') (1 - C(E' - j E/g, k) / C(E', k))

    Source:
        Derived: which g' of g groups are taken is as likely as any other choice, and a bin holds g/b of them.
        DeepSeek-V3 report, arXiv 2412.19437, section 2.1.2: experts of a token lie in at most g' groups.
    """
    # a token's groups hold this part of bins and items alike
    share = most / groups
    inside = _expected_hits(bins * share, pool * share, pool / bins, draws)
    held, hits = groups / bins, 0.0 * bins
    for taken in range(1, most + 1):
        likely = _choose(held, taken) * _choose(groups - held, most - taken) / _choose(groups, most)
        hits = hits + likely * _expected_hits(1.0, pool * share, taken * pool / groups, draws)
    met: Number = choose(bins >= groups, inside, bins * hits)
    return met


def _neighbours_reached(per_bin: Number, draws: int) -> Number:
    """Return how many bins are hit by neighbouring items, where each draw begins behind the one before.

    Args:
        per_bin: items of one bin e [1].
        draws: neighbouring items drawn k [1].

    Returns:
        Mean number of bins with at least one drawn item [1].

    Equation:
        1 + (k - gcd(k, e)) / e

    Source:
        Draws begin at multiples of k, so that they begin in a bin at all multiples of gcd(k, e) alike, and each of the
        k - 1 items behind the first begins a new bin with the probability that a boundary lies before it.
    """
    import numpy as np

    held = np.maximum(np.round(np.asarray(per_bin, dtype=float)), 1.0)
    reached: Number = 1.0 + (draws - np.gcd(draws, held.astype(np.int64))) / held
    return reached


@record
class Gate:
    """A model's choice of experts for a token."""

    experts: int
    """Experts of a layer, spread evenly over the ranks."""
    top_k: int
    """Experts that a token goes to."""
    groups: int = 1
    """Groups of neighbouring experts."""
    most: int = 1
    """Groups that a token's experts lie in, at most."""
    in_turn: bool = False
    """Neighbouring experts take turns, token by token, whatever the groups."""

    def met(self, bins: Number) -> Number:
        """Return how many of the bins that hold the experts a token meets [1]."""
        if self.in_turn:
            return minimum(_neighbours_reached(self.experts / bins, self.top_k), bins)
        return _grouped_hits(bins, self.experts, self.groups, self.most, self.top_k)


def _expected_reach(job: RankLayout, routing: Routing | Gate) -> tuple[Number, Number]:
    """Return the nodes and the GPUs that a token reaches, its own included.

    Returns nodes, and GPUs over all of them [1].
    """
    if isinstance(routing, Gate):
        return routing.met(job.nodes), routing.met(job.ranks)
    # all experts of a token lie on the nodes that it may reach
    nodes = minimum(job.nodes, routing.groups)
    pool = routing.experts * nodes / job.nodes
    on_node, on_gpu = routing.experts / job.nodes, routing.experts / job.ranks
    gpus = _expected_hits(nodes * job.per_node, pool, on_gpu, routing.top_k)
    return _expected_hits(nodes, pool, on_node, routing.top_k), gpus


def forwarding_fault(host: Host) -> str | None:
    """Return why a node cannot pass tokens on to its GPUs, or None."""
    return None if host.joined else f"dispatch and combine need a scale-up switch in the node; `{host.id}` has none"


def routing_fault(job: RankLayout, routing: Routing) -> str | None:
    """Return why tokens cannot be routed so, or None."""
    import numpy as np

    ranks = np.atleast_1d(job.ranks)
    if fault := forwarding_fault(job.host):
        return fault
    uneven = routing.experts % ranks != 0
    if bool(uneven.any()):
        return f"{routing.experts:,} experts do not spread evenly over {int(ranks[uneven][0]):,} GPUs"
    nodes = np.atleast_1d(job.nodes)
    within = routing.experts * np.minimum(nodes, routing.groups) / nodes
    if bool((within < routing.top_k).any()):
        held = int(within.min())
        return f"the nodes that a token may reach hold {held} experts, fewer than the {routing.top_k} it needs"
    return None


def copying_fault(host: Host, sms: float, algorithm: str | None = None) -> str | None:
    """Return why a number of multiprocessors cannot copy tokens on a server, or None.

    Args:
        sms: multiprocessors [1].
        algorithm: the way of sending tokens that is forced, if any.
    """
    if algorithm == "straight":
        return "kernels that send tokens straight take every multiprocessor"
    part = host.accelerator
    if part is None or part.collectives is None or part.collectives.channel is None:
        return f"what a multiprocessor of `{part.id if part else host.id}` copies is not known"
    units = part.training.units.value if part.training is not None else None
    if units is not None and sms > units:
        return f"`{part.id}` has {units:g} multiprocessors"
    return None


def counted_copies(job: RankLayout, routing: Routing, algorithm: str) -> Number:
    """Return the copies of a token that DeepEP counts when it prints a rate.

    Returns:
        Copies [1]: nodes reached, a GPU's own included, or GPUs on one node; every expert where tokens go straight.

    Equation:
        nodes where N > 1, GPUs where N = 1; k

    Source:
        deepseek-ai/DeepEP README: 58 GB/s over a NIC of 50 GB/s.
    """
    nodes, gpus = _expected_reach(job, routing)
    if algorithm == "straight":
        return routing.top_k + 0.0 * nodes
    several = job.several
    return nodes * several + gpus * (1.0 - several)


def _lines(job: RankLayout, network: Number, inside: Number, same: Number = 1.0) -> list[Line]:
    """Return the lines of tokens that go over the network and inside nodes.

    `same`: part of those for other nodes that keep their rail [1].
    """
    host = job.host
    out = network * job.per_node * job.several
    per_nic, feeders = out / job.nics, minimum(job.per_node, job.nics)
    lines = [Line("tokens between nodes", ("nic", name), per_nic, per_nic) for name in host.nic_ids]
    lines += [Line("GPUs feed NICs", ("pcie_link", gpu), out / feeders, out / feeders) for gpu in host.gpus]
    for cut in job.cuts:
        # tokens for other nodes go to all of them alike, as the pieces of an exchange do
        away = maximum(job.nodes - 1, 1) / job.nodes
        leaving = job.nodes * out * cut.leaving(same, away) * cut.even / away
        lines.append(Line("tokens across a link cut", (cut.name, "0"), leaving, leaving))
    # a node with one rank gets its tokens from NICs alone
    linked = inside * job.shared * _link_factor(job)
    return lines + [Line("tokens inside a node", ("nvlink", gpu), linked, linked) for gpu in host.gpus]


def copied(network: Number, inside: Number, sms: Number) -> Number:
    """Return the copies of a token by each multiprocessor, from memory into a buffer or back.

    Args:
        network: times that the token crosses the network m [1].
        inside: times that it goes to a GPU of a node g [1].
        sms: multiprocessors that share the copies s [1].

    Returns:
        Bytes that one moves per byte of a GPU's tokens [1].

    Equation:
        (m + 2 g) / s: into the buffer of the NIC for every node, on to every GPU, and there out of its buffer

    Source:
        Derived from DeepSeek-V3, arXiv 2412.19437, section 3.2.2: sending over InfiniBand, forwarding to NVLink and
        receiving are the work of groups of warps; coming home the same steps run backwards.
    """
    return (network + 2 * inside) / sms


def _node_limited(job: RankLayout, routing: Routing | Gate) -> list[Line]:
    """Return the ledger of dispatch or combine with node-limited routing and NVLink forwarding.

    Args:
        routing: routing of tokens to experts; of a model in training, the multiprocessors are counted apart.

    Returns:
        Lines in bytes per byte of a GPU's tokens [1].

    Equation:
        a token crosses the network once for every other node that it reaches, M (N - 1) / N, and NVLink once for
        every GPU; multiprocessors copy it as `copied` counts

    Source:
        DeepSeek-V3 report, arXiv 2412.19437, section 3.2.2; deepseek-ai/DeepEP README.
    """
    nodes, gpus = _expected_reach(job, routing)
    away = nodes * (job.nodes - 1) / job.nodes
    lines = _lines(job, away, gpus)
    if isinstance(routing, Routing) and routing.sms is not None:
        copies = copied(away, gpus, routing.sms)
        lines += [Line("tokens copied by multiprocessors", ("sm", gpu), 0.0, copies) for gpu in job.host.gpus]
    return lines


def straight(job: RankLayout, routing: Routing, operation: str) -> list[Line]:
    """Return the ledger of dispatch or combine that sends every token straight to each of its experts' GPUs.

    Args:
        operation: dispatch or combine, which decides how many bytes a token has.

    Returns:
        Lines in bytes per byte of a GPU's tokens [1]; messages per byte where the host posts them [1/byte].

    Equation:
        k (n - p) / n over the network, k p / n over NVLink; as many messages a token over the network

    Source:
        deepseek-ai/DeepEP README, low-latency kernels: a message of each token for each of its experts.
    """
    away = (job.ranks - job.per_node) / job.ranks
    # a GPU sends from its own NIC to that of the GPU with the expert, on any rail
    same = minimum(1.0, job.host.domain_nodes / job.nics)
    lines = _lines(job, routing.top_k * away, routing.top_k * (1 - away), same)
    if any(nic.proxy_message for nic in job.host.nics):
        posted = routing.top_k * away / token_bytes(routing.hidden, operation)
        lines += [Line("tokens posted one by one", ("proxy", gpu), posted, 0.0) for gpu in job.host.gpus]
    return lines
