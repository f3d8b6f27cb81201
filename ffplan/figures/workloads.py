"""Figures of the reports on training and on serving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.figures.figure import Figure
from ffplan.results.run import PlanRow, StepPart, SurePlan
from ffplan.results.serving import (
    CacheUse,
    Latency,
    Saturation,
    ServeCost,
    ServeMemory,
    ServeRow,
    TokenBand,
    TokenPart,
    TokenPrice,
)
from ffplan.results.training import Gain, Roofline, StageMemory, TrainReport, TrainRow
from ffplan.training.part_kinds import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.figures.figure import Table

_T = "ffplan.training"
_ROOFS = {"tensor": "tensor_parallel_ways", "fsdp": "sharded_tokens", "experts": "expert_parallel_tokens"}
"""Function of `training.mfu` by start of a roofline's name; the default is data parallelism's."""
_STEP = ("step_s", "plan.batch", "plan.sequence", "plan.gpus")
_STAGE = Figure(place=f"{_T}.memory:stage_bytes")


def _part(part: StepPart) -> Figure:
    kind = PARTS[part.name]
    return Figure(place=kind.place, how=kind.how, part="accelerator", evidence=kind.evidence)


def _share(part: StepPart) -> Figure:
    kind = PARTS[part.name]
    return Figure(
        place=kind.place,
        how=kind.how,
        of=("seconds", "step_s"),
        part="accelerator",
        evidence=kind.evidence,
        said=lambda _: ["same equation as the time"],
    )


def _roof(roof: Roofline) -> Figure:
    name = next((name for start, name in _ROOFS.items() if roof.name.startswith(start)), "data_parallel_tokens")
    return Figure(place=f"{_T}.mfu:{name}", part="accelerator", evidence=("peak.", "nvlink", "memory_bandwidth"))


def _parts_of(row: TrainRow) -> Iterator[str]:
    for part in row.parts:
        yield f"{part.label}: {part.seconds:.4g} s"


def _achieved(row: TrainRow) -> Figure:
    return Figure(
        place=f"{_T}.mfu:achieved",
        of=(*_STEP, "peak_tflops", "mfu_causal", "hfu"),
        part="accelerator",
        evidence=(f"peak.{row.plan.precision}",),
    )


TRAINING: Table = {
    PlanRow: {
        "gpus": Figure(how="the plan's own, without idle accelerators"),
    },
    SurePlan: {
        "step_s": Figure(how="sum of the parts of a step"),
        "slower": Figure(how="its step / the fastest plan's step - 1", of=("step_s",)),
        "memory_gib": Figure(place=f"{_T}.memory_margins:peak_bytes"),
    },
    TrainReport: {
        "feasible": Figure(how="plans of the search that device memory and the design allow", of=("searched",)),
    },
    TrainRow: {
        "step_s": Figure(
            label="step of the workload",
            unit="s",
            better=-1,
            threshold="time",
            how="sum of the parts",
            of=("error_band",),
            said=_parts_of,
        ),
        "tokens_s": Figure(
            label="tokens a second",
            unit="1/s",
            better=1,
            threshold="time",
            how="tokens, or images, of a batch / step",
            of=_STEP,
        ),
        "tokens_s_gpu": Figure(how="tokens, or images, of a batch / (step * accelerators of the plan)", of=_STEP),
        "tflops_gpu": _achieved,
        "mfu": Figure(label="MFU", better=1, by=_achieved),
        "memory_gib": Figure(place=f"{_T}.memory_margins:peak_bytes", of=("limit_gib",)),
        "efficiency": Figure(how="tokens, or images, a second and accelerator, relative to the first row"),
        "idle": Figure(how="accelerators requested - accelerators of the plan"),
    },
    StepPart: {"seconds": _part, "share": _share},
    Gain: {"faster": Figure(how="step / step with 10 % more of the resource - 1", of=("step_s",))},
    Roofline: {"value": Figure(how="of the plan"), "critical": _roof},
    StageMemory: {
        "layers": Figure(place=f"{_T}.parallel_plan:stage_layers"),
        **dict.fromkeys(("weights_gib", "gradients_gib", "optimizer_gib", "total_gib", "logits_gib"), _STAGE),
        "activations_gib": Figure(place=f"{_T}.kept_activations:policy_kept_bytes"),
        "working_gib": Figure(how="this and the scores over the vocabulary", of=("logits_gib",)),
    },
}


_S = "ffplan.serving"
_SEEDED = Figure(unit="s", better=-1, how="quantile of a seeded run of requests on one attention group")
_BAND = Figure(how="the mean less or plus the engine's band, which holds 80 % of the rows left out of its fit")

SERVING: Table = {
    Latency: {
        "mean": Figure(unit="s", better=-1, place=f"{_S}.load:closed_loop"),
        "p50": _SEEDED,
        "p90": _SEEDED,
        "p99": _SEEDED,
    },
    TokenPart: {
        "seconds": Figure(place=f"{_S}.step:step_time"),
        "share": Figure(how="its seconds / the mean time of a token"),
    },
    TokenBand: {"low": _BAND, "high": _BAND},
    CacheUse: {
        "bytes_per_token": Figure(place=f"{_S}.memory:cache_bytes"),
        "capacity_tokens": Figure(place=f"{_S}.room:memory_use"),
    },
    Saturation: {"concurrency": Figure(place=f"{_S}.room:requests_with_room")},
    ServeCost: {
        "accelerator_hour": Figure(unit="currency", how="the price that `price` names"),
        "per_million_output": Figure(unit="currency", better=-1, place="ffplan.studies.serve.money:token_cost"),
        "per_million_output_all": Figure(how="an hour of the accelerators / output tokens of an hour"),
    },
    TokenPrice: {"per_million_output_all": Figure(place="ffplan.studies.serve.money:api_cost")},
    ServeMemory: {"weights_gib": Figure(place=f"{_S}.memory:weight_memory")},
    ServeRow: {
        "rate_s": Figure(place=f"{_S}.load:closed_loop"),
        "output_tokens_s": Figure(how="requests a second x tokens of an answer"),
        "power_w": Figure(place=f"{_S}.hardware:accelerator_power"),
        "output_tokens_s_mw": Figure(
            label="output tokens/s per MW",
            unit="1/s",
            better=1,
            place="ffplan.studies.serve.money:tokens_per_megawatt",
        ),
        "j_per_token": Figure(how="power / output tokens a second"),
    },
}
"""Places and derivations of the figures of `ffplan serve`."""
