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
