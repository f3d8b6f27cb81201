"""The assessment of a design: the contract of `--format json`, field by field.

`SCHEMA_VERSION` follows semantic versioning: a removed or renamed path raises the first number.
"""

from __future__ import annotations

from ffplan.base.errors import Finding
from ffplan.base.formatting import ranged
from ffplan.base.outcomes import CostLine, MissingFigure, MissingPrice, NodePower
from ffplan.base.record import record
from ffplan.results.collective import CollectiveReport
from ffplan.results.fabric_counts import FabricReport, NetworkReport
from ffplan.results.result import CatalogFile, DesignInfo, Result, ToolInfo, UnverifiedFigure
from ffplan.results.storage import ReliabilitySummary, StorageSummary

SCHEMA_VERSION = "4"

COMPARED_PRECISIONS = ("tf32", "fp16")
"""Precisions whose measured GEMM rates a comparison prints."""


@record
class Hardware:
    """A compute node in words, as in a comparison of architectures."""

    server: str
    """Name of the server."""
    cpu: str
    """CPUs."""
    memory: str
    """Host memory."""
    accelerator: str
    """Accelerators."""
    nics: str
    """NICs."""
    scale_up: str
    """NVLink or another scale-up network."""
    accelerators_per_node: int
    """Accelerators in one node."""
    nics_on_fabric: int
    """NICs of one node that this fabric joins."""
    gemm_tflops: dict[str, float]
    """Measured matrix-multiplication rate of one accelerator, by precision [TFLOP/s]."""
    peak_tflops: dict[str, float]
    """Dense peak of one accelerator, by precision [TFLOP/s]."""
    missing: tuple[MissingFigure, ...]
    """Its gaps in the catalogue: the capacity of host memory, GEMM rates in TF32 and FP16 for comparisons."""


@record
class LevelRow:
    """A level of switches on the scaling book's rooflines, at specified rates."""

    level: str
    """node, leaf, spine, core, zones or groups; network if there is no cut above the nodes."""
    accelerators: int
    """Accelerators below it."""
    gbyte_s: float
    """Bandwidth that it passes on, half of the ports of a switch between nodes [GB/s]."""
    gbyte_s_each: float
    """Bandwidth that it passes on for each accelerator [GB/s]."""
    allreduce_gbyte_s: float
    """Allreduce over its accelerators, reduced in the switches; half of it reduced in the accelerators [GB/s]."""
    data_tokens: float
    """Tokens of an accelerator from which data parallelism is bound by computing, with 16-bit gradients [1]."""
    sharded_tokens: float
    """Tokens of an accelerator from which sharded data parallelism, or an allreduce in the accelerators, is bound by
    computing [1]."""


@record
class CostReport:
    """Purchase cost of the priced scope."""

    currency: str
    """Currency of every amount."""
    currency_note: str | None
    """Meaning of a unit of the currency, if the price book explains it."""
    price_book: str
    """Catalogue id of the price book."""
    price_date: str
    """Date of the prices."""
    servers: float | None
    """Compute and management servers [currency]; null if no part in scope has a price."""
    network: float | None
    """Switches and links [currency]; null if no part in scope has a price."""
    storage: float | None
    """Storage servers [currency]; null if outside the scope, absent or without a price."""
    total: float
    """Sum of the lines [currency]; partial if `missing` lists an item."""
    total_low: float
    """Sum at the low end of the known ranges [currency]."""
    total_high: float
    """Sum at the high end of the known ranges [currency]."""
    per_accelerator: float | None
    """Total over accelerators [currency]; partial as the total is; null without accelerators or without prices."""
    node_price: float | None
    """Price of one compute node [currency]."""
    node_price_low: float | None
    """At the low end of the known range [currency]."""
    node_price_high: float | None
    """At the high end of the known range [currency]."""
    excluded: tuple[str, ...]
    """Categories excluded from the cost."""
    lines: tuple[CostLine, ...]
    """Priced items."""
    missing: tuple[MissingPrice, ...]
    """Items of the scope without a price, which the sums leave out."""


@record
class PowerReport:
    """Power of the cluster."""

    it_kw: float
    """IT power in training: nodes, switches, links, storage included [kW]."""
    it_maximum_kw: float
    """IT power with every node and switch at its maximum [kW]."""
    facility_kw: float
    """IT power in training times PUE [kW]."""
    pue: float
    """Power usage effectiveness of the design's site [1]."""
    per_node_w: float
    """One compute node in training [W]."""
    per_node_component_sum_w: float
    """One compute node, sum over its components [W]."""
    network_kw: float
    """Switches and links [kW]."""
    energy_mwh_per_year: float
    """Facility energy of a year in training [MWh]."""
    electricity_per_year: float | None
    """Its price [electricity_currency per year], at 8,760 hours of training; null if the design gives no electricity
    price."""
    electricity_currency: str | None
    """Currency of that price."""
    nodes: tuple[NodePower, ...]
    """Nodes by group."""
    missing: tuple[MissingFigure, ...]
    """Powers that the sums over the cluster lack."""


@record
class SiteSummary:
    """The whole site: the design and the additions of its ownership profile, as in `ffplan cost`."""

    currency: str
    """Currency of every amount."""
    purchase: float | None
    """Purchase: the whole bill of materials at likely prices [currency]; null if it is rented or has no prices."""
    purchase_p50: float | None
    """Its median over the draws of `ffplan cost` [currency]; null without draws."""
    purchase_p10: float | None
    """Its tenth percentile over the draws of `ffplan cost` [currency]; null without draws."""
    purchase_p90: float | None
    """Its ninetieth percentile [currency]."""
    per_accelerator: float | None
    """The median of the purchase, or without draws the purchase, over accelerators [currency]."""
    planned: float | None
    """Of it parts that the design plans, at list prices: `cost.total` [currency]."""
    phases: float | None
    """Of it what other prices of later phases add to that [currency]."""
    stood_in: float | None
    """Of it additions of the ownership profile: storage and side networks that the design leaves open, spares, racks,
    cabling, cooling, freight, installation and discount [currency]."""
    building: float | None
    """Of it an own building [currency]."""
    left_out: tuple[str, ...]
    """Left out of the purchase: categories outside the scope, and parts without a price."""
    it_training_kw: float
    """IT power in training [kW]."""
    it_peak_kw: float
    """IT power at the rated maximum [kW]."""
    facility_training_kw: float
    """Facility power in training: IT power times PUE [kW]."""
    facility_peak_kw: float
    """Facility power at the rated maximum, the load on the feed: IT power times PUE [kW]."""
    pue: float
    """Power usage effectiveness [1]."""
    energy_mwh_year: float
    """Energy of a year at the meter, at the utilisation [MWh/year]."""
    utilisation: float
    """Hours in use over all hours [1]."""
    racks: int
    """Racks."""
    missing: tuple[MissingFigure, ...]
    """Powers that the sums lack."""

    @property
    def headline(self) -> float | None:
        """The purchase that is printed and limited [currency]: the median, or the bill without draws."""
        return self.purchase if self.purchase_p50 is None else self.purchase_p50


def purchase_words(site: SiteSummary, unit: str = "", share: float = 1.0, *, ends: bool = True) -> str:
    """Return the median of the purchase with its range, such as `42.7 mn USD (36.8 to 49.8)`; a dash without one.

    Args:
        share: the divisor, such as accelerators.
        ends: show the range too.
    """
    middle = site.headline
    if middle is None:
        return "-"
    low, high = ((middle if end is None else end) / share for end in (site.purchase_p10, site.purchase_p90))
    return ranged(middle / share, low, high, unit, ends=ends)


@record
class Assessment(Result):
    """Assessment of a design: performance, binding limits, cost and power."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """The program behind the report."""
    design: DesignInfo
    """The design."""
    catalog: tuple[CatalogFile, ...]
    """Catalogue files read, by id."""
    nodes: dict[str, int]
    """Nodes by role."""
    accelerators: int
    """Accelerators of the compute nodes."""
    peak_tflops: dict[str, float]
    """Dense peak of all accelerators together, by precision that each of them has [TFLOP/s]."""
    gemm_tflops: dict[str, float]
    """Measured rate of matrix multiplications of all accelerators together, by precision that each was measured in
    [TFLOP/s]."""
    hardware: Hardware
    """A compute node in words."""
    fabric: FabricReport
    """The fabric."""
    networks: tuple[NetworkReport, ...]
    """Side networks, in the order of the design."""
    communication: tuple[CollectiveReport, ...]
    """Times and bounds of collectives, by library in the order of the design."""
    site: SiteSummary | None
    """Purchase, power and racks of the whole site; null without accelerators, or if not requested."""
    cost: CostReport | None
    """Cost of the parts that the design plans; null if the design names no price book."""
    power: PowerReport
    """Power of the designed parts."""
    reliability: ReliabilitySummary | None
    """Failures expected in the largest job; null without accelerators."""
    storage: StorageSummary | None
    """Storage; null if neither the design nor its profile has any."""
    assumptions: tuple[str, ...]
    """Every assumption that changes a result."""
    unverified: tuple[UnverifiedFigure, ...]
    """Recalled figures in the files read."""
    findings: tuple[Finding, ...]
    """Findings of `ffplan check` on the design."""
    levels: tuple[LevelRow, ...]
    """Levels of switches on the scaling book's rooflines, of the first compute group; empty unless asked for."""


@record
class Findings(Result):
    """Output of `ffplan check --format json`."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """The program behind the report."""
    designs: tuple[str, ...]
    """Files checked, as the user named them."""
    findings: tuple[Finding, ...]
    """Findings, the worst first, then by place."""
    waived: int
    """Findings that a waiver accepts."""
    known: int
    """Findings that the baseline has."""
    fixed: int
    """Entries of the baseline that no finding answers to any more."""


SCHEMAS = {
    "assessment": (Assessment, "Output of `ffplan design --format json`"),
    "findings": (Findings, "Output of `ffplan check --format json`"),
}
"""Files and outputs of this module, with their titles."""
