"""`ffplan model reproduce`: the same report, a changed one, and what is no report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ffplan import __version__
from ffplan.studies.explain.reproduce import NoReportError, read_report
from tests.support import ROOT, ffplan, overlay_part, valid, vary_design

if TYPE_CHECKING:
    from pathlib import Path


def saved(tmp_path: Path, *command: str) -> tuple[Path, dict[str, Any]]:
    file = tmp_path / "report.json"
    assert ffplan(*command, "-f", "json", "-o", str(file)).code == 0
    return file, json.loads(file.read_text())


def again(file: Path, *options: str, code: int) -> dict[str, Any]:
    run = ffplan("model reproduce", str(file), *options, "-f", "json")
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
    assert "all as before" in ffplan("model reproduce", str(file)).out


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
    text = ffplan("model reproduce", str(file)).out
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
    assert causes["schema_version"] == ("1", "4")
    assert causes["catalogs/switches/nvidia/qm9700.yaml"][1] is None
    assert causes[f"{parts}/qm9700.yaml"][0] is None
    assert any(item["path"].startswith("fabric.") for item in report["differences"])


def test_a_job_of_a_comparison_is_left_out(tmp_path: Path) -> None:
    command = "compare fire-flyer-2 dgx-a100-10k --model megatron-1.7b --batch 512 --gpus 64"
    file, _ = saved(tmp_path, command)
    report = again(file, code=0)
    assert report["left_out"] == ["training", "verdicts"]
    assert "not repeated" in ffplan("model reproduce", str(file)).out


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
        '{"a": NaN}',
        '{"a": 1e400}',
        f'{{"a": {"9" * 30}}}',
        '{"a": 1, "a": 2}',
        '{"a":' * 60 + "1" + "}" * 60,
    ],
)
def test_what_is_no_report_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(NoReportError):
        read_report(text)
    (tmp_path / "r.json").write_text(text)
    run = ffplan("model reproduce", str(tmp_path / "r.json"))
    assert (run.code, run.out) == (2, "")
    assert "Traceback" not in run.err


def test_a_design_that_is_gone_is_refused(tmp_path: Path) -> None:
    design = vary_design(tmp_path, "superpod-h100-4su")
    file, _ = saved(tmp_path, "design", str(design))
    design.unlink()
    assert ffplan("model reproduce", str(file)).code == 2


ONE = '{"tool": {"version": "1"}, "design": {"file": "superpod-h100-4su", "sha256": "b"}, "catalog": []}'


@pytest.mark.parametrize("labels", ["[[], {}]", "[1, 2]", '["a", "a"]', '["a"]', '["a", "b", "c"]'])
def test_labels_are_different_words(labels: str) -> None:
    with pytest.raises(NoReportError, match="see `labels`"):
        read_report(f'{{"designs": [{ONE}, {ONE}], "labels": {labels}, "baseline": "a"}}')


def test_a_report_names_a_few_designs() -> None:
    labels = json.dumps([str(number) for number in range(51)])
    with pytest.raises(NoReportError, match="51 designs are more than 50"):
        read_report(f'{{"designs": [{",".join([ONE] * 51)}], "labels": {labels}, "baseline": "0"}}')


def test_faults_of_json_have_a_place(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"a": 1,\n "b": }')
    run = ffplan("model reproduce", str(tmp_path / "r.json"))
    assert f"{tmp_path}/r.json:2:7: not valid JSON" in run.err


def test_a_report_opens_no_pipe_and_no_device(tmp_path: Path) -> None:
    file, value = saved(tmp_path, "design superpod-h100-4su")
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), "/dev/stdin", "/dev/zero", str(tmp_path), "a\nb", "x\0y", "designs/none.yaml"):
        value["design"]["file"] = name
        file.write_text(json.dumps(value))
        run = ffplan("model reproduce", str(file))
        assert run.code == 2, name
        assert "there is no such file" in run.err
        assert run.err.count("\n") == 1


def test_shipped_designs_are_found_from_any_folder(tmp_path: Path) -> None:
    file, _ = saved(tmp_path, "design superpod-h100-4su")
    code = f"import os, sys; os.chdir({str(tmp_path)!r}); sys.argv = ['ffplan', 'model', 'reproduce', {str(file)!r}]; "
    code += "from ffplan.cli.app import run; sys.exit(run())"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "all as before" in done.stdout


def test_the_path_of_a_design_is_no_value(tmp_path: Path) -> None:
    file, value = saved(tmp_path, "design fire-flyer-2")
    value["design"]["file"] = str(ROOT / "designs" / "fire-flyer-2.yaml")
    file.write_text(json.dumps(value))
    assert again(file, code=0)["differences"] == []


def test_csv_lists_the_causes_too(tmp_path: Path) -> None:
    file, value = saved(tmp_path, "design fire-flyer-2")
    value["tool"]["version"] = "=0.0.1"
    file.write_text(json.dumps(value))
    run = ffplan("model reproduce", str(file), "-f", "csv")
    assert run.out.splitlines() == ["path,then,now,change", f"ffplan,'=0.0.1,{__version__},"]
