"""Logs of several runs of nccl-tests that headings alone tell apart, and logs that a terminal wrapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.interop.logs.measured import CollectiveHints
from ffplan.interop.logs.read import read_log
from tests.support import examples, ffplan
from tests.unit.interop.test_pasted import DESIGN, KINDS, LOG, PIECES, PREFIXES, one_test, told

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def unchecked(program: str) -> str:
    """Return a run that checked no result, so that its columns leave several operations open."""
    _, ratio, redop, root, _ = KINDS[program]
    return "  N/A     5369".join(one_test("", ratio, redop, root, "N/A").rsplit("    0     5369", 1))


ALL = [operation for operation, *_ in KINDS.values()]
SPOKEN: dict[str, Callable[[str], str]] = {
    "as the program": str,
    "as ffplan": lambda program: KINDS[program][0],
    "in one word": lambda program: program.replace("_", ""),
    "capitals": lambda program: program.replace("_", " ").title().replace(" ", ""),
    "words": lambda program: program.replace("_", " ").upper(),
}


@pytest.mark.parametrize(
    "heading",
    [
        "=== {} ===",
        "Running {}…",
        "Running {}...",
        "## {}",
        "# {}",
        "-- {} test (16 GPUs, 2 nodes) --",
        "NCCL test: {}",
        "[{}]",
    ],
)
@pytest.mark.parametrize("spoken", SPOKEN)
def test_headings_tell_the_operation(heading: str, spoken: str) -> None:
    text = "".join(heading.format(SPOKEN[spoken](program)) + "\n" + unchecked(program) for program in KINDS)
    assert [row.check for row in read_log(text, "all.txt")] == ALL
    assert [row.check for row in read_log(PREFIXES["CRI"](text), "all.txt")] == ALL


@pytest.mark.parametrize(
    "script",
    [
        "for t in {}; do mpirun -np 16 ./build/${{t}}_perf -g 1 -c 0; done\n",
        "for op in {}\ndo\n  srun ./${{op}}_perf\ndone\n",
    ],
)
def test_a_script_ahead_of_all_runs_names_them_in_order(script: str) -> None:
    text = script.format(" ".join(KINDS)) + "".join(map(unchecked, KINDS))
    assert [row.check for row in read_log(text, "all.txt")] == ALL


@pytest.mark.parametrize(
    "line", ["To reduce noise, gather logs of both nodes", "NCCL_ALGO=allreduce:ring", "broadcast 10.0.0.255"]
)
def test_other_lines_are_no_headings(line: str) -> None:
    assert read_log(f"{line}\n{one_test('', PIECES)}", "a.txt")[0].check == "all-gather"


def test_a_heading_of_another_operation_is_refused() -> None:
    with pytest.raises(InputError, match="heading names broadcast"):
        read_log("=== broadcast ===\n" + unchecked("all_gather"), "a.txt")


def test_one_word_of_the_user_is_of_one_run(tmp_path: Path) -> None:
    said = CollectiveHints(operation="all-gather")
    (row,) = read_log(unchecked("all_gather"), "a.txt", said)
    assert row.check == "all-gather"
    found = read_log(unchecked("all_reduce") + unchecked("all_gather"), "a.txt", said)
    assert [row.check for row in found] == ["allreduce", "all-gather"]
    file = tmp_path / "all_gather.txt"
    file.write_text(unchecked("all_gather") + unchecked("alltoall"))
    for options in ("", "--op all_gather "):
        run = ffplan(f"fabric accept {DESIGN} {options}--measured", str(file))
        assert run.code == 2
        assert "nothing says which operation each of several runs measured" in run.err


@example("alltoall", 100, False)
@example("broadcast", 112, True)
@example("all_reduce", 84, False)
@examples(60)
@given(st.sampled_from(list(KINDS)), st.integers(58, 130), st.booleans())
def test_a_terminal_that_wraps_lines_changes_no_figure(program: str, width: int, stripped: bool) -> None:
    """Numbers are cut at the end of a line, and blanks there may be gone."""
    _, *columns = KINDS[program]
    text = one_test("", *columns)  # type: ignore[arg-type]
    for whole in (text, text + LOG):
        lines = [line[at : at + width] for line in whole.splitlines() for at in range(0, max(1, len(line)), width)]
        cut = "".join(f"{line.rstrip() if stripped else line}\n" for line in lines)
        plain, found = read_log(whole, "a.txt"), read_log(cut, "a.txt")
        assert told(found) == told(plain)
        assert [row.accelerators for row in found] == [row.accelerators for row in plain]
