"""Workloads: from the command line, or shared by designs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.cli.models import _model_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import Workload


def _workload_of(
    command: str, catalog: Catalog, model: str | None, tokens: str | None, batch: int | None, gpus: int | None
) -> Workload | None:
    """Return the job given by options; None if each design keeps its own.

    Args:
        command: for messages.
        catalog: catalogue of the model.
        tokens: tokens to train on, as written.
        batch: sequences of a step [1].
        gpus: accelerators [1].

    Raises:
        UsageError: if the model is unknown, or job options are given without a model.
    """
    from ffplan.cli.cost_options import _tokens_of
    from ffplan.design.training import Workload

    if model is None:
        if batch or gpus:
            raise UsageError(f"ffplan {command}: --batch and --gpus have an effect with --model only")
        return None
    model = _model_part(catalog, model, command).id
    number = _tokens_of(tokens, command) if tokens else None
    return Workload.model_construct(model=model, tokens=number, batch=batch, gpus=gpus, plan=None, search=False)


def _own_tokens(command: str, model: str | None, tokens: str | None) -> float | None:
    """Return the tokens that replace the design's; None without tokens, or with a model.

    Args:
        command: for messages.
        model: id of another model.
        tokens: tokens to train on, as written.

    Raises:
        UsageError: if the text is not a number of tokens.
    """
    from ffplan.cli.cost_options import _tokens_of

    return _tokens_of(tokens, command) if tokens and model is None else None


def _shared_workload(designs: Sequence[ResolvedDesign], labels: Sequence[str]) -> tuple[Workload | None, str]:
    """Return the workload that every design states, with tokens of the first that has any, and what to say of it.

    Args:
        labels: labels of the designs.
    """
    from ffplan.base.formatting import listed, number

    stated = [design.workload for design in designs]
    jobs = [workload for workload in stated if workload is not None]
    if not jobs:
        return None, ""
    if len(jobs) < len(stated):
        without = listed(label for label, workload in zip(labels, stated, strict=True) if workload is None)
        return None, f"no job: no `workload` in {without}; --tokens T trains the others' on all"
    first = jobs[0]
    apart = [job for job in jobs if job.model_copy(update={"tokens": first.tokens}) != first]
    if apart:
        models = dict.fromkeys(job.model for job in jobs)
        what = f" ({listed(models)})" if len(models) > 1 else ""
        return None, f"no job: the `workload` of the designs differs{what}; --model ID names one"
    said = f"their `workload`: {first.model}"
    tokens = list(dict.fromkeys(job.tokens for job in jobs if job.tokens is not None))
    if tokens:
        said += f" on {number(tokens[0] / 1e12, 3)} T tokens"
    if len(tokens) > 1:
        said += f"; others state {listed(f'{number(most / 1e12, 3)} T' for most in tokens[1:])}"
    return first.model_copy(update={"tokens": tokens[0] if tokens else None}), said


def _own_workload(command: str, designs: Sequence[ResolvedDesign]) -> tuple[ResolvedDesign, Workload]:
    """Return the designs' common workload, and the first design with it; designs without a workload run it too.

    Args:
        command: for messages.

    Raises:
        UsageError: if no design has a workload, or two have different jobs, tokens aside.
    """
    stated = [(design, design.workload) for design in designs if design.workload is not None]
    if not stated:
        where = "the design" if len(designs) == 1 else "a design"
        raise UsageError(f"ffplan {command}: no --model, and no `workload` in {where}: name a model, or add a workload")
    first = stated[0][1]
    for design, further in stated[1:]:
        if further.model_copy(update={"tokens": first.tokens}) != first:
            names = f"{stated[0][0].document.file} and {design.document.file}"
            raise UsageError(f"ffplan {command}: {names} have different workloads; name --model and its options")
    return stated[0]
