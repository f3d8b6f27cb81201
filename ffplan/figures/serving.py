"""The figures of a report on serving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.figures.figure import Figure
from ffplan.results.serving import CacheUse, Latency, Saturation, ServeCost, ServeMemory, ServeRow, TokenBand, TokenPart

if TYPE_CHECKING:
    from ffplan.figures.figure import Table

_S = "ffplan.serving"
_RUN = Figure(unit="s", better=-1, how="quantile of a seeded run of requests on one attention group")
_BAND = Figure(how="the mean less or plus the engine's band, which holds 80 % of the rows left out of its fit")

SERVING: Table = {
    Latency: {
        "mean": Figure(unit="s", better=-1, place=f"{_S}.load:closed_loop"),
        "p50": _RUN,
        "p90": _RUN,
        "p99": _RUN,
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
    ServeMemory: {"weights_gib": Figure(place=f"{_S}.memory:weight_memory")},
    ServeRow: {
        "rate_s": Figure(place=f"{_S}.load:closed_loop"),
        "output_tokens_s": Figure(how="requests a second x tokens of an answer"),
        "power_w": Figure(place=f"{_S}.power:accelerator_power"),
        "output_tokens_s_mw": Figure(
            label="output tokens a second and megawatt",
            unit="1/s",
            better=1,
            place="ffplan.studies.serve.money:tokens_per_megawatt",
        ),
        "j_per_token": Figure(how="power / output tokens a second"),
    },
}
"""Places and derivations of the figures of `ffplan serve`."""
