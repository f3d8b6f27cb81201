"""Training plans between files, options and rows of a report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError
from ffplan.training.axes import AXES

if TYPE_CHECKING:
    from ffplan.catalog.launch.read import LaunchSize
    from ffplan.design.training import PlanFields
    from ffplan.inputs.document import Document
    from ffplan.results.run import PlanRow


WIDTHS = {4: "fp32", 2: "bf16"}
"""Precision of a gradient by its bytes."""


def _overlap_names(text: str | None) -> tuple[str, ...] | None:
    """Split names separated by commas; `none` gives no names.

    Raises:
        UsageError: if `none` is one of several.
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if "none" in names and len(names) > 1:
        raise UsageError("ffplan train: --overlap: `none` stands alone")
    return tuple(name for name in names if name not in ("", "none"))


def _told_plan(
    file: str | None, options: dict[str, Any], command: str, job: LaunchSize | None = None
) -> tuple[Document | None, PlanFields]:
    """Return the plan that options override, and its file; say what was assumed of another program's arguments.

    Args:
        file: a plan file, a shipped plan, or arguments of another program; the default plan if omitted.
        options: fields given by options.
        command: for messages.
        job: what fills the batch of another program's arguments that state none.

    Raises:
        InputError: if the file is wrong, or contradicts the options.
        UsageError: if the options contradict each other.
    """
    from ffplan.design.plan_file import plan_document, plan_of

    document, remarks = plan_document(file, job)
    for remark in remarks:
        print(f"ffplan {command}: plan: {remark}", file=sys.stderr)
    return document, plan_of(document, options)


def _plan_text(base: PlanFields, plan: PlanRow) -> str:
    """Return a plan as file text: requested fields with the row's values, without data-parallel ranks."""
    from ffplan.design.training import LEAST_ZERO

    sizes = (axis.field for axis in AXES if axis.values is not None)
    names = (
        *sizes,
        "batch",
        "sequence",
        "sequence_parallel",
        "zero",
        "unit_layers",
        "recompute",
        "overlap",
        "reducer",
        "offload",
    )
    values = {name: getattr(base, name) for name in type(base).model_fields} | {n: getattr(plan, n) for n in names}
    del values["preset"]
    for name, size in (("grad_dtype", plan.gradient_bytes), ("grad_reduce_dtype", plan.reduced_bytes)):
        values[name] = WIDTHS[size]
    if plan.optimizer_bytes < base.optimizer_bytes:
        values["optimizer_dtype"] = "bf16"
    values = {name: value for name, value in values.items() if plan.zero >= LEAST_ZERO.get(name, 0)}
    values["sequence_parallel"] = plan.sequence_parallel or plan.tensor == 1
    if plan.sequence == 1:  # images
        kept = ("micro_batch", "precision", "grad_dtype", "grad_reduce_dtype", "overlap", "bucket_mib", "reducer")
        values = {name: values[name] for name in kept} | {"batch": base.batch}
    else:
        del values["bucket_mib"], values["gradient_bytes"]
    lines = ["kind: training-plan"]
    for name, value in values.items():
        if value is None or name == "kind":
            continue
        text = f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value).lower()
        lines.append(f"{name}: {text}")
    return "\n".join(lines) + "\n"
