"""Records, and numbers that remember their path."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base import formatting
from ffplan.base.record import record
from ffplan.base.tracked import START, _paths_of, _untracked, made_of, split_marks, track


class Few:
    """Few fields, given in order."""

    one: int
    two: str = "b"


class Many:
    """Many fields, given by name."""

    one: int
    two: str
    three: float = 3.0
    four: tuple[int, ...] = ()
    five: str | None = None


class Mixed:
    """Some by name, one with a default of its own each time."""

    one: int
    _: KW_ONLY
    two: int = 2
    three: dict[str, int] = field(default_factory=dict)


def parts(kind: type) -> Any:
    return inspect.signature(kind), [(item.name, item.type, item.kw_only) for item in fields(kind)]


@pytest.mark.parametrize("plain", [Few, Many, Mixed])
@pytest.mark.parametrize("fields_first", [True, False])
def test_a_record_is_as_a_dataclass_is(plain: type, fields_first: bool) -> None:
    made: Any = record(type(plain.__name__, (), dict(vars(plain))))
    if fields_first:
        assert is_dataclass(made)
    same: Any = dataclass(kw_only=plain is Many)(type(plain.__name__, (), dict(vars(plain))))
    assert parts(made) == parts(same)
    assert not hasattr(made.__new__(made), "__dict__")


@record
class Base:
    """A record that others build on."""

    one: int
    two: int = 2


@record
class Derived(Base):
    """A record with a base."""

    three: int = 3


def test_records_are_built_copied_and_pickled() -> None:
    found = pickle.loads(pickle.dumps(replace(Derived(1), three=4)))
    assert (found.one, found.two, found.three) == (1, 2, 4)
    with pytest.raises(TypeError, match=r"Base.__init__\(\) missing 1 required positional argument: 'one'"):
        Base()  # type: ignore[call-arg]
    made: Any = record(type("Mixed", (), dict(vars(Mixed))))
    assert made(1).three is not made(1).three


@record
class Held:
    """A record with a record, an array and a mapping inside."""

    inner: tuple[Base, ...]
    array: Any
    by_name: dict[str, Any]


def held() -> Held:
    return Held((Base(1), Derived(1)), np.arange(3.0), {"a": Base(2), "b": np.ones(2)})


@pytest.mark.parametrize(
    "changes",
    [
        {"inner": (Base(1), Derived(2))},
        {"inner": (Base(1),)},
        {"array": np.array([0.0, 1.0, 3.0])},
        {"array": np.arange(4.0)},
        {"by_name": {"a": Base(2)}},
        {"by_name": {"a": Base(3), "b": np.ones(2)}},
        {"by_name": {"a": Base(2), "b": np.zeros(2)}},
    ],
)
def test_records_compare_by_value(changes: dict[str, Any]) -> None:
    assert held() == held()
    assert hash(held()) == hash(held())
    assert held() != replace(held(), **changes)


def test_a_record_differs_from_one_of_another_class() -> None:
    assert Base(1) != Derived(1)
    assert len({Base(1), Base(1), Base(1, 3), Derived(1)}) == 3


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
        assert (_untracked(value), type(_untracked(value))) == (plain, type(plain))
        assert _paths_of([value])
    assert _paths_of([inner.rate / inner.count]) == ("inner.rate", "inner.count")
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
