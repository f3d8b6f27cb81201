"""Rules and limits where another branch would say something else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.check.limits import unknown_job
from ffplan.check.rules import fabric_full
from ffplan.check.team_limits import _comparable
from ffplan.inputs.quantities import Money
from tests.support import ROOT, assess_file, document, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path


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
    assert unknown_job(examined, tokens=tokens) == words


@pytest.mark.parametrize(("leaf", "spine", "found"), [(0, 0, 1), (0, 4, 1), (2, 0, 0), (2, 4, 0)])
def test_ports_set_aside_on_leaves_alone_leave_room(leaf: int, spine: int, found: int) -> None:
    """Free ports of a spine take no node."""
    rows = [SimpleNamespace(unused_ports=leaf), SimpleNamespace(unused_ports=spine)]
    examined: Any = SimpleNamespace(
        design=SimpleNamespace(document=document("fabric: {}\n")),
        assessment=SimpleNamespace(fabric=SimpleNamespace(by_role=rows, spare_ports=0)),
    )
    assert len(list(fabric_full.check(examined))) == found


def test_single_ports_are_found_behind_a_group_with_two(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    compute = next(line for line in text.splitlines() if "role: compute" in line)
    storage = next(line for line in text.splitlines() if "role: storage" in line)
    path = vary_design(tmp_path, "fire-flyer-2", (f"{compute}\n{storage}", f"{storage}\n{compute}"))
    rules = [finding.rule for finding in assess_file(path).findings]
    assert rules.count("no-path-redundancy") == 1


def test_amounts_of_two_currencies_have_no_order() -> None:
    dollars, euros = Money(1.0, "USD"), Money(1.0, "EUR")
    assert _comparable(dollars, Money(2.0, "USD"))
    assert not _comparable(dollars, euros)
    assert _comparable(1.0, 2.0)


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
