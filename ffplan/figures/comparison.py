"""Figures that only a comparison has: ratios, the job, and the run in money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.figures.cost import HOUR
from ffplan.figures.figure import Figure
from ffplan.results.comparison import JobSide, MoneyDifference, MoneySide, OwnSize, Ratios, ScaleRow, ScaleSide

if TYPE_CHECKING:
    from ffplan.figures.figure import Table

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
            how="capital * accelerators of the job / those of the cluster / tokens a second",
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
    MoneyDifference: {"cheaper_share": Figure(how="part of the draws in which it is the cheaper")},
    ScaleRow: {"batch": Figure(how="a batch that is compared")},
    ScaleSide: {
        "cost_per_million_tokens": _A_TOKEN,
        "days": Figure(how="tokens of the run / tokens a second / goodput"),
    },
}
