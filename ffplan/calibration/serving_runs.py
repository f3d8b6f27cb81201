"""Measured serving runs of other programs as runs that the model replays: what files say, and what options add."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import Finding, InputError, Severity
from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model
from ffplan.catalog.named import is_another
from ffplan.catalog.parts import Accelerator
from ffplan.inputs.part_ids import meant
from ffplan.results.serving_runs import BenchmarkRun
from ffplan.studies.serve.setup import engine_of
from ffplan.validation.serving_cases import ServingRun
from ffplan.validation.serving_replay import own_links, serve_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.validation.serving_replay import ServedRun

RULE = "serving-run"
PLAN = {
    "tensor": ("tensor parallelism", "--tp", "8"),
    "pipeline": ("pipeline stages", "--pp", None),
    "data": ("attention groups", "--dp", None),
    "expert": ("expert parallelism", "--ep", None),
}
"""A plan's fields: in words, option, and an example of one that a file or an option must state."""
_ALIKE = 0.05
"""Largest difference of two mean lengths that are taken for the same, as a part of them [1]."""
_PRECISIONS = {
    **dict.fromkeys(("bf16", "bfloat16", "fp16", "float16", "half"), "bf16"),
    **dict.fromkeys(("fp8", "w8a8-fp8", "fp8-e4m3", "modelopt", "modelopt-fp8", "float8"), "fp8"),
    **dict.fromkeys(("fp4", "nvfp4", "modelopt-fp4"), "fp4"),
    "mxfp4": "mxfp4",
    **dict.fromkeys(("int4", "awq", "gptq", "awq-marlin", "gptq-marlin", "w4a16"), "int4"),
}
"""Precisions by the names that engines and benchmarks have for them."""
_VARIANT = re.compile(
    r"(?:instruct|chat|it|hf|base|fp8|fp4|nvfp4|mxfp4|awq|gptq|int4|bf16|dynamic|kv|preview|quantized|"
    r"w\d+a\d+|v0\.\d|\d{4}|[-_. ])*"
)
"""What may follow a model's name without making it another model."""


@record
class ServingRequest:
    """The user's statements on the runs; None if the files make them."""

    engine: str | None = None
    accelerator: str | None = None
    model: str | None = None
    precision: str | None = None
    kv: str | None = None
    tensor: int | None = None
    pipeline: int | None = None
    data: int | None = None
    expert: int | None = None
    prompt: int | None = None
    output: int | None = None
    shortest: float | None = None


@record
class _MeasuredSetup:
    engine: Engine
    accelerator: Accelerator
    library: Library


@record
class _StatedRun:
    """A run with everything that a replay takes, but its load."""

    run: BenchmarkRun
    model: Model
    fields: dict[str, Any]
    """Fields of a replayed run: precision and plan."""
    prompt: float
    """Tokens of a prompt on average [1]."""
    output: float
    """Tokens of an answer on average [1]."""
    shortest: float
    """Least length as a fraction of the nominal one [1]."""

    def served(self, setup: _MeasuredSetup, load: str, numbers: dict[str, float]) -> ServedRun:
        """Return the run for a replay."""
        mean = 0.5 * (1 + self.shortest)  # a replay takes the lengths that others are drawn below
        columns = {"prompt": self.prompt / mean, "output": self.output / mean, **numbers}
        fields = {
            **self.fields,
            "id": "run",
            "model": self.model.id,
            "accelerator": setup.accelerator.id,
            "engine": setup.engine.id,
            "version": self.run.version or "unstated",
            "load": load,
            "shortest": self.shortest,
            "statistic": self.run.statistic,
            "columns": tuple(columns),
            "points": (tuple(columns.values()),),
        }
        links = own_links(setup.accelerator, setup.library)
        return serve_run(ServingRun.model_validate(fields), self.model, setup.accelerator, setup.engine, links)


def _finding_at(run: BenchmarkRun, message: str, remedy: str) -> Finding:
    return Finding(
        rule=RULE, severity=Severity.ERROR, file=run.file, line=run.line, column=1, message=message, remedy=remedy
    )


def _folded(name: str) -> str:
    """Return a model's name without its owner, as ids are folded for comparison."""
    return re.sub(r"[-_ ]", "", name.rpartition("/")[2].lower()).removeprefix("meta")


def model_id(name: str, ids: Iterable[str]) -> str | None:
    """Return the catalogue id of a model by the name that a server has for it; None if none is meant.

    Args:
        name: such as meta-llama/Llama-3.1-70B-Instruct.
    """
    folded = _folded(name)
    known = sorted((text for text in ids if folded.startswith(_folded(text))), key=len, reverse=True)
    return known[0] if known and _VARIANT.fullmatch(folded[len(_folded(known[0])) :]) else None


def _accelerator(catalog: Catalog, runs: Sequence[BenchmarkRun], name: str | None) -> Accelerator:
    """Return the accelerator that an option or every run names."""
    faults = []
    if name is None:
        ids = catalog.ids_of("accelerator")
        named = {run.accelerator: meant(re.split(r"[-_ ]", run.accelerator)[0], ids) for run in runs if run.accelerator}
        single = {ids[0] for ids in named.values() if len(ids) == 1}
        if len(single) == 1 and all(named.get(run.accelerator or "") for run in runs):
            name = single.pop()
        else:
            close = sorted({text for ids in named.values() for text in ids})
            choices = f"one of {', '.join(close)}" if close else "such as h100-sxm-80gb"
            remedy = f"give --accelerator, {choices}"
            raise InputError(_finding_at(runs[0], "its accelerator is unknown", remedy))
    part = catalog.entry(name).part
    assert isinstance(part, Accelerator)
    for run in runs:
        if run.accelerator and is_another(run.accelerator, part):
            message = f"the run is of `{run.accelerator}`, and the accelerator is `{part.id}`"
            faults.append(_finding_at(run, message, "calibrate one accelerator at a time, by its own --accelerator"))
    if faults:
        raise InputError(*faults)
    return part


def _engine(catalog: Catalog, runs: Sequence[BenchmarkRun], name: str | None) -> Engine:
    """Return the engine that an option or every run names."""
    said = {f"{run.software}@{run.version}" if run.software and run.version else None for run in runs}
    if name is None:
        if len(said) != 1 or None in said:
            remedy = "give --engine, such as vllm-2026; `ffplan catalog list engines` lists them"
            raise InputError(_finding_at(runs[0], "engine and release are unknown", remedy))
        name = said.pop()
    engine = engine_of(catalog, str(name))
    faults = [
        _finding_at(
            run,
            f"the run is of `{run.software}`, and --engine names a release of {engine.software}",
            "calibrate one engine at a time, by its own --engine",
        )
        for run in runs
        if run.software and run.software != engine.software
    ]
    if faults:
        raise InputError(*faults)
    return engine


def _setup_of(catalog: Catalog, runs: Sequence[BenchmarkRun], request: ServingRequest) -> _MeasuredSetup:
    """Return engine and accelerator of all runs."""
    accelerator = _accelerator(catalog, runs, request.accelerator)
    library = catalog.entry(accelerator.library).part
    assert isinstance(library, Library)
    return _MeasuredSetup(_engine(catalog, runs, request.engine), accelerator, library)


class _Settling:
    """One run's fields, from its file and from options; faults are kept."""

    def __init__(self, run: BenchmarkRun) -> None:
        self.run = run
        self.faults: list[Finding] = []

    def value(self, quantity: str, option: str, said: Any, given: Any, example: str | None = None) -> Any:
        """Return the value that a file or an option states; keep a fault if they differ or both are silent.

        `example`: an example for the option; None if there is a default.
        """
        if said is not None and given is not None and said != given:
            message = f"the file says {quantity} {said}, and {option} says {given}"
            self.faults.append(_finding_at(self.run, message, f"leave {option} out, or give such files on their own"))
        elif said is None and given is None and example is not None:
            message = f"the {quantity} is unknown"
            self.faults.append(_finding_at(self.run, message, f"give {option}, such as {option} {example}"))
        return given if said is None else said

    def length(self, quantity: str, option: str, said: float | None, given: int | None) -> float:
        """Return tokens on average, of a file or an option."""
        if said is not None and given is not None and abs(given / said - 1) <= _ALIKE:
            given = None
        return float(self.value(f"{quantity} (tokens)", option, said, given, "1024") or 0.0)

    def share(self, quantity: str, option: str, said: float | None, given: float | None) -> float:
        """Return a share of a file or an option; 1 if neither says."""
        if said is not None and given is not None and abs(given - said) <= _ALIKE:
            given = None
        return float(self.value(quantity, option, said, given) or 1.0)


def _model(settling: _Settling, catalog: Catalog, given: str | None) -> str | None:
    name = settling.run.model
    said = model_id(name, catalog.ids_of("model")) if name else None
    if said is None and given is None and name:
        message, remedy = f"the catalogue has no model by the name `{name}`", "give --model, such as llama3.1-70b"
        settling.faults.append(_finding_at(settling.run, message, remedy))
        return None
    model: str | None = settling.value("model", "--model", said, given, "llama3.1-70b")
    return model


def _precision(settling: _Settling, checkpoint: str, given: str | None) -> str | None:
    """Return the precision of a run's weights."""
    name = (settling.run.precision or "").lower().replace("_", "-")
    said = _PRECISIONS.get(name)
    if said == "fp4" and checkpoint == "mxfp4":
        said = "mxfp4"  # benchmarks call both formats of 4 bit by one name
    precision: str | None = settling.value("precision of the weights", "--precision", said, given, "fp8")
    return precision


def _stated_run(catalog: Catalog, run: BenchmarkRun, request: ServingRequest) -> _StatedRun:
    """Return a run with everything that a replay takes."""
    settling = _Settling(run)
    name = _model(settling, catalog, request.model)
    model = catalog.entry(name).part if name else None
    shape = model.transformer if isinstance(model, Model) else None
    if model is not None and shape is None:
        settling.faults.append(_finding_at(run, f"`{name}` is not a transformer", "give --model with a language model"))
    precision = _precision(settling, shape.checkpoint if shape else "bf16", request.precision)
    plan = {
        field: settling.value(words, option, getattr(run, field), getattr(request, field), example)
        for field, (words, option, example) in PLAN.items()
    }
    prompt = settling.length("length of prompts", "--isl", run.prompt, request.prompt)
    output = settling.length("length of answers", "--osl", run.output, request.output)
    if shape is not None and plan["tensor"] and shape.heads % plan["tensor"]:
        message = f"`{name}` has {shape.heads} heads, which {plan['tensor']} tensor ranks do not divide"
        settling.faults.append(_finding_at(run, message, "correct the tensor parallelism"))
    shortest = settling.share("shortest length over the largest", "--shortest", run.shortest, request.shortest)
    if settling.faults:
        raise InputError(*settling.faults)
    assert isinstance(model, Model)
    fields = {"precision": precision, "cache": request.kv, **{name: ways or 1 for name, ways in plan.items()}}
    return _StatedRun(run=run, model=model, fields=fields, prompt=prompt, output=output, shortest=shortest)
