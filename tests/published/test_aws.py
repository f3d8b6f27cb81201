"""docs/aws.md: what ffplan computes of an AWS page on topologies and training, cell by cell."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from ffplan.catalog.parts import Server
from ffplan.catalog.store import Catalog
from ffplan.collectives.bottleneck import solve
from ffplan.collectives.rings import offloaded_run_time, pod_ring
from ffplan.collectives.timing import chosen, time_choices
from ffplan.collectives.volumes import bus_factor
from ffplan.design.training import PlanFields
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.interop.topology.reading import read_server
from ffplan.interop.topology.writing import Inside, topology_xml
from ffplan.node.resources import resources
from ffplan.studies.collective.allreduce import bound_of
from ffplan.training.memory import stage_bytes
from ffplan.training.mfu import sharded_tokens, tensor_parallel_ways
from ffplan.training.model_flops import parameters
from ffplan.training.overlap import host_optimizer_time
from ffplan.training.parallel_plan import parallel_plans
from ffplan.validation.cases import CaseFile, Offload, Transport
from ffplan.validation.communication_replay import CaseReplay, _offload_rows
from ffplan.validation.measured_system import CaseParts
from tests.published.page import computed_cells, listed, page_text
from tests.published.test_scaling_book import CATALOG, GIB, flops, gpu, layout, nvlink, query, timed
from tests.support import ROOT, host_named, shape_named

PAGE = "aws"
PAIRS = tuple((f"gpu{n}", f"nic{n}") for n in range(4))
"""Pods of one GPU and one NIC, in the order of the devices."""
P4D, P5, G6E = "p4d-24xlarge", "p5-48xlarge", "g6e-48xlarge"
WALL = {P4D: 16 * 60 + 21, P5: 20 * 60 + 6, G6E: 35 * 60 + 48}
"""Wall time of the run inside one pod [s]."""
STEPS, MICRO, RANKS = 50, 4, 4


@cache
def case_file() -> tuple[CaseReplay, dict[str, Offload]]:
    document = read_document(ROOT / "catalogs" / "measurements" / "communication" / "aws-zero3-offload.yaml")
    file = validate(CaseFile, document)
    return CaseReplay(CaseParts(Catalog(), document), file), {case.id: case for case in file.offloads}


def walls(server: str, *others: tuple[str | None, tuple[tuple[str, str], ...]]) -> list[float]:
    """Return the wall times of runs over the NICs of pods, from that inside one pod [s]."""
    replay, cases = case_file()
    first = Transport.model_validate({"name": "one pod", "system": {"server": server}, "wall": f"{WALL[server]} s"})
    runs = [
        Transport.model_validate(
            {"name": str(n), "system": {"server": server, "nic": nic}, "pods": pairs, "wall": "1 s"}
        )
        for n, (nic, pairs) in enumerate(others)
    ]
    case = cases["p4d"].model_copy(update={"transports": (first, *runs)})
    return [row.model * WALL[server] for row in _offload_rows(replay, case, ())]


def model_parameters() -> float:
    return float(parameters(shape_named("llama3-8b")))


def inside_one_pod(server: str) -> float:
    """Return the communication of the run inside one pod [s]."""
    gather = chosen(time_choices(query("all-gather"), layout(server, 1, RANKS), 1e8)).time
    return float(
        offloaded_run_time(
            0.0, model_parameters(), width=2, passes=3, micro_steps=STEPS * MICRO, message=1e8, gather=gather
        )
    )


def implied_rate(server: str, wall: float) -> float:
    """Return the rate of a pod that a wall time implies: what a rank sends, over the time beyond the common term."""
    sent = model_parameters() * 2 * 3 * STEPS * MICRO * bus_factor("all-gather", RANKS)
    return float(sent / (wall - WALL[server] + inside_one_pod(server)) / 1e9)


def bus(operation: str, server: str, nodes: int) -> float:
    """Return the bus bandwidth of 1 GiB on nodes of eight [GB/s]."""
    return GIB / timed(operation, nodes, GIB, server=server).time / 1e9 * float(bus_factor(operation, 8.0 * nodes))


def the_job() -> dict[str, str]:
    shape = shape_named("llama3-8b")

    def states(offload: Any) -> list[float]:
        plan = PlanFields(zero=3, weights_copy=True, gradient_bytes=2, offload=offload, batch=16)
        held = stage_bytes(shape, parallel_plans(plan, float(RANKS)), 0.0)
        return [float(part) / GIB for part in (held.weights, held.gradients, held.optimizer)]

    host = host_named(P4D)
    link = host.pcie[1] if host.pcie else 0.0
    adam = host_optimizer_time(model_parameters(), RANKS, 2.0, link * 1e9, host.memory_gbyte_s[1] / RANKS * 1e9)
    plain, away = states("none"), states("parameters")
    return {
        "parameters": listed(model_parameters()),
        "sequences of a step": listed(parallel_plans(PlanFields(batch=16), float(RANKS)).micro_batches * RANKS),
        "states of a GPU without offload [GiB]": listed(*plain, f"{sum(plain):.1f} in all", digits=1),
        "states of a GPU with offload [GiB]": listed(*away, digits=1),
        "Adam on the host, p4d, 50 steps [s]": listed(STEPS * adam),
    }


def wall_times() -> dict[str, str]:
    slow = ((P4D, 2372), (P4D, 4829), (P5, 3969))
    even = tuple((f"gpu{n}", f"nic{4 * n}") for n in range(4))
    p4d = walls(P4D, (None, PAIRS), ("eni-tcp", PAIRS))
    p5 = walls(P5, (None, PAIRS), (None, even), ("eni-tcp", PAIRS))
    g6e = walls(G6E, (None, PAIRS), ("eni-tcp", PAIRS))
    terms = {
        term.name: term.gbyte_s
        for term in reversed(solve(resources(host_named(P4D)), pod_ring(host_named(P4D), PAIRS, 1.0)).terms)
    }
    return {
        "p4d, one pod: communication within the run [s]": listed(inside_one_pod(P4D)),
        "p4d, four pods over EFA [s]": listed(p4d[0]),
        "the same, EFA over one pod": listed(p4d[0] / WALL[P4D], digits=2),
        "what EFA leaves a pod: PCIe switch, socket links, NIC [GB/s]": listed(
            *(terms[name] for name in ("pcie_switch", "socket_fabric", "nic")), digits=1
        ),
        "p4d, four pods over TCP [s]": listed(p4d[1]),
        "the same, TCP over one pod": listed(p4d[1] / WALL[P4D], digits=2),
        "p5, one pod: communication within the run [s]": listed(inside_one_pod(P5)),
        "p5, four pods over EFA: NICs of one PCIe switch, of four [s]": listed(*p5[:2]),
        "p5, four pods over TCP [s]": listed(p5[2]),
        "rate of a pod that the wall times imply: p4d EFA, p4d TCP, p5 EFA [GB/s]": listed(
            *(implied_rate(server, wall) for server, wall in slow), digits=1
        ),
        "g6e, one pod: communication within the run [s]": listed(inside_one_pod(G6E)),
        "g6e, four pods over EFA [s]": listed(g6e[0]),
        "g6e, four pods over TCP [s]": listed(g6e[1]),
    }


def links() -> dict[str, str]:
    rates = [nvlink(name) for name in ("a100-sxm-40gb", "h100-sxm-80gb")]
    counts = []
    for name in ("a100-sxm-40gb", "h100-sxm-80gb"):
        found = gpu(name).collectives
        assert found is not None
        assert found.links is not None
        counts.append(found.links.value)
    server = CATALOG.entry(P4D).part
    assert isinstance(server, Server)
    cpus, nics = CATALOG.ids_of("cpu"), CATALOG.ids_of("nic")
    written = Inside(
        server,
        gpu("a100-sxm-40gb"),
        {name: CATALOG.entry(name).part for name in nics},  # type: ignore[misc]
        {name: CATALOG.entry(name).part for name in cpus},  # type: ignore[misc]
    )
    inside = read_server(topology_xml(written).encode(), "p4d.xml")
    ports = [port for socket in inside.sockets for port in socket.ports]
    kinds = {("gpu",) * len(port.gpus) + ("nic",) * len(port.nics) for port in ports}
    assert len(kinds) == 1
    (each,) = kinds
    pcie = host_named(P4D).pcie
    return {
        "links of A100, H100": listed(*counts),
        "rate of a link, one direction [GB/s]": listed(*(r / n for r, n in zip(rates, counts, strict=True)), digits=1),
        "rate of a GPU, both directions [GB/s]": listed(*(2 * rate for rate in rates)),
        "p4d: sockets, PCIe switches": listed(len(inside.sockets), len(ports)),
        "p4d: GPUs and NICs at a switch": listed(each.count("gpu"), each.count("nic")),
        "p4d: PCIe link of a GPU, practical and most [GB/s]": listed(
            *(f"{rate:.10g}" for rate in (pcie[1:] if pcie else ()))
        ),
    }


def several_nodes() -> dict[str, str]:
    dgx, hgx = "dgx-a100-320gb", "hgx-h100-8nic"
    servers = (P4D, P5, dgx, hgx)
    network = [sum(host_named(name).nic_gbyte_s) for name in servers]
    scale_up = [nvlink("a100-sxm-40gb"), nvlink("h100-sxm-80gb")] * 2
    binding = [bound_of(query("all-gather"), layout(name, 2), "ring").binding.name for name in servers]
    words = {"nic": "NICs", "nvlink": "NVLink"}
    a100 = flops("a100-sxm-40gb")
    return {
        "NICs of a node: p4d, p5, DGX A100, HGX H100 [GB/s]": listed(*network),
        "of NVLink, one direction: all NICs of a node over one GPU [%]": listed(
            *(100 * n / s for n, s in zip(network, scale_up, strict=True)), digits=1
        ),
        "of NVLink, one direction: NICs of a GPU over the GPU [%]": listed(
            *(100 * n / 8 / s for n, s in zip(network, scale_up, strict=True)), digits=1
        ),
        "AllGather of 1 GiB, one node, bus bandwidth [GB/s]": listed(*(bus("all-gather", s, 1) for s in servers)),
        "AllGather of 1 GiB, two nodes, bus bandwidth [GB/s]": listed(*(bus("all-gather", s, 2) for s in servers)),
        "what binds two nodes": listed(*(words[name] for name in binding)),
        "FSDP on A100, in a node and over p4d [tokens a GPU]": listed(
            sharded_tokens(a100, nvlink("a100-sxm-40gb")), sharded_tokens(a100, network[0])
        ),
        "largest TP size of Llama-3-8B on A100, NVLink and EFA": listed(
            tensor_parallel_ways(shape_named("llama3-8b").ffn, a100, nvlink("a100-sxm-40gb"), 8),
            tensor_parallel_ways(shape_named("llama3-8b").ffn, a100, network[0] / 8, 16),
            digits=1,
        ),
    }


SECTIONS = {"The job": the_job, "Wall times": wall_times, "Links": links, "Several nodes": several_nodes}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_computed_cell(section: str) -> None:
    assert computed_cells(PAGE)[section] == SECTIONS[section]()


def test_every_table_is_held() -> None:
    assert set(computed_cells(PAGE)) == set(SECTIONS)


def test_what_the_page_says_in_words() -> None:
    """Figures outside the tables, from the functions or by hand."""
    one, two = bus("all-gather", P4D, 1), bus("all-gather", P4D, 2)
    near, far = bus("all-gather", P5, 1), bus("all-gather", P5, 2)
    efa, nvl = sum(host_named(P4D).nic_gbyte_s), nvlink("a100-sxm-40gb")
    p4d, p5 = inside_one_pod(P4D), inside_one_pod(P5)
    rail = sum(host_named("hgx-h100-8nic").nic_gbyte_s) / nvlink("h100-sxm-80gb")
    text = page_text(PAGE)
    for words in (
        f"p4d loses {1 - two / one:.0%}, p5 gains {far / near - 1:.0%}".replace("%", " %"),
        f"{efa:.0f} / {2 * nvl:.0f} = {efa / (2 * nvl):.1%}".replace("%", " %"),
        f"{efa:.0f} / {nvl:.0f} = {efa / nvl:.1%}".replace("%", " %"),
        f"NVLink is {p4d / WALL[P4D]:.0%} of the run".replace("%", " %"),
        f"NVLink is {p5 / WALL[P5]:.0%} of the run".replace("%", " %"),
        f"explains {p4d - p5:.0f} s in favour of p5",
        f"3,969 - 1,206 = {3969 - WALL[P5]:,} s longer than NVLink there, and {2372 - WALL[P4D]:,} s on p4d",
        f"A ring gets {rail:.0%} of it; AllToAll gets {rail / 8:.0%}".replace("%", " %"),
        f"That is {18 * 26.562:.0f} GB/s",
        f"predicted; {walls(P4D, (None, PAIRS))[0] / 2372 - 1:.0%} too long".replace("%", " %"),
    ):
        assert words in text


def test_hand_formulas() -> None:
    """Independent of the functions: bytes of ZeRO 3, the link code of NVLink 4, PCIe 3.0 x16."""
    assert (
        pytest.approx(implied_rate(P4D, 2372), rel=1e-3)
        == 8_030_261_248 * 2 * 3 * 200 * 3 / 4 / (2372 - 981 + 37) / 1e9
    )
    assert 26.5625 / 25 == 17 / 16
    assert pytest.approx(15.75, abs=0.005) == 8 * 16 / 8 * 128 / 130
    assert pytest.approx(29.9, abs=0.05) == 8_030_261_248 * 16 / 4 / GIB
    assert STEPS * 16 == 800
