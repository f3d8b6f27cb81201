"""`ffplan collective` and `ffplan model accuracy` at the command line; cases that a user writes."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import UsageError
from ffplan.cli.loading import series
from ffplan.collectives.volumes import ring_factor
from tests.support import ROOT, but_few, checker, ffplan
from tests.unit.validation.test_communication import CASE

if TYPE_CHECKING:
    from pathlib import Path


def test_series() -> None:
    assert series("16,32", "--gpus", sizes=False) == (16, 32)
    assert series("16..100", "--gpus", sizes=False) == (16, 32, 64, 100)
    assert series("1MiB..4 MiB,1GB", "--size", sizes=True) == (2**20, 2**21, 2**22, 1e9)
    for wrong in ("x", "", "1..", "32..16", "0", "1.5"):
        with pytest.raises(UsageError):
            series(wrong, "--gpus", sizes=False)
    with pytest.raises(UsageError):
        series("16", "--size", sizes=True)


def test_collective_command() -> None:
    asked = ("collective", "fire-flyer-2", "--op", "allreduce", "--library", "hfreduce", "--size", "186MiB")
    run = ffplan(*asked, "--gpus", "16,32,1440", "--format", "json")
    assert run.code == 0
    report = json.loads(run.out)
    checker("collective").validate(report)
    assert [row["gpus"] for row in report["rows"]] == [16, 32, 1440]
    assert report["in_network_reduction"] is report["in_network_allowed"] is False
    for row in report["rows"]:
        assert row["limited_by"] == "root_port"
        assert row["fastest_time_s"] == row["time_s"]
        assert row["algbw_gbyte_s"] == pytest.approx(row["size_bytes"] / row["time_s"] / 1e9)
        assert row["busbw_gbyte_s"] == pytest.approx(row["algbw_gbyte_s"] * ring_factor(row["gpus"]))
        assert row["time_s"] == pytest.approx(row["latency_s"] + row["stream_s"] + row["fill_s"])
    text = ffplan(*asked, "--gpus", "16,32", "--chart").out
    assert "####" in text
    assert "SHARP) off" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    table = list(csv.DictReader(io.StringIO(ffplan(*asked, "--gpus", "16", "--format", "csv").out)))
    assert float(table[0]["algbw_gbyte_s"]) == pytest.approx(report["rows"][0]["algbw_gbyte_s"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--gpus", "1"), "at least two accelerators"),
        (("--gpus", "12", "--library", "hfreduce"), "over 12 accelerators"),
        (("--gpus", "17"), "16 or 24 would"),
        (("--sharp", "--library", "nccl"), "reduces in the network"),
        (("--library", "hfreduce", "--protocol", "ll"), "one way only"),
        (("--library", "nccl", "--algorithm", "sharp"), "only with --sharp"),
        (("--tokens", "9"), "no effect on allreduce"),
        (("--op", "dispatch", "--size", "1MiB"), "no effect on dispatch"),
        (("--op", "dispatch", "--gpus", "64"), "scale-up switch"),
        (("--zones", "1"), "hold 625 nodes"),
        (("--gpus", "20000"), "10,000 accelerators"),
        (("--gpus", "many"), "no whole number"),
        (("--op", "allredcue"), "allreduce"),
        (("--library", "nickel"), "nccl"),
        (("--library", "hfreduce-nvlink"), "needs NVLink"),
        (("--library", "hfreduce", "--op", "all-gather"), "has no all-gather"),
        (("--library", "hfreduce", "--gpus", "4"), "over 4 accelerators"),
        (("--library", "nccl", "--algorithm", "nvls"), "has no nvls"),
        (("--library", "nccl", "--protocol", "ll128"), "has no ll128"),
        (("--size", "1"), "186 MiB"),
        (("--zones", "3"), "fabric has 2"),
        (("--zones", "2", "--gpus", "8"), "every zone needs a node"),
    ],
)
def test_what_cannot_be_is_refused(arguments: tuple[str, ...], words: str) -> None:
    run = ffplan("collective", "fire-flyer-2", *arguments)
    assert run.code == 2
    assert words in run.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--gpus 64 --experts 100", "100 experts do not spread evenly over 64 GPUs"),
        (
            "--gpus 256 --experts 256 --top-k 9 --max-nodes 1",
            "the nodes that a token may reach hold 8 experts, fewer than the 9 it needs",
        ),
    ],
)
def test_tokens_that_cannot_be_routed(options: str, words: str) -> None:
    run = ffplan(f"collective superpod-h100-4su --op dispatch {options}")
    assert run.code == 2
    assert words in run.err


def test_accuracy_of_all_that_ships() -> None:
    run = ffplan("model accuracy", "communication", "--format", "json", "--max-mape", "17")
    assert run.code == 0
    report = json.loads(run.out)
    checker("accuracy").validate(report)
    measured = [row for row in report["rows"] if row["kind"] != "arithmetic"]
    assert report["total"]["n"] == sum(row["scored"] for row in measured) < len(report["rows"])
    assert {item["name"] for item in report["sources"]} == {row["source"] for row in report["rows"]}
    failing = ffplan("model accuracy", "communication", "--format", "csv", "--max-mape", "1%")
    assert failing.code == 1
    assert "exceeds 1 %" in failing.err
    assert len(list(csv.DictReader(io.StringIO(failing.out)))) == len(report["rows"])


def test_accuracy_text_and_markdown() -> None:
    text = ffplan("model accuracy", "communication", "--rows").out
    assert max(len(line) for line in text.splitlines()) <= 80
    for words in ("fire-flyer-fig7: hfreduce", "MAPE %", "not scored", "all"):
        assert words in text
    assert text.index("MAPE %") < text.index("Kinds of rows") < text.index("fire-flyer-fig7: hfreduce")
    assert "| nccl-h100-node |" in ffplan("model accuracy", "communication", "--format", "markdown").out


@pytest.mark.parametrize("subject", but_few(["communication", "training", "memory"], "memory"))
def test_rows_are_printed_on_request_and_always_in_json_and_csv(subject: str) -> None:
    """994 lines before the summary hide it: the table holds the summary, and says how to see the rows."""
    table = ffplan("model accuracy", subject).out
    report = json.loads(ffplan("model accuracy", subject, "--format", "json").out)
    assert len(table.splitlines()) < 100
    assert "measured  model" not in table
    assert f"{len(report['rows']):,} rows in all; `--rows` prints each" in table
    assert len(list(csv.DictReader(io.StringIO(ffplan("model accuracy", subject, "-f", "csv").out)))) == len(
        report["rows"]
    )
    markdown = [ffplan("model accuracy", subject, "-f", "markdown", *rows).out for rows in ((), ("--rows",))]
    assert len(markdown[0].splitlines()) < 100
    assert len(markdown[1].splitlines()) > len(report["rows"])


def test_rows_have_no_place_beside_leave_one_out() -> None:
    done = ffplan("model accuracy training --rows --leave-one-out source")
    assert (done.code, done.out) == (2, "")
    assert "--rows has no effect" in done.err


def test_a_users_own_cases(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(CASE)
    chart = tmp_path / "chart.svg"
    run = ffplan("model accuracy communication --cases", str(file), "--chart", str(chart), "--format", "json")
    assert run.code == 0
    report = json.loads(run.out)
    assert [(row["gpus"], row["measured"], row["measured_high"]) for row in report["rows"]] == [
        (8, 65, None),
        (8, 440, None),
        (16, 400, 500),
    ]
    assert report["total"]["n"] == 3
    assert chart.read_text().count("<circle") == 3 + 1  # and the legend's


def test_tokens_as_deepep_counts_them() -> None:
    run = ffplan("collective superpod-h100-4su --op dispatch --gpus 32 --format json")
    row = json.loads(run.out)["rows"][0]
    assert row["deepep_gbyte_s"] > 50 > row["algbw_gbyte_s"]
    assert "as DeepEP" in ffplan("collective", "superpod-h100-4su", "--op", "dispatch", "--gpus", "32").out


def test_names_as_nccl_writes_them() -> None:
    asked = "collective superpod-h100-4su --gpus 64 --format json"
    plain = ffplan(f"{asked} --op allreduce --library nccl --protocol ll128 --size 2MiB,2GiB").out
    assert ffplan(f"{asked} --op all_reduce --library NCCL --protocol LL128 --size 2M,2g").out == plain


def test_what_a_choice_loses_is_said() -> None:
    """NCCL's estimate misses the limit between GPU and NIC of Rome: its tree takes 2.6 times a ring's time."""
    text = ffplan("collective fire-flyer-2 --library nccl --gpus 64 --size 1MiB,16MiB").out
    assert "ring simple from 16 MiB" in text
    assert "2.60 times" in " ".join(text.split())
    report = ffplan("collective fire-flyer-2 --library nccl --gpus 64 --size 1KiB -f json")
    assert json.loads(report.out)["rows"][0]["limited_by"] == "latency"


def test_two_files_of_one_id_and_a_wrong_limit(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(CASE)
    files = ("--cases", str(tmp_path / "a.yaml"), "--cases", str(tmp_path / "b.yaml"))
    assert ffplan("model accuracy", "communication", *files).code == 2
    assert ffplan("model accuracy", "communication", "--max-mape", "low").code == 2
    assert "ends in .svg" in ffplan("model accuracy", "communication", "--chart", "c.png").err
    unscored = tmp_path / "unscored.yaml"
    unscored.write_text(CASE.replace("id: sweep", "id: sweep\n    scored: false"))
    run = ffplan("model accuracy", "communication", "--cases", str(unscored), "--max-mape", "5")
    assert run.code == 2
    assert "no row counts" in run.err
    twice = tmp_path / "twice.yaml"
    twice.write_text(CASE + CASE.partition("collectives:\n")[2])
    assert "two cases have the id" in ffplan("model accuracy", "communication", "--cases", str(twice)).err
    assert ffplan("model accuracy", "communication", "--cases", str(tmp_path / "none.yaml")).code == 2


def test_zones_that_nothing_joins_on_three_tiers(tmp_path: Path) -> None:
    """Nothing crosses the middle of the whole fabric; a job stays in its zone."""
    design = tmp_path / "apart.yaml"
    design.write_text(
        "name: apart\nsite: {pue: 1.25}\nnodes: [{role: compute, server: hgx-h100-8nic, count: 32}]\n"
        "fabric: {family: fat-tree, switch: qm9700, link: {endpoint: 400g-dr4, inter_switch: 400g-dr4}, tiers: 3, "
        "zones: 2, oversubscription: 1:1}\n"
    )
    run = ffplan("collective", str(design), "--gpus", "8,128", "--format", "json")
    assert run.code == 0
    assert all(row["time_s"] > 0 for row in json.loads(run.out)["rows"])


def test_a_kernel_that_was_not_measured_is_refused_where_it_is_named(tmp_path: Path) -> None:
    """With and without a fit: exit code 2, at the plan's own field."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        """kind: training-cases
id: mine
name: ours
source: {title: ours, date: "2026", grade: measured, status: V}
tables:
  - id: a
    system: {server: hgx-b200-8nic}
    model: llama3-8b
    plan: {attention: triton, zero: 3}
    columns: [gpus, batch, seconds]
    rows: [[8, 8, 1.0], [16, 16, 1.0]]
"""
    )
    for more in ((), ("--leave-one-out", "source")):
        run = ffplan("model accuracy training --cases", str(path), *more)
        assert (run.code, run.out) == (2, "")
        assert "mine.yaml:9:" in run.err
        assert "`attention-b200` has no rates of triton" in run.err


ESTIMATED = """
kind: training-cases
id: mine
name: runs on parts without constants
source: {title: "our cluster", date: "2026-11", grade: measured, status: V}
tables:
  - id: llama
    system: {server: SERVER}
    model: llama3-8b
    plan: {zero: 3, micro_batch: 1, batch: 16, precision: PRECISION}
    columns: [gpus, tokens_s_gpu]
    note: "eight nodes"
    rows:
      - [16, 9000]
"""


@pytest.mark.parametrize(
    ("server", "precision", "relative"),
    [
        ("mi300x-8nic", "bf16", "h200-sxm"),
        ("hgx-h20-8nic", "fp8", "h100-sxm-80gb"),
        ("mi355x-8nic", "fp16", "gb200-gpu"),
    ],
)
def test_runs_on_accelerators_without_constants_are_estimated_as_train_does(
    server: str, precision: str, relative: str, tmp_path: Path
) -> None:
    file, design = tmp_path / "runs.yaml", tmp_path / "design.yaml"
    file.write_text(ESTIMATED.replace("SERVER", server).replace("PRECISION", precision))
    report = json.loads(ffplan("model accuracy", "training", "--cases", str(file), "-f", "json").out)
    (row,) = report["rows"]
    assert row["kind"] == "estimated"
    assert [item["name"] for item in report["kinds"]] == ["estimated"]
    assert row["note"] == f"eight nodes; efficiencies of {relative}, the nearest calibrated relative"
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    design.write_text(text.replace("server: hgx-h100-8nic", f"server: {server}"))
    asked = ("-m", "llama3-8b", "--gpus", "16", "--batch", "16", "--zero", "3", "--precision", precision)
    train = json.loads(ffplan("train", str(design), *asked, "-f", "json").out)
    assert row["model"] == pytest.approx(train["rows"][0]["tokens_s_gpu"], rel=1e-9)


TOKENS = """
kind: communication-cases
id: mine
name: tokens to experts
source: {title: "our cluster", date: "2026-11", grade: measured, status: V}
collectives:
  - id: tokens
    system: {server: SERVER}
    operation: dispatch
    experts: {tokens: 4096, hidden: 7168, top_k: 8, experts: 256, sms: SMS}
    gpus: [8]
    metric: deepep_gbyte_s
    values: [[75]]
"""


def test_multiprocessors_of_a_measured_dispatch(tmp_path: Path) -> None:
    """As `collective --sms` has them."""
    file = tmp_path / "tokens.yaml"
    file.write_text(TOKENS.replace("SERVER", "h800-8nic").replace("SMS", "4"))
    (row,) = json.loads(ffplan("model accuracy", "communication", "--cases", str(file), "-f", "json").out)["rows"]
    asked = ("collective", "deepseek-v3-2048", "--op", "dispatch", "--gpus", "8", "--sms")
    (timed,) = json.loads(ffplan(*asked, "4", "-f", "json").out)["rows"]
    assert row["model"] == timed["deepep_gbyte_s"]
    assert (timed["limited_by"], timed["algorithm"]) == ("sm", "node-limited")
    assert "4 multiprocessors copy tokens" in " ".join(ffplan(*asked, "4").out.split())
    free = ffplan(*asked[:-1]).out
    assert "multiprocessors" not in free


@pytest.mark.parametrize(
    ("server", "sms", "words"),
    [
        ("mi355x-8nic", "4", "what a multiprocessor of `mi355x` copies is not known"),
        ("h800-8nic", "133", "`h800-sxm` has 132 multiprocessors"),
        ("h800-8nic", "4, experts: 256", "experts"),
    ],
)
def test_multiprocessors_that_mean_nothing_are_located(server: str, sms: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens.yaml"
    file.write_text(TOKENS.replace("SERVER", server).replace("SMS", sms))
    run = ffplan("model accuracy", "communication", "--cases", str(file))
    assert run.code == 2
    assert words in run.err
    assert "tokens.yaml:10:" in run.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sms", "4", "--algorithm", "straight"), "take every multiprocessor"),
        (("--sms", "200"), "has 132 multiprocessors"),
        (("--sms", "0"), "--sms"),
        (("--op", "allreduce", "--sms", "4"), "--sms has no effect on allreduce"),
    ],
)
def test_multiprocessors_that_no_dispatch_has(options: tuple[str, ...], words: str) -> None:
    given = ("--op", "dispatch", *options)
    run = ffplan("collective", "deepseek-v3-2048", "--gpus", "8", *given)
    assert run.code == 2
    assert words in " ".join(run.err.split())


@pytest.mark.parametrize("groups", ["top_groups: 2", "groups: 2, top_groups: 4"])
def test_groups_that_no_token_can_reach_are_located(groups: str, tmp_path: Path) -> None:
    shape = "layers: 8, hidden: 1024, heads: 8, ffn: 4096, vocabulary: 32000, sequence: 2048"
    text = ESTIMATED.replace("SERVER", "hgx-h100-8nic").replace("PRECISION", "bf16")
    experts = f"experts: {{routed: 8, top_k: 2, ffn: 512, {groups}}}"
    file = tmp_path / "runs.yaml"
    file.write_text(text.replace("model: llama3-8b", f"shape: {{{shape}, {experts}}}"))
    run = ffplan("model accuracy", "training", "--cases", str(file))
    assert run.code == 2
    assert "runs.yaml:9:" in run.err
    assert "a token goes to more groups of experts than there are" in run.err
