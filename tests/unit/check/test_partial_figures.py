"""A limit passes no figure that is partly known, and none that was not looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import ffplan, overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

POD = "superpod-h100-4su"
LOAD = "serving: {model: llama3.1-70b, rate: 20/s, isl: 2048, osl: 512, tp: 8}\n"


def limits(folder: Path, *changes: tuple[str, str], catalog: str = "") -> str:
    """Return what `check` finds in the pod, changed."""
    design = vary_design(folder, POD, *changes)
    return ffplan("check", "--isolated", str(design), *(("--catalog", catalog) if catalog else ())).out


@pytest.fixture
def unpriced(tmp_path: Path) -> str:
    """Return a folder with a switch like that of the pod, which no book prices."""
    parts = tmp_path / "parts"
    parts.mkdir()
    overlay_part(parts, "qm9700", ("id: qm9700", "id: own-64"))
    (parts / "qm9700.yaml").rename(parts / "own-64.yaml")
    return str(parts)


def test_tokens_served_on_parts_without_a_price_cost_at_least_as_much(tmp_path: Path, unpriced: str) -> None:
    """A bound above the partial cost cannot be checked, one below is broken; `serve` says that it is partial."""
    change = ("switch: qm9700", "switch: own-64")
    high = limits(
        tmp_path, change, ("site:", f"{LOAD}limits: {{cost_per_million_output: $100}}\nsite:"), catalog=unpriced
    )
    assert "the limit cannot be checked: a million output tokens of the load is at least" in high
    assert "no price of `own-64` [limit-cost-per-million-output]" in high
    low = limits(tmp_path, change, ("site:", f"{LOAD}limits: {{cost_per_million_output: $1}}\nsite:"), catalog=unpriced)
    assert "above the limit of at most 1 USD [limit-cost-per-million-output]" in low
    served = ffplan(f"serve {tmp_path / POD}.yaml --catalog {unpriced}").out
    assert "at least" in next(line for line in served.splitlines() if "a million out" in line)
    both = ffplan(f"compare {tmp_path / POD}.yaml {POD} --serve --model llama3.1-70b --catalog {unpriced}").out
    assert "whole costs in one currency are missing" in both


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("cost:\n  price_book: usd-2026\n", ""), "the design has no prices"),
        (
            ("cost:\n  price_book: usd-2026\n", "rent: {price: $2/hour, term: 3-year}\n"),
            "the cluster is rented, so no part has a price",
        ),
    ],
)
def test_an_age_of_prices_without_prices_cannot_be_checked(change: tuple[str, str], why: str, tmp_path: Path) -> None:
    out = limits(tmp_path, ("site:", "limits: {price_age: 36 months}\nsite:"), change)
    assert f"the limit cannot be checked: {why} [limit-price-age]" in out
    assert "0 of 1 limit holds" in out
