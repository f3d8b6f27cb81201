"""Results of InferenceX, formerly InferenceMAX: one deployment at one number of requests under way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from ffplan.results.serving_runs import BenchmarkRun

if TYPE_CHECKING:
    from ffplan.interop.served.fields import _Result

INFERENCEX = "InferenceX"
MARKS = (
    *("hw", "tp", "ep", "dp_attention", "conc", "framework", "precision", "isl", "osl", "tput_per_gpu"),
    *("mean_ttft", "mean_tpot", "median_ttft", "median_tpot"),
)
"""Fields that tell such a result."""
_SHORTEST = 0.8
"""Least length as a fraction of the nominal one: its client draws from there on [1]."""
_ENGINES = {"vllm": "vllm", "sglang": "sglang", "trt": "trtllm", "trtllm": "trtllm", "tensorrt": "trtllm"}
_VERSION = re.compile(r":v?([0-9]+\.[0-9]+[0-9a-z.]*)")


def _refused(result: _Result) -> str:
    if result.flag("disagg") or result.flag("is_multinode"):
        return "prompts and answers ran on separate accelerators, or on several nodes"
    if result.count("conc") is None:
        return "it has no number of requests under way (`conc`)"
    drafted = (result.text_of("spec_decoding", "spec") or "none").lower()
    return "" if drafted == "none" else f"the engine speculated ({drafted}), and no step says how much was accepted"


def _read_inferencex(result: _Result, program: str) -> BenchmarkRun:
    """Return a result; its times are in seconds.

    Args:
        program: its name.

    Raises:
        InputError: if a number is none.
    """
    tensor, expert, data = result.count("tp"), result.count("ep"), 1
    if result.flag("dp_attention") and tensor:
        # each accelerator is an attention group of its own, and experts span them all
        tensor, data, expert = 1, tensor, max(tensor, expert or 1)
    mean = result.get("mean_tpot") is not None
    statistic: Literal["mean", "median"] = "mean" if mean else "median"
    software = re.split(r"[-_ ]", (result.text_of("framework") or "").lower())
    version = _VERSION.search(result.text_of("image") or "")
    per_gpu, gpus = result.number("output_tput_per_gpu"), (tensor or 1) * data
    return BenchmarkRun(
        result.file,
        result.line,
        program,
        model=result.text_of("model"),
        accelerator=result.text_of("hw"),
        software=next((_ENGINES[word] for word in software if word in _ENGINES), None),
        version=version[1] if version else None,
        precision=(result.text_of("precision") or "").lower() or None,
        tensor=tensor,
        pipeline=1,
        data=data,
        expert=expert,
        prompt=result.number("isl", scale=0.5 * (1 + _SHORTEST)),
        output=result.number("osl", scale=0.5 * (1 + _SHORTEST)),
        shortest=_SHORTEST,
        load="closed",
        concurrency=result.number("conc"),
        ttft_ms=result.number(f"{statistic}_ttft", scale=1e3),
        tpot_ms=result.number(f"{statistic}_tpot", scale=1e3),
        latency_ms=result.number(f"{statistic}_e2el", f"{statistic}_e2e", scale=1e3),
        tokens_s=None if per_gpu is None else per_gpu * gpus,
        statistic=statistic,
        date=result.day("date"),
        refused=_refused(result),
    )
