"""A short run of the fuzzer with a fixed seed; `make fuzz` runs longer."""

from __future__ import annotations

import signal
import warnings
from typing import TYPE_CHECKING

import pytest

from tests.fuzz import run
from tests.fuzz.commands import uncovered
from tests.fuzz.readers import READERS
from tests.fuzz.run import Hang, Tally, chunk, tasks

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGPROF)
    with warnings.catch_warnings():
        yield
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("count", [20, pytest.param(150, marks=pytest.mark.deep)])
@pytest.mark.parametrize("kind", READERS)
def test_readers_return_or_refuse(kind: str, count: int) -> None:
    found = chunk((kind, 2026, range(count), ""))
    assert found.faults == []
    assert sum(found.codes.values()) == count
    assert found.codes[f"{kind} 0"] > count / 15


@pytest.mark.parametrize(("count", "least"), [(24, 4), pytest.param(120, 50, marks=pytest.mark.deep)])
def test_commands_end_in_order(count: int, least: int) -> None:
    found = chunk(("command", 2026, range(count), ""))
    assert found.faults == []
    fine = found.codes["command 0"] + found.codes["command 1"]
    assert fine > least  # about half of many runs are no refusals


def test_every_option_has_values() -> None:
    assert uncovered() == []


def test_a_fault_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(kind: str, seed: str, folder: object) -> tuple[int, str]:
        number = int(seed.partition("-")[2])
        if number == 1:
            raise ValueError("crash")
        if number == 2:
            raise Hang
        return 0, ""

    monkeypatch.setattr(run, "execute", fails)
    found = chunk(("yaml", 1, range(4), ""))
    assert [fault.split("\n")[0] for fault in found.faults] == ["yaml 1-1", "yaml 1-2: longer than 5 s"]
    whole = Tally()
    whole.add(found)
    whole.add(found)
    assert (whole.codes["yaml 0"], len(whole.faults)) == (4, 4)


def test_the_work_is_divided_without_loss() -> None:
    work = tasks(30_000, 250, 1, "")
    each = -(-30_000 // len(READERS))
    for kind in READERS:
        numbers = [number for name, _, numbers, _ in work if name == kind for number in numbers]
        assert numbers == list(range(each))
    assert sum(len(numbers) for name, _, numbers, _ in work if name == "command") == 250
