"""The error bands that results of training carry are those of the published runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ffplan import search
from ffplan.calibration.calibrate import runs
from ffplan.calibration.leave_one_out import leave_one_out
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import SoftwareStack
from ffplan.catalog.store import Catalog
from ffplan.studies.train.nearest_accelerator import DENSE, ESTIMATED, EXPERTS, KIN, SIBLING, WITHIN, _ErrorBand
from tests.constants import constants, fits
from tests.left_out import case_paths, fingerprint, stored
from tests.support import ffplan

BANDS = {"accelerator": SIBLING, "chip": KIN, "process": ESTIMATED}


def replayed() -> list[dict[str, Any]]:
    """Return the scored rows of `ffplan model accuracy training` that were measured."""
    rows: list[dict[str, Any]] = json.loads(ffplan("model accuracy", "training", "--format", "json").out)["rows"]
    return [row for row in rows if row["scored"] and row["kind"] != "arithmetic"]


def test_the_errors_are_of_the_shipped_data() -> None:
    assert stored()["fingerprint"] == fingerprint(), "the data changed: run `make bands`"


@pytest.mark.parametrize("kind", BANDS)
def test_bands_are_the_errors_of_what_was_left_out(kind: str) -> None:
    found = stored()[kind]
    assert BANDS[kind].mean == pytest.approx(found["mean"], abs=0.005)
    assert sum(row["n"] for row in found["rows"]) == BANDS[kind].runs


@pytest.mark.parametrize(("band", "experts"), [(DENSE, False), (EXPERTS, True)])
def test_bands_of_models(band: _ErrorBand, experts: bool) -> None:
    """Means over accelerators and stacks, of dense models and of mixtures of experts."""
    kinds = [row for row in stored()["stack"]["kinds"] if row["experts"] == experts]
    assert band.mean == pytest.approx(sum(row["mape"] for row in kinds) / len(kinds), abs=0.005)
    assert sum(row["n"] for row in kinds) == band.runs


@pytest.mark.deep
@pytest.mark.parametrize("model", ["llama3-70b", "deepseek-v3", "grok1-314b"])
@pytest.mark.parametrize("design", ["superpod-h100-4su", "gb200-nvl72-16", "mi355x-pod"])
def test_no_option_of_a_plan_narrows_the_band(design: str, model: str) -> None:
    plain = search(design, model, batch=1024, top=1)
    experts = plain.error_band >= EXPERTS.mean
    assert experts or model == "llama3-70b"
    for stack in ("megatron-core-2024", "nemo-2025"):
        assert search(design, model, batch=1024, top=1, stack=stack).error_band == plain.error_band


@pytest.mark.deep
def test_the_part_within_a_source() -> None:
    sources: dict[str, list[float]] = {}
    for row in replayed():
        sources.setdefault(row["source"], []).append(row["error"])
    apart = [
        sum(abs(error - sum(found) / len(found)) for error in found) / len(found)
        for found in sources.values()
        if len(found) > 1
    ]
    assert sum(apart) / len(apart) == pytest.approx(WITHIN, abs=0.002)


@pytest.mark.deep
def test_a_part_of_the_errors_computed_anew() -> None:
    """Hopper by Blackwell, and Blackwell by Hopper: what is stored is what the fit gives."""
    pytest.importorskip("scipy")
    sets = {row["source"]: row["set"] for row in stored()["source"]["rows"]}
    few = [name for name, kind in sets.items() if kind in {"h100-sxm", "blackwell"}]
    paths = tuple(path for path in case_paths() if any(f"/{name}.yaml" in path for name in few))
    report = leave_one_out(runs(Catalog(), paths), by="chip")
    chips = {row["source"]: row["mape"] for row in stored()["chip"]["rows"]}
    found = {row.source: row.mape for row in report.rows}
    assert found == pytest.approx({name: chips[name] for name in ("hopper", "blackwell")}, abs=0.003)


@pytest.mark.deep
def test_shipped_constants_are_what_the_fit_gives() -> None:
    pytest.importorskip("scipy")
    catalog, seen = Catalog(), 0
    for _, part, name, value in constants(fits()):
        found = catalog.entry(part).part
        group, _, item = name.rpartition(" ")
        assert isinstance(found, Accelerator | SoftwareStack)
        shipped = getattr(found.constants[group] if isinstance(found, SoftwareStack) else found.training, item)
        assert shipped.value == pytest.approx(value, rel=0.005), (part, name)
        seen += 1
    assert seen > 40
