"""Units in which the figures of parts are shown."""

from __future__ import annotations

import pytest

from ffplan.catalog.evidence import DataFigure
from ffplan.catalog.store import Catalog
from ffplan.studies.explain.catalog import _unit


@pytest.mark.parametrize(
    ("value", "unit"),
    [("80 GiB", "GiB"), ("1 GiB", "GiB"), ("512 MiB", "GB"), ("80 GB", "GB"), ("1.5 GiB", "GB"), ("141 GB", "GB")],
)
def test_memory_is_shown_in_the_unit_that_makes_it_whole(value: str, unit: str) -> None:
    part = Catalog().entry("a100-pcie-40gb").part
    figure = DataFigure.model_validate({"value": value, "source": next(iter(part.sources))})
    assert _unit(part, figure)[0] == unit
