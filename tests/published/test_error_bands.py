"""The error bands that results of training carry are those of the published runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from ffplan.catalog.store import Catalog
from ffplan.studies.error_bands import CALIBRATED, ESTIMATED
from ffplan.studies.relatives import distance, nearest_relative
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = {
    "h100-sxm-80gb": ("a100-sxm-40gb", "a100-sxm-80gb", "a800-sxm-80gb", "a100-pcie-40gb", "a100-pcie-80gb"),
    "a100-sxm-80gb": ("h100-sxm-80gb", "h100-sxm-96gb", "h200-sxm", "h800-sxm"),
    "h100-sxm-80gb ": ("b200", "b300", "gb200-gpu"),
}
"""Accelerators that take the efficiencies of the first."""


def replayed(*options: str) -> list[dict[str, Any]]:
    """Return the rows of `ffplan accuracy training`."""
    rows: list[dict[str, Any]] = json.loads(ffplan("accuracy", "training", "--format", "json", *options).out)["rows"]
    return rows


def left_out(folder: Path, relative: str, names: tuple[str, ...]) -> str:
    """Write accelerators with the efficiencies of a relative, each with its own multiprocessors."""
    folder.mkdir()
    files = {path.stem: path for path in (ROOT / "catalogs" / "accelerators").rglob("*.yaml")}
    base = yaml.safe_load(files[relative].read_text())
    for name in names:
        part = yaml.safe_load(files[name].read_text())
        rates = {**base["training"], "units": part["training"]["units"]}
        for precision in ("matrix_fp8", "matrix_tf32"):
            rates.setdefault(precision, rates["matrix"])
        part["training"] = {
            key: {**value, "source": f"relative-{value['source']}"}
            if isinstance(value, dict) and key != "units"
            else value
            for key, value in rates.items()
        }
        part["sources"] |= {f"relative-{key}": value for key, value in base["sources"].items()}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(part, sort_keys=False, allow_unicode=True))
    return str(folder)


def test_the_band_of_calibrated_accelerators() -> None:
    rows = [row for row in replayed() if row["scored"] and row["kind"] == "predicted"]
    errors = [abs(row["error"]) for row in rows]
    sources: dict[str, list[float]] = {}
    for row in rows:
        sources.setdefault(row["source"], []).append(row["error"])
    apart = [abs(error - sum(found) / len(found)) for found in sources.values() if len(found) > 1 for error in found]
    assert sum(apart) / len(apart) == pytest.approx(CALIBRATED.within, abs=0.0005)
    assert ESTIMATED.within == CALIBRATED.within
    assert len(errors) == CALIBRATED.runs
    assert sum(errors) / len(errors) == pytest.approx(CALIBRATED.mean, abs=0.005)


def test_the_band_of_estimated_accelerators(tmp_path: Path) -> None:
    """Leave one accelerator out: A100 with the efficiencies of H100, H100 with those of A100, B200 with H100."""
    before, means, count = replayed(), [], 0
    for relative, names in GROUPS.items():
        after = replayed("--catalog", left_out(tmp_path / names[0], relative.strip(), names))
        moved = [
            abs(new["error"])
            for old, new in zip(before, after, strict=True)
            if old["scored"] and old["unit"] != "ratio" and old["model"] != new["model"]
        ]
        means.append(sum(moved) / len(moved))
        count += len(moved)
    assert means == pytest.approx([0.23, 0.125, 0.287], abs=0.005)
    assert sum(means) / len(means) == pytest.approx(ESTIMATED.mean, abs=0.005)
    assert count == ESTIMATED.runs


def test_relatives_are_near_in_peak_and_bandwidth() -> None:
    catalog = Catalog()
    read = {name: catalog.entry(name).part for name in catalog.ids_of("accelerator")}
    found = {name: nearest_relative(part, catalog) for name, part in read.items()}  # type: ignore[arg-type]
    named = {name: part.id for name, part in found.items() if part is not None}
    near = {name: named[name] for name in ("b100", "h100-nvl", "h100-pcie", "l40s", "mi300x", "v100-sxm2-32gb")}
    assert near == {
        "b100": "b200",
        "h100-nvl": "h100-sxm-80gb",
        "h100-pcie": "h100-sxm-96gb",
        "l40s": "a100-pcie-40gb",
        "mi300x": "h200-sxm",
        "v100-sxm2-32gb": "a100-pcie-40gb",
    }
    for name, part in found.items():
        assert part is not None
        assert part.id != name
        assert distance(read[name], part) > 0 or part.training is not None  # type: ignore[arg-type]
