"""Figures in prose are what the program computes; that each is current is checked with the generated files."""

from __future__ import annotations

from collections import defaultdict

import pytest

from ffplan.figures.figure import Figure
from ffplan.figures.origins import FIGURES
from tests.figures import BEGIN, FigureError, computed, marked_pages, shown, value_at, with_figures

PAGE = "a cluster of <!-- figure: design fire-flyer-2; {}; , -->{}<!-- end --> switches"
PAGES_WITH_FIGURES = {"README.md", "fire-flyer.md", "training-fit.md"}


def test_the_pages_that_quote_the_program_are_marked() -> None:
    assert {page.name for page in marked_pages()} >= PAGES_WITH_FIGURES


def test_a_figure_that_has_changed_is_written_anew() -> None:
    old, new = (PAGE.format("fabric.switches.total", value) for value in (9, 122))
    assert with_figures(old) == new
    assert with_figures(new) == new


@pytest.mark.parametrize(
    "text",
    [
        PAGE.format("fabric.switches.none", 1),
        PAGE.format("communication[7].time_s", 1),
        PAGE.format("communication[library=none].time_s", 1),
        f"{BEGIN} design fire-flyer-2; fabric.switches.total -->122<!-- end -->",
        f"{BEGIN} design no-such-design; fabric.switches.total; , -->122<!-- end -->",
    ],
)
def test_a_figure_that_cannot_be_computed_fails(text: str) -> None:
    with pytest.raises(FigureError):
        with_figures(text)


def test_paths_and_formats() -> None:
    document = {"rows": [{"name": "a.b", "n": 3}, {"name": "c", "n": 4}], "n": 0.0929}
    assert value_at(document, "rows[name=a.b].n") == 3
    assert value_at(document, "rows[-1].n") == 4
    assert (shown(0.0929, ".1%"), shown(1250, ","), shown(0.5, ".2f")) == ("9.3 %", "1,250", "0.50")
    assert computed("design fire-flyer-2", "fabric.switches.total - fabric.switches.leaf / 2") == 21


ONE_QUANTITY = {"goodput", "switches", "links", "purchase at likely prices"}
"""Labels of a quantity that several results have."""


def test_no_label_names_two_quantities() -> None:
    """Tables of one report and of another say the same words of the same number alone."""
    named = defaultdict(list)
    for kind, table in FIGURES.items():
        for field, figure in table.items():
            if isinstance(figure, Figure) and figure.label:
                named[figure.label].append(f"{kind.__name__}.{field}")
    assert {label for label, found in named.items() if len(found) > 1} == ONE_QUANTITY
