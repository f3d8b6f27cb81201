"""The error bands that results of training carry are those of the published runs."""

from __future__ import annotations

import pytest

from ffplan import search
from ffplan.calibration.calibrate import runs
from ffplan.calibration.leave_one_out import leave_one_out
from ffplan.catalog.engines import Engine
from ffplan.catalog.library import Library
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import SoftwareStack
from ffplan.catalog.store import Catalog
from ffplan.studies.train.nearest_accelerator import EXPERTS, WITHIN, _ErrorBand
from ffplan.validation.replay import case_files, replay_files
from tests.bands import TRAINING, band_of, wrong_bands
from tests.constants import constants, fits
from tests.left_out import LARGE, case_paths, fingerprint, stored


def test_the_errors_are_of_the_shipped_data() -> None:
    assert stored()["fingerprint"] == fingerprint(), "the data changed: run `make bands`"


@pytest.mark.parametrize(("kind", "runs_", "band"), [row[1:] for row in TRAINING], ids=[row[0] for row in TRAINING])
def test_bands_hold_four_fifths_of_what_was_left_out(kind: str, runs_: str, band: _ErrorBand) -> None:
    found = band_of(kind, runs_)
    assert band.band == pytest.approx(found["band"], abs=0.005)
    assert band.runs == found["n"]


@pytest.mark.deep
@pytest.mark.parametrize("model", ["llama3-70b", "deepseek-v3", "grok1-314b"])
@pytest.mark.parametrize("design", ["superpod-h100-4su", "gb200-nvl72-16", "mi355x-pod"])
def test_no_option_of_a_plan_narrows_the_band(design: str, model: str) -> None:
    plain = search(design, model, batch=1024, top=1)
    experts = plain.error_band >= EXPERTS.band
    assert experts or model == "llama3-70b"
    for stack in ("megatron-core-2024", "nemo-2025"):
        assert search(design, model, batch=1024, top=1, stack=stack).error_band == plain.error_band


def test_bands_of_engines_without_runs_on_an_accelerator() -> None:
    for name in Catalog().ids_of("engine"):
        engine = Catalog().entry(name).part
        assert isinstance(engine, Engine)
        assert engine.band_kin.value == pytest.approx(band_of("serving", "accelerator")["band"], abs=0.01)


def test_bands_of_collectives_hold_sources_without_a_fit() -> None:
    """The shipped bands rest on more sources, so they hold no less of these than bands made of these alone."""
    library = Catalog().entry("nccl").part
    assert isinstance(library, Library)
    report = replay_files("communication", case_files("communication"), Catalog())
    rows = [row for row in report.rows if row.scored and row.kind == "predicted"]
    for band, large in ((library.band_small, False), (library.band_large, True)):
        assert band is not None
        low, high = band.range
        held: dict[str, list[bool]] = {}
        for row in rows:
            if row.size_bytes and (row.size_bytes >= LARGE) == large:
                faster = row.error if "gbyte" in row.unit else 1 / (1 + row.error) - 1
                held.setdefault(row.source, []).append(low <= 1 + faster <= high)
        shares = [sum(inside) / len(inside) for inside in held.values()]
        assert 0.75 <= sum(shares) / len(shares) <= 0.9


def test_bands_hold_what_they_say_of_runs_that_they_were_not_made_of() -> None:
    assert wrong_bands() == []


def test_the_part_within_a_source() -> None:
    assert band_of("source", "within")["band"] == pytest.approx(WITHIN, abs=0.005)


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
