"""Records: what a dataclass would be, made when it is first asked for."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass, replace
from typing import Any

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
