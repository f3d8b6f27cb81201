"""`ffplan model reproduce`: the same report, a changed one, and what is no report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ffplan import __version__
from ffplan.base.outcomes import DRAWS
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
    assert "-0.787 %" in text


@pytest.mark.parametrize(
    ("share", "said"), [(0.0119065025, "84x"), (0.95251, "+4.99 %"), (2.0, "-50 %"), (0.101, "+890 %"), (-0.05, "-20x")]
)
def test_a_change_is_said_in_one_style(share: float, said: str, tmp_path: Path) -> None:
    """As percentages; of ten times and more, as the value over the one before."""
    file, value = saved(tmp_path, "design superpod-h100-4su")
    value["power"]["facility_kw"] *= share
    file.write_text(json.dumps(value))
    assert f" {said}\n" in ffplan("model reproduce", str(file)).out


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


OWN_JOB = "workload: {model: llama3-8b, tokens: 100e9, batch: 128, gpus: 64, plan: {tensor: 2, pipeline: 2}}\n"


def with_job(tmp_path: Path, name: str, count: int) -> str:
    """Return the file of a small design of servers with a job of its own."""
    file = tmp_path / f"{name}.yaml"
    file.write_text(
        f"name: {name}\n"
        f"nodes: [{{role: compute, server: hgx-h100-8nic, count: {count}}}]\n"
        "fabric:\n"
        "  {family: fat-tree, switch: qm9700, link: {endpoint: 400g-dac, inter_switch: 400g-dr4}, tiers: 2}\n"
        "communication: {libraries: [nccl], message_size: 1 GiB}\n"
        "site: {pue: 1.3, electricity_price: $0.08/kWh}\n"
        "cost: {price_book: usd-2026}\n" + OWN_JOB
    )
    return str(file)


@pytest.mark.parametrize(
    "options",
    [
        "superpod-h100-4su {own}",
        "{own} {other}",
        "{own} {other} -b {other} --tokens 2T --effort first-run --years 3",
        "{own} {other} --model gpt3-6.7b --batch 512 --gpus 64 --stack nemo-2025",
        "superpod-h100-4su fire-flyer-2 --profile llama3 --draws 40 --seed 5",
    ],
)
def test_a_comparison_just_saved_is_the_same(options: str, tmp_path: Path) -> None:
    """With a job, with money, and with other draws or another profile than usual."""
    own, other = with_job(tmp_path, "own", 16), with_job(tmp_path, "other", 12)
    file, value = saved(tmp_path, "compare", *options.format(own=own, other=other).split())
    report = again(file, code=0)
    assert (report["causes"], report["differences"], report["left_out"]) == ([], [], [])
    assert bool(value["training"] or value["workload"]) == ("{own}" in options)


def test_a_job_and_its_money_are_compared_too(tmp_path: Path) -> None:
    own, other = with_job(tmp_path, "own", 16), with_job(tmp_path, "other", 12)
    file, value = saved(tmp_path, "compare", own, other)
    value["training"]["sizes"][0]["sides"][0]["step_s"] *= 2
    value["money"]["sides"][1]["run"]["cost"]["likely"] *= 4
    file.write_text(json.dumps(value))
    found = {item["path"]: item["change"] for item in again(file, code=1)["differences"]}
    assert found == {
        "training.sizes[0].sides[0].step_s": pytest.approx(-0.5),
        "money.sides[1].run.cost.likely": pytest.approx(-0.75),
    }


def test_a_changed_part_of_the_job_is_a_cause(tmp_path: Path) -> None:
    own, other = with_job(tmp_path, "own", 16), with_job(tmp_path, "other", 12)
    file, _ = saved(tmp_path, "compare", own, other)
    parts = tmp_path / "parts"
    parts.mkdir()
    overlay_part(parts, "llama3-8b", ("layers: 32", "layers: 16"))
    report = again(file, "--catalog", str(parts), code=1)
    assert {item["what"] for item in report["causes"]} == {
        "catalogs/models/meta/llama3-8b.yaml",
        f"{parts}/llama3-8b.yaml",
    }
    assert {item["path"].split(".")[0].split("[")[0] for item in report["differences"]} >= {"training", "money"}


@pytest.mark.parametrize("options", ["--rooflines", "--profile llama3", "--profile llama3 --rooflines"])
def test_a_design_just_saved_with_options_is_the_same(options: str, tmp_path: Path) -> None:
    file, _ = saved(tmp_path, "design superpod-h100-4su", *options.split())
    report = again(file, code=0)
    assert (report["causes"], report["differences"]) == ([], [])


def test_a_plan_that_the_report_does_not_hold_leaves_its_job_out(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("kind: training-plan\ntensor: 2\npipeline: 2\n")
    command = f"compare fire-flyer-2 dgx-a100-10k --model megatron-1.7b --batch 512 --gpus 64 --plan {plan}"
    file, _ = saved(tmp_path, command)
    assert again(file, code=0)["left_out"] == ["training", "money", "workload", "verdicts"]
    assert "not repeated" in ffplan("model reproduce", str(file)).out


def test_a_report_without_options_leaves_its_job_out(tmp_path: Path) -> None:
    """Reports had none before."""
    own, other = with_job(tmp_path, "own", 16), with_job(tmp_path, "other", 12)
    file, value = saved(tmp_path, "compare", own, other)
    del value["options"]
    file.write_text(json.dumps(value))
    assert again(file, code=0)["left_out"] == ["training", "money", "workload", "verdicts"]


def test_a_report_from_before_an_option_is_made_again(tmp_path: Path) -> None:
    """Its job and its money too: an option that nobody could give was not given."""
    own, other = with_job(tmp_path, "own", 16), with_job(tmp_path, "other", 12)
    file, value = saved(tmp_path, "compare", own, other, *["--tokens", "1T", "--seed", "7"])
    assert value["options"]["draws"] == DRAWS
    for name in ("draws", "search", "profile", "effort"):
        del value["options"][name]
    file.write_text(json.dumps(value))
    report = again(file, code=0)
    assert (report["causes"], report["differences"], report["left_out"]) == ([], [], [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("draws", 10**9),
        ("draws", None),
        ("seed", True),
        ("batch", 0),
        ("gpus", 1.5),
        ("tokens", "1T"),
        ("years", 0),
        ("effort", "none"),
        ("search", 1),
        ("model", []),
        ("other", 1),
    ],
)
def test_options_are_those_of_the_command(name: str, value: object, tmp_path: Path) -> None:
    file, report = saved(tmp_path, "compare fire-flyer-2 dgx-a100-10k")
    report["options"][name] = value
    file.write_text(json.dumps(report))
    run = ffplan("model reproduce", str(file))
    assert (run.code, run.out) == (2, "")
    assert "`options" in run.err


def test_a_model_of_a_report_opens_no_pipe_and_no_device(tmp_path: Path) -> None:
    file, report = saved(tmp_path, "compare fire-flyer-2 dgx-a100-10k --model megatron-1.7b --batch 512 --gpus 64")
    os.mkfifo(tmp_path / "pipe.json")
    for name in (str(tmp_path / "pipe.json"), "/dev/zero", "a\nb", "x\0y"):
        report["options"]["model"] = name
        file.write_text(json.dumps(report))
        run = ffplan("model reproduce", str(file))
        assert run.code == 2, name
        assert run.err.count("\n") <= 2, "a remedy is on a line of its own"
        assert "Traceback" not in run.err


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
