"""Where the figures of a page come from: the table of figures, and text that names the figures it is made of."""

from __future__ import annotations

import re
import shlex
from functools import cache
from html import unescape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.plain import numbers, plain
from ffplan.base.tracked import split_marks, track
from ffplan.cost.account import HARDWARE_LIFE
from ffplan.cost.inputs import LABELS
from ffplan.figures.figure import Figure, equation
from ffplan.figures.origins import FIGURES, Origins
from ffplan.report.document import Remarks, _Body, _laid_out
from ffplan.results.explanation import Evidence
from ffplan.schema.json_paths import described
from ffplan.studies.explain.derivation import derivation_of
from ffplan.studies.explain.path import told
from tests.support import assess_file, ffplan, invoked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.report.document import Document
    from ffplan.results.design import Assessment

PRICE = Evidence(
    part="qm9700", path="ports", value="64", grade="datasheet", status="V", source="a sheet <1>", date="2024"
)
ENTRIES = [
    (kind, field, entry)
    for kind, fields in FIGURES.items()
    for field, entry in fields.items()
    if isinstance(entry, Figure)
]


def origins(report: Assessment) -> Origins:
    return Origins(
        report,
        described(report, "assessment"),
        [PRICE],
        lambda path, value, meaning: derivation_of(report, path, value, meaning),
    )


def test_a_figure_has_value_unit_equation_and_parts() -> None:
    found = origins(assess_file("superpod-h100-4su"))
    bisection = found.of("fabric.bisection_gbyte_s")
    assert bisection.value == "25,400 GB/s"
    assert bisection.formula == "B = min(endpoints, links * rate) / 2"
    assert bisection.source.startswith("[4]: a full fat tree")
    assert bisection.parts == ("qm9700, ports: 64 (a sheet <1>, 2024; datasheet, V)",)
    total = found.of("cost.total")
    assert (total.value, total.formula) == ("38,299,000 USD", "sum of the lines")
    assert (
        "48 x qm9700, unit price: 50,000 USD (price book usd-2026, a price of 2024-08; measured, status V)"
        in total.parts
    )
    power = found.of("power.it_kw")
    assert "127 compute nodes, hgx-h100-8nic, one node: 7,650 W (= 0.75 x rated)" in power.parts
    assert found.of("site.energy_mwh_year").value.endswith(" MWh/year")


def test_every_key_of_the_table_names_a_field() -> None:
    for kind, fields in FIGURES.items():
        assert set(fields) <= set(kind.__dataclass_fields__), kind  # type: ignore[attr-defined]


@pytest.mark.parametrize("place", sorted({entry.place for _, _, entry in ENTRIES if entry.place}))
def test_every_equation_of_the_table_is_stated(place: str) -> None:
    assert all(equation(place))


def test_every_input_of_the_table_is_one_of_the_account() -> None:
    known = {*LABELS, HARDWARE_LIFE, "speed", "speed_own", "power", "rent", "extras", "effective"}
    named = {name for _, _, entry in ENTRIES for name in entry.inputs if not name.endswith(".")}
    assert named <= known, named - known


JOB = "--model llama3-8b --gpus 64 --batch 1024"
COMMANDS = {
    "design": "design fire-flyer-2",
    "compare": f"compare superpod-h100-4su superpod-b200-4su {JOB} --tokens 1T --draws 50",
    "pair": "compare fire-flyer-2 dgx-a100-10k",
    "cost": f"cost superpod-h100-4su {JOB} --tokens 1T --draws 50",
    "rent": "cost aws-p5-64 --draws 0",
    "train": f"train superpod-h100-4su {JOB} --search --top 7",
    "goodput": "operate goodput fire-flyer-2 --model llama-13b --draws 20",
    "storage": "operate storage fire-flyer-2 --model llama-13b --gpus 8",
    "acceptance": "acceptance fire-flyer-2",
    "collective": "collective fire-flyer-2",
}


@cache
def document_of(name: str) -> Document:
    """Return what a command would print, in whatever format."""
    words = shlex.split(COMMANDS[name])
    kept: list[Document] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module(f"ffplan.cli.{words[0]}"), "emit", lambda document, *_: kept.append(document))
        done = invoked(*words)
    assert kept, done.output
    return kept[0]


def texts(body: _Body) -> Iterator[str]:
    """Yield every text of a body."""
    yield body.title
    for block in body.blocks:
        if not isinstance(block, Remarks):
            yield block.title
        found = _laid_out(block)
        if isinstance(found, tuple):
            yield from found
        else:
            for row in (found.header, *found.rows):
                yield from row


@pytest.mark.parametrize("name", COMMANDS)
def test_a_tracked_result_reads_as_the_result_does(name: str) -> None:
    document = document_of(name)
    bare = list(texts(document.made(document.value)))
    marked = list(texts(document.made(told(document.value))))
    assert [split_marks(text)[0] for text in marked] == bare
    assert sum(1 for text in marked if split_marks(text)[1]) > 10


@pytest.mark.parametrize("name", COMMANDS)
def test_every_path_that_a_text_names_is_in_json(name: str) -> None:
    document = document_of(name)
    known = set(numbers(plain(document.value)))
    for text in texts(document.made(told(document.value))):
        assert set(split_marks(text)[1]) <= known, text


def test_a_reworded_sentence_keeps_its_figures() -> None:
    """The figures follow the numbers of a sentence, whatever its words."""
    report: Any = track(assess_file("fire-flyer-2"))
    words = f"It has {report.accelerators:,} of them, {report.power.it_kw / report.accelerators:.2f} kW each."
    assert split_marks(words) == ("It has 10,000 of them, 0.33 kW each.", ("accelerators", "power.it_kw"))


def test_columns_of_a_comparison_have_their_own_designs() -> None:
    page = ffplan("compare superpod-h100-4su fire-flyer-2 -f html").out
    row = re.search(r'<tr><th scope="row">switches<.*?</tr>', page.partition('aria-label="Cluster"')[2], re.DOTALL)
    assert row is not None
    tips = [unescape(tip).splitlines()[0] for tip in re.findall(r'<td title="([^"]*)"', row[0])]
    assert tips == [
        "superpod-h100-4su: designs[0].fabric.switches.total = 48",
        "fire-flyer-2: designs[1].fabric.switches.total = 122",
    ]
    long = re.findall(r'<td title="([^"]*)"', page)
    assert max(len(unescape(line)) for tip in long for line in tip.splitlines()) <= 160
    assert any("datasheet, V)" in tip for tip in long)
    numbers = [int(at) for at in re.findall(r'<a href="#note-([0-9]+)"', page)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(f'<li id="note-{at}"' in page for at in numbers)


def test_results_without_designs_have_no_notes() -> None:
    page = ffplan("fabric size --endpoints 500 --switch qm8700 -f html").out
    assert "Headline figures" not in page
