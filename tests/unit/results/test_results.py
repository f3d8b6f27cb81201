"""What all contracts have in common: plain data out, a text under every field, a unit behind every quantity."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.base.record import record
from ffplan.results import accuracy, catalog, collective, comparison, design, fabric, result, training
from ffplan.results.result import Result
from ffplan.results.run import SHORT_NAMES, PlanRow
from ffplan.validation import cases

if TYPE_CHECKING:
    from types import ModuleType

MODULES = (accuracy, catalog, collective, comparison, design, fabric, result, training)


@record
class Part:
    values: tuple[float, ...]


@record
class Whole(Result):
    name: str
    parts: dict[str, Part]
    missing: float | None


def records(module: ModuleType) -> list[type]:
    own = [item for item in vars(module).values() if isinstance(item, type) and item.__module__ == module.__name__]
    return [item for item in own if is_dataclass(item)]


ALL = [item for module in MODULES for item in records(module) if item is not catalog.PartSheet]
"""Contracts; a `PartSheet` is read by people alone."""


def test_a_result_as_plain_data() -> None:
    """0.1 + 0.2 is 0.30000000000000004: its last bits do not show."""
    whole = Whole("a", {"p": Part((0.1 + 0.2, 1 / 3))}, None)
    assert whole.to_dict() == {"name": "a", "parts": {"p": {"values": [0.3, 0.333333333333]}}, "missing": None}


def test_views_are_given_by_the_python_door(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Whole("a", {}, None)
    monkeypatch.setattr("ffplan.results.result.VIEWS", {"html": repr, "frame": id})
    assert whole._repr_html_() == repr(whole)
    assert whole.to_frame() == id(whole)


def documented(item: type) -> dict[str, str]:
    """Return the text under each field, as the source has it."""
    (tree,) = ast.parse(inspect.getsource(item)).body
    assert isinstance(tree, ast.ClassDef)
    return {
        ast.unparse(one.target): ast.literal_eval(two.value)
        for one, two in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(one, ast.AnnAssign) and isinstance(two, ast.Expr)
    }


@pytest.mark.parametrize("item", ALL, ids=lambda item: item.__name__)
def test_every_field_has_a_text(item: type) -> None:
    assert set(documented(item)) == {field.name for field in fields(item)}
    assert inspect.getdoc(item)


UNITS = {"GB/s": "gbyte_s", "Gb/s": "gbit_s", "kW": "kw", "W": "w", "GiB": "gib"}


@pytest.mark.parametrize("item", ALL, ids=lambda item: item.__name__)
def test_a_unit_in_a_text_is_in_the_name(item: type) -> None:
    """`_gbyte_s`, `_gbit_s`, `_kw`, `_w`, `_gib`: one meaning each; never a bare `gbps`."""
    for name, text in documented(item).items():
        assert not re.search("gbps|gb_s", name)
        for unit, suffix in UNITS.items():
            assert re.search(f"(^|_){suffix}(_|$)", name) or not text.endswith(f"[{unit}]."), name


def test_no_two_contracts_share_a_name() -> None:
    owners = (collective, comparison, design, fabric, training, cases)
    kinds = [kind for module in owners for kind in module.SCHEMAS]
    assert len(kinds) == len(set(kinds))
    assert all(title for module in owners for _, title in module.SCHEMAS.values())


def test_short_names_are_those_of_plan_fields() -> None:
    assert set(SHORT_NAMES) <= {field.name for field in fields(PlanRow)}
    assert len(set(SHORT_NAMES.values())) == len(SHORT_NAMES)


def test_a_record_is_printed_in_short() -> None:
    """Six items of a sequence, arrays by their shape, six digits."""
    shown = repr(Whole("a", {}, 1 / 3))
    assert shown == "Whole(name='a', parts={}, missing=0.333333)"
    assert repr(Part(tuple(range(9)))) == "Part(values=(0, 1, 2, 3, 4, 5, ... 3 more))"
    assert repr(Part(np.zeros(9))) == "Part(values=<array (9,) float64>)"  # type: ignore[arg-type]
