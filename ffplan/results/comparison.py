"""The contract of `compare --format json`: several assessments, with ratios to one of them."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.design import Assessment, ToolInfo
from ffplan.results.result import Result


@record
class Ratios:
    """One design over the baseline; null where a side is missing or currencies differ."""

    accelerators: float | None
    """Accelerators."""
    switches: float | None
    """All switches."""
    links: float | None
    """All links."""
    bisection: float | None
    """Bisection bandwidth."""
    allreduce: float | None
    """Allreduce with the first library of each design: message over time."""
    allreduce_bound: float | None
    """The bound of the same."""
    gemm_tf32: float | None
    """Measured TF32 matrix multiplication per accelerator."""
    gemm_fp16: float | None
    """Measured FP16 matrix multiplication per accelerator."""
    relative_performance: float | None
    """Mean over the precisions measured on both."""
    node_price: float | None
    """Price of a compute node."""
    node_price_low: float | None
    """Node price at the ends of the known ranges that make it lowest."""
    node_price_high: float | None
    """Node price at the ends of the known ranges that make it highest."""
    cost_performance: float | None
    """GEMM cost-performance, as in Table II of the Fire-Flyer paper: relative performance over node price."""
    cost_performance_low: float | None
    """Relative performance over the highest node price."""
    cost_performance_high: float | None
    """Relative performance over the lowest node price."""
    node_power: float | None
    """Power of a compute node in training."""
    it_power: float | None
    """IT power in training."""
    cost_servers: float | None
    """Servers."""
    cost_network: float | None
    """Network."""
    cost_total: float | None
    """Total of the priced scope."""
    cost_per_accelerator: float | None
    """Total over accelerators."""


@record
class Comparison(Result):
    """Several designs, compared."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """The program behind the report."""
    baseline: str
    """Label of the design that ratios refer to."""
    labels: tuple[str, ...]
    """Label of each design: its name, or its file where two designs have one name."""
    designs: tuple[Assessment, ...]
    """Assessments, in the order given."""
    ratios: dict[str, Ratios]
    """Ratios by label."""
    notes: tuple[str, ...]
    """Reasons for missing ratios, and what another core policy costs."""


SCHEMAS = {
    "comparison": (Comparison, "Output of `ffplan compare --format json`"),
}
"""Files and outputs of this module, with their titles."""
