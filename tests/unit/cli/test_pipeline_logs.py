"""What ends in the log of a pipeline: no name, no message and no cell of a table is a command to the program there."""

from __future__ import annotations

import csv
import re
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ffplan.base.control_characters import inert, plain_cell
from ffplan.base.errors import Finding, Severity
from ffplan.check.formats import Checked, render
from tests.support import ROOT, examples, ffplan

if TYPE_CHECKING:
    from pathlib import Path

FILE = "::warning file=x::y.yaml"
NAME = "##[warning]boo"
HOSTILE = st.text(st.sampled_from(" \t\n\r:#[]aw\x85\u2028%,=\x1b") | st.characters(), max_size=30) | st.sampled_from(
    [FILE, NAME, f"a\n{FILE}", f" \t{FILE}", f"x {NAME}", "##vso[task.setvariable]x", "a\r::error::b"]
)
OURS = re.compile(r"::(error|warning|notice) (file=[^:,]*,line=\d+,col=\d+,)?title=[^:,]*::[^\r\n]*")


def is_command(line: str) -> bool:
    """Return whether a line makes the runner of a pipeline do something.

    The runner of GitHub trims a line and takes what starts with `::`, else `##[` anywhere in it; Azure takes `##vso[`.
    """
    return line.strip().startswith("::") or re.search(r"##\w*\[", line) is not None


def lines_of(text: str) -> list[str]:
    """Return lines as any program may split them."""
    return [line for part in text.split("\r") for line in part.splitlines()]


@examples(200)
@given(HOSTILE, HOSTILE, HOSTILE, st.integers(1, 25), st.sampled_from(Severity))
@example(FILE, NAME, "", 25, Severity.ERROR)
@example("a.yaml", f"b\n{FILE}", f"\n{FILE}", 25, Severity.INFO)
def test_findings_are_no_commands_of_others(file: str, message: str, remedy: str, count: int, worst: Severity) -> None:
    """Of more than ten findings the rest stands in the log as text; no finding says more than its own command."""
    findings = tuple(
        Finding(rule="limit-capex", severity=worst, file=file, line=at, column=3, message=message, remedy=remedy)
        for at in range(count)
    )
    checked = Checked(files=(file,), words=("design",), findings=findings)
    said = [line for line in lines_of(render(checked, "github")) if is_command(line)]
    assert all(OURS.fullmatch(line) for line in said), said
    assert len(said) == min(count, 10)
    assert not any(map(is_command, lines_of(render(checked, "text"))))


@given(HOSTILE)
def test_cells_are_one_line_and_no_command(text: str) -> None:
    cell = plain_cell(text)
    stream = StringIO()
    csv.writer(stream, lineterminator="\n").writerow([cell, "x"])
    assert lines_of(stream.getvalue()) == [stream.getvalue()[:-1]]
    assert not is_command(stream.getvalue())


@given(HOSTILE)
def test_a_text_that_is_no_command_stays(text: str) -> None:
    made = inert(text)
    assert inert(made) == made
    if not any(map(is_command, text.split("\n"))):
        assert made == text


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_design_writes_no_command_into_the_log(form: str, tmp_path: Path) -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    for said in (r"a\n::error file=x::boo", "::error file=x::boo", NAME):
        design = tmp_path / "design.yaml"
        lines = [f'description: "{said}"' if line.startswith("description:") else line for line in text.splitlines()]
        design.write_text("\n".join(lines))
        done = ffplan("design", str(design), "--full", "-f", form)
        assert done.code == 0, done.err
        assert "boo" in done.out
        assert not [line for line in lines_of(done.out) if is_command(line)]


def test_files_of_odd_names_write_no_command_into_the_log(tmp_path: Path) -> None:
    """Standard error is in the log as well."""
    (tmp_path / FILE).write_text(f"name: '{NAME}'\nnodes: 3\n")
    for command in ("design", "check"):
        for form in ((), ("-f", "github")) if command == "check" else ((),):
            done = ffplan(command, str(tmp_path / FILE), *form, env={"PWD": str(tmp_path)})
            assert done.code == 2
            said = [line for line in lines_of(done.out + done.err) if is_command(line)]
            assert all(OURS.fullmatch(line) for line in said), said
    done = ffplan("design", FILE)
    assert done.code == 2
    assert not any(map(is_command, lines_of(done.err)))
