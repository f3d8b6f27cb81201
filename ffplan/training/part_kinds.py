"""The parts of a step: name, derivation, and the accelerator's figures that each rests on."""

from __future__ import annotations

from ffplan.base.record import record

_T = "ffplan.training"
_EXPOSED = "time of its collectives that computing does not hide"


@record
class PartKind:
    """A part of a step."""

    label: str
    """For people."""
    place: str = ""
    """Function that states its equation."""
    how: str = ""
    """Derivation in words, if no function has the whole equation."""
    evidence: tuple[str, ...] = ()
    """Starts of the paths of the accelerator's figures that the part rests on."""


PARTS = {
    "products": PartKind("GEMM", place=f"{_T}.gemm:both_ways", evidence=("peak.", "training.matrix", "training.units")),
    "attention": PartKind("attention", place=f"{_T}.layer:attention_time", evidence=("peak.", "training.attention")),
    "memory": PartKind(
        "element-wise kernels",
        place=f"{_T}.memory_traffic:moved_bytes",
        evidence=("memory_bandwidth", "training.memory", "training.stream"),
    ),
    "kernels": PartKind(
        "small kernels", how="kernels of a layer * time of a small kernel", evidence=("training.kernel",)
    ),
    "recompute": PartKind("activation recomputation", place=f"{_T}.recomputed:parts_again"),
    "output": PartKind(
        "output layer and loss", place=f"{_T}.layer:output_passes", evidence=("peak.", "training.matrix")
    ),
    "tensor": PartKind("tensor parallelism", how=_EXPOSED, evidence=("collectives.",)),
    "context": PartKind("context parallelism", how=_EXPOSED),
    "experts": PartKind("tokens to experts", how=_EXPOSED, evidence=("collectives.",)),
    "launches": PartKind("waiting for the host", place=f"{_T}.overlap:launch_wait"),
    "sends": PartKind("pipeline point-to-point", place=f"{_T}.group_collectives:send_time"),
    "bubble": PartKind("pipeline bubble", place=f"{_T}.schedules:bubble"),
    "parameters": PartKind("parameter all-gather", how=_EXPOSED),
    "gradients": PartKind("gradient reduction", how=_EXPOSED),
    "optimizer": PartKind(
        "optimizer", place=f"{_T}.overlap:optimizer_time", evidence=("memory_bandwidth", "training.memory")
    ),
    "offload": PartKind("optimizer on the host", place=f"{_T}.overlap:host_optimizer_time"),
    "swaps": PartKind("activations to the host and back", place=f"{_T}.step:swap_time"),
}
"""Parts of a step by their stable names, in listing order."""
