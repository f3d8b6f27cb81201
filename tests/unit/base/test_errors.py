"""Messages of many faults."""

from __future__ import annotations

import pytest

from ffplan.base.errors import MOST_SHOWN, Finding, InputError, Severity


def fault(line: int) -> Finding:
    return Finding(
        rule="schema-unknown-field",
        severity=Severity.ERROR,
        file="a.yaml",
        line=line,
        column=1,
        message="odd",
        remedy="leave it out",
    )


@pytest.mark.parametrize(("more", "words"), [(0, ""), (1, "and 1 more fault"), (9_900, "and 9,900 more faults")])
def test_a_message_has_a_hundred_faults_and_the_number_of_others(more: int, words: str) -> None:
    error = InputError(*(fault(line) for line in range(MOST_SHOWN + more, 0, -1)))
    lines = str(error).splitlines()
    assert [line.split(":")[1] for line in lines if line.startswith("a.yaml")] == [str(n) for n in range(1, 101)]
    assert [line for line in lines if line.startswith("and")] == ([words] if words else [])
    assert len(error.findings) == MOST_SHOWN + more
