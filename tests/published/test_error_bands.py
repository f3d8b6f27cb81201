"""The error bands that results of training carry are those of the published runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ffplan.calibration.calibrate import runs
from ffplan.calibration.leave_one_out import leave_one_out
from ffplan.catalog.store import Catalog
from ffplan.studies.error_bands import CALIBRATED, ESTIMATED, SIBLING, UNNAMED
from tests.left_out import case_paths, fingerprint, stored
from tests.support import ffplan

BANDS = {"source": CALIBRATED, "stack": UNNAMED, "accelerator": SIBLING, "chip": ESTIMATED}


def replayed() -> list[dict[str, Any]]:
    """Return the scored rows of `ffplan accuracy training`."""
    rows: list[dict[str, Any]] = json.loads(ffplan("accuracy", "training", "--format", "json").out)["rows"]
    return [row for row in rows if row["scored"]]


def test_the_errors_are_of_the_shipped_data() -> None:
    assert stored()["fingerprint"] == fingerprint(), "the data changed: run `make bands`"


@pytest.mark.parametrize("kind", BANDS)
def test_bands_are_the_errors_of_what_was_left_out(kind: str) -> None:
    found = stored()[kind]
    assert BANDS[kind].mean == pytest.approx(found["mean"], abs=0.005)
    assert sum(row["n"] for row in found["rows"]) == BANDS[kind].runs


def test_the_part_within_a_source() -> None:
    sources: dict[str, list[float]] = {}
    for row in replayed():
        sources.setdefault(row["source"], []).append(row["error"])
    apart = [
        sum(abs(error - sum(found) / len(found)) for error in found) / len(found)
        for found in sources.values()
        if len(found) > 1
    ]
    assert {band.within for band in BANDS.values()} == {CALIBRATED.within}
    assert sum(apart) / len(apart) == pytest.approx(CALIBRATED.within, abs=0.002)


def test_a_part_of_the_errors_computed_anew() -> None:
    """Accelerators of few runs: what is stored is what the fit gives."""
    pytest.importorskip("scipy")
    few = ("simumax-b200", "dgxc-gb200", "megatron-bridge-dense", "megatron-bridge")
    paths = tuple(path for path in case_paths() if any(f"/{name}.yaml" in path for name in few))
    report = leave_one_out(runs(Catalog(), paths), by="stack")
    stacks = {(row["source"], row["set"]): row["mape"] for row in stored()["stack"]["rows"]}
    found = {(row.source, row.set): row.mape for row in report.rows if row.set == "blackwell"}
    assert len(found) == 3
    assert found == pytest.approx({key: stacks[key] for key in found}, abs=0.003)
