"""The comparison with aiconfigurator, on made-up numbers: what is asked, and how answers become errors."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import Document, read_document
from ffplan.validation.replay import case_files
from ffplan.validation.serving_cases import ServingRun
from ffplan.validation.serving_replay import _served_run, points_of
from tests.aiconfigurator_answers import answer
from tests.bench_serving import (
    FFPLAN,
    LEFT_OUT,
    OTHER,
    STATED,
    Names,
    Row,
    call_of,
    errors,
    last_error,
    line,
    names,
    reason,
    table,
    times_of,
)
from tests.support import ROOT

KNOWN = Names(
    version="1",
    systems={"h200-sxm": "h200_sxm"},
    checkpoints=[
        {"model": "deepseek-r1", "precision": "fp8", "software": "trtllm", "path": "of/trtllm", "experts": "fp8"},
        {"model": "deepseek-r1", "precision": "fp8", "path": "of/all"},
        {"model": "llama3.1-70b", "precision": "bf16", "path": "dense", "gemm": "int8_wo"},
    ],
    groups={},
    kin=[["a", "b"]],
)
RUN = {
    "id": "run",
    "model": "deepseek-r1",
    "accelerator": "h200-sxm",
    "engine": "sglang-2025",
    "version": "1",
    "precision": "fp8",
    "tensor": 4,
    "data": 2,
    "expert": 2,
    "prompt": 1000,
    "output": 500,
    "shortest": 0.8,
    "columns": ["concurrency", "ttft_ms", "tpot_ms"],
    "points": [[33, 100.0, 10.0]],
}


@pytest.fixture(scope="module")
def document() -> Document:
    return read_document(ROOT / "catalogs" / "measurements" / "serving" / "dstack-405b.yaml")


def call(document: Document, **changed: Any) -> dict[str, Any] | str:
    served = _served_run(ServingRun.model_validate(RUN | changed), Catalog(), document, ("runs", 0))
    return call_of(served, next(points_of(served)), KNOWN)


def test_a_run_is_asked_for_with_its_whole_plan(document: Document) -> None:
    assert call(document) == {
        "mode": "agg",
        "model_path": "of/all",
        "system_name": "h200_sxm",
        "backend_name": "sglang",
        "backend_version": "current",
        "isl": 900,
        "osl": 450,
        "batch_size": 16,
        "tp_size": 4,
        "pp_size": 1,
        "attention_dp_size": 2,
        "moe_ep_size": 2,
        "moe_tp_size": 4,
    }


def test_conditions_choose_the_checkpoint_and_its_precisions(document: Document) -> None:
    trtllm, dense = call(document, engine="trtllm-2025"), call(document, model="llama3.1-70b", precision="bf16")
    assert isinstance(trtllm, dict)
    assert isinstance(dense, dict)
    assert (trtllm["model_path"], trtllm["moe_quant_mode"]) == ("of/trtllm", "fp8")
    assert dense["gemm_quant_mode"] == "int8_wo"
    assert not {"moe_ep_size", "moe_tp_size", "moe_quant_mode", "kvcache_quant_mode"} & dense.keys()


def test_loads_and_caches_are_passed_on(document: Document) -> None:
    static = {"load": "static", "columns": ["batch", "latency_s"], "points": [[1, 3.0]], "cache": "bf16"}
    asked = call(document, **static)
    assert isinstance(asked, dict)
    assert (asked["mode"], asked["batch_size"], asked["kvcache_quant_mode"]) == ("static", 1, "bfloat16")


def test_parts_without_a_name_are_refused(document: Document) -> None:
    assert call(document, accelerator="mi300x") == "accelerator unknown"
    assert call(document, precision="fp4", accelerator="h200-sxm") == "model or precision unknown"
    assert call(document, model="llama2-70b") == "model or precision unknown"


def test_columns_become_seconds_of_three_quantities() -> None:
    closed = times_of({"ttft_ms": 500.0, "tpot_ms": 20.0}, load=4, output=101)
    assert closed == pytest.approx({"ttft": 0.5, "tpot": 0.02, "rate": 2.5 / 404})
    assert times_of({"itl_ms": 20.0, "tokens_s": 50.0}, load=4, output=101) == {"tpot": 0.02, "rate": 0.02}
    assert times_of({"latency_s": 8.0}, load=4, output=100) == {"rate": 0.02}
    assert times_of({"latency_s": 8.0}, load=4, output=1) == {"ttft": 8.0}


def row(source: str, case: str, ffplan: float, other: float | None, group: str = STATED) -> Row:
    answers = {FFPLAN: {"tpot": ffplan}, LEFT_OUT: {"tpot": 2.0}}
    answers |= {} if other is None else {OTHER: {"tpot": other}}
    return Row(group=group, source=source, case=case, measured={"tpot": 1.0}, answers=answers)


ROWS = [row("x", "one", 1.1, 1.5), row("x", "one", 0.7, 1.1), row("x", "two", 1.0, 0.9), row("x", "two", 9.0, None)]


def test_errors_are_means_of_configurations_on_rows_that_all_answer() -> None:
    assert errors(ROWS, FFPLAN, "tpot") == pytest.approx([0.2, 0.0])
    assert errors(ROWS, OTHER, "tpot") == pytest.approx([0.3, 0.1])
    assert errors(ROWS, OTHER, "ttft") == []


def test_a_line_has_counts_and_errors() -> None:
    counts, mean, median, first, rate = line("x", ROWS).split("|")
    assert counts.split() == ["x", "4", "4", "3", "1"]
    assert mean.split() == median.split() == ["10.0", "100.0", "20.0"]
    assert first.split() == rate.split() == ["-", "-", "-"]


def test_groups_are_listed_apart_and_those_that_count_first() -> None:
    made = table([*ROWS, row("y", "one", 1.0, 1.0), row("a", "one", 5.0, 5.0, "apart")]).splitlines()
    assert [text.split()[0] for text in made[2:-1]] == ["whole", "x", "y", "all", "apart:", "a"]
    assert made[5].split()[1:5] == ["5", "5", "4", "1"]


def test_a_source_is_left_out_with_its_kin() -> None:
    assert KNOWN.relatives("b") == ("a", "b")
    assert KNOWN.relatives("c") == ("c",)


def test_answers_are_columns_or_a_reason() -> None:
    def estimate(**asked: Any) -> Any:
        if asked["batch_size"] > 8:
            raise ValueError("no data {of: this}\nand more")
        raw = {"request_latency": 1500.0}
        return SimpleNamespace(ttft=30.0, tpot=5.0, raw=raw, kv_cache_warning=None)

    assert answer(estimate, {"mode": "agg", "batch_size": 1}) == {"ttft_ms": 30.0, "tpot_ms": 5.0, "warned": False}
    assert answer(estimate, {"mode": "static", "batch_size": 1}) == {"latency_s": 1.5}
    refused = answer(estimate, {"mode": "agg", "batch_size": 9})["refused"]
    assert refused == "ValueError: no data {of: this}"
    assert reason(refused) == "ValueError: no data"


def test_the_reason_of_a_failure_is_one_line() -> None:
    said = "WARNING: odd\nERROR: No matching distribution\n\nnotice\n"
    assert last_error(subprocess.CompletedProcess([], 1, "", said)) == "ERROR: No matching distribution"
    assert last_error(subprocess.CompletedProcess([], 1, "", "")) == "no reason given"


def test_the_table_names_parts_and_sources_of_the_catalogue() -> None:
    known, catalog = names(), Catalog()
    sources = {path.rsplit("/", 1)[-1].removesuffix(".yaml") for path, _ in case_files("serving")}
    assert {*known.groups, *(source for kin in known.kin for source in kin)} <= sources
    assert all(isinstance(catalog.entry(name).part, Accelerator) for name in known.systems)
    assert all(isinstance(catalog.entry(entry["model"]).part, Model) for entry in known.checkpoints)
