"""Every rule on an assessed design: one design that breaks it, one that does not."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.store import Catalog
from ffplan.check.rule import Examined
from ffplan.check.rules import RULES
from ffplan.check.team_rules import every_rule
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.design.design import study_design
from tests.support import overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.base.errors import Finding

Change = tuple[str, str]
FF2 = "fire-flyer-2"
H100 = "superpod-h100-4su"
POWER = "  it_power: 4 MW"


def limit(text: str) -> Change:
    return (POWER, f"  {text}\n{POWER}")


def job(text: str, *limits: str) -> Change:
    held = "limits:\n" + "".join(f"  {item}\n" for item in limits) if limits else ""
    return ("site:\n", f"workload: {{{text}}}\n{held}site:\n")


def load(rate: str, limit: str = "") -> Change:
    """Return the change that gives a design a load to serve, and a limit on it."""
    limits = f"limits: {{{limit}}}\n" if limit else ""
    return "site:\n", f"serving: {{model: llama3.1-70b, rate: {rate}, osl: 256}}\n{limits}site:\n"


EXPERTS = "model: deepseek-v3, gpus: 1024, batch: 4096, plan: {pipeline: 16, expert: 64, recompute: full}"
THREE = (("count: 1250", "count: 100"), ("count: 175", "count: 10"), ("access_points: 1600", "access_points: 200"))
TIGHT = ("  oversubscription: 1:1\n  allreduce", "  oversubscription: 1:2\n  allreduce")
UNDATED = "[endpoint-links, inter-switch-links]"
"""Lines of the superpod whose recalled prices bear no date."""
H100_JOB = "model: llama3-8b, batch: 1024, gpus: 64"

CASES: dict[str, tuple[tuple[str, tuple[Change, ...]], tuple[str, tuple[Change, ...]]]] = {
    "announced-parts": (("l40s-8-roce", (("th4-64x400g", "th6-128x800g"),)), (H100, ())),
    "empty-group": (
        ("dragonfly-a100", (("count: 1250", "count: 25"),)),
        ("dragonfly-a100", (("count: 1250", "count: 26"),)),
    ),
    "expert-exchange-exposed": ((FF2, (job(EXPERTS),)), (FF2, (job(H100_JOB),))),
    "fabric-full": ((FF2, ()), (H100, ())),
    "fewer-cores": (("gb200-nvl72-64", ()), (FF2, ())),
    "fewer-tiers": (
        (
            "pcie-a100-three-tier",
            (("count: 1250", "count: 100"), ("count: 175", "count: 10"), ("access_points: 1600", "access_points: 200")),
        ),
        (FF2, ()),
    ),
    "host-memory-below-nic": ((FF2, ()), (FF2, ())),
    "limit-allreduce-bandwidth": ((FF2, (("5 GB/s", "8 GB/s"),)), (FF2, ())),
    "limit-blast-radius": ((FF2, (limit("blast_radius: 1 %"),)), (FF2, (limit("blast_radius: 2 %"),))),
    "limit-capex": ((FF2, (limit("capex: 11000 paper-unit"),)), (FF2, (limit("capex: 13000 paper-unit"),))),
    "limit-cost-per-accelerator": (
        (FF2, (limit("cost_per_accelerator: 1 paper-unit"),)),
        (FF2, (limit("cost_per_accelerator: 2 paper-unit"),)),
    ),
    "limit-cost-per-million-tokens": (
        (H100, (job(f"{H100_JOB}, tokens: 1T", "cost_per_million_tokens: $0.000001"),)),
        (H100, (job(f"{H100_JOB}, tokens: 1T", "cost_per_million_tokens: $1000"),)),
    ),
    "limit-facility-peak": ((FF2, (limit("facility_peak: 4 MW"),)), (FF2, (limit("facility_peak: 5 MW"),))),
    "limit-facility-training": ((FF2, (limit("facility_training: 4 MW"),)), (FF2, (limit("facility_training: 5 MW"),))),
    "limit-it-power": ((FF2, ((POWER, "  it_power: 3 MW"),)), (FF2, ())),
    "limit-oversubscription": ((FF2, (TIGHT,)), (FF2, ())),
    "limit-power-per-rack": (
        (FF2, (("count: 1250}", "count: 1250, per_rack: 8}"), limit("power_per_rack: 10 kW"))),
        (
            FF2,
            (
                ("count: 1250}", "count: 1250, per_rack: 8}"),
                ("zones: every}", "zones: every, per_rack: 4}"),
                limit("power_per_rack: 90 kW"),
            ),
        ),
    ),
    "limit-price-age": (
        (FF2, (limit("price_age: 12 months"),)),
        (H100, (("usd-2026", f"usd-2026\n  exclude: {UNDATED}\nlimits: {{price_age: 40 years}}"),)),
    ),
    "limit-run-days": (
        (H100, (job(f"{H100_JOB}, tokens: 15T", "run_days: 1"),)),
        (H100, (job(f"{H100_JOB}, tokens: 15T", "run_days: 10000"),)),
    ),
    "limit-step-time": ((H100, (job(H100_JOB, "step_time: 1 ms"),)), (H100, (job(H100_JOB, "step_time: 1000 s"),))),
    "limit-goodput": ((FF2, (limit("goodput: 99.9 %"), job(H100_JOB))), (FF2, (limit("goodput: 90 %"), job(H100_JOB)))),
    "storage-below-checkpoint": ((FF2, (("count: 135", "count: 1"), job(EXPERTS))), (FF2, (job(H100_JOB),))),
    "storage-below-guidance": ((FF2, (("count: 135", "count: 1"),)), (FF2, ())),
    "limit-tokens-per-second": (
        (H100, (job(H100_JOB, "tokens_per_second: 1.0e+12"),)),
        (H100, (job(H100_JOB, "tokens_per_second: 1"),)),
    ),
    "memory-at-edge": (
        (H100, (job(f"{H100_JOB}, plan: {{tensor: 2, micro_batch: 2}}"),)),
        (H100, (job(f"{H100_JOB}, plan: {{tensor: 2, micro_batch: 1}}"),)),
    ),
    "run-outlives-hardware": (
        (H100, (job(f"{H100_JOB}, tokens: 200T"), ("site:\n", "ownership: {life: 1 year}\nsite:\n"))),
        (H100, (job(f"{H100_JOB}, tokens: 2T"), ("site:\n", "ownership: {life: 1 year}\nsite:\n"))),
    ),
    "no-path-redundancy": (("l40s-8-roce", ()), (H100, ())),
    "no-spares": (
        (H100, (("site:\n", "ownership: {spare_nodes: 0 %}\nsite:\n"),)),
        (H100, (("site:\n", "ownership: {spare_nodes: 1 %}\nsite:\n"),)),
    ),
    "outside-known-range": (
        (H100, (("site:\n", "ownership: {grid: 2.6}\nsite:\n"),)),
        (H100, (("site:\n", "ownership: {grid: 369}\nsite:\n"),)),
    ),
    "price-missing": ((FF2, (("exclude: [storage, endpoint-links]", "exclude: [endpoint-links]"),)), (FF2, ())),
    "rate-mismatch": ((FF2, (("endpoint: hdr-dac", "endpoint: 400g-dac"),)), (FF2, ())),
    "recalled-figures": ((FF2, ()), ("superpod-b200-4su", (("400g-dr4", "400g-dr4"),))),
    "recalled-prices": ((FF2, ()), ("superpod-b200-4su", ())),
    "root-port-below-nic": ((FF2, ()), (FF2, ())),
    "limit-cost-per-million-output": (
        (H100, (load("1/s", "cost_per_million_output: $0.01"),)),
        (H100, (load("1/s", "cost_per_million_output: $100000"),)),
    ),
    "limit-tokens-per-mw": (
        (H100, (load("1/s", "tokens_per_mw: 1.0e+9"),)),
        (H100, (load("1/s", "tokens_per_mw: 1"),)),
    ),
    "limit-tpot-p99": (
        (H100, (load("1/s", "tpot_p99: 0.1 ms"),)),
        (H100, (load("1/s", "tpot_p99: 1 s"),)),
    ),
    "limit-ttft-p99": (
        (H100, (load("1/s", "ttft_p99: 1 ms"),)),
        (H100, (load("1/s", "ttft_p99: 30 s"),)),
    ),
    "serving-refused": ((H100, (load("1.0e+6"),)), (H100, (load("1/s"),))),
    "unused-figure": ((FF2, ()), (FF2, ())),
    "uneven-striping": (("dgx-a100-10k", ()), (FF2, ())),
    "workload-refused": ((H100, (job("model: llama3-405b, gpus: 8"),)), (H100, (job(H100_JOB),))),
    "zone-bottleneck": ((FF2, ()), (H100, ())),
    "zones-uneven": ((FF2, (("count: 1250", "count: 1249"),)), (FF2, ())),
}


def findings(folder: Path, design: str, changes: tuple[Change, ...], rule: str) -> list[Finding]:
    """Return the findings of one rule on a changed design, on a slower root port or on parts made certain."""
    overlays = [str(folder)] if any(folder.glob("*.yaml")) else []
    path = vary_design(folder, design, *changes)
    target = folder / "designs"
    target.mkdir()
    path = path.rename(target / path.name)
    catalog = Catalog(overlays)
    resolved = resolve(read_document(path), catalog)
    examined = Examined(study_design(resolved, catalog, all_scales=False), catalog, date(2026, 11, 22))
    return list(next(item for item in RULES if item.id == rule).check(examined))


def test_every_rule_has_its_pair() -> None:
    assert set(CASES) == {rule.id for rule in RULES}


@pytest.mark.parametrize(
    "rule", sorted(set(CASES) - {"host-memory-below-nic", "root-port-below-nic", "recalled-figures", "unused-figure"})
)
def test_a_rule_fires_and_is_silent(rule: str, tmp_path: Path) -> None:
    severity = next(item.severity for item in RULES if item.id == rule)
    for (design, changes), fires in zip(CASES[rule], (True, False), strict=True):
        folder = tmp_path / str(fires)
        folder.mkdir()
        found = findings(folder, design, changes, rule)
        assert bool(found) == fires, (fires, found)
        assert all(item.rule == rule and item.severity is severity and item.remedy for item in found)


def test_every_rule_shows_what_keeps_it() -> None:
    rules = every_rule()
    assert len(rules) == len({rule.id for rule in rules})
    assert [rule.id for rule in rules if not rule.good or rule.good == rule.example] == []


FLYER = (
    "allreduce-bandwidth",
    "blast-radius",
    "capex",
    "cost-per-accelerator",
    "facility-peak",
    "facility-training",
    "it-power",
)
RUNS = ("cost-per-million-tokens", "goodput", "run-days", "step-time", "tokens-per-second")


def _shown(text: str, design: str) -> tuple[Change, ...]:
    """Return the changes that put an example of a limit into a design, in place of its own limits."""
    limits = re.search(r"limits: \{(.*)\}", text)
    assert limits is not None
    if design == FF2:
        return (("  allreduce_bandwidth: 5 GB/s  # Fig. 7", "  # Fig. 7"), (POWER, f"  {limits[1]}"))
    work = re.search(r"workload: \{(.*)\}", text)
    assert work is not None
    return (job(work[1], limits[1]),)


@pytest.mark.parametrize("name", [*FLYER, *RUNS])
def test_examples_of_limits_are_true(name: str, tmp_path: Path) -> None:
    """What the page of a rule says of fire-flyer-2 is what the finding says; the other example is kept."""
    rule = next(item for item in RULES if item.id == f"limit-{name}")
    design = FF2 if name in FLYER else H100
    for text, fires in ((rule.example, True), (rule.good, False)):
        folder = tmp_path / str(fires)
        folder.mkdir()
        found = findings(folder, design, _shown(text, design), rule.id)
        assert bool(found) == fires, found
        if fires:
            words = found[0].message + found[0].remedy
            said = [float(item.replace(",", "")) for item in re.findall(r"\d[\d,]*\.?\d*", words)]
            comment = text.partition("#")[2].replace("fire-flyer-2", "")
            for item in re.findall(r"\d[\d,]*\.?\d*", comment):
                number = float(item.rstrip(",.").replace(",", ""))
                assert any(abs(number - other) <= 0.02 * other for other in said), (item, words)


def test_a_root_port_slower_than_its_nic(tmp_path: Path) -> None:
    for name, rate in (("slow", "20 GB/s"), ("fast", "30 GB/s")):
        folder = tmp_path / name
        folder.mkdir()
        overlay_part(folder, "fire-flyer-2-node", ("one_way: {value: 37.5 GB/s", f"one_way: {{value: {rate}"))
        found = findings(folder, FF2, (), "root-port-below-nic")
        assert bool(found) == (name == "slow")
    assert not found


def test_a_price_of_a_part_that_does_not_exist(tmp_path: Path) -> None:
    """The book is the user's, in any folder; the part keeps the price of the book that it extends."""
    head = "kind: price-book\nid: fire-flyer-2-relative\nextends: fire-flyer-2-relative\nname: ours\nvendor: various\n"
    source = 'sources: {us: {title: a quote, date: "2026-11", grade: datasheet, status: V}}\n'
    for name, part in (("wrong", "qm8700s"), ("right", "qm8700")):
        folder = tmp_path / name
        folder.mkdir()
        items = f"items: {{{part}: {{value: 0.5, source: us}}}}\n"
        (folder / "ours.yaml").write_text(head + 'currency: paper-unit\ndate: "2026-11"\n' + source + items)
        found = findings(folder, FF2, (), "unused-figure")
        assert [item.path for item in found] == (["cost.price_book"] if name == "wrong" else [])
        for item in found:
            assert item.message.endswith("ours.yaml:9:9: no part `qm8700s` in the catalogue: the figure is unused")
            assert item.remedy == "did you mean `qm8700`?"


def test_host_memory_that_reduces_less_than_the_nic_carries(tmp_path: Path) -> None:
    """320 GB/s of 16 channels over 24 operations are 13.3 GB/s, the NIC's 25 over 1.998 are 12.5; 14 channels reduce
    11.7, and NCCL leaves host memory alone."""
    for name, channels in (("few", 7), ("all", 8)):
        folder = tmp_path / name
        folder.mkdir()
        overlay_part(folder, "fire-flyer-2-node", ("channels: {value: 8", f"channels: {{value: {channels}"))
        found = findings(folder, FF2, (), "host-memory-below-nic")
        assert [item.message for item in found] == (
            ["host memory of `fire-flyer-2-node` lets `hfreduce` reduce 11.67 GB/s, the NICs 12.51 GB/s"]
            if name == "few"
            else []
        )


def test_recalled_figures_are_those_behind_rates_and_power(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, FF2, (), "recalled-figures")
    assert "`memory_bandwidth` of `a100-pcie-40gb`" in found.message
    assert "dimms" not in found.message  # recalled too, and no rate
