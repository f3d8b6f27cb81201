"""`ffplan model calibrate serving`, as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.store import Catalog
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.validation.serving_cases import ServingFile
from tests.support import ROOT, ffplan, valid

if TYPE_CHECKING:
    from pathlib import Path

RUNS = ROOT / "catalogs" / "measurements" / "serving" / "aiconfigurator-silicon.yaml"
OPTIONS = ("--engine", "vllm-2026", "--accelerator", "h100-sxm-80gb", "--shortest", "0.8")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Published runs of Llama 3.1 70B on H100, as vllm bench serve would have written them."""
    file = validate(ServingFile, read_document(RUNS))
    lines = []
    for run in file.runs:
        if not run.id.startswith("llama3.1-70b-h100-vllm"):
            continue
        for concurrency, ttft, tpot in run.points:
            lines.append(
                json.dumps(
                    {
                        "model_id": "meta-llama/Llama-3.1-70B-Instruct",
                        "num_prompts": 1000,
                        "tp": str(run.tensor),
                        "precision": "fp8",
                        "request_rate": "inf",
                        "max_concurrency": concurrency,
                        "completed": 1000,
                        "duration": 100.0,
                        "total_input_tokens": 900 * (run.prompt or 0),
                        "total_output_tokens": 900 * (run.output or 0),
                        "mean_ttft_ms": ttft,
                        "mean_tpot_ms": tpot,
                    }
                )
            )
    path = tmp_path_factory.mktemp("served") / "runs.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_published_runs_become_a_catalogue_file_that_serve_reads(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    run = ffplan("model calibrate serving", str(results), *OPTIONS, "--format", "json", "--write", str(folder))
    assert run.code == 0, run.err
    report = valid(run.out, "serving-calibration")
    assert report["rows"] == 24
    refused, measures = report["refused"], report["errors"]
    assert isinstance(refused, list)
    assert isinstance(measures, list)
    assert [(row["line"], row["reason"][:16]) for row in refused] == [(5, "above saturation")]
    errors = {row["measure"]: row for row in measures}
    assert errors["tpot"]["after"] < errors["tpot"]["before"] < 0.05
    assert errors["tpot"]["left_out"] < 0.03
    assert "use it: ffplan serve ... --catalog" in run.err
    own = Catalog((str(folder),)).entry("vllm-2026").part
    assert "measured-h100-sxm-80gb" in own.sources
    serve = ("serve --accelerator h100-sxm-80gb --gpus 4 --model llama3.1-70b --precision fp8 --tp 4 --format json",)
    before, after = (
        json.loads(ffplan(*serve, "--engine", "vllm-2026", *more).out) for more in ((), ("--catalog", str(folder)))
    )
    assert before["rows"][0]["tpot_s"]["mean"] != after["rows"][0]["tpot_s"]["mean"]
    again = ffplan("model calibrate serving", str(results), *OPTIONS, "--catalog", str(folder), "--write", str(folder))
    assert again.code == 0, again.err


def test_the_screen_is_one_terminal(results: Path) -> None:
    run = ffplan("model calibrate serving", str(results), *OPTIONS)
    lines = run.out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    for words in ("TPOT", "TTFT", "Moved", "Not told", "Refused", "Next"):
        assert words in run.out
    silent = ffplan("model calibrate serving", str(results), *OPTIONS[:4])
    assert "--shortest states a range" in " ".join(silent.out.split())
    full = ffplan("model calibrate serving", str(results), *OPTIONS, "--full")
    assert "latent_layer" in full.out


def test_constants_in_doubt_are_written_on_request_only(results: Path, tmp_path: Path) -> None:
    """Half of every time is faster than the memory: constants end at their bound."""
    fast = tmp_path / "fast.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    times = ("mean_ttft_ms", "mean_tpot_ms")
    fast.write_text("\n".join(json.dumps({**row, **{name: row[name] / 2 for name in times}}) for row in rows))
    folder = tmp_path / "own"
    refused = ffplan("model calibrate serving", str(fast), *OPTIONS, "--write", str(folder))
    assert refused.code == 1
    assert "weights is at its bound, the whole rate of the hardware" in refused.err
    assert "In doubt" in refused.out
    assert not folder.exists()
    forced = ffplan("model calibrate serving", str(fast), *OPTIONS, "--write", str(folder), "--force")
    assert forced.code == 0, forced.err
    assert (folder / "vllm-2026.yaml").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "vlm"), "no `vlm`"),
        (("--accelerator", "h1000"), "no accelerator `h1000`"),
        (("--precision", "fp9"), "no `fp9`"),
        (("--date", "x"), "`x` is no day"),
        (("--tp", "2"), "the file says tensor parallelism 4, and --tp says 2"),
    ],
)
def test_options_that_cannot_be(results: Path, options: tuple[str, ...], words: str) -> None:
    run = ffplan("model calibrate serving", str(results), *OPTIONS, *options)
    assert (run.code, run.out) == (2, "")
    assert words in run.err


def test_a_file_counts_once(results: Path) -> None:
    run = ffplan("model calibrate serving", str(results), str(results), *OPTIONS)
    assert (run.code, run.out) == (2, "")
    assert f"{results}: named twice" in run.err


def test_calibrate_without_a_word_is_of_an_accelerator() -> None:
    short, long = (ffplan(f"model calibrate{word} h1000 --cases x.yaml") for word in ("", " accelerator"))
    assert (short.code, short.err) == (long.code, long.err)
    assert "no accelerator `h1000`" in short.err
    assert ffplan("model calibrate --cases x.yaml h1000").err == short.err
    assert "serving" in ffplan("model calibrate --help").out
