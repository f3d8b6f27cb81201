"""Published costs, energy and counts of reference builds, through the cost report and its functions.

Each test prints the source's figure beside ours in its docstring or table. Left out, for their inputs are not stated:
the hardware and cloud price of GPT-4 (Epoch AI), BLOOM's 50.5 t with embodied carbon, energy and water of a prompt
(Google, Mistral), and the CloudMatrix.
"""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.cost.capital import yearly_capital
from ffplan.cost.power import HOURS_PER_YEAR, facility_power
from ffplan.cost.rent import RentTerm, rented_hour
from ffplan.cost.run import accelerator_hours, run_carbon, run_cost, run_energy
from tests.formulas import declining_cost, declining_value
from tests.support import ROOT, ffplan_once

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0


def study(arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ffplan_once(f"cost {arguments} --draws 0 --format json").out)
    return found


EPOCH = {  # chip, its price, bought, training starts; hours, kW of a chip with its server, PUE, USD/kWh; PPI
    "GPT-4": (24_875, "2020-08-12", "2022-05-12", 57.0e6, 0.400 * 2.031, 1.25, 0.0806, 117.766),
    "Llama-3.1-405B": (44_490, "2022-12-19", "2024-02-24", 35.095e6, 0.700 * 1.821, 1.10, 0.0771, 119.863),
    "BLOOM-176B": (24_875, "2021-02-14", "2022-01-15", 1.0783e6, 0.400 * 2.031, 1.25, 0.0832, 116.778),
    "GPT-3-175B": (18_625, "2018-06-25", "2019-10-01", 3.552e6, 0.250 * 1.667, 1.25, 0.0667, 113.4),
}
EPOCH_PRINTED = {  # M USD: chips, network, energy; whole in USD, in prices of one month
    "GPT-4": (29.692, 6.965, 3.499, 40_695_706),
    "Llama-3.1-405B": (39.215, 9.199, 2.846, 51_040_524),
    "BLOOM-176B": (0.734, 0.172, 0.068, 995_819),
    "GPT-3-175B": (1.617, 0.379, 0.093, 2_198_105),
}
TARGET_PPI = 119.35


@pytest.mark.parametrize("name", EPOCH)
def test_epoch_whole_cost_of_a_run(name: str) -> None:
    """Epoch AI, training-cost-trends: from the price of a chip to the printed whole, within 0.5 %.

    Chips lose 0.14 orders of magnitude a year, the network is 19 % of a cluster, GPUs draw 75 % of their power, and the
    whole stands in prices of one month by the producer price index of hosting. PUE and price of energy of GPT-3 are
    those of its code's defaults for 2020.
    """
    price, bought, start, hours, kilowatts, pue, usd_per_kwh, ppi = EPOCH[name]
    chips, network, energy, printed = EPOCH_PRINTED[name]
    years = (date.fromisoformat(start) - date.fromisoformat(bought)).days / 365.25
    used = float(declining_cost(declining_value(price, 0.14, years), 0.14, hours))
    assert used / 1e6 == pytest.approx(chips, rel=0.002)
    joined = used * 0.19 / (1 - 0.19)
    assert joined / 1e6 == pytest.approx(network, rel=0.003)
    paid = float(run_cost(run_energy(hours, kilowatts * 1e3 * 0.75, pue) * 1e3, usd_per_kwh))
    assert paid / 1e6 == pytest.approx(energy, rel=0.007)
    whole = used + joined + paid
    assert whole * TARGET_PPI / ppi == pytest.approx(printed, rel=0.005)
    shares = {"GPT-4": 0.087, "Llama-3.1-405B": 0.056}
    assert paid / whole == pytest.approx(shares.get(name, paid / whole), abs=0.0005)


def test_llama_totals() -> None:
    """Model cards: 3,311,616 h and 539.00 t of Llama 2; 2,290 t of Llama 3; 11,390 t of Llama 3.1.

    The card of Llama 2 leaves 34B out: its hours are the rest of the total, and its 153.90 t stand for 350 W, in the
    paper's row, where the others have 400. The totals of 3 and 3.1 round each model: -0.3 % and +2.4 %, for 3.1 rests
    on 0.414 kg/kWh, not on 1.1 x 0.385.
    """

    def tonnes(hours: float, watts: float) -> float:
        return float(run_carbon(run_energy(hours, watts, 1.1), 385.0))

    shown = 184_320 + 368_640 + 1_720_320
    assert tonnes(3_311_616 - shown, 350) == pytest.approx(153.90, rel=0.001)
    assert tonnes(shown, 400) + tonnes(3_311_616 - shown, 350) == pytest.approx(539.00, rel=0.001)
    assert tonnes(7.7e6, 700) == pytest.approx(2290, rel=0.004)
    assert tonnes(39.3e6, 700) == pytest.approx(11_390, rel=0.025)
    assert run_energy(30.84e6, 700, 1.0) == pytest.approx(21_588)


def test_llama_1_whole_project() -> None:
    """arXiv 2302.13971: 2,638 MWh and 1,015 t on 2,048 A100 for about five months; the power gives 122 days."""
    assert run_carbon(2638.0, 385.0) == pytest.approx(1015, rel=0.001)
    hours = accelerator_hours(2048, 122 * DAY)
    assert run_energy(hours, 400, 1.1) == pytest.approx(2638, rel=0.001)


def test_the_grid_decides_a_run_by_a_factor_of_seven() -> None:
    """BLOOM: 24.7 t in France at 57 g/kWh (its own paper), 183 t at 385 g and PUE 1.1 (arXiv 2302.13971, Table 15)."""
    own = float(run_carbon(run_energy(1_082_990, 400, 1.0), 57))
    theirs = float(run_carbon(run_energy(1_082_880, 400, 1.1), 385))
    assert theirs / own == pytest.approx(183 / 24.7, rel=0.005)


def test_an_effective_petaflop_year_of_a_tco_page() -> None:
    """A public page of 2026 prints 9,300 USD for a petaFLOP/s and year at 70 % of 989 TFLOP/s: 9,262 here, -0.4 %."""
    energy = run_energy(accelerator_hours(1024, 5 * 365 * DAY), 0.7 * 700, 1.2)
    year = float(yearly_capital(1024 * 30_000, 0.0, 0.0, 5)) + float(run_cost(energy * 1e3, 0.08)) / 5
    assert year / (1024 * 0.989 * 0.7) == pytest.approx(9300, rel=0.005)


def test_payback_rule_of_2025_of_a_gb200() -> None:
    """A public analysis: 5 M USD a rack, 3.2 USD an hour; 3.17 here, -1 %."""
    year = yearly_capital(5e6 / 72, 0.0, 0.0, 3) * 1.2
    assert rented_hour(year / 8766, 1.0, RentTerm(3.0), 0.0) == pytest.approx(3.2, rel=0.011)


MI300X = """
name: mi300x
nodes:
  - {role: compute, server: mi300x-8nic, count: 128}
fabric:
  family: rail-optimised
  switch: th5-64x800g
  breakout: 2
  link: {endpoint: 800g-2xdr4, inter_switch: 800g-2xdr4}
  tiers: 2
site: {pue: 1.25, currency: USD}
cost: {price_book: usd-2026}
"""
OWNERS = {  # kW all-in and USD an hour of a young cloud (InferenceX); our errors
    "superpod-h100-4su": (1.73, 1.69, 0.01, 0.23),
    "superpod-b200-4su": (2.17, 2.34, 0.10, 0.30),
    "gb200-nvl72-16": (2.10, 2.75, 0.09, 0.02),
    "mi300x": (1.79, 1.40, -0.11, 0.22),
}


@pytest.mark.parametrize("name", OWNERS)
def test_owner_costs_of_semianalysis(name: str, tmp_path: Path) -> None:
    """Only outputs are public, so a band of 25 % is all that they give. B200 lies 5 points outside, at +30 %.

    Provisioned power is the facility's peak over accelerators; an hour is one that is paid, at our own defaults.
    """
    kilowatts, hour, power_error, hour_error = OWNERS[name]
    design = name
    if name == "mi300x":
        (tmp_path / "mi300x.yaml").write_text(MI300X)
        design = str(tmp_path / "mi300x.yaml")
    found = study(design)
    each = found["power"]["facility_peak_kw"] / found["accelerators"]
    assert each / kilowatts - 1 == pytest.approx(power_error, abs=0.02)
    assert found["tco"]["per_accelerator_hour_paid"] / hour - 1 == pytest.approx(hour_error, abs=0.03)


def test_colossus() -> None:
    """Epoch AI: 181 MW, 3.2 G USD of computers and 1.5 G of building for 100,000 H100.

    Hardware of `site-h100-100k` costs 39.7 k USD an accelerator where Epoch AI has 32 k and SemiAnalysis 40 k (-1 %).
    181 MW are 42 % above 1.275 kW, an eighth of a DGX; the study has 1.76 kW at the peak of the facility, -3 %.
    """
    found = study("site-h100-100k")
    assert float(found["bom"]["hardware"]) / found["accelerators"] == pytest.approx(40_000, rel=0.01)
    peak = found["power"]["facility_peak_kw"] / found["accelerators"]
    assert peak == pytest.approx(1.81, rel=0.03)
    assert pytest.approx(0.42, abs=0.001) == 1.81 / (10.2 / 8) - 1
    assert pytest.approx(8.3, abs=0.02) == 1.5e9 / 181e6  # within the 7 to 15.2 USD/W of the ownership profile
    assert facility_power(150.0, 1.21) * HOURS_PER_YEAR / 1e3 == pytest.approx(1590, rel=0.002)


BASEPOD = """
name: basepod
nodes:
  - {{role: compute, server: {server}, count: 8}}
fabric:
  family: fat-tree
  switch: qm9700
  link: {{endpoint: 400g-sr4}}
  tiers: 1
  planes: 2
site: {{pue: 1.25, currency: USD}}
cost: {{price_book: usd-2026}}
"""


@pytest.mark.parametrize(("server", "printed"), [("hgx-b200-8nic", 119.0), ("hgx-h100-8nic", 86.2)])
def test_basepod_of_eight_nodes(server: str, printed: float, tmp_path: Path) -> None:
    """RA-11127, Table 4.2: two QM9700 of 32 node links each; 119.0 kW with B200, 86.2 with H100, without control nodes.

    Two planes stand for its two leaves, whose 32 links to each other are left out. The source counts 32 fibres for 64
    links, which are cages; we count links. Ours has one in-band and one out-of-band switch at their maxima, the
    source two at typical power, and NICs' optics are ours alone: within 0.5 %.
    """
    (tmp_path / "basepod.yaml").write_text(BASEPOD.format(server=server))
    found = study(str(tmp_path / "basepod.yaml"))
    pieces = {(line["kind"], line["part"]): line["quantity"] for line in found["bom"]["lines"]}
    assert pieces["switches", "qm9700"] == 2
    assert pieces["endpoint-links", "400g-sr4"] == 64
    rated = {part["name"]: part["rated_kw"] for part in found["power"]["parts"]}
    whole = sum(rated[name] for name in ("compute", "fabric", "in-band", "out-of-band"))
    assert whole == pytest.approx(printed, rel=0.005)


def test_cables_of_a_superpod_h100() -> None:
    """RA-11333, Table 8: 2,042 cables of the compute fabric, 548 of storage, 304 in band, 333 out of band; 3,227.

    The compute fabric is ours to 0.1 % (the four cables to UFM are no part of the design). The other networks are
    sized by the ownership profile, so that single rows differ by up to 37 % and the whole by 4 %. Every cage of its
    48 switches is filled, 1,536 modules; four twin ports of 127 systems are 508.
    """
    lines = study("superpod-h100-4su")["bom"]["lines"]

    def pieces(*kinds: str) -> int:
        return sum(line["quantity"] for line in lines if line["kind"] in kinds and "qm" not in (line["part"] or ""))

    links = pieces("endpoint-links", "inter-switch-links")
    assert links == pytest.approx(2042, rel=0.001)
    switches = next(line["quantity"] for line in lines if line["kind"] == "switches")
    assert switches * 64 // 2 == 1536
    assert pieces("servers") * 8 // 2 == 508
    assert pieces("cabling") == pytest.approx(3227, rel=0.05)


def test_superpod_b200_of_one_unit(tmp_path: Path) -> None:
    """RA-11334: 31 nodes, 8 leaf and 4 spine switches, 252 cables to nodes and UFM, 256 between switches; 458 kW."""
    design = tmp_path / "one.yaml"
    text = (ROOT / "designs" / "superpod-b200-4su.yaml").read_text().replace("count: 127", "count: 31")
    design.write_text(text)
    found = study(str(design))
    pieces = {line["kind"]: line["quantity"] for line in found["bom"]["lines"][:4]}
    assert pieces["servers"] == 31
    assert pieces["switches"] == 12
    assert pieces["endpoint-links"] == 252 - 4
    assert pieces["inter-switch-links"] == 256
    compute = next(part for part in found["power"]["parts"] if part["name"] == "compute")
    assert compute["rated_kw"] / 31 * 32 == pytest.approx(458, abs=0.5)
