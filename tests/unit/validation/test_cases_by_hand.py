"""Measured communication cases worked out by hand: systems, tables of levels, transports, and what a case may say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.inputs.validate import validate
from ffplan.training.group_collectives import GroupPlacement
from ffplan.validation.cases import CaseFile, Collective, System, _value
from ffplan.validation.communication_replay import CaseReplay, _pod_gather, _query, replay
from ffplan.validation.measured_system import CaseParts
from tests.support import document

if TYPE_CHECKING:
    from ffplan.collectives.timing import CollectiveQuery
    from ffplan.results.accuracy import AccuracyRow

CATALOG = Catalog()
HEAD = """\
kind: communication-cases
id: mine
name: mine
source: {title: ours, date: "2026-11", grade: measured, status: V}
"""
HGX, P4D, FIRE_FLYER = "hgx-h100-8nic", "p4d-24xlarge", "fire-flyer-2-node"


def made(text: str) -> CaseReplay:
    source = document(HEAD + text)
    return CaseReplay(CaseParts(CATALOG, source), validate(CaseFile, source))


def rows_of(text: str) -> list[AccuracyRow]:
    case = made(text)
    return replay(case.file, case.bench.document, CATALOG)


def fault(text: str) -> str:
    with pytest.raises(InputError) as caught:
        rows_of(text)
    (found,) = caught.value.findings
    return f"{found.line - HEAD.count(chr(10))}: {found.message}; {found.remedy}"


def system(**fields: Any) -> Any:
    return CaseParts(CATALOG, document("{}")).host(System(**fields), ())


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, None),
        (3, 3.0),
        (1e-6, 1e-6),
        (9.9e14, 9.9e14),
        ([1, 2.5], (1.0, 2.5)),
        ((2, 2), (2.0, 2.0)),
        (0, "`0` is not a measured value"),
        (9.9e-7, "`9.9e-07` is not a measured value"),
        (1e15, "`1000000000000000.0` is not a measured value"),
        (-1.0, "`-1.0` is not a measured value"),
        (True, "is not a measured value"),
        ("3", "`3` is not a measured value"),
        ([3], "is not a measured value"),
        ([2, 1], "is not a measured value"),
        ([1, 2, 3], "is not a measured value"),
        ([0, 1], "is not a measured value"),
        ([None, 1], "is not a measured value"),
        ([], "is not a measured value"),
    ],
)
def test_what_a_measured_value_is(value: object, read: Any) -> None:
    """A number above a millionth of its unit, two of them in order, or nothing."""
    if isinstance(read, str):
        with pytest.raises(ValueError, match="is not a measured value") as caught:
            _value(value)
        assert read in str(caught.value)
    else:
        assert _value(value) == read


def test_what_a_case_says_by_its_silence() -> None:
    """All GPUs and NICs of one zone, a non-blocking fabric, and a library that chooses; such rows count."""
    plain = System(server="x")
    assert (plain.nics, plain.nic_rate, plain.gpus_per_node, plain.leaf_nodes) == (None,) * 4
    assert (plain.forwarding, plain.zones, plain.oversubscription) == (True, 1, 1.0)
    case = validate(
        CaseFile,
        document(
            HEAD + "collectives:\n  - {id: a, system: {server: x}, operation: allreduce, gpus: [8], metric: time_us, "
            "values: [[1]]}\n" + OFFLOAD + "hierarchies:\n  - {id: h, server: x, switch: y, unit_nodes: 1, units: 1, "
            "leaf_switches: 1, spine_switches: 1}\n"
        ),
    )
    (one,), (run,), (table,) = case.collectives, case.offloads, case.hierarchies
    assert (one.library, one.algorithm, one.protocol, one.in_network) == ("auto", None, None, False)
    assert (one.fitted, one.scored, one.note) == (False, True, None)
    assert (run.bytes_per_parameter, run.passes, run.scored) == (2, 3, True)
    assert [way.fitted for way in run.transports] == [False] * 3
    assert table.scored


def test_parts_of_a_case_come_in_place_of_those_of_the_server() -> None:
    """A slower accelerator, CPU and NIC; the first two NICs, at a port of 20 GB/s at most."""
    own = system(server=HGX)
    assert (own.accelerator.id, len(own.nics), own.nic_gbyte_s[0]) == ("h100-sxm-80gb", 8, 50.0)
    other = system(
        server=HGX, accelerator="a100-sxm-80gb", cpu="epyc-7502", nic="connectx-6-200g", nics=2, nic_rate="160 Gb/s"
    )
    assert (other.accelerator.id, {cpu.id for cpu in other.cpus}) == ("a100-sxm-80gb", {"epyc-7502"})
    assert (other.nic_ids, [nic.id for nic in other.nics]) == (("nic0", "nic1"), ["connectx-6-200g"] * 2)
    assert other.nic_gbyte_s == (20.0, 20.0)
    assert system(server=HGX, nic_rate="800 Gb/s").nic_gbyte_s == (50.0,) * 8  # no more than the NIC's own
    assert len(system(server="dgx-a100-320gb").nics) == 8  # the ninth is for storage
    assert (own.forwarding, system(server=HGX, forwarding=False).forwarding) == (True, False)
    assert len(system(server=HGX, nics=8).nics) == 8


ALLREDUCE = """\
collectives:
  - id: a
    system: {server: hgx-h100-8nic}
    operation: allreduce
    gpus: [16]
    sizes: [1 MiB]
    metric: time_us
    values: [[100]]
"""


def changed(*changes: tuple[str, str]) -> str:
    text = ALLREDUCE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def wide(server: str) -> tuple[str, str]:
    return ("server: hgx-h100-8nic", f"server: {server}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([wide(f"{FIRE_FLYER}, zones: 3"), ("allreduce", "allreduce\n    library: hfreduce")], "3: 2 node(s) cannot"),
        ([wide(f"{HGX}, gpus_per_node: 9")], "3: `hgx-h100-8nic` has 8 GPUs to a node; write at most 8"),
        ([wide(f"{HGX}, nics: 9")], "3: `hgx-h100-8nic` has 8 NIC(s) for this, not 9; write at most 8"),
        ([wide(f"{HGX}, oversubscription: 2:1")], "3: `oversubscription` has no effect without `leaf_nodes`"),
        ([("gpus: [16]", "gpus: [15]")], "5: 15 GPUs do not split evenly over nodes of 8; write a multiple of 8"),
        ([("[[100]]", "[[100], [1]]")], "8: the values do not fit"),
        ([("[[100]]", "[[100, 1]]")], "8: the values do not fit the numbers of GPUs and sizes; write 1 list(s) of 1"),
        ([("time_us", "deepep_gbyte_s")], "7: `deepep_gbyte_s` is of dispatch and combine"),
        ([("    sizes: [1 MiB]\n", "")], "4: `allreduce` needs `sizes` alone"),
        (
            [("allreduce", "allreduce\n    algorithm: nvls-tree\n    protocol: ll")],
            "4: `nccl` has no nvls-tree ll allred",
        ),
    ],
)
def test_a_case_that_cannot_be_is_located(changes: list[tuple[str, str]], words: str) -> None:
    assert fault(changed(*changes)).startswith(words)


def query(**fields: Any) -> CollectiveQuery:
    case = Collective.model_construct(
        **{
            "id": "a",
            "system": System(server=HGX, zones=fields.pop("zones", 1)),
            "operation": "allreduce",
            "library": "auto",
            "algorithm": None,
            "protocol": None,
            "in_network": False,
            "experts": None,
            "sizes": (1.0,),
            **fields,
        }
    )
    return _query(made(ALLREDUCE), case, ("collectives", 0))


def test_the_library_of_a_case() -> None:
    """NCCL for what has a size, DeepEP for tokens, unless another is named; HFReduce over NVLink is HFReduce."""
    routing = made(DISPATCH.replace("METRIC", "time_us")).file.collectives[0].experts
    assert (query().library.id, query(library="rccl").library.id) == ("nccl", "rccl")
    assert query(operation="dispatch", experts=routing, sizes=()).library.id == "deepep"
    for name, nvlink in (("hfreduce", False), ("hfreduce-nvlink", True)):
        found = query(library=name, zones=2)
        assert (found.library.id, found.nvlink) == ("hfreduce", nvlink)
    assert query(in_network=True).in_network


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"zones": 2}, "`zones` has an effect on HFReduce only"),
        ({"in_network": True, "operation": "broadcast"}, "`in_network` has no effect"),
        ({"in_network": True, "library": "hfreduce"}, "`in_network` has no effect"),
        ({"operation": "dispatch"}, "`dispatch` needs `experts` alone"),
    ],
)
def test_what_has_no_effect_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        query(**fields)


DISPATCH = """\
collectives:
  - id: a
    system: {server: hgx-h100-8nic}
    operation: dispatch
    experts: {tokens: 4096, hidden: 7168, top_k: 8, experts: 256, max_nodes: 4}
    gpus: [8, 32]
    metric: METRIC
    values: [[1], [1]]
"""


def test_rates_of_dispatch_count_copies_as_deepep_does() -> None:
    """4,096 tokens of 7,168 bytes and 224 of scales: 30.3 MB. On 4 nodes, limited to 4, nearly each is reached."""
    time, algbw, counted = (
        [row.model for row in rows_of(DISPATCH.replace("METRIC", metric))]
        for metric in ("time_us", "algbw_gbyte_s", "deepep_gbyte_s")
    )
    size = 4096 * (7168 + 7168 / 128 * 4)
    assert algbw == pytest.approx([size / seconds / 1e3 for seconds in time])
    assert {row.size_bytes for row in rows_of(DISPATCH.replace("METRIC", "time_us"))} == {size}
    one, four = (rate / plain for rate, plain in zip(counted, algbw, strict=True))
    assert 5.2 < one < 5.3  # 8 of 256 experts, 32 on each of 8 GPUs: 8 (1 - C(224, 8) / C(256, 8)) = 5.29
    assert 3.6 < four < 3.7  # 64 on each of 4 nodes: 4 (1 - C(192, 8) / C(256, 8)) = 3.61


LEVELS = """\
hierarchies:
  - id: a
    server: hgx-h100-8nic
    switch: qm9700
    unit_nodes: 16
    units: 4
    leaf_switches: LEAVES
    spine_switches: SPINES
    bandwidth_gbyte_s: [1, 1, 1]
    allreduce_gbyte_s: [1, 1, 1]
    allreduce_without_sharp_gbyte_s: [1, 1]
    speedup: {32: [1, 1, 1]}
    sharded_gbyte_s: {32: [1, 1, 1]}
"""


@pytest.mark.parametrize(
    ("leaves", "spines", "width"),
    [
        # 8 x 450 GB/s in a node; 16 nodes x 400 into leaves of 32 x 50; spines pass on what they or the leaves carry
        (8, 16, (3600, 6400, 25600)),
        (2, 16, (3600, 3200, 12800)),
        (8, 3, (3600, 6400, 4800)),
    ],
)
def test_levels_of_a_machine(leaves: int, spines: int, width: tuple[float, float, float]) -> None:
    """8 GPUs to a node, 16 nodes to a unit, 4 units. A level reduces W / S; no more than those below it."""
    rows = rows_of(LEVELS.replace("LEAVES", str(leaves)).replace("SPINES", str(spines)))
    found = {row.what: row.model for row in rows}
    node, leaf, spine = width
    each = (node / 8, leaf / 16, spine / 4)
    least = [min(each[:at]) for at in (1, 2, 3)]
    expected = {f"bandwidth, {name}": value for name, value in zip(("node", "leaf", "spine"), width, strict=True)}
    expected |= {f"allreduce, SHARP, {name}": v for name, v in zip(("node", "leaf", "spine"), least, strict=True)}
    expected |= {f"allreduce, no SHARP, {name}": v / 2 for name, v in zip(("node", "leaf"), least, strict=False)}
    # 32 shards: 32-fold over one GPU, 4-fold over 8, none over the 128 of a unit
    expected |= {f"speed-up, 32-way, {name}": v for name, v in zip(("node", "leaf", "spine"), (32, 4, 1), strict=True)}
    sharded = (32 * node / 8, 32 * leaf / 128, 128 * spine / 512)
    expected |= {f"32-way, {name}": v for name, v in zip(("node", "leaf", "spine"), sharded, strict=True)}
    assert found == pytest.approx(expected)
    assert {row.what: row.gpus for row in rows if row.what.startswith("bandwidth")} == {
        "bandwidth, node": 8,
        "bandwidth, leaf": 128,
        "bandwidth, spine": 512,
    }
    assert {row.unit for row in rows if "speed" in row.what} == {"ratio"}
    assert {row.unit for row in rows if "speed" not in row.what} == {"gbyte_s"}
    assert {row.kind for row in rows} == {"arithmetic"}


def test_a_machine_whose_gpus_nothing_joins_has_no_levels() -> None:
    """Its GPUs could take bridges and have none."""
    text = LEVELS.replace("LEAVES", "8").replace("SPINES", "8").replace(HGX, FIRE_FLYER)
    assert fault(text) == f"3: `{FIRE_FLYER}` has no scale-up links, or no NIC; name another server"


OFFLOAD = """\
offloads:
  - id: run
    parameters: 8000000000
    ranks: 4
    micro_steps: 200
    message: 100 MB
    transports:
      - {name: A, system: {server: p4d-24xlarge}, wall: 900 s}
      - {name: B, system: {server: p4d-24xlarge}, wall: 2000 s, pods: PODS}
      - {name: C, system: {server: p4d-24xlarge, nic_rate: 50 Gb/s}, wall: 3000 s, pods: PODS}
""".replace("PODS", "[[gpu0, nic0], [gpu2, nic1], [gpu4, nic2], [gpu6, nic3]]")


@pytest.mark.parametrize("message", [1e6, 1e8, 1e9])
def test_a_gather_over_pods(message: float) -> None:
    """Each pod's GPU and NIC share a switch: 96.85 % of 12.5 GB/s carry 3 / 4 of the message; three hops of 14 + 24 us
    behind 8.4 us; filling takes the root of those times the stream."""
    case = made(OFFLOAD)
    offload = case.file.offloads[0].model_copy(update={"message": message})
    way = offload.transports[1]
    host = case.bench.host(way.system, ())
    stream = message * 0.75 / (0.9685 * 12.5e9)
    expected = stream + 8.4e-6 + 3 * 38e-6 + (8.4e-6 * stream) ** 0.5
    assert _pod_gather(case, host, offload, way.pods) == pytest.approx(expected, rel=1e-6)


def test_transports_of_one_job_by_hand() -> None:
    """Communication moves 3 x 16 GB a micro-step in pieces of 100 MB: 480 gathers, 96,000 in the run. What A does not
    spend on them is common; B and C add theirs over the NICs, of which C has half the rate."""
    case = made(OFFLOAD)
    offload = case.file.offloads[0]
    hosts = [case.bench.host(way.system, ()) for way in offload.transports]
    b, c = (_pod_gather(case, hosts[at], offload, offload.transports[at].pods) for at in (1, 2))
    assert c > 1.9 * b
    rows = rows_of(OFFLOAD)
    assert [(row.what, row.unit, row.gpus, row.kind) for row in rows] == [
        ("B over A", "ratio", 4, "predicted"),
        ("C over A", "ratio", 4, "predicted"),
    ]
    assert [row.measured for row in rows] == pytest.approx([2000 / 900, 3000 / 900])
    assert rows[1].model - rows[0].model == pytest.approx(96_000 * (c - b) / 900)
    fitted = rows_of(OFFLOAD.replace("name: B,", "name: B, fitted: true,"))
    assert [row.kind for row in fitted] == ["fitted", "predicted"]


@pytest.mark.parametrize(
    ("old", "new", "times"),
    [
        ("micro_steps: 200", "micro_steps: 100", 0.5),
        ("parameters: 8000000000", "parameters: 4000000000", 0.5),
        ("ranks: 4", "ranks: 4\n    bytes_per_parameter: 1", 0.5),
        ("ranks: 4", "ranks: 4\n    passes: 1", 1 / 3),
    ],
)
def test_communication_grows_with_all_that_moves(old: str, new: str, times: float) -> None:
    """What B takes longer than A is in proportion to micro-steps, parameters, their bytes and the passes."""
    (before, _), (after, _) = rows_of(OFFLOAD), rows_of(OFFLOAD.replace(old, new))
    assert after.model - 1 == pytest.approx(times * (before.model - 1))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("wall: 900 s", "wall: 1 ms", "8: communication alone takes"),
        ("gpu6, nic3]]}\n      - {name: C", "gpu4, nic2]]}\n      - {name: C", "9: 3 different pod(s) for 4 ranks"),
        ("gpu6, nic3]]}\n      - {name: C", "gpu6, nic4]]}\n      - {name: C", "9: `p4d-24xlarge` has no `nic4` there"),
    ],
)
def test_transports_that_cannot_be_are_located(old: str, new: str, words: str) -> None:
    assert old in OFFLOAD
    assert fault(OFFLOAD.replace(old, new)).startswith(words)


def test_uplinks_are_shared_by_groups_of_a_training_run() -> None:
    """4 nodes of 8 NICs of 50 GB/s at 2:1: 800 GB/s. Groups whose nodes lie apart cross more leaves, up to one each."""
    bench = CaseParts(CATALOG, document("{}"))
    where = System(server=HGX, leaf_nodes=4, oversubscription=2.0, zones=1)
    host = bench.host(where, ())
    crossed = bench.crossed(where, host)
    for nodes, apart, sets in ((8.0, 1.0, 2), (8.0, 2.0, 4), (8.0, 100.0, 8), (3.0, 1.0, 1)):
        place = GroupPlacement(nodes=np.array([nodes]), per_node=np.array([8.0]), apart=np.array([apart]))
        zones, (cut,) = crossed(place)
        assert np.asarray(zones).tolist() == [1]
        assert np.asarray(cut.sets).tolist() == [sets]
        assert (cut.links, cut.below) == (16, 4)
