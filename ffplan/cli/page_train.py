"""Where the figures on a page of `ffplan train` come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.cli.page_figures import Figures, Spot
from ffplan.cli.page_prose import prose_notes
from ffplan.report.train import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.report.chart import Origin, Source
    from ffplan.results.training import TrainReport

T = "ffplan.training"
PART_PLACES = {
    "products": f"{T}.gemm:both_ways",
    "attention": f"{T}.layer:attention_time",
    "memory": f"{T}.memory_traffic:moved_bytes",
    "recompute": f"{T}.recomputed:parts_again",
    "output": f"{T}.layer:output_passes",
    "launches": f"{T}.overlap:launch_wait",
    "sends": f"{T}.group_collectives:send_time",
    "bubble": f"{T}.schedules:bubble",
    "optimizer": f"{T}.overlap:optimizer_time",
    "offload": f"{T}.overlap:host_optimizer_time",
    "swaps": f"{T}.step:swap_time",
}
"""Function that states the equation of a part of a step."""
EXPOSED = "time of its collectives that computing does not hide"
PART_HOW = {
    "kernels": "kernels of a layer * time of a small kernel",
    "tensor": EXPOSED,
    "context": EXPOSED,
    "experts": EXPOSED,
    "parameters": EXPOSED,
    "gradients": EXPOSED,
}
PART_FIGURES: dict[str, tuple[str, ...]] = {
    "products": ("peak.", "training.matrix", "training.units"),
    "output": ("peak.", "training.matrix"),
    "attention": ("peak.", "training.attention"),
    "memory": ("memory_bandwidth", "training.memory", "training.stream"),
    "kernels": ("training.kernel",),
    "optimizer": ("memory_bandwidth", "training.memory"),
    "tensor": ("collectives.",),
    "experts": ("collectives.",),
}
"""Starts of figures of the accelerator behind a part."""
ROOFS = {"tensor": "tensor_parallel_ways", "fsdp": "sharded_tokens", "experts": "expert_parallel_tokens"}
"""Function of `training.rooflines` by start of a roofline's name; that of data parallelism where there is none."""


def train_notes(report: TrainReport, sources: Iterable[Source]) -> tuple[Origin, ...]:
    """Return where the figures of a training report come from.

    Args:
        report: the report.
        sources: figures of the catalogue files behind it.
    """
    figures = Figures(report, "train", None, sources)
    return (
        *_steps(report, figures),
        *_search(report, figures),
        *_parts(report, figures),
        *_gains(report, figures),
        *_roofs(report, figures),
        *_memory(report, figures),
        *prose_notes(report, figures),
    )


def _steps(report: TrainReport, figures: Figures) -> Iterator[Origin]:
    mean = figures.named("error_band")
    for at, row in enumerate(report.rows):
        path, label = f"rows[{at}]", f"{row.plan.gpus:,}"
        parts = [f"{part.label}: {part.seconds:.4g} s" for part in row.parts]
        spots = [Spot("", label, column, at=at) for column in range(7)]
        done = figures.named(f"{path}.step_s", f"{path}.plan.batch", f"{path}.plan.sequence", f"{path}.plan.gpus")
        basis = f"constants: {report.calibration}"
        yield from figures.note(spots[0], f"{path}.plan.gpus", how="the plan's own, idle accelerators apart")
        yield from figures.note(spots[1], f"{path}.step_s", how="sum of the parts", parts=[*mean, basis, *parts])
        how = f"{report.unit} of a batch / (step * accelerators of the plan)"
        yield from figures.note(spots[2], f"{path}.tokens_s_gpu", how=how, parts=done)
        for column, field in ((3, "tflops_gpu"), (4, "mfu")):
            of = [*done, *figures.named(f"{path}.peak_tflops", f"{path}.mfu_causal", f"{path}.hfu")]
            of += figures.parts(report.accelerator, f"peak.{row.plan.precision}")
            yield from figures.note(spots[column], f"{path}.{field}", place=f"{T}.mfu:achieved", parts=of)
        limit = figures.named(f"{path}.limit_gib")
        yield from figures.note(spots[5], f"{path}.memory_gib", place=f"{T}.memory:peak_bytes", parts=limit)
        how = f"{report.unit} a second and accelerator over those of the first row"
        yield from figures.note(spots[6], f"{path}.efficiency", how=how)


def _search(report: TrainReport, figures: Figures) -> Iterator[Origin]:
    rows = len(report.rows)
    for at in range(rows):
        how = "difference of the step and of its parts to the fastest plan"
        of = figures.named("rows[0].step_s")
        yield from figures.note(
            Spot("Why the others lost", f"#{at + 1}", 0, at=at), f"rows[{at}].step_s", how=how, parts=of
        )
    idle = [at for at, row in enumerate(report.rows) if row.idle]
    for place, at in enumerate(idle, rows):
        how = "accelerators asked for, less those of the plan"
        yield from figures.note(Spot("Why the others lost", f"#{at + 1}", 0, at=place), f"rows[{at}].idle", how=how)


def _parts(report: TrainReport, figures: Figures) -> Iterator[Origin]:
    for at, row in enumerate(report.rows):
        for number, part in enumerate(row.parts):
            path = f"rows[{at}].parts[{number}]"
            spot = Spot("Where the step goes", part.label, at % COLUMNS, nth=at // COLUMNS)
            found = figures.parts(report.accelerator, *PART_FIGURES.get(part.name, ("-",)))
            place, how = PART_PLACES.get(part.name, ""), PART_HOW.get(part.name, "")
            of = [*figures.named(f"{path}.seconds", f"rows[{at}].step_s"), "the equation is that of the time", *found]
            yield from figures.note(spot, f"{path}.share", how=how, place=place, parts=of)


def _gains(report: TrainReport, figures: Figures) -> Iterator[Origin]:
    how = "step / step with 10 % more of the resource - 1"
    for at, row in enumerate(report.rows):
        for number, gain in enumerate(row.gains):
            spot = Spot("Speed-up from", gain.label, at % COLUMNS, nth=at // COLUMNS)
            of = figures.named(f"rows[{at}].step_s")
            yield from figures.note(spot, f"rows[{at}].gains[{number}].faster", how=how, parts=of)


def _roofs(report: TrainReport, figures: Figures) -> Iterator[Origin]:
    for at, roof in enumerate(report.rows[0].rooflines):
        path = f"rows[0].rooflines[{at}]"
        name = next((name for start, name in ROOFS.items() if roof.name.startswith(start)), "data_parallel_tokens")
        yield from figures.note(Spot("Rooflines", roof.label), f"{path}.value", how="of the plan")
        place = f"{T}.rooflines:{name}"
        of = figures.parts(report.accelerator, "peak.", "nvlink", "memory_bandwidth")
        yield from figures.note(Spot("Rooflines", roof.label, 1), f"{path}.critical", place=place, parts=of)


def _memory(report: TrainReport, figures: Figures) -> Iterator[Origin]:
    names = ("layers", "weights_gib", "gradients_gib", "optimizer_gib", "activations_gib", "working_gib", "total_gib")
    for at, stage in enumerate(report.rows[0].stages):
        path = f"rows[0].stages[{at}]"
        for column, name in enumerate(names):
            place = f"{T}.parallel_plan:stage_layers" if name == "layers" else f"{T}.memory:stage_bytes"
            place = f"{T}.kept_activations:policy_kept_bytes" if name == "activations_gib" else place
            of = figures.named(f"{path}.logits_gib") if name == "working_gib" else []
            spot, how = Spot("Memory of", f"{stage.stage + 1}", column), ""
            if of:
                place, how = "", "this and the scores over the vocabulary"
            yield from figures.note(spot, f"{path}.{name}", how=how, place=place, parts=of)
