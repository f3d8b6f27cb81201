"""`ffplan diff`: what changed in a design, and what each change did."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.figures.address import NAMES
from ffplan.figures.figure import Figure
from ffplan.figures.origins import FIGURES
from ffplan.report.first.choose import _difference_screen
from ffplan.results.difference import DesignDifference
from ffplan.results.result import DesignInfo, ToolInfo
from ffplan.studies.explain.figure_changes import Scope, Stated, figure_changes, not_held, regressions
from ffplan.studies.explain.reproduce import _changes
from tests.support import ROOT, Run, ffplan, ffplan_once, valid, vary_design
from tests.unit.check.test_policy import git

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.results.difference import FigureChange
    from ffplan.studies.explain.figure_changes import Values

FF2 = str(ROOT / "designs" / "fire-flyer-2.yaml")


def report(*arguments: str) -> dict[str, object]:
    done = ffplan_once("diff", *arguments, "-f", "json")
    assert done.code == 0, done.err
    return valid(done.out, "diff")


def figures(found: dict[str, object], name: str = "figures") -> dict[str, dict[str, object]]:
    rows = found[name]
    assert isinstance(rows, list)
    return {row["figure"]: row for row in rows}


def test_a_design_does_not_differ_from_itself() -> None:
    found = report(FF2, FF2)
    assert found["changes"] == found["effects"] == []
    assert all(row["before"] == row["after"] and not row["verdict"] for row in figures(found).values())


def test_effects_add_up_to_the_whole(tmp_path: Path) -> None:
    other = vary_design(
        tmp_path,
        "fire-flyer-2",
        ("count: 1250", "count: 1200"),
        ("  oversubscription: 1:1\n\n", "  oversubscription: 2:1\n\n"),
        ("pue: 1.25", "pue: 1.1"),
    )
    found = report(FF2, str(other))
    changes, effects = found["changes"], found["effects"]
    assert isinstance(changes, list)
    assert isinstance(effects, list)
    assert [change["path"] for change in changes] == ["nodes.0.count", "fabric.oversubscription", "site.pue"]
    assert (changes[0]["before"], changes[0]["after"]) == ("1250", "1200")
    whole = figures(found)
    assert whole["accelerators"]["before"] == 10_000
    assert whole["accelerators"]["after"] == 9_600
    for name in ("switches", "capex", "facility_training"):
        steps = [row for effect in effects for row in effect["figures"] if row["figure"] == name]
        total = sum(row["after"] - row["before"] for row in steps)
        assert total == pytest.approx(float(str(whole[name]["after"])) - float(str(whole[name]["before"])))
    last = {row["figure"] for row in effects[2]["figures"]}
    assert last == {"facility_peak", "facility_training"}  # PUE moves nothing else that is compared
    assert whole["facility_training"]["verdict"] == "better"
    assert whole["spare_ports"]["verdict"] == ""


def test_changes_that_only_stand_together_count_together(tmp_path: Path) -> None:
    name = "superpod-b300-4su"
    other = vary_design(tmp_path, name, ("count: 256", "count: 2560"), ("tiers: 2", "tiers: 3"))
    found = report(str(ROOT / "designs" / f"{name}.yaml"), str(other))
    effects = found["effects"]
    assert isinstance(effects, list)
    (effect,) = effects  # so many nodes do not fit two tiers
    assert [change["path"] for change in effect["changes"]] == ["nodes.0.count", "fabric.tiers"]


def test_revisions_of_git(tmp_path: Path) -> None:
    design = vary_design(tmp_path, "fire-flyer-2")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "checkout", "-qb", "topic")
    design.write_text(design.read_text().replace("pue: 1.25", "pue: 1.3"))
    git(tmp_path, "commit", "-qam", "second")
    design.write_text(design.read_text().replace("pue: 1.3", "pue: 1.4"))
    for revisions, before, after in (
        ("main..topic", 1.25, 1.3),
        ("main..", 1.25, 1.4),
        ("topic..", 1.3, 1.4),
        ("main...topic", 1.25, 1.3),
    ):
        changes = report(revisions, str(design))["changes"]
        assert isinstance(changes, list)
        assert [(item["path"], item["before"], item["after"]) for item in changes] == [
            ("site.pue", str(before), str(after))
        ]
    assert "no such file" in ffplan("diff", "main..", str(tmp_path / "x.yaml")).err
    assert "the revision `topic` has no such file" in ffplan("diff", "main..topic", str(tmp_path / "x.yaml")).err
    assert "git knows no revision `nope`" in ffplan("diff", "nope..", str(design)).err


def standard_input(text: str, *arguments: str) -> Run:
    done = subprocess.run(
        [sys.executable, "-m", "ffplan", "diff", "--full", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def test_standard_input_and_saved_reports(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    piped = standard_input(text.replace("pue: 1.25", "pue: 1.5"), FF2, "-")
    assert "site.pue: 1.25 -> 1.5" in piped.out
    assert "holds one design" in standard_input(text, "-", "-").err
    saved = tmp_path / "saved.json"
    assert ffplan("design", FF2, "-f", "json", "-o", str(saved)).code == 0
    found = report(str(saved), "fire-flyer-2-nvlink")
    assert found["changes"] == []
    assert "A saved report holds no design file" in str(found["notes"])
    assert figures(found)["capex"]["relative"] == pytest.approx(0.05, abs=0.1)
    saved.write_text("{}")
    assert "this report does not name the files it rests on" in ffplan("diff", str(saved), FF2, "--full").err


def test_a_fabric_as_built_belongs_to_audit(tmp_path: Path) -> None:
    built = tmp_path / "net.txt"
    assert ffplan("fabric export", "superpod-h100-4su", "--to", "ibsim", "-o", str(built)).code == 0
    done = ffplan("diff", "superpod-h100-4su", str(built))
    assert done.code == 2
    assert f"`ffplan fabric audit DESIGN {built}` compares it with a design" in done.err


def test_a_workload_is_timed_on_both(tmp_path: Path) -> None:
    other = vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 64"))
    job = ["--model", "llama3-8b", "--batch", "1024", "--gpus", "64", "--tokens", "1T"]
    found = report(str(ROOT / "designs" / "superpod-h100-4su.yaml"), str(other), *job)
    rows = figures(found)
    alone = ffplan(f"cost {other} --model llama3-8b --batch 1024 --gpus 64 --tokens 1T --draws 0 -f json")
    run = json.loads(alone.out)["run"]
    assert rows["step"]["after"] == run["step_s"]
    assert rows["cost_per_million_tokens"]["after"] == run["cost_per_million_tokens"]["likely"]
    assert rows["step"]["before"] == rows["step"]["after"]  # 64 accelerators fit one unit of both
    assert (
        "--tokens goes with --model, or with a `workload` of a design" in ffplan("diff", FF2, FF2, "--tokens", "1T").err
    )
    assert "--model only" in ffplan("diff", FF2, FF2, "--batch", "8").err
    assert "`llama` matches more than one model" in ffplan("diff", FF2, FF2, "--model", "llama").err


def test_markdown_is_a_comment() -> None:
    done = ffplan("diff", FF2, "fire-flyer-2-nvlink", "--format", "markdown")
    comment, _, fold = done.out.partition("<details><summary>What changed, and what it did</summary>\n\n# ")
    lines = [line for line in comment.splitlines() if line]
    assert 5 < len(lines) <= 13
    assert lines[0] == "### fire-flyer-2 to fire-flyer-2-nvlink"
    assert "| change | effect |" not in comment
    assert "| change | effect |" in fold
    assert fold.endswith("\n</details>\n")
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1


def test_a_comment_says_how_many_figures_it_leaves_to_the_fold() -> None:
    done = ffplan("diff", "hpn-dual-plane", "superpod-h100-4su", "--format", "markdown")
    comment, _, fold = done.out.partition("<details>")
    assert len([line for line in comment.splitlines() if line]) <= 13
    rows = [line.split(" | ") for line in fold.partition("## Figures")[2].splitlines() if line.startswith("| ")]
    moved = sum(row[1] != row[2] for row in rows[2:])
    assert moved > 8
    assert f"Shown 8 of {moved} figures that moved; moved by " in comment
    assert comment.index("| purchase ") < comment.index("| storage read ")


def _kept(text: str, verdict: str) -> tuple[set[str], int]:
    """Return the figures that a verdict names, and how many more it counts."""
    named = re.search(rf"{verdict}: (.*?)[;.]", text)
    labels = set(re.split(", | and ", named[1])) if named else set()
    more = {label for label in labels if re.fullmatch(r"\d+ more", label)}
    return labels - more, sum(int(label.split()[0]) for label in more)


@given(st.lists(st.tuples(*[st.sampled_from([None, 1.0, 2.0, 3.0])] * 2), min_size=len(NAMES), max_size=len(NAMES)))
def test_the_table_shows_the_figures_that_the_head_names(pairs: list[tuple[float | None, float | None]]) -> None:
    before, after = ({name: Stated(pair[side], "") for name, pair in zip(NAMES, pairs, strict=True)} for side in (0, 1))
    rows = figure_changes(before, after)
    info = DesignInfo("x", None, "x.yaml", "")
    report = DesignDifference(
        schema_version="4",
        tool=ToolInfo("ffplan", "0"),
        before=info,
        after=info,
        changes=(),
        figures=rows,
        effects=(),
        notes=(),
    )
    screen = _difference_screen(report)
    moved = [row for row in rows if row.before != row.after]
    for verdict in ("worse", "better"):
        labels, more = _kept(screen.verdict[0], verdict)
        assert labels == {row[0] for row in screen.figures if row[-1] == verdict}
        assert len(labels) + more == sum(row.verdict == verdict for row in moved)
    count = dict(screen.advice)["Shown"]
    assert len(screen.figures) == min(8, len(moved))
    assert count == (f"8 of {len(moved)} figures that moved" if len(moved) > 8 else "")


def test_labels_of_figures_stand_in_a_list() -> None:
    labels = [figure.label for figures in FIGURES.values() for figure in figures.values() if isinstance(figure, Figure)]
    assert len(labels) > 50
    assert not [label for label in labels if "," in label]


def test_a_folder_of_a_revision_names_its_files(tmp_path: Path) -> None:
    (tmp_path / "designs").mkdir()
    vary_design(tmp_path / "designs", "fire-flyer-2")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    done = ffplan("diff", "main..HEAD", str(tmp_path / "designs"))
    assert done.code == 2
    assert "designs: a folder in `HEAD`; name one of its files, such as fire-flyer-2.yaml" in done.err


def test_changes_go_as_deep_as_both_sides_do() -> None:
    before = {"a": {"b": 1, "c": [1, 2]}, "d": [1], "e": 1, "g": True}
    after = {"a": {"b": 2, "c": [1, 3]}, "d": [1, 2], "f": None, "g": 1}
    found = {change.path: (change.row().before, change.row().after) for change in _changes(before, after)}
    assert found == {
        ("a", "b"): ("1", "2"),
        ("a", "c", 1): ("2", "3"),
        ("d",): ("[1]", "[1, 2]"),
        ("f",): (None, "null"),
        ("g",): ("true", "1"),
        ("e",): ("1", None),
    }


def change(before: float | None, after: float | None, unit: str = "USD", other: str = "USD") -> FigureChange:
    empty: Values = dict.fromkeys(NAMES, Stated(None, ""))
    (row,) = figure_changes({**empty, "capex": Stated(before, unit)}, {**empty, "capex": Stated(after, other)})
    return row


def test_figures_change_in_one_unit_only() -> None:
    assert change(100.0, 110.0).relative == pytest.approx(0.1)
    assert change(100.0, 110.0).verdict == "worse"
    assert change(100.0, 90.0).verdict == "better"
    assert change(100.0, 90.0, "USD", "EUR").relative is None
    assert change(None, 90.0).relative is None
    assert change(0.0, 90.0).relative is None


def test_sums_of_two_scopes_are_not_compared(tmp_path: Path) -> None:
    """A design that leaves its servers out of the cost is no cheaper: `check --against` says that the sum is lost."""
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    less = tmp_path / "less.yaml"
    less.write_text(text.replace("cost:\n", "cost:\n  exclude: [servers]\n"))
    rows = json.loads(ffplan("diff", "superpod-h100-4su", str(less), "-f", "json").out)["figures"]
    money = {row["figure"] for row in rows if row["kind"] == "cost"}
    assert money
    for row in rows:
        unlike = row["unit"] == "USD"
        assert row["unlike"] == ("scopes" if unlike else "")
        assert not (unlike and (row["relative"] or row["verdict"]))
    assert money <= {row["figure"] for row in rows if row["unlike"]}


def test_storage_is_out_of_scope_only_where_there_is_some() -> None:
    none, some = Scope(frozenset({"storage"})), Scope(frozenset({"storage"}), storage=True)
    assert none.alike(Scope())
    assert none.alike(some)
    assert not some.alike(Scope(storage=True))
    assert not Scope(frozenset({"servers"})).alike(Scope())


def test_a_regression_is_beyond_its_threshold() -> None:
    rows = (change(100.0, 105.0),)
    assert not regressions(rows, {"cost": 0.05})
    assert regressions(rows, {"cost": 0.04}) == ((rows[0], 0.04),)
    assert not regressions(rows, {"power": 0.0})
    assert not regressions((change(100.0, 50.0),), {"cost": 0.0})
    assert not regressions(rows, {"cost": 0.01, "site.purchase_p50": 0.05})  # its own threshold counts
    assert regressions(rows, {"cost": 0.1, "capex": 0.04}) == ((rows[0], 0.04),)


def test_what_is_lost_is_a_regression_whatever_the_threshold() -> None:
    """A figure no longer known, one in another currency, and one that was nothing: none is within a share."""
    for row in (change(100.0, None), change(0.0, None), change(100.0, 90.0, "USD", "EUR"), change(0.0, 1.0)):
        assert regressions((row,), {"cost": 1.0}) == ((row, 1.0),)
        assert not regressions((row,), {"power": 0.0})
        assert not not_held((row,), {"cost": 1.0})
    new = change(None, 90.0)
    assert not regressions((new,), {"cost": 0.0})
    assert not_held((new,), {"cost": 0.0}) == (new,)
    assert not not_held((new,), {"power": 0.0})
    assert not any(change(*sides).lost for sides in ((None, 1.0), (1.0, 2.0), (0.0, 1.0)))


def test_the_table_of_figures_fits_80_columns(tmp_path: Path) -> None:
    fewer = vary_design(tmp_path, "fire-flyer-2", ("count: 135", "count: 100"))
    text = ffplan("diff fire-flyer-2", str(fewer)).out
    assert "purchase per accelerator" in text
    assert max(map(len, text.splitlines())) <= 80
