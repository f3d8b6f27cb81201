"""`ffplan serve` with prefill and decoding apart, as a user meets it."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ffplan as api
from ffplan.fabric.family import routing_of
from ffplan.fabric.routing import traffic
from ffplan.fabric.routing.job_loads import aligned, all_nodes
from ffplan.inputs.workloads import PoolPlan, _parse_pool
from ffplan.studies.fabric.cabling import wire_design
from ffplan.studies.serve.links import _beside_training, _flows, _moved_load, _units_of, fleet_of
from tests.support import ROOT, ffplan, reported, wired

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.fabric.routing.traffic import Flows

LOAD = "serve superpod-h100-4su --model llama3.1-70b --precision fp8 --isl 8192 --osl 256"


def report(command: str) -> dict[str, Any]:
    return reported(command, "serve")


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("4xTP8", PoolPlan(copies=4, tensor=8)),
        ("dep32", PoolPlan(data=32, expert=32)),
        ("2 x TP4EP4", PoolPlan(copies=2, tensor=4, expert=4)),
        ("TEP8", PoolPlan(tensor=8, expert=8)),
        ("3xTP2PP4", PoolPlan(copies=3, tensor=2, pipeline=4)),
        ("2xTP8@H200-SXM", PoolPlan(copies=2, tensor=8, accelerator="h200-sxm")),
    ],
)
def test_plans_as_people_write_them(text: str, plan: PoolPlan) -> None:
    assert _parse_pool(text) == plan
    assert _parse_pool(str(plan)) == plan


def test_units_of_two_pools() -> None:
    found = report(f"{LOAD} --prefill 2xTP4 --decode 3xTP8 --concurrency 32,128")
    pools = found["pools"]
    assert (pools["prefill"]["copies"], pools["prefill"]["plan"]["tensor"]) == (2, 4)
    assert (pools["decode"]["copies"], found["plan"]["tensor"], found["copies"]) == (3, 8, 1016 // 32)
    # 8,192 tokens x 80 layers x 2 x 8 heads x 128 x 2 bytes, at 96 % of a NIC of 50 GB/s for four ranks
    assert pools["transfer"]["bytes"] == pytest.approx(2.684e9, rel=1e-3)
    assert pools["transfer"]["gbyte_s"] == pytest.approx(48, rel=0.02)
    assert pools["transfer"]["seconds"] == pytest.approx(2.684e9 / 4 / 48e9, rel=0.02)
    for row in found["rows"]:
        assert "prompts" not in [part["name"] for part in row["parts"]]
        assert 0 < row["prefill_busy"] <= 1
        assert row["output_tokens_s_gpu"] == pytest.approx(row["output_tokens_s"] / (32 * found["copies"]))
        share = 8 / 32  # of the accelerators compute prompts
        whole = row["cost"]["per_million_output_all"]
        assert row["cost"]["per_million_output"] == pytest.approx(whole * (1 - share))
        assert row["cost"]["per_million_input"] == pytest.approx(whole * share * 256 / 8192)


def test_an_oversubscribed_fabric_slows_keys_and_values() -> None:
    wide = "--model llama3.1-70b --prefill 256xTP8 --decode 256xTP8 --concurrency 8"
    found = report(f"serve meta-24k-roce {wide}")
    assert found["pools"]["transfer"]["fabric_share"] < 1
    assert "spine" in found["pools"]["transfer"]["link"]


def test_pools_that_are_sought_serve_more_than_one_pool_at_long_prompts() -> None:
    targets = "--ttft 4s --tpot 40ms --at p90"
    apart, shared = report(f"{LOAD} --disaggregate {targets}"), report(f"{LOAD} --search {targets}")
    rows = [found["rows"][found["best"]] for found in (apart, shared)]
    assert rows[0]["meets"]
    assert rows[0]["output_tokens_s"] > rows[1]["output_tokens_s"]


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ("--prefill 2xTP4", 2, "add --decode"),
        ("--prefill 2xTP4 --decode 1xQP8", 2, "not a plan of a pool"),
        ("--prefill 2xTP4 --decode 1xTP7", 2, "--decode 1xTP7: --tp 7: llama3.1-70b has 64 heads"),
        ("--prefill 200xTP4 --decode 90xTP8", 1, "take 1,520 accelerators, and there are 1,016"),
        ("--prefill 1xTP1 --decode 1xTP8 --precision bf16", 1, "--prefill 1xTP1: llama3.1-70b at bf16 takes"),
        ("--disaggregate --tp 4", 2, "--prefill 4xTP8 --decode 1xDEP32"),
        ("--disaggregate --prefill 1xTP8 --decode 1xTP8", 2, "write one of the two"),
        ("--disaggregate --tpot 1us", 1, "meet the targets"),
    ],
)
def test_what_pools_cannot_do(options: str, code: int, says: str) -> None:
    run = ffplan(f"{LOAD} {options}")
    assert run.code == code
    assert says in " ".join(run.err.split())


def test_a_design_states_its_pools(tmp_path: Path) -> None:
    served = "serving: {model: llama3.1-70b, isl: 8192, osl: 256, rate: 2/s, precision: fp8, "
    shipped = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    file = tmp_path / "pools.yaml"
    file.write_text(f"{shipped}\n{served}prefill: 2xTP4, decode: 1xTP8}}\n")
    stated = report(f"serve {file}")
    assert stated == report(f"serve {file} --prefill 2xTP4 --decode 1xTP8")
    assert stated["pools"]["prefill"]["copies"] == 2
    assert stated["rows"][0]["rate_s"] == pytest.approx(2, rel=0.01)
    # Python reads the same section
    assert api.serve(str(file)).rows[0].tpot_s.mean == pytest.approx(stated["rows"][0]["tpot_s"]["mean"])


@pytest.mark.parametrize(
    ("pools", "says"), [("prefill: 2xTP4", "pools are two"), ("prefill: TP4, decode: TP8, tp: 4", "`tp` has no effect")]
)
def test_pools_that_a_design_cannot_state(pools: str, says: str, tmp_path: Path) -> None:
    shipped = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    file = tmp_path / "pools.yaml"
    file.write_text(f"{shipped}\nserving: {{model: llama3.1-70b, rate: 2/s, {pools}}}\n")
    run = ffplan(f"check {file}")
    assert run.code == 2
    assert says in run.out + run.err


@pytest.mark.parametrize("bytes_s", [0.0, 4e10, 4e11])
def test_what_a_job_on_the_other_nodes_keeps(bytes_s: float) -> None:
    """Every flow traced on its own, one link after another: a ring of full rate, and keys and values beside it."""
    wired_design = wired("fire-flyer-2")
    design, network = wired_design.design, wired_design.fabric.network
    fleet, parts = fleet_of(design, 240), ((120, 1), (120, 1))  # 15 nodes each, leaves of 20
    beside = _beside_training(fleet, parts, bytes_s)
    assert beside is not None
    assert beside.gpus == design.accelerators - fleet.gpus
    router, ports = routing_of(wired_design.fabric), all_nodes(design, wired_design.fabric)
    job = ports[30:][aligned(network, ports[30:])]

    def busy(flows: Flows) -> dict[int, float]:
        """Return seconds by directed link."""
        seconds: dict[int, float] = defaultdict(float)
        for src, dst, nbytes in zip(flows.src, flows.dst, flows.nbytes, strict=True):
            for link in router.paths(np.array([src]), np.array([dst]), None).links.ravel():
                if link >= 0:
                    seconds[int(link)] += nbytes / float(network.links.gbyte_s[link // 2]) / 1e9
        return seconds

    ring, moving = busy(traffic.ring(job, 1.0)), busy(_flows(wired_design.fabric, (fleet, fleet), parts))
    full, each = max(ring.values()), bytes_s / 15  # a NIC a node
    both = {link: (seconds / full, moving.get(link, 0.0) * each) for link, seconds in ring.items()}
    assert beside.kept == pytest.approx(1 / max(sum(pair) for pair in both.values()))
    assert beside.moved_share == pytest.approx(max(moved for _, moved in both.values()))
    assert (beside.link is None) == (beside.moved_share == 0)


def test_training_beside_pools_is_told_where_a_design_has_nodes_left() -> None:
    pools = "--model llama3.1-8b --isl 4096 --osl 512 --prefill 256xTP8 --decode 256xTP8 --rate 3000/s"
    found = ffplan(f"serve meta-24k-roce --gpus 4096 {pools} --format json")
    beside = json.loads(found.out)["beside"]
    assert beside["gpus"] == 24576 - 4096
    assert 0.5 < beside["kept"] < 1
    assert f"{beside['gpus']:,} GPUs keeps" in ffplan(f"serve meta-24k-roce --gpus 4096 {pools}").out
    whole = ffplan("serve superpod-h100-4su --model llama3.1-8b --isl 512 --osl 64 --concurrency 8 --format json")
    assert json.loads(whole.out)["beside"] is None


UNLIKE = """\
name: unlike
nodes:
  - {role: compute, server: hgx-h200-8nic, count: 8}
  - {role: compute, server: hgx-h100-8nic, count: 24}
  - {role: compute, server: l40s-8gpu, count: 4}
fabric:
  {family: fat-tree, switch: qm9700, link: {endpoint: 400g-dr4, inter_switch: 400g-dr4}, tiers: 2}
site: {pue: 1.2, currency: USD}
communication: {libraries: [nccl], message_size: 1 GiB}
"""
TOKENS = "--model llama3.1-70b --precision fp8 --isl 8192 --osl 256 --concurrency 8 -f json"


@pytest.fixture
def unlike(tmp_path: Path) -> str:
    file = tmp_path / "unlike.yaml"
    file.write_text(UNLIKE)
    return str(file)


def test_copies_stand_on_accelerators_of_one_kind(unlike: str) -> None:
    for option, kind, gpus in (("", "h100-sxm-80gb", 192), ("--accelerator h200", "h200-sxm", 64)):
        found = json.loads(ffplan(f"serve {unlike} {TOKENS} {option}").out)
        assert found["accelerator"] == kind
        assert found["copies"] * found["plan"]["gpus"] + found["idle"] == gpus
        assert any("serve nothing" in said and kind not in said for said in found["assumptions"])
    for option, says in (("--gpus 193", "has 192 h100-sxm-80gb"), ("--accelerator b200", "known accelerator: `h100")):
        run = ffplan(f"serve {unlike} {TOKENS} {option}")
        assert run.code == 2
        assert says in run.err


def test_pools_of_unlike_accelerators(unlike: str) -> None:
    apart = json.loads(ffplan(f"serve {unlike} {TOKENS} --prefill 2xTP4@h100 --decode 1xTP8@h200").out)
    assert [apart["pools"][pool]["accelerator"] for pool in ("prefill", "decode")] == ["h100-sxm-80gb", "h200-sxm"]
    # 24 and 8 units; 128 of the H100 are left
    assert (apart["accelerator"], apart["copies"], apart["idle"]) == ("h200-sxm", 8, 128)
    (row,) = apart["rows"]
    alike = json.loads(ffplan(f"serve {unlike} {TOKENS} --accelerator h200 --prefill 2xTP4 --decode 1xTP8").out)
    plain = json.loads(ffplan(f"serve {unlike} {TOKENS} --accelerator h100 --prefill 2xTP4 --decode 1xTP8").out)
    # tokens as on the decoding pool's accelerators, and prompts as on the other's
    assert row["tpot_s"]["mean"] == pytest.approx(alike["rows"][0]["tpot_s"]["mean"], rel=0.01)
    assert row["tpot_s"]["mean"] < 0.95 * plain["rows"][0]["tpot_s"]["mean"]
    assert apart["pools"]["prefill"]["plan"] == plain["pools"]["prefill"]["plan"]
    # eight of each: the mean of both rents
    hours = [found["rows"][0]["cost"]["accelerator_hour"] for found in (alike, plain)]
    assert row["cost"]["accelerator_hour"] == pytest.approx(sum(hours) / 2)


def test_pools_of_the_kind_that_serves_are_plain_pools(unlike: str) -> None:
    named = ffplan(f"serve {unlike} {TOKENS} --prefill 2xTP4@h100-sxm-80gb --decode 1xTP8@h100").out
    assert named == ffplan(f"serve {unlike} {TOKENS} --prefill 2xTP4 --decode 1xTP8").out


@pytest.mark.parametrize(
    ("pools", "says"),
    [
        ("--prefill 2xTP4@b200 --decode 1xTP8", "--prefill 2xTP4@b200: unlike has no b200; known accelerator:"),
        ("--prefill 2xTP4@ --decode 1xTP8", "is not a plan of a pool"),
        ("--prefill 2xTP4 --decode 9xTP8@h200", "there are 192 h100-sxm-80gb and 64 h200-sxm"),
    ],
)
def test_unlike_pools_that_cannot_be(unlike: str, pools: str, says: str) -> None:
    run = ffplan(f"serve {unlike} {TOKENS} {pools}")
    assert run.code in (1, 2)
    assert says in run.err


def test_unlike_accelerators_without_a_design_have_no_network() -> None:
    run = ffplan(f"serve --accelerator h200 --gpus 16 {TOKENS} --prefill 1xTP4@h100 --decode 1xTP4")
    assert run.code == 2
    assert "name a design with both" in run.err


@pytest.mark.parametrize(("kinds", "sizes"), [(("h100", "h200"), (16, 16)), (("l40s", "h200"), (8, 16))])
def test_flows_between_unlike_pools(unlike: str, kinds: tuple[str, str], sizes: tuple[int, int]) -> None:
    """Every port of a prefill node sends one byte, to ports of decoding nodes alone."""
    design = api.load(unlike).resolved
    wires = wire_design(design)
    fleets = (fleet_of(design, accelerator=kinds[0]), fleet_of(design, accelerator=kinds[1]))
    parts = tuple((size, 1) for size in sizes)
    flows, nodes = _flows(wires.fabric, fleets, parts), []
    for fleet in fleets:
        assert fleet.design is not None
        nodes.append(all_nodes(fleet.design, wires.fabric))
    units = _units_of(fleets, parts)
    sent = {int(port): flows.nbytes[flows.src == port].sum() for port in np.unique(flows.src)}
    assert set(sent) == set(nodes[0][: units * sizes[0] // 8].ravel().tolist())
    assert list(sent.values()) == pytest.approx([1.0] * len(sent))
    assert set(flows.dst.tolist()) == set(nodes[1][: units * sizes[1] // 8].ravel().tolist())
    assert _moved_load(wires, fleets, parts).sum() > len(sent)
