"""`ffplan reproduce`: the same report, a changed one, and what is no report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.studies.reproduce import NoReportError, read_report
from tests.support import ffplan, overlay_part, valid, vary_design

if TYPE_CHECKING:
    from pathlib import Path


def saved(tmp_path: Path, *command: str) -> tuple[Path, dict[str, Any]]:
    file = tmp_path / "report.json"
    assert ffplan(*command, "-f", "json", "-o", str(file)).code == 0
    return file, json.loads(file.read_text())


def again(file: Path, *options: str, code: int) -> dict[str, Any]:
    run = ffplan("reproduce", str(file), *options, "-f", "json")
    assert run.code == code, run.err
    return valid(run.out, "reproduction")


@pytest.mark.parametrize(
    ("command", "kind"),
    [("design superpod-h100-4su", "design"), ("compare fire-flyer-2 dgx-a100-10k -b dgx-a100-10k", "comparison")],
)
def test_a_report_of_today_is_the_same(command: str, kind: str, tmp_path: Path) -> None:
    file, _ = saved(tmp_path, command)
    report = again(file, code=0)
    assert (report["kind"], report["causes"], report["differences"]) == (kind, [], [])
    assert "all as before" in ffplan("reproduce", str(file)).out


def test_a_changed_design_is_named_with_what_it_changed(tmp_path: Path) -> None:
    design = vary_design(tmp_path, "superpod-h100-4su")
    file, before = saved(tmp_path, "design", str(design))
    design.write_text(design.read_text().replace("count: 127", "count: 126"))
    report = again(file, code=1)
    (cause,) = report["causes"]
    assert cause["what"] == f"design {design}"
    assert before["design"]["sha256"].startswith(cause["then"])
    found = {item["path"]: item for item in report["differences"]}
    assert (found["accelerators"]["then"], found["accelerators"]["now"]) == ("1016", "1008")
    assert found["accelerators"]["change"] == pytest.approx(-1 / 127)
    text = ffplan("reproduce", str(file)).out
    assert "design " in text
    assert "-0.79%" in text


def test_a_changed_part_and_another_version_are_causes(tmp_path: Path) -> None:
    file, value = saved(tmp_path, "design superpod-h100-4su")
    parts = tmp_path / "parts"
    parts.mkdir()
    overlay_part(parts, "qm9700", ("value: 64", "value: 72"))
    value["tool"]["version"] = "0.0.1"
    value["schema_version"] = "1"
    file.write_text(json.dumps(value))
    report = again(file, "--catalog", str(parts), code=1)
    causes = {item["what"]: (item["then"], item["now"]) for item in report["causes"]}
    assert causes["ffplan"][0] == "0.0.1"
    assert causes["schema_version"] == ("1", "2")
    assert causes["catalogs/switches/nvidia/qm9700.yaml"][1] is None
    assert causes[f"{parts}/qm9700.yaml"][0] is None
    assert any(item["path"].startswith("fabric.") for item in report["differences"])


def test_a_job_of_a_comparison_is_left_out(tmp_path: Path) -> None:
    command = "compare fire-flyer-2 dgx-a100-10k --model megatron-1.7b --batch 512 --gpus 64"
    file, _ = saved(tmp_path, command)
    report = again(file, code=0)
    assert report["left_out"] == ["training", "verdicts"]
    assert "not made again" in ffplan("reproduce", str(file)).out


def test_values_that_come_and_go_are_differences(tmp_path: Path) -> None:
    file, value = saved(tmp_path, "design superpod-h100-4su")
    del value["accelerators"]
    value["gone"] = "x"
    file.write_text(json.dumps(value))
    found = {item["path"]: (item["then"], item["now"]) for item in again(file, code=1)["differences"]}
    assert found == {"gone": ('"x"', None), "accelerators": (None, "1016")}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"designs": []}',
        '{"tool": {"version": 1}, "design": {"file": "a", "sha256": "b"}, "catalog": []}',
        '{"designs": [{"tool": {"version": "1"}, "design": {"file": "a", "sha256": "b"}, "catalog": []}], "labels": 1}',
    ],
)
def test_what_is_no_report_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(NoReportError):
        read_report(text)
    (tmp_path / "r.json").write_text(text)
    run = ffplan("reproduce", str(tmp_path / "r.json"))
    assert (run.code, run.out) == (2, "")
    assert "Traceback" not in run.err


def test_a_design_that_is_gone_is_refused(tmp_path: Path) -> None:
    design = vary_design(tmp_path, "superpod-h100-4su")
    file, _ = saved(tmp_path, "design", str(design))
    design.unlink()
    assert ffplan("reproduce", str(file)).code == 2
