"""Plans and cooling of a design."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import ValidationError

from ffplan.base.errors import InputError, UsageError
from ffplan.catalog.ownership import OwnershipProfile, plain_amount
from ffplan.catalog.parts import Server
from ffplan.catalog.store import Catalog
from ffplan.design.plan_file import read_plan
from ffplan.design.resolve import resolve
from ffplan.design.site import _coolings_of, liquid_share
from ffplan.design.training import PlanFields
from ffplan.inputs.document import read_document
from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path


PLAN = "kind: training-plan\ntensor: 8\npipeline: 4\nchunks: 2\nbatch: 512\n"


def plan_file(folder: Path, text: str = PLAN) -> str:
    path = folder / "plan.yaml"
    path.write_text(text)
    return str(path)


def test_options_replace_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    plan = read_plan(plan_file(tmp_path), {"pipeline": 2, "zero": 3})
    assert (plan.tensor, plan.pipeline, plan.chunks, plan.batch, plan.zero) == (8, 2, 2, 512, 3)
    assert plan.model_fields_set == {"tensor", "pipeline", "chunks", "batch", "zero"}
    assert type(plan) is PlanFields  # the kind of file is no part of the plan


def test_without_a_file_the_defaults_stand() -> None:
    assert read_plan(None, {}) == PlanFields()
    assert read_plan(None, {"tensor": 2}) == PlanFields(tensor=2)


def test_options_may_heal_nothing_that_is_wrong_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(plan_file(tmp_path, PLAN + "schedule: dualpipe\n"), {"schedule": "1f1b"})
    (found,) = caught.value.findings
    assert (found.rule, found.line) == ("training-plan", 4)  # at `chunks`
    assert "belong to 1f1b, not to dualpipe" in found.message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"micro_batch": 0}, "ffplan train: --micro-batch: 0: input should be greater than or equal to 1"),
        ({"zero": 4}, "--zero: 4: input should be less than or equal to 3"),
        ({"recompute": "most"}, "--recompute: 'most': input should be 'none', 'selective', 'full', 'keep-qkv'"),
    ],
)
def test_options_that_do_not_go_with_the_file(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_plan(plan_file(tmp_path), given)
    assert words in str(caught.value)


def test_an_option_that_contradicts_the_file_points_at_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(plan_file(tmp_path), {"schedule": "zb-h1"})
    (found,) = caught.value.findings
    assert (found.rule, found.line, found.column) == ("training-plan", 4, 9)  # the value of `chunks`
    assert found.message == "`chunks` belong to 1f1b, not to zb-h1"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"order": ("tensor", "data", "pipeline")}, "order"),
        ({"order": ("tensor", "tensor", "data", "pipeline")}, "order"),
        ({"chunks": 2, "schedule": "v-min"}, "chunks"),
        ({"shard": 8, "zero": 0}, "shard"),
        ({"unit_layers": 2, "zero": 2}, "unit_layers"),
    ],
)
def test_fields_that_contradict_each_other(fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError) as caught:
        PlanFields(**fields)
    (error,) = caught.value.errors()
    assert error["ctx"]["field"] == wrong


def test_fields_that_agree() -> None:
    assert PlanFields(shard=8, zero=1).shard == 8
    assert PlanFields(unit_layers=2, zero=3).unit_layers == 2
    assert PlanFields(order=("data", "tensor", "pipeline", "context")).order[0] == "data"


def test_hfreduce_reduces_whole_gradients() -> None:
    """It has allreduce alone: section IV of arXiv 2408.14158."""
    wholes = {name: PlanFields(reducer=name).reduces_whole for name in ("nccl", "hfreduce", "hfreduce-nvlink")}
    assert wholes == {"nccl": False, "hfreduce": True, "hfreduce-nvlink": True}
    assert not PlanFields().reduces_whole


AIR, COLD = "superpod-h100-4su", "gb200-nvl72-16"
PUE = {AIR: "  pue: 1.25\n", COLD: "  pue: 1.15\n"}
LIQUID = {"cold-plate", "immersion"}


def with_cooling(folder: Path, name: str, cooling: str, liquid: str = "") -> Path:
    """Return a shipped design with this cooling, and with a share of liquid that it states itself."""
    stated = f"ownership: {{liquid: {liquid}}}\n" if liquid else ""
    return vary_design(folder, name, (PUE[name], f"  cooling: {cooling}\n"), ("\nsite:", f"\n{stated}site:"))


@given(st.floats(0, 1))
def test_a_cooling_by_liquid_is_one_of_servers_with_liquid(share: float) -> None:
    """Wherever liquid lowers the PUE there is heat that liquid takes, so there are watts to buy it for."""
    assert _coolings_of(share)
    assert all((cooling in LIQUID) == (share > 0) for cooling in _coolings_of(share))
    assert ("immersion" in _coolings_of(share)) == (share == 1)


def test_every_server_of_the_catalogue_can_be_cooled() -> None:
    catalog = Catalog()
    servers = [part for name in catalog.ids() if isinstance(part := catalog.entry(name).part, Server)]
    shares = {server.id: liquid_share(server, None) for server in servers}
    assert shares["hgx-h100-8nic"] == 0
    assert shares["gb200-nvl72-tray"] == pytest.approx(115 / 132, abs=0.005)
    assert liquid_share(servers[0], 0.75) == 0.75


@pytest.mark.parametrize(
    ("name", "cooling", "liquid", "message", "remedy"),
    [
        (AIR, "cold-plate", "", "air cools `hgx-h100-8nic`", "write `air` or `rear-door`, or state `ownership.liquid`"),
        (AIR, "immersion", "", "air cools `hgx-h100-8nic`", "`ownership: {liquid: 100 %}`"),
        (AIR, "immersion", "75 %", "liquid takes 75 % of the heat of `hgx-h100-8nic`", "write `cold-plate`"),
        (AIR, "air", "75 %", "liquid takes 75 % of the heat of `hgx-h100-8nic`", "write `cold-plate`"),
        (COLD, "air", "", "liquid takes 87 % of the heat of `gb200-nvl72-tray`", "write `cold-plate`"),
        (COLD, "rear-door", "", "liquid takes 87 % of the heat of `gb200-nvl72-tray`", "write `cold-plate`"),
        (COLD, "immersion", "", "liquid takes 87 % of the heat of `gb200-nvl72-tray`", "write `cold-plate`"),
    ],
)
def test_what_servers_are_not_built_for(
    tmp_path: Path, name: str, cooling: str, liquid: str, message: str, remedy: str
) -> None:
    path = with_cooling(tmp_path, name, cooling, liquid)
    with pytest.raises(InputError) as raised:
        resolve(read_document(path, str(path)), Catalog())
    (finding,) = raised.value.findings
    assert finding.rule == "design-cooling"
    assert path.read_text().splitlines()[(finding.line or 0) - 1].strip() == f"cooling: {cooling}"
    assert message in finding.message
    assert remedy in finding.remedy


@pytest.mark.parametrize(
    ("name", "cooling", "liquid"),
    [
        (AIR, "air", ""),
        (AIR, "rear-door", ""),
        (AIR, "cold-plate", "75 %"),
        (AIR, "immersion", "100 %"),
        (COLD, "cold-plate", ""),
    ],
)
def test_liquid_cooling_is_bought(tmp_path: Path, name: str, cooling: str, liquid: str) -> None:
    """The bill has a line of coolant distribution exactly where the site cools by liquid."""
    path = str(with_cooling(tmp_path, name, cooling, liquid))
    found = json.loads(ffplan("cost", path, "-f", "json", "--draws", "0").out)
    kinds = [line["kind"] for line in found["bom"]["lines"]]
    assert ("cooling" in kinds) == (cooling in LIQUID)
    lines = json.loads(ffplan("design", path, "-f", "json").out)["assumptions"]
    assert any("their fans stay in the power" in line for line in lines) == bool(liquid)


def test_the_price_of_liquid_cooling_has_two_sources() -> None:
    """Low: 18 x 2,260 and 9 x 1,020 dollars of cold plates take 18 x 6.2 kW; high: the recalled 2 dollars a watt."""
    profile = Catalog().entry("owned-2026").part
    assert isinstance(profile, OwnershipProfile)
    price = profile.liquid_cooling
    assert price is not None
    low, high = (plain_amount(end) for end in price.range)
    assert low == pytest.approx((18 * 2260 + 9 * 1020) / (18 * 6200), abs=0.005)
    assert high == 2
    assert plain_amount(price.value) == pytest.approx((low * high) ** 0.5, abs=0.005)
