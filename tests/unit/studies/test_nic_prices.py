"""The price of a NIC that the price of its server holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.catalog.store import Catalog
from ffplan.cost.account import account_year
from ffplan.cost.sensitivity import likely
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.cost.ledger import Ledger, _ledger_of, with_nic_prices
from tests.support import ROOT, ffplan, overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

POD = "superpod-h100-4su"
NIC = "connectx-7-400g"
FOUR = ("count: 127,", "count: 127, nics: 4,")


def ledger(path: Path) -> Ledger:
    catalog = Catalog()
    return _ledger_of(resolve(read_document(path), catalog), catalog)


def hardware(found: Ledger, nic: float) -> Any:
    return account_year(found.account, {**likely(found.inputs), f"price.{NIC}": nic}).purchase["hardware"]


def test_a_dearer_nic_makes_its_servers_dearer() -> None:
    """127 servers and 3 spares hold 8 each: 1,040 NICs; 19 storage servers hold 2 of another kind."""
    found = ledger(ROOT / "designs" / f"{POD}.yaml")
    wide = with_nic_prices(found)
    assert {part: count for part, count, _ in wide.account.within} == {NIC: 1040, "connectx-6-200g": 38}
    assert hardware(wide, 1600) == pytest.approx(account_year(found.account, likely(found.inputs)).purchase["hardware"])
    assert hardware(wide, 1700) - hardware(wide, 1600) == pytest.approx(104_000)


def test_servers_bought_without_some_of_their_nics(tmp_path: Path) -> None:
    """Spares keep all: 130 times 8 in prices of servers, less the 127 times 4 that are not bought."""
    wide = with_nic_prices(ledger(vary_design(tmp_path, POD, FOUR)))
    assert hardware(wide, 1700) - hardware(wide, 1600) == pytest.approx(100 * (130 * 8 - 127 * 4))
    assert [item.name for item in wide.inputs].count(f"price.{NIC}") == 1


def test_a_rented_fleet_buys_no_nics() -> None:
    assert with_nic_prices(ledger(ROOT / "designs" / "aws-p5-64.yaml")).account.within == ()


def compared(four: Path, *options: str) -> Any:
    words = f"compare {POD} {four} --model llama3-70b --tokens 2T --batch 508 --draws 0 --format json"
    run = ffplan(" ".join((words, *options)))
    assert run.code == 0, run.err
    (found,) = json.loads(run.out)["money"]["differences"]
    return found


@pytest.mark.deep
def test_at_the_price_of_a_nic_that_is_named_both_cost_the_same(tmp_path: Path) -> None:
    """A pod with eight NICs a server against one with four, at a batch where they are nearly even."""
    four = vary_design(tmp_path, POD, FOUR, (f"name: {POD}", "name: four-nics"))
    found = compared(four)
    row = next(row for row in found["break_even"] if row["input"] == f"price.{NIC}")
    assert row["likely"] == 1600
    price = round(row["break_even"], 2)
    assert 1200 < price < 1600
    book = tmp_path / "catalog"
    book.mkdir()
    overlay_part(
        book,
        "usd-2026",
        (f"{NIC}: {{value: 1600", f"{NIC}: {{value: {price}"),
        ("hgx-h100-8nic: {value: 265000", f"hgx-h100-8nic: {{value: {265_000 + 8 * (price - 1600):.2f}"),
    )
    assert compared(four, "--catalog", str(book))["ratio"]["likely"] == pytest.approx(1, abs=1e-6)


def test_the_reason_for_no_break_even_has_unit_and_currency() -> None:
    found = json.loads(ffplan(f"cost {POD} --draws 0 --format json").out)["uncertainty"]["break_even"]
    row = next(row for row in found if row["input"] == f"price.{NIC}")
    assert (row["break_even"], row["why"]) == (None, "never from 160 USD to 16,000 USD")
