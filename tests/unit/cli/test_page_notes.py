"""Every number of a page says where it comes from, and the note of a cell is that of its own figure."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

import pytest

from tests.support import ffplan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JOB = "--model llama3-8b --gpus 64 --batch 1024"
PAGES = {
    "cost": f"cost superpod-h100-4su {JOB} --tokens 1T --draws 200",
    "rent": "cost aws-p5-64 --draws 0",
    "train": f"train superpod-h100-4su {JOB} --search --top 7",
    "plan": "train superpod-h100-4su --model llama3-8b --tp 1 --zero 1 --grad-dtype bf16 --batch 1024 --gpus 64,128",
    "compare": f"compare superpod-h100-4su superpod-b200-4su {JOB} --tokens 1T --draws 200",
    "job": f"compare superpod-h100-4su superpod-b200-4su {JOB}",
    "pair": "compare fire-flyer-2 dgx-a100-10k",
    "design": "design fire-flyer-2",
    "goodput": "goodput fire-flyer-2 --model llama-13b --draws 20",
    "storage": "storage fire-flyer-2 --model llama-13b --gpus 8",
    "collective": "collective fire-flyer-2",
    "acceptance": "acceptance fire-flyer-2",
}
NAMED = (
    *("CPU", "memory", "accelerators", "NICs", "scale-up", "model", "batch", "plan", "compute node", "host"),
    *("topology", "file system", "TF32 GEMM", "FP16 GEMM"),
)
"""Rows whose digits are names of parts, models and plans."""
WORDS = ("Assumptions", "Findings", "What binds, and what to do next")
"""Lists of sentences."""
ROW = re.compile(r'aria-label="([^"]*)"><table>|<tr><th scope="row">(.*?)</th>(.*?)</tr>', re.DOTALL)
CELL = re.compile(r'<td(?: title="([^"]*)")?>(.*?)</td>', re.DOTALL)
NUMBER = re.compile(r"[-+]?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?(?: (mn\b|bn\b|MW\b|%))?")
SCALES = {"mn": 1e6, "bn": 1e9, "MW": 1e3, "%": 0.01}


@cache
def page_of(name: str) -> str:
    done = ffplan(f"{PAGES[name]} -f html")
    assert done.code == 0, done.err
    return done.out


def cells(page: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (title of the table, label of the row, what the cell says when pointed at, its text) of a page."""
    table = ""
    for match in ROW.finditer(page.partition('id="tables"')[2].partition("<section")[0]):
        if match[2] is None:
            table = unescape(match[1])
            continue
        for tip, text in CELL.findall(match[3]):
            yield table, unescape(match[2].partition("<")[0]), unescape(tip), unescape(text)


def amounts(text: str) -> list[float]:
    """Return the numbers of a text, in full."""
    found = []
    for match in NUMBER.finditer(text):
        plain = match[0].partition(" ")[0].replace(",", "")
        found.append(float(plain) * SCALES.get(match[1], 1.0))
    return found


def coarse(shown: float) -> float:
    """Return half a unit of the last digit of a number whose range left it whole thousands; nothing of others."""
    units = 1000.0
    if shown == 0 or shown % units:
        return 0.0
    while shown % (10 * units) == 0:
        units *= 10
    return 0.51 * units


@pytest.mark.deep
@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_a_page_says_where_it_comes_from(name: str) -> None:
    page = page_of(name)
    bare = [
        (table, row, text)
        for table, row, tip, text in cells(page)
        if re.search(r"(?<![a-z0-9-])[0-9]", text) and not tip and row not in NAMED and table not in WORDS
    ]
    assert not [item for item in bare if not said_elsewhere(*item)]


def said_elsewhere(table: str, row: str, text: str) -> bool:
    """Return True of a cell that is no figure of the result: names, dates, and parts that a step does not have."""
    if table == "Bill of materials":  # a part, or status and date of a price
        return re.match(r"([A-Z]+|given)( [0-9]{4}|$)|[0-9]+[a-z]|.*[a-z]", text) is not None
    if table == "Owning against rent, USD/h (8 costlier offers in JSON)":
        return text.endswith("-year")
    return row in ("prices", "not priced", "sum") or text == "0.0"


@pytest.mark.parametrize("name", list(PAGES)[:8])
def test_a_cell_shows_the_value_that_its_note_has(name: str) -> None:
    """Notes are not one row, or one column, off: the value of the path is among the numbers of the cell."""
    seen = 0
    for table, row, tip, text in cells(page_of(name)):
        if not tip or not amounts(text) or row in ("plan", "links") or table in (*WORDS, "Why the others lost"):
            continue
        path, _, rest = tip.splitlines()[0].rpartition(" = ")
        if path.endswith("plan.gpus") or path.endswith("working_gib"):
            continue
        value = amounts(rest.split()[0])[0]
        near = [
            abs(shown - value * scale)
            <= max(6e-3 * abs(value * scale), coarse(shown), 0.0501 if abs(shown) < 100 else 0.51)
            or f"{value:.0f}" == f"{shown:.0f}"
            for shown in amounts(text)
            for scale in (1, 100, 1e3, 1e-6, 1e-15)
        ]
        assert any(near), (table, row, tip.splitlines()[0], text)
        seen += 1
    assert seen > 20


def test_notes_of_money_name_equation_source_grade_and_unit() -> None:
    page = page_of("cost")
    by_row = {(table, row): tip for table, row, tip, _ in reversed(list(cells(page)))}
    token = by_row["table", "a million tokens [USD]"]
    assert token.startswith("run.cost_per_million_tokens.likely = ")
    assert "Formula: cost of the run / tokens * 1,000,000" in token
    run = json.loads(ffplan(f"{PAGES['cost']} -f json").out)["run"]
    assert amounts(token.splitlines()[0].rpartition(" = ")[2])[0] == pytest.approx(
        run["cost"]["likely"] / 1e6, rel=1e-3
    )
    year = by_row["A year of ownership over 4 years", "electricity"]
    assert "USD per year" in year.splitlines()[0]
    assert re.search(r"electricity price: 0.0[0-9]+ USD per kWh", year)
    assert re.search(r"PUE: 1.25, 1.1 to 1.5 triangular \(Uptime Institute.*", year)
    bill = next(tip for table, row, tip, _ in cells(page) if table == "Bill of materials" and ".unit_price" in tip)
    assert re.search(r"hgx-h100-8nic: .*Epoch AI.*2025-03; D", bill)


def test_notes_of_training_name_the_constants_of_the_accelerator() -> None:
    page = page_of("train")
    found = [(row, tip) for table, row, tip, _ in cells(page) if table == "Where the step goes, %"]
    gemm = [tip for row, tip in found if row == "GEMM"]
    assert [tip.split(".parts")[0] for tip in gemm] == [f"rows[{at}]" for at in range(7)]
    assert "h100-sxm-80gb, training.matrix: " in gemm[0]
    assert "rows[0].step_s = " in gemm[0]


def test_notes_of_priced_lines_name_the_entry_of_the_price_book() -> None:
    lines = {row: tip for table, row, tip, _ in cells(page_of("design")) if table.startswith("Cost")}
    assert "fire-flyer-2-relative, items.qm8700: " in lines["switches"]
    assert "cost.lines[1].quantity = 122" in lines["switches"]


SENTENCE = re.compile(r'<(?:p|li)(?: title="([^"]*)")?>(.*?)</(?:p|li)>', re.DOTALL)
FIGURE = re.compile(r"(?<![\w./-])[0-9][0-9,]*(?:\.[0-9]+)?(?![\w-])")
UNSAID = re.compile(
    r"`[^`]*`|NVIDIA [^)]* GB|10 % more of it|tp[0-9]+ [a-z0-9 ]*|of [0-9,]+ accelerators"
    r"|(over|under) [0-9]+ % sure|costs [0-9]+ % (more|less) (than|per (accelerator|GPU)-hour)"
    r"|owning never pays for itself: .*"
)
"""What sentences say that is no figure of its own: commands, names of parts and plans, how much more of a resource is,
the quotient of two figures that the note has, a chance near none or one, and the reason of a row."""
SAME: tuple[Callable[[float], float], ...] = (
    *(lambda v, scale=scale: v * scale for scale in (1, 100, 1e3, 1e-12, 1e-6, 2**-20)),
    *(lambda v: 100 * (1 - v), lambda v: 100 * (v - 1), lambda v: 100 * (1 - 1 / v), lambda v: 100 * (1 / v - 1)),
    lambda v: 1 / v,
)
"""How a sentence may put a figure: as itself, in per cent, milliseconds, millions or MiB, as what is more or less,
turned around."""


def sentences(page: str) -> list[tuple[str, str]]:
    """Return (what it says when pointed at, its text) of every sentence of the verdict, and of the result in words."""
    verdict = page.partition('<div class="verdict">')[2].partition("</div>")[0]
    words = page.partition('<ul class="words">')[2].partition("</ul>")[0]
    plain = [(tip, re.sub("<sup>.*?</sup>", "", text)) for tip, text in SENTENCE.findall(verdict + words)]
    return [(unescape(tip), unescape(text.replace("<code>", "`").replace("</code>", "`"))) for tip, text in plain]


@pytest.mark.parametrize("name", ["cost", "rent", "train", "plan", "compare", "pair", "job", "design"])
def test_every_number_of_a_verdict_is_a_figure_of_its_note(name: str) -> None:
    page = page_of(name)
    notes = unescape(re.sub("<[^>]*>", "\n", page.partition('<ol class="notes">')[2].partition("</ol>")[0]))
    seen = 0
    intro = {
        "512 accelerators rented from AWS",
        "10,000 PCIe A100 on two 800-port zones, 1 NIC a node",
        "1,016 H100 on a rail-optimised two-tier fabric, with floor plan and cabling",
    }
    for tip, text in sentences(page):
        numbers = [found[0] for found in FIGURE.finditer(UNSAID.sub("", text))]
        if not numbers or text in intro:
            continue
        assert tip, text
        assert f"\n{tip.splitlines()[0]}\n" in notes
        values = [amounts(line.partition(" = ")[2].split()[0])[0] for line in tip.splitlines() if " = " in line]
        for shown in numbers:
            digits = len(shown.partition(".")[2])
            wanted = float(shown.replace(",", ""))
            room = max(0.51 * 10**-digits, 6e-3 * wanted, coarse(wanted))
            assert any(v and abs(abs(same(v)) - wanted) <= room for v in values for same in SAME), (shown, text)
        seen += 1
    assert seen


@pytest.mark.deep
def test_a_comparison_with_a_job_lists_the_files_that_the_job_read() -> None:
    parts = set(re.findall(r'<th scope="row">([a-z0-9.-]+): ', page_of("compare").partition('id="provenance"')[2]))
    assert {"llama3-8b", "attention-h100", "attention-b200", "owned-2026", "reliability-2026", "nccl"} <= parts
    stacked = f"compare superpod-h100-4su superpod-b200-4su {JOB} --stack megatron-core-2026"
    found = json.loads(ffplan(f"{stacked} -f json").out)["training"]["catalog"]
    ids = [item["id"] for item in found]
    assert ids == sorted(set(ids))
    assert {"megatron-core-2026", "attention-h100", "llama3-8b"} <= set(ids)
    assert "stack" in {item["kind"] for item in found}
    page = ffplan(f"{stacked} -f html").out
    assert re.search(r'<th scope="row">megatron-core-2026: ', page)
