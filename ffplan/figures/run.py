"""The figures of training, of serving, of the cost of a run, and of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.figures.cost import CARBON, HOUR
from ffplan.figures.figure import Figure
from ffplan.results.comparison import JobSide, MoneyDifference, MoneySide, OwnSize, Ratios, ScaleRow, ScaleSide
from ffplan.results.run import PlanRow, RunReport, StepPart, SurePlan
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

RUN_PLACE = "ffplan.cost.run"
SPEED = ("effective", "effort", "speed", "speed_own")
"""Inputs of the time of a run."""
INPUTS_OF_RUN = ("effective", "effort")
"""Fields of a run that are inputs of its account."""
_PRICE = ("tco.per_accelerator_hour", "hour")
"""Price of an accelerator-hour, of a study and in a comparison."""

RUN: Table = {
    RunReport: {
        "days": Figure(
            label="days of the run",
            unit="days",
            better=-1,
            threshold="time",
            place=f"{RUN_PLACE}:run_seconds",
            of=("tokens", "tokens_s", "effective", "effort"),
            inputs=SPEED,
        ),
        "accelerator_hours": Figure(place=f"{RUN_PLACE}:accelerator_hours", of=("gpus", "days"), inputs=SPEED),
        "cost": Figure(
            label="cost of the run",
            unit="currency",
            better=-1,
            place=f"{RUN_PLACE}:run_cost",
            of=("accelerator_hours", *_PRICE),
            inputs=(*SPEED, *HOUR),
        ),
        "cost_per_million_tokens": Figure(
            label="a million tokens",
            unit="currency",
            better=-1,
            threshold="cost",
            how="cost of the run / tokens * 1,000,000",
            of=("cost", "tokens", *_PRICE),
            inputs=(*SPEED, *HOUR),
        ),
        "cost_per_petaflop_day": Figure(
            how="accelerator-hour in use * 24 / (model PFLOP/s of an accelerator * effective training time / effort)",
            of=("mfu", "effective", "effort", *_PRICE),
            inputs=(*SPEED, *HOUR),
        ),
        "energy_mwh": Figure(
            label="energy of the run",
            unit="MWh",
            better=-1,
            place=f"{RUN_PLACE}:run_energy",
            of=("accelerator_hours",),
            inputs=("power", "pue"),
        ),
        "carbon_t": Figure(
            label="carbon of the run",
            unit="t CO2e",
            better=-1,
            how="energy * carbon of the grid + accelerator-hours * embodied carbon over the hours in use of its life",
            of=("energy_mwh", "accelerator_hours", "carbon_energy_t"),
            inputs=CARBON,
        ),
        "step_s": Figure(
            how="the step of `ffplan train` with this plan; it explains the parts",
            of=("tokens_s", "mfu", "effective", "batch", "gpus", "error_band"),
            inputs=SPEED,
        ),
        "tokens_s": Figure(how="tokens of a batch / step", of=("step_s",)),
        "mfu": Figure(place="ffplan.training.mfu:achieved", of=("step_s",)),
        "effective": Figure(
            label="goodput",
            better=1,
            how="effective training time: the job's goodput, unless the design states one",
            inputs=("effective",),
        ),
        "effort": Figure(
            label="time of a run over its plan's",
            better=-1,
            how="accelerator-hours of published runs / accelerator-hours of their fastest plan, by `ownership.effort`",
            inputs=("effort",),
        ),
        "operations": Figure(how="FLOP of the model a token * tokens", of=("petaflop_days", "tokens")),
        "petaflop_days": Figure(how="operations / (a petaFLOP/s * a day)", of=("operations",)),
        "ready_months": Figure(how="lead time + commissioning", inputs=("lead_time", "commissioning")),
    },
}


_VALUE = "ffplan.cost.capital"
_A_TOKEN = Figure(how="cost of the run / tokens * 1,000,000, with the fastest plan at that size", of=("days",))

COMPARISON: Table = {
    Ratios: {
        "relative_performance": Figure(place=f"{_VALUE}:relative_performance", of=("gemm_tf32", "gemm_fp16")),
        "node_price": Figure(
            how="price of a compute node over the baseline's", of=("node_price_low", "node_price_high")
        ),
        "cost_performance": Figure(place=f"{_VALUE}:cost_performance", of=("relative_performance", "node_price")),
    },
    JobSide: {
        "step_s": Figure(
            how="sum of the parts of `ffplan train`",
            of=("error_band",),
            said=lambda side: [f"{part.label}: {part.seconds:.4g} s" for part in side.parts],
        ),
        "tokens_s": Figure(how="tokens of a batch / step", of=("step_s", "speed_ratio")),
        "tokens_s_gpu": Figure(
            how="tokens of a batch / (step * accelerators of the job)", of=("step_s", "capital_ratio")
        ),
        "mfu": Figure(place="ffplan.training.mfu:achieved", of=("step_s",)),
        "capital_per_token_s": Figure(
            how="capital * accelerators of the job / accelerators of the cluster / tokens a second",
            of=("step_s", "capital_ratio"),
        ),
    },
    OwnSize: {
        "tokens_s": Figure(how="tokens of a batch / step, on the most accelerators that one job can span", of=("gpus",))
    },
    MoneySide: {
        "capex": Figure(
            how="sum of the bill of materials, the building included; `ffplan cost` lists its lines", inputs=("price.",)
        ),
        "hour": Figure(place="ffplan.cost.account:account_year", inputs=HOUR),
    },
    MoneyDifference: {"cheaper_share": Figure(how="draws that make it the cheaper one / all draws")},
    ScaleRow: {"batch": Figure(how="a batch that is compared")},
    ScaleSide: {
        "cost_per_million_tokens": _A_TOKEN,
        "days": Figure(how="tokens of the run / tokens a second / goodput"),
    },
}


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
