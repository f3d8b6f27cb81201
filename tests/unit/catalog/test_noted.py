"""Figures that note their reading are of the kinds that they stand for, and no kinds of their own."""

from __future__ import annotations

import pytest

from ffplan.catalog.noted import noted
from ffplan.catalog.store import Catalog
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
