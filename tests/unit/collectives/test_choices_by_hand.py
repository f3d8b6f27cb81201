"""Coefficients of NCCL's choices by hand: ceilings of LL, pipelines, channels of a send, and what may run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.collectives.nccl import _Choice, call_time, choices
from ffplan.collectives.rank_layout import RankLayout
from tests.support import exactly, host_named, library_named

if TYPE_CHECKING:
    from ffplan.catalog.library import Library

KIB = 2**10
A100, H100, B200, GB200 = "dgx-a100-640gb", "hgx-h100-8nic", "hgx-b200-8nic", "gb200-nvl72-tray"
PCIE, BRIDGED = "fire-flyer-2-node", "fire-flyer-2-node-nvlink"


def found(
    operation: str,
    server: str = H100,
    nodes: int = 1,
    per_node: int = 8,
    *,
    library: Library | None = None,
    **asked: Any,
) -> dict[tuple[str, str], _Choice]:
    """Return the choices on whole nodes or parts of them, by algorithm and protocol."""
    job = RankLayout(host=host_named(server), nodes=nodes, per_node=per_node)
    usual = {"in_network": False, "algorithm": None, "protocol": None, **asked}
    listed = choices(library or library_named("nccl"), job, operation, **usual)
    return {(item.algorithm, item.protocol): item for item in listed}


def without(*names: str, **others: Any) -> Library:
    """Return NCCL with some constants left out, or others in their place."""
    return library_named("nccl").model_copy(update={**dict.fromkeys(names), **others})


@pytest.mark.parametrize(
    ("nodes", "operation", "busbw", "factor"),
    [
        (1, "allreduce", 141, 14 / 8),
        (2, "allreduce", 39, 30 / 16),
        (3, "allreduce", 20.4, 46 / 24),
        (4, "allreduce", 20.4, 62 / 32),
        (2, "all-gather", 39, 15 / 16),
        (3, "broadcast", 20.4, 1.0),
    ],
)
def test_rings_with_ll_keep_to_its_ceiling(nodes: int, operation: str, busbw: float, factor: float) -> None:
    """H100 with Intel's CPUs: 141 GB/s of bus bandwidth on one node, 39 on two, 20.4 on more; half of the rings' 370
    would be 185."""
    ring = found(operation, nodes=nodes)["ring", "ll"]
    assert ring.seconds_per_byte == exactly(factor / busbw * 1e-9)
    assert ring.estimate_per_byte == exactly(factor / busbw * 1e-9)


@pytest.mark.parametrize(
    ("nodes", "rate", "guess"), [(1, 0.263 * 185, 0.92 * 0.263 * 185), (2, 39 / 2, 39 / 2), (3, 20.4 / 2, 20.4 / 2)]
)
def test_trees_with_ll_count_a_message_twice(nodes: int, rate: float, guess: float) -> None:
    """The chain of eight H100 carries 370 GB/s twice, 26.3 % of it data; the ceiling counts the message twice too."""
    tree = found("allreduce", nodes=nodes)["tree", "ll"]
    assert 1e-9 / tree.seconds_per_byte == exactly(rate)
    assert 1e-9 / tree.estimate_per_byte == exactly(guess)


def test_gpus_without_a_ceiling_keep_the_share_of_ll() -> None:
    """MI300X: half of 312.9 GB/s, with no ceiling of LL in the catalogue; NVIDIA's keep to theirs."""
    assert found("allreduce", "mi300x-8nic")["ring", "ll"].seconds_per_byte == exactly(1.75e-9 / (312.9 / 2))
    assert found("allreduce", A100)["ring", "ll"].seconds_per_byte == exactly(1.75e-9 / 87.7)
    assert found("allreduce", BRIDGED, per_node=2)["ring", "ll"].seconds_per_byte == exactly(1e-9 / (208 / 2))


def test_the_ceiling_of_ll_over_nodes_goes_by_the_cpu() -> None:
    """AMD's: 22.5 GB/s on two nodes, 19 on more; of an accelerator that states its own, that; Intel's for Grace."""
    assert found("all-gather", A100, nodes=2)["ring", "ll"].seconds_per_byte == exactly(15 / 16 / 22.5e9)
    assert found("all-gather", A100, nodes=4)["ring", "ll"].seconds_per_byte == exactly(31 / 32 / 19e9)
    assert found("all-gather", GB200, nodes=2, per_node=72)["ring", "ll"].seconds_per_byte == exactly(143 / 144 / 39e9)
    bare = found("all-gather", H100, nodes=2, library=without(ll_nodes={}))["ring", "ll"]
    assert bare.seconds_per_byte == exactly(15 / 16 / 192e9)


def test_the_ceiling_of_ll_over_nodes_needs_none_of_the_gpu() -> None:
    """A GPU without constants of its own: its CPUs bound LL all the same, and on one node nothing does."""
    host = host_named(H100)
    assert host.accelerator is not None
    assert host.accelerator.collectives is not None
    rates = host.accelerator.collectives.model_copy(update={"ll": None})
    own = replace(host, accelerator=host.accelerator.model_copy(update={"collectives": rates}))
    library = library_named("nccl")
    for nodes, busbw in ((2, 39.0), (4, 20.4)):
        job = RankLayout(host=own, nodes=nodes, per_node=8)
        every = choices(library, job, "all-gather", in_network=False, algorithm=None, protocol="ll")
        rings = [item for item in every if item.algorithm == "ring"]
        share = (8 * nodes - 1) / (8 * nodes)
        assert [item.seconds_per_byte for item in rings] == [exactly(share / busbw * 1e-9)]


@pytest.mark.parametrize(
    ("server", "nodes", "ring", "tree128", "tree"),
    [
        (H100, 2, 8 * 36.7, 4 * 36.7, 4 * 41.4),
        (H100, 4, 8 * 36.7, 4 * 29, 4 * 36),
        (B200, 2, 8 * 40, 4 * 31.67, 4 * 42.8),
        (B200, 3, 8 * 40, 4 * 20, 4 * 24),
    ],
)
def test_channels_limit_the_estimate_over_nodes(
    server: str, nodes: int, ring: float, tree128: float, tree: float
) -> None:
    """A channel a NIC; trees count a message twice. The time knows no such limit."""
    listed = found("allreduce", server, nodes)
    factor = 2 * (8 * nodes - 1) / (8 * nodes)
    assert 1e-9 / listed["ring", "ll128"].estimate_per_byte == exactly(ring / factor)
    assert 1e-9 / listed["tree", "ll128"].estimate_per_byte == exactly(tree128)
    whole = (
        1e-9 / found("allreduce", server, nodes, library=without(channel_limits={}))["tree", "simple"].estimate_per_byte
    )
    assert 1e-9 / listed["tree", "simple"].estimate_per_byte == exactly(min(tree, whole))
    assert listed["tree", "ll128"].seconds_per_byte < listed["tree", "ll128"].estimate_per_byte


@pytest.mark.parametrize("server", [A100, H100])
def test_a_ring_of_one_rank_moves_nothing(server: str) -> None:
    listed = found("allreduce", server, per_node=1)
    for protocol in ("ll", "ll128", "simple"):
        assert 0 <= listed["ring", protocol].seconds_per_byte < 1e-18
        assert 0 <= listed["ring", protocol].estimate_per_byte < 1e-18


@pytest.mark.parametrize(("nodes", "rate"), [(1, 370), (3, 384), (4, 0.88 * 370), (10, 0.88 * 370)])
def test_rings_that_pass_once_lose_rate_from_four_nodes_on(nodes: int, rate: float) -> None:
    """H100: 370 GB/s on one node, what NICs carry on three, 88 % of NVLink from four on; NCCL counts on the NICs."""
    ring = found("all-gather", nodes=nodes)["ring", "simple"]
    factor = (8 * nodes - 1) / (8 * nodes)
    assert ring.seconds_per_byte == exactly(factor / rate * 1e-9)
    assert ring.estimate_per_byte == exactly(factor / (370 if nodes == 1 else 384) * 1e-9)


def test_rings_that_lose_nothing_over_many_nodes() -> None:
    """An allreduce; a library without the fraction; GPUs whose NICs carry less than the fraction: four of 48 GB/s."""
    assert found("allreduce", nodes=4)["ring", "simple"].seconds_per_byte == exactly(62 / 32 / 384e9)
    plain = found("all-gather", nodes=4, library=without("ring_many"))["ring", "simple"]
    assert plain.seconds_per_byte == exactly(31 / 32 / 384e9)
    few = found("all-gather", nodes=4, per_node=4)["ring", "simple"]
    assert few.seconds_per_byte == exactly(15 / 16 / 192e9)
    bridged = found("all-gather", BRIDGED, nodes=4)["ring", "simple"]  # 208 GB/s of a bridge do not bind NICs of 24
    assert 1 / 24e9 > bridged.estimate_per_byte > 0.9 / 24e9


def test_only_a_pair_of_one_node_keeps_part_of_a_ring() -> None:
    """Two ranks of a node have 85 % of 370 GB/s; two of two nodes a NIC of 48; two of each of two nodes two of them."""
    rates = {(1, 2): 0.85 * 370, (2, 1): 48.0, (2, 2): 96 / 1.5, (1, 3): 370 * 3 / 4}
    for (nodes, per_node), rate in rates.items():
        ring = found("allreduce", nodes=nodes, per_node=per_node)["ring", "simple"]
        assert 1e-9 / ring.seconds_per_byte == exactly(rate), (nodes, per_node)
    whole = found("allreduce", per_node=2, library=without("ring_pair"))["ring", "simple"]
    assert whole.seconds_per_byte == exactly(1 / 370e9)
    assert found("allreduce", per_node=2)["ring", "simple"].estimate_per_byte == exactly(1 / 370e9)
    tree = found("allreduce", per_node=2)["tree", "simple"]  # its chain of two passes the message once
    assert tree.seconds_per_byte == exactly(1 / 370e9)


def test_filling_a_ring_takes_a_slot_on_each_hop_at_most() -> None:
    """512 KiB on each of 12 links of an A100 at 235 GB/s, over 14 hops of an allreduce; 18 links at 370, 3 hops."""
    most = 14 * 512 * KIB * 12 / 235e9
    assert found("allreduce", A100)["ring", "simple"].inner_most == exactly(most)
    gather = found("all-gather", nodes=4, per_node=4)
    assert gather["ring", "ll128"].inner_most == exactly(3 * 512 * KIB * 18 / 370e9)
    unlimited = [
        found("allreduce", A100)["tree", "simple"],
        found("allreduce", "mi300x-8nic")["ring", "simple"],  # links are not known
        found("allreduce", A100, library=without("slot"))["ring", "simple"],
        found("sendrecv", A100)["send", "simple"],
    ]
    assert [item.inner_most for item in unlimited] == [float("inf")] * 4


@pytest.mark.parametrize(("nodes", "hops"), [(1, 0), (2, 2), (4, 4), (8, 6)])
def test_trees_pass_nodes_slot_by_slot(nodes: int, hops: int) -> None:
    """Up and down log2 of the nodes, at 192 GB/s of the NICs where a chain leaves 185; 512 KiB for each NIC in use; LL
    stores nothing on the way."""
    listed = found("allreduce", nodes=nodes, per_node=4, in_network=True)
    trees = {key: item.hops for key, item in listed.items() if item.hops}
    names = {("tree", "ll"), ("tree", "ll128"), ("tree", "simple"), ("nvls-tree", "simple")}
    chained = hops * (185 / 192 if nodes == 2 else 1.0)
    counted = {name: exactly(chained if name[0] == "tree" else hops) for name in names}
    assert trees == (counted if hops else {})
    for (_, protocol), item in listed.items():
        assert item.slot == (0 if protocol == "ll" else 4 * 512 * KIB)
    assert found("allreduce", PCIE, nodes=nodes)["tree", "simple"].slot == 512 * KIB
    assert found("allreduce", nodes=nodes, library=without("slot"))["tree", "simple"].slot == 0


def test_what_fills_slowly() -> None:
    """Rings and sends 30 %, an exchange 80 %, trees 50 % with LL128 and 100 % with Simple, LL nothing; NVLS 55 % on one
    node of Hopper, 110 on Blackwell, 100 where the catalogue has no figure and over nodes."""
    fills = {key: item.fill for key, item in found("allreduce").items()}
    assert fills == {
        ("ring", "ll"): 0,
        ("ring", "ll128"): 0.3,
        ("ring", "simple"): 0.3,
        ("tree", "ll"): 0,
        ("tree", "ll128"): 0.5,
        ("tree", "simple"): 1.0,
        ("nvls", "simple"): 0.55,
        ("nvls-tree", "simple"): 1.0,
    }
    assert found("allreduce", B200)["nvls", "simple"].fill == 1.1
    host = host_named(H100)
    assert host.accelerator is not None
    rates = host.accelerator.collectives
    assert rates is not None
    assert rates.nvls is not None
    bare = rates.model_copy(update={"nvls": rates.nvls.model_copy(update={"fill": None})})
    job = RankLayout(
        host=replace(host, accelerator=host.accelerator.model_copy(update={"collectives": bare})), nodes=1, per_node=8
    )
    listed = choices(library_named("nccl"), job, "allreduce", in_network=False, algorithm="nvls", protocol=None)
    assert [item.fill for item in listed] == [1.0]
    for operation, algorithm, fill in (
        ("all-gather", "ring", 0.3),
        ("all-to-all", "rail", 0.8),
        ("all-to-all", "direct", 0.8),
        ("sendrecv", "send", 0.3),
        ("gather", "star", 0.3),
    ):
        assert found(operation)[algorithm, "simple"].fill == fill


def test_what_fills_like_all_else() -> None:
    """A library without a weight of exchanges takes that of rings, and one without either takes that of all else."""
    rings, all_else = without(fill_exchange={}), without(fill_exchange={}, fill_ring={})
    assert found("all-to-all", library=rings)["rail", "simple"].fill == 0.3
    assert found("all-to-all", library=all_else)["rail", "simple"].fill == 1.0
    assert found("allreduce", library=all_else)["ring", "ll128"].fill == 0.5
    assert found("sendrecv", library=all_else)["send", "simple"].fill == 1.0


def test_a_call_takes_time_but_for_exchanges() -> None:
    """20 us on A100, nothing known of bridged ones; a send of 8.4 + 3.4 us, and 14 more between nodes."""
    host = host_named(A100)
    for operation in ("allreduce", "all-gather", "reduce-scatter", "broadcast", "reduce"):
        assert call_time(host, operation) == exactly(20e-6)
    for operation in ("all-to-all", "gather", "scatter", "sendrecv"):
        assert call_time(host, operation) == 0
    assert call_time(host_named(BRIDGED), "allreduce") == 0
    for nodes, latency in ((1, 11.8e-6), (2, 25.8e-6)):
        send = found("sendrecv", A100, nodes=nodes)["send", "simple"]
        assert send.latency == send.estimate_latency == exactly(latency)
        assert send.inner_latency == exactly(latency)
    ring = found("allreduce", A100)["ring", "simple"]
    assert ring.latency == ring.estimate_latency == exactly(20e-6 + 8.4e-6 + 14 * 3.4e-6)


@pytest.mark.parametrize(
    ("server", "per_node", "least", "most", "each"),
    [
        (A100, 2, 8, 16, 195 / 16),  # 12 links, 16 channels, 195 GB/s together
        (A100, 3, 4, 16, 195 / 16),
        (A100, 8, 2, 16, 195 / 16),
        (A100, 1, 16, 16, 195 / 16),
        (B200, 8, 4, 32, 22),  # 18 links, 32 channels of 22 GB/s
        (B200, 2, 16, 32, 22),
        (GB200, 32, 1, 32, 22),
        (GB200, 16, 2, 32, 22),
        ("mi300x-8nic", 8, 4, 32, 22),  # links are not known: the most there is
    ],
)
def test_channels_of_a_send_inside_a_node(server: str, per_node: int, least: int, most: int, each: float) -> None:
    send = found("sendrecv", server, per_node=per_node)["send", "simple"]
    assert (send.channels_least, send.channels_most, send.part) == (least, most, 16 * 2**20)
    assert 1e-9 / send.channel_per_byte == exactly(each)


@pytest.mark.parametrize(("per_node", "rate"), [(1, 25), (7, 25), (8, 15)])
def test_a_send_between_nodes_has_one_channel(per_node: int, rate: float) -> None:
    send = found("sendrecv", A100, nodes=2, per_node=per_node)["send", "simple"]
    assert (send.channels_least, send.channels_most) == (1, 1)
    assert 1e-9 / send.channel_per_byte == exactly(rate)


@pytest.mark.parametrize(
    ("links", "limit", "least", "most"),
    [(16, 32, 2, 16), (17, 32, 4, 32), (100, 32, 4, 32), (100, 128, 8, 64), (12, 8, 1, 8), (1, 32, 1, 2)],
)
def test_channels_are_the_links_rounded_up(links: int, limit: int, least: int, most: int) -> None:
    """Eight ranks: an eighth of the channels to begin with; never more than the library has."""
    host, library = host_named(A100), library_named("nccl")
    rates = host.rates
    assert host.accelerator is not None
    assert rates is not None
    assert rates.links is not None
    assert library.sends is not None
    rates = rates.model_copy(update={"links": rates.links.model_copy(update={"value": links})})
    host = replace(host, accelerator=host.accelerator.model_copy(update={"collectives": rates}))
    channels = library.sends.channels.model_copy(update={"value": limit})
    library = without(sends=library.sends.model_copy(update={"channels": channels}))
    job = RankLayout(host=host, nodes=1, per_node=8)
    (send,) = choices(library, job, "sendrecv", in_network=False, algorithm=None, protocol=None)
    assert (send.channels_least, send.channels_most) == (least, most)
    assert 1e-9 / send.channel_per_byte == exactly(195 / most)


@pytest.mark.parametrize(
    ("server", "nodes", "per_node", "rate"),
    [
        (B200, 1, 2, 2 * 16 * 22),  # of 32 channels 16 lead to the other rank, where the links would carry 640 x 2
        (B200, 1, 4, 4 * 8 * 22),
        (B200, 1, 8, 8 * 4 * 22),
        (A100, 1, 2, 2 * 8 * 22),
        (A100, 1, 8, 210 * 8 / 7),  # here the links bind: 210 GB/s of bus bandwidth
        (B200, 2, 8, 2 * 48),  # and here its NIC, at 96 % of 50 GB/s, through which half of a rank's message leaves
    ],
)
def test_channels_bind_an_exchange_of_few_ranks(server: str, nodes: int, per_node: int, rate: float) -> None:
    """Measured on 2, 4 and 8 B200: 512 MiB take 859, 876 and 884 us (aiconfigurator-nccl), as long for all."""
    rail = found("all-to-all", server, nodes, per_node)["rail", "simple"]
    assert 1e-9 / rail.seconds_per_byte == pytest.approx(rate, rel=1e-9)


def test_channels_limit_sends_behind_a_switch_alone() -> None:
    for item in (
        found("sendrecv", BRIDGED)["send", "simple"],
        found("sendrecv", A100, library=without("sends"))["send", "simple"],
        found("allreduce", A100)["ring", "simple"],
        found("gather", A100)["star", "simple"],
    ):
        assert (item.channel_per_byte, item.channels_least, item.channels_most, item.part) == (0, 1, 1, 1)


def test_bridges_count_in_the_estimate_of_a_single_pair_alone() -> None:
    """Two GPUs: 208 GB/s of the bridge and 8.4 + 2 x 3.4 us. Eight: the tuner takes 14 hops of PCIe, 5.7 us each, of
    which half are over bridges in truth; its chain crosses 24 GB/s of PCIe twice at 92 %, in truth once."""
    pair = found("allreduce", BRIDGED, per_node=2)
    assert pair["ring", "simple"].estimate_latency == exactly(8.4e-6 + 2 * 3.4e-6)
    assert pair["ring", "simple"].estimate_per_byte == exactly(1 / 208e9)
    assert pair["tree", "simple"].estimate_per_byte == exactly(1 / (0.92 * 208e9))
    many = found("allreduce", BRIDGED)
    assert many["ring", "simple"].estimate_latency == exactly(8.4e-6 + 14 * 5.7e-6)
    assert many["ring", "simple"].latency == exactly(8.4e-6 + 7 * 5.7e-6 + 7 * 3.4e-6)
    assert many["tree", "simple"].estimate_per_byte == exactly(2 / (0.92 * 24e9))
    plain = found("allreduce", PCIE)
    for key, item in many.items():
        if item.possible:
            assert item.estimate_latency == exactly(plain[key].estimate_latency)
            assert item.estimate_per_byte == exactly(plain[key].estimate_per_byte)
    assert many["tree", "simple"].seconds_per_byte < plain["tree", "simple"].seconds_per_byte


@pytest.mark.parametrize(
    ("server", "nodes", "per_node", "runs"),
    [(BRIDGED, 1, 2, True), (BRIDGED, 1, 4, False), (BRIDGED, 2, 2, False), (PCIE, 1, 2, False), (A100, 2, 8, True)],
)
def test_ll128_runs_over_nvlink_alone(server: str, nodes: int, per_node: int, runs: bool) -> None:
    listed = found("allreduce", server, nodes, per_node)
    for algorithm in ("ring", "tree"):
        possible = [bool(listed[algorithm, protocol].possible) for protocol in ("ll", "ll128", "simple")]
        assert possible == [True, runs, True]


@pytest.mark.parametrize(
    ("server", "nodes", "per_node", "runs"),
    [
        (H100, 1, 8, {"nvls"}),
        (H100, 1, 6, {"nvls"}),
        (H100, 1, 5, set()),
        (H100, 2, 8, {"nvls-tree", "sharp"}),
        (H100, 2, 2, {"nvls-tree", "sharp"}),
        (H100, 2, 1, set()),
        (A100, 1, 8, set()),
        (A100, 2, 8, set()),
        (PCIE, 2, 8, set()),
    ],
)
def test_switches_reduce_over_enough_ranks_of_a_node(server: str, nodes: int, per_node: int, runs: set[str]) -> None:
    """Six ranks of one node at least, or two on each of several nodes."""
    listed = found("allreduce", server, nodes, per_node, in_network=True)
    assert {name for (name, _), item in listed.items() if item.possible} == runs | {"ring", "tree"}


def test_a_library_without_fewest_ranks_reduces_two() -> None:
    for per_node, runs in ((1, False), (2, True)):
        nvls = found("allreduce", per_node=per_node, library=without("nvls_ranks"))["nvls", "simple"]
        assert bool(nvls.possible) is runs


def test_what_is_asked_for_is_all_that_is_timed() -> None:
    """Hierarchical rings and PAT on request, SHARP where the network reduces, and only the protocol asked for."""
    kinds = ("ll", "ll128", "simple")
    usual = [*(("ring", kind) for kind in kinds), *(("tree", kind) for kind in kinds)]
    usual += [("nvls", "simple"), ("nvls-tree", "simple")]
    assert list(found("allreduce")) == usual
    assert list(found("allreduce", in_network=True)) == [*usual, ("sharp", "simple")]
    assert list(found("allreduce", protocol="ll")) == [("ring", "ll"), ("tree", "ll")]
    assert list(found("allreduce", algorithm="tree", protocol="ll128")) == [("tree", "ll128")]
    assert list(found("allreduce", algorithm="hierarchical")) == [("hierarchical", "simple")]
    assert list(found("allreduce", algorithm="sharp")) == []
    assert list(found("allreduce", algorithm="pat")) == []
    assert list(found("all-gather", nodes=2, per_node=1)) == [("ring", kind) for kind in kinds]
    assert list(found("all-gather", algorithm="pat")) == [("pat", "simple")]
    assert list(found("all-to-all")) == [("rail", "simple"), ("direct", "simple")]
    assert list(found("all-to-all", protocol="ll")) == []


def test_links_without_a_measured_rate_keep_a_share_of_their_own() -> None:
    """A send over one of seven links of an MI300X: 82.4 % of 64 GB/s; all of it where the library has no share."""
    for library, rate in ((None, 0.824 * 64), (without("link_share"), 64.0)):
        send = found("sendrecv", "mi300x-8nic", library=library)["send", "simple"]
        assert send.seconds_per_byte == exactly(1e-9 / rate)
