"""Records: what a dataclass would be, made when it is first asked for."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from ffplan.base.record import record


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
