"""Numbers that remember their place."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ffplan.base import formatting
from ffplan.base.record import record
from ffplan.base.tracked import START, made_of, paths_of, split_marks, track, untracked


@record
class Inner:
    rate: float
    count: int


@record
class Outer:
    name: str
    inner: Inner
    rows: tuple[Inner, ...]
    by_name: dict[str, float]
    missing: None
    yes: bool


OUTER = Outer(name=f"a{START}b", inner=Inner(2.5, 3), rows=(Inner(1.0, 1),), by_name={"x": 4.0}, missing=None, yes=True)


def test_every_number_knows_its_path() -> None:
    told = track(OUTER)
    text = f"{told.inner.rate:.2f} {told.rows[0].count:,} {told.by_name['x']} {told.missing} {told.yes}"
    assert split_marks(text) == ("2.50 1 4.0 None True", ("inner.rate", "rows[0].count", "by_name.x"))
    assert told.name == "a\\ue000b"


def test_arithmetic_keeps_the_paths_of_both_sides() -> None:
    inner = track(OUTER).inner
    for value, plain in (
        (inner.rate / inner.count, 2.5 / 3),
        (100 * inner.rate, 250.0),
        (inner.count * 1.5, 4.5),
        (1 - inner.rate, -1.5),
        (round(inner.rate), 2),
        (sum([inner.rate, inner.rate]), 5.0),
        (abs(-inner.count), 3),
        (7 // inner.count, 2),
    ):
        assert (untracked(value), type(untracked(value))) == (plain, type(plain))
        assert paths_of([value])
    assert paths_of([inner.rate / inner.count]) == ("inner.rate", "inner.count")
    assert copy.deepcopy(inner.rate).paths == ("inner.rate",)  # type: ignore[attr-defined]


def test_a_tracked_number_is_the_number() -> None:
    inner = track(OUTER).inner
    assert inner.rate == 2.5
    assert {3: "three"}[inner.count] == "three"
    assert "ab" * inner.count == "ababab"
    assert "abc"[: inner.count] == "abc"
    assert isinstance(inner.count, int)


WORDS = (
    formatting.number,
    formatting.short,
    formatting.amount,
    formatting.percent,
    formatting.kilowatts,
    formatting.times,
)


@given(st.floats(1e-3, 1e12), st.sampled_from(WORDS))
def test_formatting_says_the_same_of_a_tracked_number(value: float, words: Any) -> None:
    told = track({"a": {"b.e": value}})["a"]["b.e"]
    assert split_marks(words(told)) == (words(value), ("a.b.e",))


def test_a_list_of_words_has_each_once_whatever_they_are_made_of() -> None:
    told = track({"a": 1.0, "b": 1.0})
    assert split_marks(formatting.listed([f"{told['a']:.0f} s", f"{told['b']:.0f} s"]))[0] == "1 s"


def test_a_text_made_elsewhere_takes_the_paths_of_its_numbers() -> None:
    told = track({"a": 1.0})
    assert split_marks(made_of("one", told["a"], None)) == ("one", ("a",))
    assert made_of("one", 1.0, None) == "one"
