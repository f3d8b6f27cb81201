"""The figures of a training run in money, and figures that only a comparison has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.figures.cost import CARBON, HOUR
from ffplan.figures.figure import Figure
from ffplan.results.comparison import JobSide, MoneyDifference, MoneySide, OwnSize, Ratios, ScaleRow, ScaleSide
from ffplan.results.run import RunReport

if TYPE_CHECKING:
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


_VALUE = "ffplan.cost.value"
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
