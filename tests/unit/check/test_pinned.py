"""Rules and limits where another branch would say something else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.check import formats
from ffplan.check.limit import _unknown_job, compare
from ffplan.check.policy import _is_stricter
from ffplan.check.rules import RULES
from ffplan.check.rules import node as node_rules
from ffplan.check.rules.limits import LIMITS
from ffplan.check.waivers import comment_waivers, write_baseline
from ffplan.inputs.quantities import Money
from ffplan.studies.operate import storage_jobs as studies_storage
from tests.support import ROOT, assess_file, document, ffplan

if TYPE_CHECKING:
    from pathlib import Path

RULE = {rule.id: rule for rule in RULES}


@pytest.mark.parametrize(
    ("workload", "timed", "tokens", "words"),
    [
        (None, None, True, "the design has no `workload`"),
        (SimpleNamespace(tokens=None), None, True, "the workload has no step time"),
        (SimpleNamespace(tokens=None), object(), True, "the workload has no `tokens`"),
        (SimpleNamespace(tokens=None), object(), False, ""),
        (SimpleNamespace(tokens=1e12), object(), True, ""),
    ],
)
def test_why_a_job_is_unknown(workload: Any, timed: Any, tokens: bool, words: str) -> None:
    examined: Any = SimpleNamespace(design=SimpleNamespace(workload=workload), timed=timed)
    assert _unknown_job(examined, tokens=tokens) == words


@pytest.mark.parametrize(("leaf", "spine", "found"), [(0, 0, 1), (0, 4, 1), (2, 0, 0), (2, 4, 0)])
def test_ports_set_aside_on_leaves_alone_leave_room(leaf: int, spine: int, found: int) -> None:
    """Free ports of a spine take no node."""
    rows = [SimpleNamespace(unused_ports=leaf), SimpleNamespace(unused_ports=spine)]
    examined: Any = SimpleNamespace(
        design=SimpleNamespace(document=document("fabric: {}\n")),
        assessment=SimpleNamespace(fabric=SimpleNamespace(by_role=rows, spare_ports=0)),
    )
    assert len(list(RULE["fabric-full"].check(examined))) == found


def test_amounts_of_two_currencies_have_an_order_by_a_rate_alone() -> None:
    dollars, euros = Money(1.0, "USD"), Money(1.0, "EUR")
    assert _is_stricter(dollars, Money(2.0, "USD"), {}, least=False)
    assert not _is_stricter(dollars, euros, {}, least=False)
    assert not _is_stricter(dollars, euros, {}, least=True)
    assert _is_stricter(dollars, euros, {"EUR": Money(1.1, "USD")}, least=False)
    assert _is_stricter(1.0, 2.0, {}, least=False)


def test_an_age_of_one_month_is_one_month() -> None:
    run = ffplan("check", str(ROOT / "tests" / "golden" / "tight.yaml"), "--today", "2026-11-23")
    assert "months old; the limit is 1: `hgx-h100-8nic`" in run.out


def test_what_would_hold_more_names_no_tier_that_would_not(tmp_path: Path) -> None:
    """40-port switches: one holds 40 endpoints, two tiers 800, three 16,000."""
    path = tmp_path / "one.yaml"
    path.write_text(
        "name: one\nnodes: [{role: compute, server: fire-flyer-2-node, count: 900}]\n"
        "fabric: {family: fat-tree, switch: qm8700, link: {endpoint: hdr-dac, inter_switch: hdr-aoc}, tiers: 1}\n"
        "communication: {libraries: [nccl], message_size: 1 MiB}\nsite: {pue: 1.2}\n"
    )
    run = ffplan("design", str(path))
    assert run.code == 2
    assert "`tiers: 3` holds 16,000 per zone" in run.err
    assert "tiers: 2" not in run.err


def below_nic(monkeypatch: pytest.MonkeyPatch, *ports: tuple[str, float | None, bool]) -> list[str]:
    """Return what is found of root ports with a NIC of 50 GB/s each, a GPU beside it where a switch is there."""
    node = SimpleNamespace(
        nic_ids=["nic"],
        nic_gbyte_s=[50.0],
        ports=[
            SimpleNamespace(
                pcie_switch=switch,
                gpus=["gpu0"] * switch,
                nics=["nic", "of-management"],
                devices=devices,
                limits=None if rate is None else SimpleNamespace(one_way=SimpleNamespace(value=rate)),
            )
            for devices, rate, switch in ports
        ],
    )
    monkeypatch.setattr(node_rules, "node_of", lambda _: node)
    compute = SimpleNamespace(position=0, server=SimpleNamespace(id="box"))
    examined: Any = SimpleNamespace(
        design=SimpleNamespace(document=document("nodes: [{server: box}]\n"), compute=compute)
    )
    return [finding.message for finding in RULE["root-port-below-nic"].check(examined)]


def test_root_ports_of_one_rate_are_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port whose GPU and NIC share a switch is passed over, and those behind it are not."""
    words = "of `box` carry 37.5 GB/s, the NICs behind each 50 GB/s"
    found = below_nic(monkeypatch, ("s", 37.5, True), ("a", 37.5, False), ("b", 37.5, False), ("c", 50.0, False))
    assert found == [f"the root ports of a and b {words}"]
    found = below_nic(monkeypatch, ("a", 37.5, False), ("b", 25.0, False), ("c", None, False))
    assert found == [
        f"the root port of {name} of `box` carries {rate} GB/s, the NICs behind it 50 GB/s"
        for name, rate in (("a", "37.5"), ("b", "25"))
    ]


def test_parts_of_a_split_link_are_named_each() -> None:
    assert node_rules._each(1, "parts", "dr4") == "`dr4`"
    assert node_rules._each(2, "parts", "dr4") == "each of the 2 parts of `dr4`"


def test_what_github_takes() -> None:
    """Its limits of results in a run and of letters in a comment; see its documentation of SARIF and of issues."""
    assert formats.MOST_RESULTS == 25_000
    assert formats.MOST_LETTERS < 65_536


def test_a_comment_before_the_last_line_waives_it() -> None:
    text = "# ffplan: waive fabric-full: grown later\nfabric: 1"
    (waiver,), faults = comment_waivers(text, "a.yaml", document(text).root)
    assert not faults
    assert (waiver.path, waiver.line) == ("fabric", 1)


def test_tiers_are_counted_against_one_plane(tmp_path: Path) -> None:
    """1,200 NICs in two planes: 600 ports each, which two tiers of 40-port switches hold (800); 900 they do not."""
    rules = []
    for count in (150, 225):
        path = tmp_path / f"planes-{count}.yaml"
        path.write_text(
            f"name: planes\nnodes: [{{role: compute, server: dgx-a100-320gb, count: {count}}}]\n"
            "fabric: {family: fat-tree, planes: 2, switch: qm8700, tiers: 3, "
            "link: {endpoint: hdr-dac, inter_switch: hdr-aoc}}\n"
            "communication: {libraries: [nccl], message_size: 1 MiB}\nsite: {pue: 1.2}\n"
        )
        rules.append([item for item in assess_file(path).findings if item.rule == "fewer-tiers"])
    assert [len(found) for found in rules] == [1, 0]
    assert rules[0][0].message == "600 ports per zone would fit with `tiers: 2`, which holds 800"


def test_tokens_that_are_priced_in_another_currency_have_no_cost_to_hold(tmp_path: Path) -> None:
    text = (ROOT / "tests" / "golden" / "tight.yaml").read_text()
    path = tmp_path / "euro.yaml"
    assert "cost_per_million_tokens: $0.01" in text
    path.write_text(text.replace("cost_per_million_tokens: $0.01", "cost_per_million_tokens: 1000000 EUR"))
    run = ffplan("check", str(path))
    (line,) = [line for line in run.out.splitlines() if "limit-cost-per-million-tokens" in line]
    assert "the run is priced in USD" in line


@pytest.mark.parametrize(("actual", "broken"), [(1e6 + 1e-4, False), (1e6 + 1e-2, True), (1e6, False)])
def test_a_limit_has_the_slack_of_its_last_digits(actual: float, broken: bool) -> None:
    """A billionth of the limit, whatever its size: 0.001 of a million."""
    limit = next(limit for limit in LIMITS if limit.field == "it_power")
    assert bool(list(compare(limit, actual, 1e6))) == broken


def test_the_share_that_a_switch_cuts_off_is_in_per_cent() -> None:
    design: Any = SimpleNamespace(
        document=document("limits:\n  blast_radius: 1 %\n"),
        spec=SimpleNamespace(limits=SimpleNamespace(blast_radius=0.0151)),
    )
    for cut_off, broken in ((152, True), (151, False)):
        examined: Any = SimpleNamespace(
            design=design, assessment=SimpleNamespace(accelerators=10_000), switch_loss=cut_off
        )
        found = list(RULE["limit-blast-radius"].check(examined))
        assert bool(found) == broken
        if found:
            assert "is 1.52 % of the accelerators, above the limit of at most 1.51 %" in found[0].message


@pytest.mark.parametrize(("ratio", "found"), [(1.0, 0), (1.5, 1), (2.0, 1)])
def test_zones_with_fewer_links_than_endpoints_are_said(ratio: float, found: int) -> None:
    examined: Any = SimpleNamespace(
        design=SimpleNamespace(document=document("fabric:\n  inter_zone: {}\n")),
        assessment=SimpleNamespace(fabric=SimpleNamespace(zones=2, zone_oversubscription=ratio)),
    )
    assert len(list(RULE["zone-bottleneck"].check(examined))) == found


def test_a_baseline_keeps_names_as_people_write_them() -> None:
    finding = document("fabric: {}\n", "entw\u00fcrfe/a.yaml").finding("r", ("fabric",), "m", "f")
    assert "entw\u00fcrfe/a.yaml" in write_baseline([finding], frozenset())


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (None, "the design has no `workload`"),
        (SimpleNamespace(currency="USD", cost_per_million_tokens=None, cost=None), "the design has no prices"),
        (
            SimpleNamespace(currency="EUR", cost_per_million_tokens=SimpleNamespace(likely=1.0), cost=1.0),
            "the run is priced in EUR",
        ),
    ],
)
def test_why_tokens_have_no_cost(run: Any, words: str) -> None:
    """Without a run the workload says why; with one, its prices do."""
    limits = SimpleNamespace(cost_per_million_tokens=Money(1.0, "USD"))
    text = document("limits:\n  cost_per_million_tokens: $1\n")
    examined: Any = SimpleNamespace(
        design=SimpleNamespace(
            document=text,
            spec=SimpleNamespace(limits=limits, site=SimpleNamespace(exchange={})),
            workload=None,
            rent=None,
        ),
        assessment=SimpleNamespace(cost=None),
        run=run,
        timed=None,
    )
    (found,) = RULE["limit-cost-per-million-tokens"].check(examined)
    if run is None:
        assert words in found.message
    else:
        assert found.message.endswith(words)


def storage_saves(persist_s: float, *, planned: bool, kept: float = 10.0) -> list[Any]:
    """Return what is found of checkpoints every 120 s (a save of 2 s, a failure an hour) that take so long, kept so."""
    examined: Any = SimpleNamespace(
        design=SimpleNamespace(
            document=document("nodes:\n  - role: compute\n  - role: storage\nworkload: 1\n"),
            spec=SimpleNamespace(nodes=[SimpleNamespace(role="compute"), SimpleNamespace(role="storage")]),
            reliability=None,
        ),
        recovery=SimpleNamespace(
            basis=SimpleNamespace(storage=SimpleNamespace(planned=planned, usable_bytes=kept * 1e12)),
            outcome=SimpleNamespace(
                save_s=2.0, mtbf_s=3600.0, persist_s=persist_s, persist_binds="disks", checkpoint_bytes=1e12
            ),
        ),
    )
    return list(RULE["storage-below-checkpoint"].check(examined))


def test_storage_that_is_slower_than_checkpoints_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Young and Daly: sqrt(2 x 2 x 3600) = 120 s; the tool's optimum of higher order stays within 2 % of it."""
    monkeypatch.setattr(studies_storage, "kept_checkpoints", lambda _: 10)
    assert not storage_saves(100.0, planned=True)
    (found,) = storage_saves(360.0, planned=True)
    assert found.message.startswith("the storage saves a checkpoint of the workload in 6 ")
    assert found.line == 3
    (found,) = storage_saves(240.0, planned=False)
    assert found.message.startswith("the storage that the ownership profile sizes saves")
    assert "plan 2 times the storage" in found.remedy
    (found,) = storage_saves(100.0, planned=True, kept=9.5)
    assert found.message == "the storage has room for 9.5 checkpoints of the workload, and 10 are kept"
