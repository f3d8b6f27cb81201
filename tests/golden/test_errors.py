"""The message of every way of being wrong, to the letter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.check.input_rules import INPUT_RULES
from tests.golden.cases import CASES, Case
from tests.golden.pages import page, sections
from tests.support import ROOT, ffplan, ffplan_process, invoked

if TYPE_CHECKING:
    from pathlib import Path

EXPECTED = ROOT / "tests" / "golden" / "errors"


def message(case: Case, folder: Path) -> str:
    """Return what the command says of a case, with the folder's name taken out."""
    result = invoked(*case.command, *case.write(folder))
    assert isinstance(result.exception, InputError), f"{case.name}: {result.exception!r}"
    assert result.stdout == ""
    return str(result.exception).replace(f"{folder}/", "") + "\n"


def pages(folder: Path) -> dict[Path, str]:
    """Return every page of messages by where it is kept."""
    found: dict[Path, dict[str, str]] = {}
    for case in CASES:
        own = folder / case.name
        own.mkdir()
        found.setdefault(EXPECTED / f"{case.page}.txt", {})[case.name] = message(case, own)
    return {path: page(dict(sorted(texts.items()))) for path, texts in found.items()}


def kept(case: Case) -> str:
    """Return the message that is kept of a case."""
    return sections(EXPECTED / f"{case.page}.txt")[case.name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_message(case: Case, tmp_path: Path) -> None:
    assert message(case, tmp_path) == kept(case)


def test_no_message_without_a_case() -> None:
    found = {(path.stem, name) for path in EXPECTED.iterdir() for name in sections(path)}
    assert found == {(case.page, case.name) for case in CASES}


def test_every_rule_of_reading_has_a_message() -> None:
    text = "".join(path.read_text() for path in EXPECTED.glob("*.txt"))
    silent = [rule.id for rule in INPUT_RULES if f"[{rule.id}]" not in text]
    assert silent == ["file-slurm", "communication-unbounded"]  # see unit tests


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name in (str(tmp_path / "none.yaml"), str(tmp_path)):
        run = ffplan("design", name)
        assert run.code == 2
        assert "[file-unreadable]" in run.err
    run = ffplan("design", "fire-flyer-3")
    assert (run.code, run.out) == (2, "")
    assert "did you mean `fire-flyer-2`" in run.err


@pytest.mark.parametrize("name", ["deep-nesting", "bomb", "huge", "binary", "capacity"])
def test_a_process_says_it_on_stderr_with_exit_code_2(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    output = tmp_path / "report.json"
    run = ffplan_process("design", *case.write(tmp_path), "--format", "json", "-o", str(output))
    assert (run.code, run.out) == (2, "")
    assert run.err.replace(f"{tmp_path}/", "") == kept(case)
    assert "Traceback" not in run.err
    assert not output.exists()
    checked = ffplan("check", str(tmp_path / "design.yaml"))
    assert checked.code == 2
