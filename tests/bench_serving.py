"""Errors of ffplan and of NVIDIA's aiconfigurator on the same published serving runs. Printed, not asserted.

aiconfigurator is installed into an environment that is deleted afterwards. It interpolates times of single operations
measured on the newest release of each engine, and is fitted to none of these runs; ffplan's constants are, so a third
column has ffplan with constants fitted without the source and its kin. Rows count whose source states model,
precision, parallelism, requests under way and lengths. Both get the mean lengths; aiconfigurator's own budget of
prompt tokens of a step is left as it is. `tests/aiconfigurator.yaml` has its names of our parts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import yaml

from ffplan.base.record import record
from ffplan.calibration.serving_fit import Fit, _Observation, _observed
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.serving.plan import Rates
from ffplan.validation.replay import case_files
from ffplan.validation.serving_cases import ServingFile
from ffplan.validation.serving_replay import ServedPoint, ServedRun, _served_run, modelled, points_of, with_rates
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES = ROOT / "tests" / "aiconfigurator.yaml"
ANSWERS = ROOT / "tests" / "aiconfigurator_answers.py"
STATED = "whole plan stated"
OPEN = {"deployment", "batch", "prompt"}
"""What a source may not leave open if its rows are to count."""
MATRIX = {"bf16": "matrix", "fp8": "matrix_fp8", "fp4": "matrix_fp4"}
"""Constant of the GEMMs by the precision at which they compute."""
CACHES = {"bf16": "bfloat16", "fp8": "fp8"}
"""aiconfigurator's names of precisions of keys and values."""
FFPLAN, LEFT_OUT, OTHER = TOOLS = ("ffplan", "w/o it", "aiconf")
COLUMNS = (
    ("tpot", fmean, "TPOT mean"),
    ("tpot", median, "TPOT median"),
    ("ttft", median, "TTFT median"),
    ("rate", median, "tokens/s/GPU median"),
)
"""Quantity, statistic over configurations, and heading."""
LEGEND = "ffplan: shipped constants; w/o it: fitted without the source and its kin; aiconf: aiconfigurator"


@record
class Names:
    """What aiconfigurator calls the parts of the catalogue, and how sources are told apart."""

    version: str
    systems: Mapping[str, str]
    checkpoints: Sequence[Mapping[str, str]]
    groups: Mapping[str, str]
    kin: Sequence[Sequence[str]]

    def relatives(self, source: str) -> tuple[str, ...]:
        """Return a source with those that share its runs."""
        return next((tuple(kin) for kin in self.kin if source in kin), (source,))


@record
class Row:
    """A measured point with what each tool answers: seconds by quantity."""

    group: str
    source: str
    case: str
    measured: Mapping[str, float]
    answers: Mapping[str, Mapping[str, float]]
    """By tool; a tool that refuses the row is missing."""


@record
class Point:
    """A point of the catalogue, not yet answered."""

    source: str
    served: ServedRun
    point: ServedPoint
    call: Mapping[str, Any] | str
    """Arguments for aiconfigurator, or the reason why it has no data."""


def names() -> Names:
    """Return the table of names."""
    return Names(**yaml.safe_load(NAMES.read_text()))


def call_of(served: ServedRun, point: ServedPoint, known: Names) -> dict[str, Any] | str:
    """Return the arguments with which aiconfigurator estimates a point, or the reason why it has no data.

    Args:
        served: the run.
        point: its point.
        known: names of its parts.
    """
    run, software = served.run, served.engine.software
    system = known.systems.get(run.accelerator)
    if system is None:
        return "accelerator unknown"
    plan = {"model": run.model, "precision": run.precision, "software": software, "accelerator": run.accelerator}
    fitting = (entry for entry in known.checkpoints if all(entry.get(key, plan[key]) == plan[key] for key in plan))
    checkpoint = next(fitting, None)
    if checkpoint is None:
        return "model or precision unknown"
    call: dict[str, Any] = {
        "mode": "static" if run.load == "static" else "agg",
        "model_path": checkpoint["path"],
        "system_name": system,
        "backend_name": software,
        "backend_version": "current",
        "isl": round(point.prompt),
        "osl": round(point.output),
        "batch_size": max(round(point.load / run.data), 1),
        "tp_size": run.tensor,
        "pp_size": run.pipeline,
        "attention_dp_size": run.data,
    }
    if served.served.shape.experts is not None:
        call |= {"moe_ep_size": run.expert, "moe_tp_size": run.tensor * run.data // run.expert}
    for key, argument in (("gemm", "gemm_quant_mode"), ("experts", "moe_quant_mode")):
        if key in checkpoint:
            call[argument] = checkpoint[key]
    return call | ({"kvcache_quant_mode": CACHES[run.cache]} if run.cache in CACHES else {})


def times_of(numbers: Mapping[str, float], load: float, output: float) -> dict[str, float]:
    """Return seconds to the first token, of a further token, and of a share of the rate, as far as columns give them.

    Args:
        numbers: columns of a measured point.
        load: requests under way or in the batch.
        output: tokens of an answer.
    """
    seconds = {}
    if "ttft_ms" in numbers:
        seconds["ttft"] = numbers["ttft_ms"] / 1e3
    token = numbers.get("tpot_ms", numbers.get("itl_ms"))
    if token is not None:
        seconds["tpot"] = token / 1e3
    if "tokens_s" in numbers:
        seconds["rate"] = 1 / numbers["tokens_s"]
    elif "latency_s" in numbers:
        seconds["rate" if output > 1 else "ttft"] = numbers["latency_s"] / (load * output if output > 1 else 1)
    elif {"ttft", "tpot"} <= seconds.keys():
        seconds["rate"] = (seconds["ttft"] + (output - 1) * seconds["tpot"]) / (load * output)
    return seconds


def points(known: Names, catalog: Catalog) -> tuple[list[Point], list[_Observation]]:
    """Return the points that ffplan is scored on and that state their plan, and what all runs give a fit."""
    stated: list[Point] = []
    seen: list[_Observation] = []
    for path, _ in case_files("serving"):
        document = read_document(Path(path))
        file = validate(ServingFile, document)
        for position, run in enumerate(file.runs):
            if not run.scored or run.speculation is not None:
                continue
            served = _served_run(run, catalog, document, ("runs", position))
            counts = not OPEN & set(run.open) or (file.id in known.groups and run.load != "offline")
            for point in points_of(served):
                seen += _observed(served, point, file.id)
                if counts:
                    stated.append(Point(file.id, served, point, call_of(served, point, known)))
    return stated, seen


def refitted(served: ServedRun, fit: Fit) -> ServedRun:
    """Return a run with the constants of a fit."""
    run = served.run
    groups = (served.engine.software, run.engine, run.accelerator, f"{run.engine} {run.accelerator}")
    constants = fit.constants(groups)
    constants["matrix"] = constants[MATRIX[served.computed]]
    return with_rates(served, Rates(**{field.name: constants[field.name] for field in fields(Rates)}))


def rows_of(
    asked: Sequence[Point], answers: Sequence[Mapping[str, Any]], seen: Sequence[_Observation], known: Names
) -> list[Row]:
    """Return the points with the answers of every tool.

    Args:
        asked: the points.
        answers: columns that aiconfigurator answers, or its refusal, by point.
        seen: what all runs give a fit.
        known: groups and kin of sources.
    """
    kins = {known.relatives(point.source) for point in asked}
    fits = {kin: Fit([observation for observation in seen if observation.source not in kin]) for kin in kins}
    rows = []
    for point, answer in zip(asked, answers, strict=True):
        load, output = point.point.load, point.point.output
        without = refitted(point.served, fits[known.relatives(point.source)])
        numbers = {
            FFPLAN: modelled(point.served, point.point),
            LEFT_OUT: modelled(without, point.point),
            **({} if "refused" in answer else {OTHER: answer}),
        }
        row = Row(
            group=known.groups.get(point.source, STATED),
            source=point.source,
            case=point.served.run.id,
            measured=times_of(point.point.numbers, load, output),
            answers={tool: times_of(columns, load, output) for tool, columns in numbers.items()},
        )
        rows.append(row)
    return rows


def errors(rows: Iterable[Row], tool: str, quantity: str) -> list[float]:
    """Return the mean absolute error of a tool for every configuration, on rows that all tools answer [1]."""
    cases: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if quantity in row.measured and all(quantity in row.answers.get(name, {}) for name in TOOLS):
            error = row.answers[tool][quantity] / row.measured[quantity] - 1
            cases.setdefault((row.source, row.case), []).append(abs(error))
    return [fmean(case) for case in cases.values()]


def line(name: str, rows: Sequence[Row]) -> str:
    """Return a line of the table: counts, and the errors of every tool [%]."""
    ffplan, other = (sum(tool in row.answers for row in rows) for tool in (FFPLAN, OTHER))
    cells = [f"{name:24}{len(rows):5}{ffplan:8}{other:8}{len(rows) - other:9}"]
    for quantity, statistic, _ in COLUMNS:
        values = [errors(rows, tool, quantity) for tool in TOOLS]
        cells.append("".join(f"{100 * statistic(cases):7.1f}" if cases else f"{'-':>7}" for cases in values))
    return " |".join(cells)


def table(rows: Sequence[Row]) -> str:
    """Return the errors by group and source, and over each group."""
    tools = "".join(f"{tool:>7}" for tool in TOOLS)
    lines = [
        " |".join(
            [f"{'errors by configuration':24}{'rows':>5}{'answered by':>16}{'refused':>9}"]
            + [f"{title:>21}" for *_, title in COLUMNS]
        ),
        " |".join([f"{'[%]':29}{FFPLAN:>8}{OTHER:>8}{OTHER:>9}", *[tools] * len(COLUMNS)]),
    ]
    for group in sorted({row.group for row in rows}, key=lambda name: (name != STATED, name)):
        members = [row for row in rows if row.group == group]
        sources = sorted({row.source for row in members})
        lines.append(f"{group}:")
        lines += [line(source, [row for row in members if row.source == source]) for source in sources]
        lines += [line("all", members)] if len(sources) > 1 else []
    return "\n".join([*lines, LEGEND])


def reason(refusal: str) -> str:
    """Return a refusal without the names and numbers of its row."""
    return refusal.split("{")[0].split(": the ")[0].strip()


def last_error(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line in which a program says why it failed."""
    lines = [text for text in (done.stdout + done.stderr).splitlines() if text.strip()]
    return next((text for text in reversed(lines) if "error" in text.lower()), (lines or ["no reason given"])[-1])


def estimates(calls: Sequence[Mapping[str, Any]], version: str) -> list[dict[str, Any]] | str:
    """Return the answers of aiconfigurator from an environment made for it, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        wanted = ["--quiet", "--no-input", "--disable-pip-version-check", f"aiconfigurator=={version}"]
        start = time.monotonic()
        for command in ([sys.executable, "-m", "venv", folder], [python, "-m", "pip", "install", *wanted]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                return last_error(done)
        installed = time.monotonic()
        bare = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        command, asked = [python, str(ANSWERS)], json.dumps(list(calls))
        done = subprocess.run(command, input=asked, capture_output=True, text=True, env=bare, cwd=folder)
        if done.returncode:
            return last_error(done)
        taken = f"{installed - start:.0f} s to install, {time.monotonic() - installed:.0f} s"
        print(f"aiconfigurator {version}: {taken} for {len(calls)} estimates")
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers


def main() -> None:
    """Ask both about every row, and print the errors side by side."""
    known = names()
    asked, seen = points(known, Catalog())
    told = estimates([point.call for point in asked if not isinstance(point.call, str)], known.version)
    if isinstance(told, str):
        print(f"comparison with aiconfigurator {known.version} left out: {told}")
        return
    rest = iter(told)
    answers = [{"refused": point.call} if isinstance(point.call, str) else next(rest) for point in asked]
    print(table(rows_of(asked, answers, seen, known)))
    refused = Counter(reason(answer["refused"]) for answer in answers if "refused" in answer)
    print("refused by aiconfigurator:", "; ".join(f"{count} {why}" for why, count in refused.most_common()))
    print(f"answered with a warning that the cache overflows: {sum(bool(row.get('warned')) for row in answers)}")


if __name__ == "__main__":
    main()
