"""Which figures are trusted, and what notes say."""

from __future__ import annotations

from typing import Any

import pytest

from ffplan.catalog.folders import KINDS, model_of
from ffplan.catalog.read import _with_base, base_name, noted
from ffplan.catalog.store import Catalog
from ffplan.inputs.model import Frozen, trusted
from ffplan.inputs.validate import validate
from ffplan.schema.json_schema import json_schema


@pytest.mark.deep
def test_schemas_are_the_same_after_figures_were_noted() -> None:
    kinds = ("catalog", "assessment", "design", "train")
    before = [json_schema(kind) for kind in kinds]
    seen: set[tuple[str, tuple[str | int, ...]]] = set()
    entry = noted(Catalog().entry("h100-sxm-80gb"), seen)
    assert entry.part.memory.value > 0  # type: ignore[attr-defined]
    assert seen == {("h100-sxm-80gb", ("memory",))}
    assert [json_schema(kind) for kind in kinds] == before


CATALOG = Catalog()


def same(one: Any, two: Any) -> bool:
    """Return whether two values are equal down to types, order of keys, and which fields were given."""
    if type(one) is not type(two):
        return False
    if isinstance(one, Frozen):
        return one.model_fields_set == two.model_fields_set and same(vars(one), vars(two))
    if isinstance(one, dict):
        return list(one) == list(two) and all(same(item, two[key]) for key, item in one.items())
    if isinstance(one, tuple | list):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(one == two)


@pytest.mark.parametrize("kind", KINDS)
def test_trusted_and_validated_parts_are_the_same(kind: str) -> None:
    model, names = model_of(kind), CATALOG.ids_of(kind)
    assert names
    for name in names:
        entry = CATALOG.entry(name)
        document = entry.document
        data = document.data
        if kind == "reliability" and base_name(data) is not None and entry.base is not None:
            data = _with_base(data, entry.base.data)
        assert same(trusted(model, data), validate(model, document, data)), name
