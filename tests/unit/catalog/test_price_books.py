"""Price books that extend others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.evidence import date_of
from ffplan.catalog.prices import PriceBook
from ffplan.catalog.store import Catalog
from tests.golden.cases import quotes
from tests.support import ROOT, assess_file, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

SERVER = "hgx-h100-8nic: {value: 264000, source: quote}"


def written(folder: Path, *books: tuple[str, str]) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in books:
        (folder / name).write_text(text)
    return str(folder)


def book(name: str, *folders: str) -> PriceBook:
    part = Catalog(folders).entry(name).part
    assert isinstance(part, PriceBook)
    return part


def test_one_quote_over_the_shipped_book_of_the_same_id(overlay: Path) -> None:
    """The servers cost the quote; nothing else changes, and both files are named."""
    folder = written(overlay, quotes("usd-2024", "usd-2024", SERVER, currency="USD"))
    plain, quoted = assess_file("fire-flyer-next"), assess_file("fire-flyer-next", folder)
    assert plain.cost is not None
    assert quoted.cost is not None
    assert quoted.cost.servers == 4096 * 264_000
    assert quoted.cost.network == plain.cost.network
    assert [item.path for item in quoted.catalog if item.id == "usd-2024"] == [
        f"{folder}/usd-2024.yaml",
        "catalogs/prices/usd-2024.yaml",
    ]
    assert any("missing in this book come from the book `usd-2024`" in text for text in quoted.assumptions)


def test_each_price_keeps_the_source_of_its_own_book(tmp_path: Path) -> None:
    """Both books call a source `recalled`; each price shows the title of its own."""
    name, text = quotes("mine", "usd-2024", "qm9700: {value: 40000, source: recalled}", currency="USD")
    text = text.replace("quote: {title", "recalled: {title")
    found = book("mine", written(tmp_path, (name, text)))
    shipped = book("usd-2024")
    titles = {part: found.sources[figure.source].title for part, figure in found.items.items()}
    assert titles["qm9700"] == "an offer"
    for part, figure in shipped.items.items():
        if part != "qm9700":
            assert titles[part] == shipped.sources[figure.source].title
            assert found.items[part].range == figure.range
    assert {figure.source for figure in found.items.values()} == set(found.sources)


def test_a_chain_over_three_folders(tmp_path: Path) -> None:
    """The nearest book that names a part has its price."""
    near = written(
        tmp_path / "near", quotes("usd-2024", "usd-2024", "qm9700: {value: 1, source: quote}", currency="USD")
    )
    far = written(
        tmp_path / "far",
        quotes("usd-2024", "usd-2024", "qm9700: {value: 2, source: quote}", SERVER, currency="USD"),
        quotes("mine", "usd-2024", "hdr-dac: {value: 3, source: quote}", currency="USD"),
    )
    found = book("mine", near, far).items
    assert [found[part].value for part in ("hdr-dac", "qm9700", "hgx-h100-8nic")] == [3, 1, 264_000]
    assert found["q3400"].value == book("usd-2024").items["q3400"].value


def test_a_recalled_price_that_a_quote_replaces_is_not_listed(overlay: Path) -> None:
    switch = "roce-128x400g: {value: 45000, source: quote}"
    folder = written(overlay, quotes("usd-2024", "usd-2024", switch, currency="USD"))
    recalled = ("usd-2024", "items.roce-128x400g")
    assert recalled in {(item.part, item.path) for item in assess_file("fire-flyer-next").unverified}
    assert recalled not in {(item.part, item.path) for item in assess_file("fire-flyer-next", folder).unverified}


def test_a_book_may_not_extend_itself_through_its_base(tmp_path: Path) -> None:
    folder = written(tmp_path, quotes("usd-2024", "mine", currency="USD"), quotes("mine", "usd-2024", currency="USD"))
    with pytest.raises(InputError) as caught:
        book("mine", folder)
    (found,) = caught.value.findings
    assert (found.rule, found.line, found.file) == ("catalog-cycle", 3, f"{folder}/usd-2024.yaml")
    assert found.message == "`mine` extends itself through `usd-2024`"


def test_the_example_of_the_docs_works(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "catalog.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    folder = written(tmp_path / "quotes", ("usd-2026.yaml", text))
    run = ffplan("design", "superpod-h100-4su", "--catalog", folder, "--full")
    assert run.code == 0
    assert "127 x 264,000" in run.out


def test_size_uses_inherited_prices(tmp_path: Path) -> None:
    folder = written(tmp_path, quotes("mine", "usd-2024", "qm9700: {value: 1, source: quote}", currency="USD"))
    arguments = ("--switch", "qm9700", "--prices", "mine", "--endpoint-link", "400g-dac", "--catalog", folder)
    run = ffplan("fabric size", "-n", "64", *arguments, "--format", "json")
    assert run.code == 0, run.err
    one_switch = json.loads(run.out)["options"][0]
    assert one_switch["cost"] == 1 + 64 * book("usd-2024").items["400g-dac"].value


def test_unused_prices_need_no_change_of_a_design(tmp_path: Path) -> None:
    """A design may name the extending book by its own id too."""
    folder = written(tmp_path / "quotes", quotes("mine", "usd-2024", SERVER, currency="USD"))
    path = vary_design(tmp_path, "fire-flyer-next", ("price_book: usd-2024", "price_book: mine"))
    found = assess_file(path, folder).cost
    assert found is not None
    assert (found.price_book, found.servers) == ("mine", 4096 * 264_000)


DATED = {
    "dgx-1-v100": "2018",
    "dgx-a100-320gb": "2020-05",
    "dgx-a100-640gb": "2023-09",
    "gh200-node": "2024-10",
    "hgx-b200-8nic": "2024-12",
    "mi300x-8nic": "2025-02",
    "qm8700": "2022",
    "q3400": "2025",
    "qm9700": "2024-08",
    "hdr-aoc": None,
}
"""Dates of prices of usd-2026: Epoch AI's hardware prices, the Freakonomics sheet, and years of recalled ones."""


def test_prices_bear_their_own_dates() -> None:
    """A price that was read in 2026 is of the year in which it was asked."""
    shipped = book("usd-2026")
    assert {part: date_of(shipped.items[part], shipped.sources) for part in DATED} == DATED


CATALOG = Catalog()
BOOKS = [name for name in CATALOG.ids() if CATALOG.kind_of(name) in ("price-book", "rent-book")]


@pytest.mark.parametrize("name", BOOKS)
def test_what_is_recalled_has_no_date_of_its_source(name: str) -> None:
    """Memory bears no date: the year of a recalled price stands at the price, or nobody knows it."""
    sources = CATALOG.entry(name).part.sources
    assert [key for key, source in sources.items() if source.title.startswith("recalled") and source.date] == []


def test_age_counts_from_the_price_and_not_from_the_reading(tmp_path: Path) -> None:
    """A quote of 2020 that was read today is as old as one that was read in 2020, and one without a date is unknown."""
    design = vary_design(
        tmp_path, "superpod-h100-4su", ("price_book: usd-2026", "price_book: mine\nlimits: {price_age: 24 months}")
    )

    def messages(source: str, row: str = "") -> list[str]:
        name, text = quotes("mine", "usd-2026", f"hgx-h100-8nic: {{value: 264000, source: quote{row}}}", currency="USD")
        text = text.replace('date: "2026-11", grade', f"{source}, grade")
        assert source in text
        catalog = written(tmp_path / "books", (name, text))
        run = ffplan("check --today 2026-11-30 --format json", str(design), "--catalog", catalog)
        found = json.loads(run.out)["findings"]
        found = [item["message"] for item in found if item["rule"] == "limit-price-age"]
        return [text for text in found if "`hgx-h100-8nic`" in text]

    old = messages('date: "2020-05"')
    assert ["up to 78 months old" in text for text in old] == [True]
    assert messages('date: "2020-05", read: "2026-11"') == old
    assert messages('read: "2026-11"', ', date: "2020-05"') == old
    assert messages('date: "2026-11"', ', date: "2020-05"') == old
    assert ["date is unknown" in text for text in messages('read: "2026-11"')] == [True]
    assert not messages('date: "2026-10"')


def test_a_source_without_any_date_is_refused(tmp_path: Path) -> None:
    name, text = quotes("mine", "usd-2026", SERVER, currency="USD")
    with pytest.raises(InputError, match="neither a publication date nor the day on which it was read"):
        book("mine", written(tmp_path, (name, text.replace('date: "2026-11", grade', "grade"))))
