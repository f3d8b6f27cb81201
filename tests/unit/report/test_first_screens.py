"""First screens fit a terminal, and `--full` and `--section` show the rest."""

from __future__ import annotations

import json

import pytest

from ffplan.inputs.design_files import shipped_designs
from ffplan.report.first.screen import LINES
from tests.support import ffplan

POD, FF2, DGX = "superpod-h100-4su", "fire-flyer-2", "dgx-a100-10k"
RUN = ("--model", "llama2-70b", "--tokens", "2T", "--batch", "1024")
SCREENS = {
    "compare": ("compare", FF2, DGX, *RUN),
    "compare-three": ("compare", POD, "superpod-b200-4su", FF2, "--model", "llama2-70b", "--batch", "1024"),
    "compare-bare": ("compare", POD, FF2, "l40s-8-roce", "gb200-nvl72-16"),
    "cost-run": ("cost", POD, *RUN),
    "train": ("train", POD, "--model", "llama3-70b", "--batch", "1016", "--search"),
    "goodput": ("goodput", FF2, "--model", "llama-13b"),
    "acceptance": ("acceptance", POD),
    "diff": ("diff", POD, "superpod-b200-4su"),
    "sweep": ("sweep", POD, "--vary", "site.pue=1.1,1.2", "--vary", "nodes[0].count=64..100"),
}


def fits(*words: str) -> None:
    """Assert that a command prints a first screen of 80 columns that says how to see the rest."""
    lines = ffplan(*words).out.splitlines()
    assert len(lines) <= LINES, "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("More: --full, or --section ") for line in lines)


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_fits(name: str) -> None:
    fits(*SCREENS[name])


@pytest.mark.parametrize("design", shipped_designs())
@pytest.mark.parametrize("command", ["design", "cost", "storage"])
def test_every_design_fits(command: str, design: str) -> None:
    fits(command, design)


def test_sections_make_the_whole() -> None:
    full = ffplan("cost", POD, "--full").out.splitlines()
    names = ffplan("cost", POD).out.replace("\n", " ").partition("--section ")[2].strip().split(", ")
    shown = [line for name in names for line in ffplan("cost", POD, "--section", name).out.splitlines()[1:]]
    assert len(names) > 5
    assert shown == full[len(full) - len(shown) :]


def test_an_unknown_section_names_the_nearest() -> None:
    done = ffplan("design", POD, "--section", "fabrik")
    assert (done.code, done.err.strip()) == (2, "ffplan: --section fabrik: did you mean `fabric`?")


def test_machines_get_everything() -> None:
    for form in ("json", "csv", "markdown"):
        assert ffplan("cost", POD, "-f", form).out == ffplan("cost", POD, "-f", form, "--full").out


def test_an_index_below_owning_is_told_beside_the_rent_that_can_be_signed() -> None:
    """As of `cost`'s JSON: the verdict alone would pass over the market."""
    report = json.loads(ffplan("cost", POD, "-f", "json").out)
    below = [row for row in report["tco"]["rents"] if row["index"] and row["hour"] < row["owned_hour"]]
    assert below
    assert (
        f"  Index    the market stands lower, {below[0]['offer']} at {below[0]['hour']:.2f} USD"
        in ffplan("cost", POD).out
    )


def test_a_sustained_rate_is_no_number_of_days() -> None:
    out = ffplan("recommend --model llama3-8b -a h100-sxm-80gb --best 1 --sustained", "10 PFLOP/s").out
    assert ("keeps up" in out, "done in" in out, "Limits  days" in out) == (True, False, False)
