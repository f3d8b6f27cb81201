"""A workload from the command line, in place of the design's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.workload_schema import Workload


def workload_of(
    command: str, catalog: Catalog, model: str | None, tokens: str | None, batch: int | None, gpus: int | None
) -> Workload | None:
    """Return the job that options describe; None where each design has its own.

    Args:
        command: for messages.
        catalog: where the model is looked up.
        model: its id.
        tokens: tokens to train on, as written.
        batch: sequences of a step [1].
        gpus: accelerators [1].

    Raises:
        UsageError: where there is no such model, or there are options without one.
    """
    from ffplan.catalog.models import Model
    from ffplan.catalog.named import part_of
    from ffplan.cli.cost_options import tokens_of
    from ffplan.design.workload_schema import Workload

    if model is None:
        if tokens or batch or gpus:
            raise UsageError(f"ffplan {command}: --tokens, --batch and --gpus have an effect with --model only")
        return None
    part_of(catalog, Model, model, f"ffplan {command}: --model")
    number = tokens_of(tokens, command) if tokens else None
    return Workload.model_construct(model=model, tokens=number, batch=batch, gpus=gpus, plan=None, search=False)
