"""Dimensions of quantities: the units that people write for each, and the canonical one."""

from __future__ import annotations

from ffplan.base.record import record


@record
class Dimension:
    """One kind of quantity: the units people write for it, as multiples of the canonical one."""

    name: str
    article: str
    canonical: str
    units: dict[str, float]
    example: str
    smallest: float
    largest: float
    zero: bool = False


_BINARY = 1.024**3
BANDWIDTH = Dimension(
    name="bandwidth",
    article="a",
    canonical="GB/s",
    units={
        "GB/s": 1.0,
        "MB/s": 1e-3,
        "TB/s": 1e3,
        "GiB/s": _BINARY,
        "MiB/s": _BINARY / 1024,
        "TiB/s": _BINARY * 1024,
        "Gb/s": 0.125,
        "Gbit/s": 0.125,
        "Gbps": 0.125,
        "Tb/s": 125.0,
        "Tbit/s": 125.0,
        "Tbps": 125.0,
        "Mb/s": 1.25e-4,
        "Mbit/s": 1.25e-4,
    },
    example="`200 Gb/s` or `25 GB/s`",
    smallest=1e-6,
    largest=1e9,
)
DATA = Dimension(
    name="amount of data",
    article="an",
    canonical="B",
    units={
        "B": 1.0,
        "kB": 1e3,
        "KB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "TB": 1e12,
        "PB": 1e15,
        "KiB": 2.0**10,
        "MiB": 2.0**20,
        "GiB": 2.0**30,
        "TiB": 2.0**40,
        "PiB": 2.0**50,
    },
    example="`186 MiB` or `40 GB`",
    smallest=1.0,
    largest=1e21,
)
POWER = Dimension(
    name="power",
    article="a",
    canonical="W",
    units={"W": 1.0, "kW": 1e3, "MW": 1e6},
    example="`2.5 kW`",
    smallest=1e-3,
    largest=1e12,
    zero=True,
)
COMPUTE = Dimension(
    name="compute rate",
    article="a",
    canonical="TFLOP/s",
    units={"TFLOP/s": 1.0, "TFLOPS": 1.0, "PFLOP/s": 1e3, "PFLOPS": 1e3, "GFLOP/s": 1e-3},
    example="`312 TFLOP/s`",
    smallest=1e-6,
    largest=1e9,
)
TRANSFERS = Dimension(
    name="transfer rate",
    article="a",
    canonical="MT/s",
    units={"MT/s": 1.0, "GT/s": 1e3},
    example="`3200 MT/s`",
    smallest=1.0,
    largest=1e6,
)
LENGTH = Dimension(
    name="length",
    article="a",
    canonical="m",
    units={"m": 1.0, "cm": 0.01, "km": 1e3},
    example="`30 m`",
    smallest=1e-3,
    largest=1e6,
)
AREA = Dimension(
    name="area",
    article="an",
    canonical="m2",
    units={"m2": 1.0, "ft2": 0.09290304},
    example="`2.8 m2`",
    smallest=1e-2,
    largest=1e7,
)
DURATION = Dimension(
    name="duration",
    article="a",
    canonical="s",
    units={"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    example="`6.6 us`",
    smallest=1e-10,
    largest=1e9,
    zero=True,
)
DIMENSIONS = (BANDWIDTH, DATA, POWER, COMPUTE, TRANSFERS, LENGTH, AREA, DURATION)
