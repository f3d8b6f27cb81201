"""Published costs, energy and carbon: the rules that their sources state, with the printed results."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from ffplan.cost.bom import line_total
from ffplan.cost.capital import _annuity, yearly_capital
from ffplan.cost.power import HOURS_PER_YEAR, facility_power
from ffplan.cost.rent import RentTerm, break_even_months, break_even_utilisation, rented_hour
from ffplan.cost.run import (
    _embodied_carbon,
    _site_water,
    accelerator_hours,
    run_carbon,
    run_cost,
    run_energy,
    run_seconds,
)
from tests.formulas import declining_cost, declining_value
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0


def study(arguments: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(ffplan(f"cost {arguments} --format json").out)
    return found


def test_deepseek_v3_hours_and_price() -> None:
    """arXiv 2412.19437, Table 1 and section 1: 2.788 M H800 hours at 2 USD; 3.7 days a trillion tokens on 2,048."""
    for hours, printed in ((2664e3, 5.328e6), (119e3, 0.238e6), (5e3, 0.01e6), (2788e3, 5.576e6)):
        assert run_cost(hours, 2.0) == pytest.approx(printed)
    tokens_s = 1e12 / (180e3 / 2048 * 3600)
    seconds = run_seconds(1e12, tokens_s, 1.0)
    assert accelerator_hours(2048, seconds) == pytest.approx(180e3)
    assert round(float(seconds) / DAY, 1) == 3.7
    assert round(float(run_seconds(14.8e12, tokens_s, 1.0)) / DAY, 1) == 54.2


def test_deepseek_v3_on_its_own_cluster(tmp_path: Path) -> None:
    """The paper's 14.8 T tokens took 54.2 days on 2,048 H800: 53.7 here, with its precision and a searched plan."""
    plan = tmp_path / "plan.yaml"
    plan.write_text("kind: training-plan\nprecision: fp8\npreset: deepseek\n")
    job = f"--model deepseek-v3 --tokens 14.8T --batch 15360 --plan {plan} --search"
    run = study(f"deepseek-v3-2048 {job} --draws 0 --effort tuned")["run"]
    assert isinstance(run, dict)
    assert run["days"]["likely"] == pytest.approx(54.2, rel=0.1)
    assert run["accelerator_hours"]["likely"] == pytest.approx(2664e3, rel=0.1)


EPOCH = {
    "GPT-4": (57.0e6, 14165, 0.400, 2.031, 1.25, 0.0806, 29.692, 6.965, 3.499),
    "Llama-3.1-405B": (35.095e6, 30386, 0.700, 1.821, 1.10, 0.0771, 39.215, 9.199, 2.846),
    "Nemotron-4-340B": (13.517e6, 31506, 0.700, 1.821, 1.25, 0.0771, 15.661, 3.673, 1.246),
}
"""Hours, value at the start, TDP [kW], server over chip, PUE, price of energy; M USD of chips, network, energy."""


@pytest.mark.parametrize("name", EPOCH)
def test_epoch_amortised_cost(name: str) -> None:
    """Epoch AI, training-cost-trends: chips lose 0.14 orders of magnitude a year; the network is 19 % of a cluster."""
    hours, value, tdp, server, pue, price, chips, network, energy = EPOCH[name]
    mine = float(declining_cost(value, 0.14, hours)) / 1e6
    assert mine == pytest.approx(chips, rel=0.002)
    assert mine * 0.19 / 0.81 == pytest.approx(network, rel=0.002)
    used = float(run_energy(hours, tdp * 1e3 * server * 0.75, pue)) * 1e3 * price / 1e6
    assert used == pytest.approx(energy, rel=0.002)


def test_epoch_value_at_the_start_of_training() -> None:
    """A chip of 24,875 USD, bought 2020-08-12, on 2022-05-12: 14,165 USD; 44,490 from 2022-12-19 to 2024-02-24."""
    assert declining_value(24875, 0.14, 638 / 365.25) == pytest.approx(14165, rel=0.001)
    assert declining_value(44490, 0.14, 432 / 365.25) == pytest.approx(30386, rel=0.001)


LLAMA = {
    "llama-2-7b": (184_320, 400, 31.22, 0.001),
    "llama-2-13b": (368_640, 400, 62.44, 0.001),
    "llama-2-70b": (1_720_320, 400, 291.42, 0.001),
    "llama-3-8b": (1.3e6, 700, 390, 0.02),
    "llama-3-70b": (6.4e6, 700, 1900, 0.02),
    "llama-3.1-8b": (1.46e6, 700, 420, 0.035),
    "llama-3.1-70b": (7.0e6, 700, 2040, 0.035),
    "llama-3.1-405b": (30.84e6, 700, 8930, 0.035),
}
"""Hours, W, t CO2e of the model cards; tolerance. Those of 3.1 rest on another factor, 0.414 in place of 0.4235."""


@pytest.mark.parametrize("name", LLAMA)
def test_llama_model_cards(name: str) -> None:
    hours, watts, tonnes, tolerance = LLAMA[name]
    energy = run_energy(hours, watts, 1.1)
    assert run_carbon(energy, 385.0) == pytest.approx(tonnes, rel=tolerance)


TABLE_15 = {
    "OPT-175B": (809_472, 356, 137),
    "BLOOM-175B": (1_082_880, 475, 183),
    "7B": (82_432, 36, 14),
    "13B": (135_168, 59, 23),
    "33B": (530_432, 233, 90),
    "65B": (1_022_362, 449, 173),
}


@pytest.mark.parametrize("name", TABLE_15)
def test_llama_table_15(name: str) -> None:
    """arXiv 2302.13971: 400 W, PUE 1.1, 385 g/kWh. Its own rule gives 476.5 MWh for BLOOM, where it prints 475."""
    hours, megawatt_hours, tonnes = TABLE_15[name]
    energy = run_energy(hours, 400, 1.1)
    assert energy == pytest.approx(megawatt_hours, abs=1.6 if name.startswith("BLOOM") else 1)
    assert run_carbon(energy, 385.0) == pytest.approx(tonnes, abs=1)


def test_bloom_in_france() -> None:
    """arXiv 2211.02001: 1,082,990 h at 400 W, 57 g/kWh; the dynamic part leaves the site's PUE out."""
    energy = run_energy(1_082_990, 400, 1.0)
    assert energy == pytest.approx(433.196, abs=0.002)
    assert run_carbon(energy, 57) == pytest.approx(24.69, abs=0.01)
    assert _site_water(energy, 0.15) == pytest.approx(65.0, abs=0.1)  # at the 0.15 l/kWh that AWS reports for 2024


def test_gpt_3_of_patterson() -> None:
    """arXiv 2104.10350, Table 4: 10,000 V100 for 14.8 days at 330 W a server's part, PUE 1.10, 429 g/kWh."""
    energy = run_energy(accelerator_hours(10_000, 14.8 * DAY), 330, 1.10)
    assert energy == pytest.approx(1287, rel=0.003)
    assert run_carbon(energy, 429) == pytest.approx(552, rel=0.003)


def test_a_100k_h100_site() -> None:
    """SemiAnalysis: 150 MW critical, 1.59 TWh a year at 0.078 USD/kWh, 123.9 M USD: an implied PUE of 1.21."""
    assert run_cost(1.59e9, 0.078) == pytest.approx(123.9e6, rel=0.002)
    power = study("site-h100-100k --draws 0")["power"]
    assert isinstance(power, dict)
    assert power["it_rated_kw"] / 1e3 == pytest.approx(150, rel=0.06)
    assert power["facility_peak_kw"] / 1e3 == pytest.approx(181, rel=0.03)  # Colossus, Epoch AI
    assert facility_power(150.0, 1.21) * HOURS_PER_YEAR / 1e6 == pytest.approx(1.59, rel=0.002)


def test_renting_for_two_years_buys_the_cluster() -> None:
    """arXiv 2408.14158 with prices of Epoch AI: it holds at the three-year rate; on demand it takes 8.3 months."""
    month = HOURS_PER_YEAR / 12
    for rate, total, over in ((4.10, 574_656, 2.89), (2.40, 336_384, 1.69), (1.45, 203_232, 1.02)):
        assert run_cost(accelerator_hours(8, 17_520 * 3600.0), rate) == pytest.approx(total)
        months = break_even_months(199_000, 0.0, rate * 8 * month)
        assert 24 / months == pytest.approx(over, abs=0.005)
    assert break_even_months(199_000, 0.0, 4.10 * 8 * month) == pytest.approx(8.3, abs=0.05)
    assert break_even_months(1.0, 2.0, 2.0) == math.inf


def test_an_h200_node_over_three_years() -> None:
    """A public appendix of October 2026: 7 kW, PUE 1.6, 0.0977 USD/kWh, 320 to 420 k of hardware, 8 to 12 % support."""
    energy = float(run_energy(26_280, 7000, 1.6))
    assert energy * 1e3 == pytest.approx(294_336)
    assert energy * 1e3 * 0.0977 == pytest.approx(29_000, rel=0.01)
    for hardware, support, printed in ((320e3, 0.08, 426e3), (420e3, 0.12, 600e3), (370e3, 0.10, 510e3)):
        assert hardware * (1 + 3 * support) + energy * 97.7 == pytest.approx(printed, rel=0.002)
    assert run_cost(26_280, 63.296) == pytest.approx(1.66e6, rel=0.003)


def test_a_thousand_h100_of_a_tco_page() -> None:
    """A public page of 2026: 1,024 GPUs of 30,000, 0.7 kW at 70 %, PUE 1.2, 0.08 USD/kWh, five years."""
    energy = run_energy(accelerator_hours(1024, 5 * 365 * DAY), 0.7 * 700, 1.2)
    assert float(energy) * 80 == pytest.approx(2.11e6, rel=0.001)
    assert 1024 * 30_000 + float(energy) * 80 == pytest.approx(32.83e6, rel=0.001)


def test_semianalysis_price_of_an_hour() -> None:
    """InferenceX prints 1.69 USD of ownership of an H100 hour for a neocloud; only its outputs are public.

    An annuity of 13 % over four years and 184 USD/kW-month of space on 1.73 kW leave 32.7 k USD of capital for each.
    """
    assert _annuity(0.13, 4) == pytest.approx(0.3362, abs=0.0001)
    space = 1.73 * 184 * 12 / 8766
    assert space == pytest.approx(0.436, abs=0.001)
    assert (1.69 - space) / (float(_annuity(0.13, 4)) / 8766) == pytest.approx(32_700, rel=0.01)
    tco = study("superpod-h100-4su --draws 0")["tco"]
    assert isinstance(tco, dict)
    assert tco["per_accelerator_hour_paid"] == pytest.approx(1.69, rel=0.30)


def test_payback_rule_of_2025() -> None:
    """A public analysis: 50,000 USD a chip, three years, 20 % a year on top: 20,000 a year, 2.3 USD an hour."""
    year = yearly_capital(50_000, 0.0, 0.0, 3) * 1.2
    assert year == pytest.approx(20_000)
    assert rented_hour(year / 8766, 1.0, RentTerm(3.0), 0.0) == pytest.approx(2.3, abs=0.03)
    assert yearly_capital(5e6 / 72, 0.0, 0.0, 3) * 1.2 == pytest.approx(27_700, rel=0.005)


def test_superpod_b200_racks() -> None:
    """RA-11334: two systems of 14.3 kW in a rack are 28.6 kW; 127 nodes, 32 leaf and 16 spine switches."""
    power = study("superpod-b200-4su --draws 0")["power"]
    assert isinstance(power, dict)
    assert power["fullest_rack_kw"] == pytest.approx(28.6)
    assert power["racks_of"]["compute"] == 64
    compute = next(part for part in power["parts"] if part["name"] == "compute")
    assert compute["rated_kw"] == pytest.approx(1816, abs=1)
    assert 32 * compute["rated_kw"] / 127 == pytest.approx(458, abs=0.5)


def test_nvl72_rack_power() -> None:
    """HPE QuickSpecs: 132 kW a rack of GB200 NVL72, 115 of them liquid-cooled."""
    power = study("gb200-nvl72-16 --draws 0")["power"]
    assert isinstance(power, dict)
    assert power["fullest_rack_kw"] == pytest.approx(132, rel=0.01)
    assert power["racks_of"]["compute"] == 16
    assert power["liquid_kw"] / 16 == pytest.approx(115, rel=0.01)
    assert line_total(648, 30) / 1e3 == pytest.approx(19.4, abs=0.05)  # its NVLink in optics, SemiAnalysis


def test_fire_flyer_draws_just_over_3_mw() -> None:
    """arXiv 2408.14158, section VIII-C: energy just over 3 MW for nodes, storage and network."""
    parts = study("fire-flyer-2 --draws 0")["power"]["parts"]  # type: ignore[index]
    known = sum(part["training_kw"] for part in parts if part["name"] in ("compute", "storage", "fabric"))
    assert known == pytest.approx(3200, rel=0.1)


def test_embodied_carbon_of_a_board() -> None:
    """164 kg of an H100 over five years at 80 % duty are 4.7 g an hour (NVIDIA's product carbon footprint)."""
    assert _embodied_carbon(164, 1.0, 5 * 8760 * 0.8) * 1e6 == pytest.approx(4.7, abs=0.03)


def test_break_even_utilisation_by_hand() -> None:
    """One accelerator, 8,760 USD a year fixed, 876 more at full use, rent of 2 USD/h: 8,760 / (17,520 - 876)."""
    assert break_even_utilisation(8760.0, 876.0, 2.0, 1) == pytest.approx(8760 / 16_644)
    assert break_even_utilisation(8760.0, 17_520.0, 2.0, 1) == math.inf


def test_every_shipped_design_has_a_full_cost_report() -> None:
    names = sorted(path.stem for path in (ROOT / "designs").glob("*.yaml"))
    assert len(names) > 18
    for name in names:
        found = study(f"{name} --draws 100")
        assert found["tco"] is not None, name
        bom = found["bom"]
        assert bom is None or not bom["missing"], name  # type: ignore[index]
        assert (bom is None) == (found["tco"]["facility"] == "rented"), name  # type: ignore[index]
