"""The parts of a step: name, derivation, and the accelerator's figures that each rests on."""

from __future__ import annotations

from ffplan.base.record import record

_T = "ffplan.training"
_EXPOSED = "time of its collectives that computing does not hide"


@record
class _PartKind:
    label: str
    """For people."""
    place: str = ""
    """Function that states its equation."""
    how: str = ""
    """Derivation in words, if no function has the whole equation."""
    evidence: tuple[str, ...] = ()
    """Starts of the paths of the accelerator's figures that the part rests on."""


PARTS = {
    "products": _PartKind(
        "GEMM", place=f"{_T}.gemm:both_ways", evidence=("peak.", "training.matrix", "training.units")
    ),
    "attention": _PartKind("attention", place=f"{_T}.layer:attention_time", evidence=("peak.", "training.attention")),
    "memory": _PartKind(
        "element-wise kernels",
        place=f"{_T}.memory_traffic:moved_bytes",
        evidence=("memory_bandwidth", "training.memory", "training.stream"),
    ),
    "kernels": _PartKind(
        "small kernels", how="kernels of a layer * time of a small kernel", evidence=("training.kernel",)
    ),
    "recompute": _PartKind("activation recomputation", place=f"{_T}.microbatch:parts_again"),
    "output": _PartKind(
        "output layer and loss", place=f"{_T}.layer:output_passes", evidence=("peak.", "training.matrix")
    ),
    "tensor": _PartKind("tensor parallelism", how=_EXPOSED, evidence=("collectives.",)),
    "context": _PartKind("context parallelism", how=_EXPOSED),
    "experts": _PartKind("tokens to experts", how=_EXPOSED, evidence=("collectives.",)),
    "launches": _PartKind("waiting for the host", place=f"{_T}.overlap:launch_wait"),
    "sends": _PartKind("pipeline point-to-point", place=f"{_T}.step:_send_time"),
    "bubble": _PartKind("pipeline bubble", place=f"{_T}.step:bubble"),
    "parameters": _PartKind("parameter all-gather", how=_EXPOSED),
    "gradients": _PartKind("gradient reduction", how=_EXPOSED),
    "optimizer": _PartKind(
        "optimizer", place=f"{_T}.overlap:optimizer_time", evidence=("memory_bandwidth", "training.memory")
    ),
    "offload": _PartKind("optimizer on the host", place=f"{_T}.overlap:host_optimizer_time"),
    "swaps": _PartKind("activations to the host and back", place=f"{_T}.step:swap_time"),
}
"""Parts of a step by their stable names, in listing order."""
