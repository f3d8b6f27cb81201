"""Fabrics small enough to count by hand, in every shape: what each command that wires them says, to the letter.

The designs are in `small/`, with switches of 8 to 24 ports in `small/parts/`. Each has what no shipped design has:
units that are not full, uneven striping, ports split in different ways on two tiers, zones that nothing joins, pods of
unequal size. Figures of the reports are kept in a table for each design, and what is written for other programs as it
is, for three of the designs. `make docs` writes `small/expected/` anew; read the difference before you commit it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.golden.commands import PROSE, printed
from tests.golden.pages import LONGEST, differences, page, sections, table
from tests.support import SMALL as FOLDER

if TYPE_CHECKING:
    from pathlib import Path

EXPECTED = FOLDER / "expected"
SMALL = sorted(path.stem for path in FOLDER.glob("*.yaml"))
EXPORTED = ("circle", "joined", "pods")
"""A dragonfly, zones that are joined, and three tiers: what is written for other programs is kept of these."""
EXPORTS = (
    *("netbox-devices", "netbox-interfaces", "netbox-cables"),
    *(
        "ibsim",
        "opensm-conf",
        "slurm",
        "slurm-block",
        "slurm-yaml",
        "graphml",
        "dot",
        "hosts",
        "svg",
        "cables",
        "nccl",
        "ptm",
    ),
    *("containerlab", "kubernetes"),
    *("astra-sim", "simai", "infragraph"),
)
TRAFFIC = ("ring", "tree", "library-tree", "all-to-all", "rail-all-to-all", "permutation", "incast")
ROUTED = {
    **{f"route-{kind}": ("route", "--traffic", kind) for kind in TRAFFIC},
    **{f"route-{kind}-ecmp": ("route", "--traffic", kind, "--routing", "ecmp") for kind in ("tree", "permutation")},
    "route-adaptive": ("route", "--traffic", "permutation", "--routing", "adaptive", "--seed", "3"),
    "route-valiant": ("route", "--traffic", "permutation", "--routing", "valiant", "--seed", "3"),
    "route-part": ("route", "--traffic", "all-to-all", "--nodes", "5", "--order", "alternating", "--size", "1GiB"),
    "route-random": ("route", "--traffic", "ring", "--order", "random", "--seed", "2"),
    "route-beside": ("route", "--traffic", "tree", "--beside", "permutation", "--share", "0.25"),
    "place": ("place",),
    "place-part": ("place", "--nodes", "5", "--order", "random", "--seed", "1"),
    "faults": ("faults", "--samples", "3"),
    "faults-static": ("faults", "--samples", "2", "--routing", "static", "--seed", "5"),
    "cabling": ("cabling",),
    "design": ("design",),
    "collective": ("collective", "--size", "64KiB,8MiB,1GiB"),
    "check": ("check",),
}


BY_HAND = {
    # 30 ports a zone (60 asked for): 8 leaves of 4, two pods of 4 leaves and 4 spines, 32 links up on 8-port cores
    "apart": {"leaf": 2 * 8, "spine": 2 * 8, "core": 2 * 4, "links": 50 + 2 * 32 + 2 * 32, "bisection": 0},
    # p = h = 2, a = 4: 9 groups of 4 routers hold 9 x 4 x 2 = 72 NICs; 6 links in a group, one between each pair of
    # groups, of which 4 x 5 cross the middle
    "circle": {"router": 36, "links": 72 + 9 * 6 + 36, "bisection": 20 * 25},
    # 44 NICs a plane: 4 leaves of 12 down and 4 up, whose 16 uplinks fill a spine
    "floor": {"leaf": 2 * 4, "spine": 2, "links": 88 + 2 * 16, "bisection": 2 * 16 * 50 / 2},
    # 19 + 5 and 18 + 5 NICs and 4 links between zones: 4 leaves of 8 down and 4 up in each, whose 16 uplinks take two
    # spines of 12
    "joined": {"leaf": 8, "spine": 4, "interzone": 2, "links": 47 + 32 + 8, "bisection": 4 * 25},
    # a plane has units of 4, 4 and 1 nodes, 4 leaves each of two rails; the 8 uplinks of a leaf divide over 8 spines,
    # since 6 would not divide them
    "planes": {"leaf": 2 * 12, "spine": 2 * 8, "links": 2 * (72 + 96), "bisection": 2 * 72 * 25 / 2},
    # 4 units of 4 rails: two pods of 8 leaves and 8 spines, 64 links up each on cores of 16
    "pods": {"leaf": 16, "spine": 16, "core": 8, "links": 60 + 128 + 128, "bisection": 60 * 50 / 2},
    # five pods of 3 leaves with 2 spines, one leaf with one; 8 links up a pod
    "racks": {"leaf": 16, "spine": 11, "core": 4, "links": 128 + 128 + 48, "bisection": 48 * 50 / 2},
    "single": {"leaf": 1, "links": 2 * 4 + 3 * 2, "bisection": 14 * 50 / 2},
}
"""Switches, links and bisection [GB/s], worked by hand."""


def said(name: str, *arguments: str) -> str:
    """Return what a command prints about a small design, or why it is refused."""
    words = (arguments[0], str(FOLDER / f"{name}.yaml"), "--catalog", str(FOLDER / "parts"), *arguments[1:])
    return printed(*words).replace(f"{FOLDER}/", "")


def export_of(form: str) -> tuple[str, ...]:
    """Return the command of an export by the name of its file."""
    target, _, table = form.partition("-") if form.startswith("netbox-") else (form, "", "")
    return ("export", "--to", target, *(("--table", table) if table else ()))


def figures_of(name: str, report: str) -> str:
    """Return the figures of a report on a small design."""
    text = said(name, *ROUTED[report], "--format", "json")
    return table(text, longest=PROSE if report == "check" else LONGEST)


def expected() -> dict[Path, str]:
    """Return every kept output by where it is kept."""
    tables = {EXPECTED / f"{name}.txt": page({item: figures_of(name, item) for item in ROUTED}) for name in SMALL}
    exports = {EXPECTED / name / f"{form}.txt": said(name, *export_of(form)) for name in EXPORTED for form in EXPORTS}
    return tables | exports


@pytest.mark.parametrize(
    ("name", "report"),
    [
        pytest.param(name, report, marks=[] if name == "joined" else pytest.mark.deep)
        for name in SMALL
        for report in sorted(ROUTED)
    ],
)
def test_figures_of_a_small_fabric(name: str, report: str) -> None:
    assert not differences(figures_of(name, report), sections(EXPECTED / f"{name}.txt")[report])


@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.parametrize("form", EXPORTS)
def test_what_is_written_for_other_programs(name: str, form: str) -> None:
    assert said(name, *export_of(form)) == (EXPECTED / name / f"{form}.txt").read_text()


def test_every_kept_output_has_its_command() -> None:
    kept = {(path.parent.name, path.stem) for path in EXPECTED.glob("*/*.txt")}
    assert kept == {(name, form) for name in EXPORTED for form in EXPORTS}
    tables = {(path.stem, name) for path in EXPECTED.glob("*.txt") for name in sections(path)}
    assert tables == {(name, report) for name in SMALL for report in ROUTED}


@pytest.mark.parametrize("name", SMALL)
def test_counts_by_hand(name: str) -> None:
    fabric = json.loads(said(name, "design", "--format", "json"))["fabric"]
    found = {role["role"]: role["count"] for role in fabric["by_role"]}
    assert {**found, "links": fabric["links"]["total"], "bisection": fabric["bisection_gbyte_s"]} == BY_HAND[name]
