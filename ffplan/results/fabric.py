"""JSON output of the commands on a wired fabric, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import Result


@record
class LinkLoad:
    """A link with its load."""

    link: str
    """The two ports it joins."""
    tier: str
    """endpoint, leaf_spine, spine_core or interzone."""
    direction: str
    """up or down."""
    bytes: float
    """Bytes it carries [byte]."""
    time_s: float
    """Bytes over its rate [s]."""
    mean_time_s: float
    """Mean over all links of the tier in this direction [s]."""


@record
class LaneReport:
    """Two classes of traffic on the same links."""

    traffic: str
    """Name of the second class."""
    share: float
    """Fraction of every link reserved for the job [1]."""
    job_rate_alone: float
    """Rate of the job with the links to itself, as a fraction of the ideal [1]."""
    job_rate_together: float
    """Rate of the job while the other runs too, as a fraction of the ideal [1]."""
    other_rate_alone: float
    """Rate of the other alone, as a fraction of its ideal [1]."""
    other_rate_together: float
    """Rate of the other while the job runs too, as a fraction of its ideal [1]."""


@record
class RouteReport(Result):
    """Rates of traffic on a fabric."""

    schema_version: str
    """Version of this format."""
    design: str
    """Name of the design."""
    traffic: str
    """Kind of traffic, or the file of a matrix."""
    routing: str
    """static, ecmp or adaptive."""
    holds_for: str
    """The routing, and possible differences of switches and engines, in words."""
    order: str
    """Order of the ranks."""
    nodes: int
    """Nodes of the job."""
    bytes_per_node: float
    """Bytes that each node contributes [byte]; 0 for a matrix."""
    time_s: float
    """Time of the busiest link at line rate [s]; no time of a collective, which `collective_s` is. Flows that do not
    arrive load no link."""
    collective_s: float | None
    """Allreduce of the same bytes over as many nodes with the design's first library, on an idle fabric, as
    `collective` has it [s]; null for other traffic, if the design names no library, and if flows do not arrive."""
    congested_s: float | None
    """That time with its stream slowed down by as much as the busiest link is slower than the busiest endpoint [s]."""
    ideal_s: float
    """Time of the busiest endpoint link alone [s]."""
    share: float
    """Rate as a fraction of the ideal [1]; where `unreached` is not 0, of the flows that arrive, which is no rate of
    the job, and 0 if none arrives."""
    adaptive_share: float
    """Rate as a fraction of the ideal with traffic spread evenly over all usable links; the gap to `share` is due to
    collisions [1]. Of the flows that arrive, as `share`."""
    hottest: LinkLoad
    """The busiest link."""
    tiers: tuple[LinkLoad, ...]
    """The busiest link of each tier and direction."""
    pairs_across_zones: int | None
    """Pairs of nodes that communicate across zones; null if it does not apply."""
    unreached: int
    """Flows that do not arrive."""
    beside: LaneReport | None
    """A second class of traffic; null without one."""


@record
class OrderReport:
    """One order of ranks."""

    order: str
    """aligned, alternating or random."""
    tree: str
    """tree, joined zone by zone, or library-tree, one tree over all ranks."""
    pairs_across_zones: int
    """Pairs of nodes that communicate across zones."""
    time_s: float
    """Time of an allreduce under static routing [s]; of the flows that arrive, where `unreached` is not 0."""
    share: float
    """Rate as a fraction of the ideal [1]; where `unreached` is not 0, of the flows that arrive, and 0 if none does."""
    unreached: int
    """Flows that do not arrive."""
    hottest: str
    """The busiest link."""


@record
class PlacementReport(Result):
    """Ranks of a job, and what other orders cost."""

    schema_version: str
    """Version of this format."""
    design: str
    """Name of the design."""
    nodes: int
    """Nodes of the job."""
    ranks_per_zone: tuple[int, ...]
    """Ranks in each zone that the job touches."""
    pairs: tuple[tuple[str, str], ...]
    """The pairs of hosts that communicate across zones."""
    orders: tuple[OrderReport, ...]
    """The chosen order first, then the others."""
    hosts: tuple[str, ...]
    """Hosts in the order of ranks."""


@record
class LossReport:
    """Cost of one loss."""

    lost: str
    """Switches or links lost."""
    samples: int
    """Number of draws; 1 where only one choice exists."""
    endpoints_lost: float
    """Endpoint ports without a link, mean [1]."""
    endpoints_cut_off: float
    """Endpoint ports that still have a link and reach no other leaf, mean [1]."""
    nodes_lost: float
    """Compute nodes that no longer take part in the job, or in the jobs of `nodes_by_job`, mean [1]."""
    zone_share: float
    """Bisection bandwidth left of the zone that is hit hardest, by itself, mean [1]."""
    zone_share_worst: float
    """`zone_share` of the worst sample."""
    bisection_share: float | None
    """Bisection bandwidth left, mean [1]; null if the healthy fabric has none, as between zones that are
    separate."""
    bisection_share_worst: float | None
    """`bisection_share` of the worst sample."""
    allreduce_share: float | None
    """Rate of an allreduce over the nodes left, against the healthy fabric, 1 at most, mean [1]; of several jobs, the
    one that keeps least of its rate. Null if the healthy fabric has none, as where it joins no two nodes."""
    allreduce_share_worst: float | None
    """`allreduce_share` of the worst sample."""
    nodes_lost_worst: int
    """Most compute nodes that a sample takes from the job [1]."""
    nodes_share: float
    """Fraction of the job's nodes left, mean [1]; `allreduce_share` is the rate over them."""
    nodes_share_worst: float
    """`nodes_share` of the worst sample."""


@record
class FaultReport(Result):
    """Cost of losing switches and links."""

    schema_version: str
    """Version of this format."""
    design: str
    """Name of the design."""
    seed: int
    """Seed of the draws."""
    routing: str
    """Routing of the allreduce: adaptive or static."""
    endpoints: int
    """Endpoint ports of the healthy fabric."""
    nodes: int
    """Compute nodes of the healthy job, or of all jobs."""
    nodes_by_job: tuple[int, ...] | None
    """Compute nodes of each healthy job where nothing joins the zones: one job runs in each zone. Null for one job over
    the whole fabric."""
    losses: tuple[LossReport, ...]
    """One row for each loss."""


@record
class Check:
    """One check."""

    subject: str
    """Subnet, or topology."""
    check: str
    """Property that is checked."""
    expected: str
    """Value in the design."""
    found: str
    """Value from the program."""
    passed: bool | None
    """True if they agree; null if both are listed for information only."""
    verdict: str | None = None
    """Which of two rates a cluster has, where OpenSM's tables are loaded otherwise than by our rule; null elsewhere."""


@record
class VerifyReport:
    """Verdict of real programs on the fabric."""

    schema_version: str
    """Version of this format."""
    design: str
    """Name of the design."""
    program: str
    """opensm, slurm or simgrid."""
    version: str
    """Version of the program."""
    passed: bool
    """True if every check passed."""
    checks: tuple[Check, ...]
    """Every check."""
    notes: tuple[str, ...]
    """What OpenSM's ftree engine refuses as it is, the remedy, and the switches of the other core policies."""


@record
class SizeOption:
    """One family that holds the endpoints."""

    family: str
    """Topology family."""
    endpoints: int
    """Endpoint ports it is built for."""
    capacity: int
    """Most endpoints of the family with this switch."""
    switches: int
    """All switches."""
    by_role: dict[str, int]
    """Switches by role."""
    inter_switch_links: int
    """Links between switches."""
    spare_ports: int
    """Free endpoint ports."""
    next_endpoints: int | None
    """Endpoints of the next growth step; null without one."""
    next_switches: int | None
    """Switches of the next growth step."""
    ports_per_endpoint: float
    """Switch ports bought per endpoint [1]."""
    diameter: int
    """Most switches between two endpoints that can reach each other [1]."""
    cost: float | None
    """Switches and links, in the currency of the price book; partial where parts have no price, null without prices."""
    cost_per_endpoint: float | None
    """Cost over the endpoints asked for."""
    note: str
    """Distinctive property of the family."""


@record
class SizeReport(Result):
    """Every family that holds a number of endpoints."""

    schema_version: str
    """Version of this format."""
    endpoints: int
    """Endpoints asked for."""
    switch: str
    """Catalogue id of the switch."""
    radix: int
    """Its ports after breakout."""
    port_gbyte_s: float
    """Rate of one such port, one direction [GB/s]."""
    currency: str | None
    """Currency of the costs; null without a price book."""
    missing: tuple[str, ...]
    """Catalogue ids of parts without a price, which the costs leave out."""
    options: tuple[SizeOption, ...]
    """Families that hold them, fewest switches first."""
    too_small: tuple[str, ...]
    """Families that do not, with the most endpoints they hold, or with the reason."""


@record
class CableKind:
    """Cables of one type in one tier of a network."""

    network: str
    """compute, or the name of a side network."""
    type: str
    """Catalogue id."""
    tier: str
    """endpoint, leaf_spine, spine_core or interzone; intra_group or inter_group."""
    count: int
    """Cables to lay, each with all of its legs."""
    as_sold: int
    """Cables as they are sold: a pair of modules counts once, whichever way its fibres lead."""
    shortest_m: float | None
    """Length of the shortest [m]; null if the floor plan has no place for the network's switches."""
    longest_m: float | None
    """Length of the longest [m]; null if the floor plan has no place for the network's switches."""
    total_m: float | None
    """Length of all [m]; null as above."""
    cost: float | None
    """Price of all, in the currency of the design's price book; null if it has none."""


@record
class CableRow:
    """One cable, or one leg of a split one, for installers."""

    label: str
    """Label for both ends; the legs of a split cable share it."""
    network: str
    """compute, or the name of a side network."""
    from_device: str
    """Device at the lower end."""
    from_port: str
    """Its port, as printed on the device, counted from 1; the part of a split one follows a slash."""
    from_place: str | None
    """Row, rack and rack unit; null for devices that only other networks have."""
    to_device: str
    """Device at the upper end."""
    to_port: str
    """Its port."""
    to_place: str | None
    """Row, rack and rack unit; null for switches of other networks."""
    type: str
    """Catalogue id."""
    length_m: float | None
    """Length to order [m]; null without places."""


@record
class PlainCable:
    """One cable, or one leg of a split one, of a design without a floor plan: no places, no length."""

    label: str
    """Label for both ends; the legs of a split cable share it."""
    network: str
    """compute, or the name of a side network."""
    from_device: str
    """Device at the lower end."""
    from_port: str
    """Its port, as printed on the device, counted from 1; the part of a split one follows a slash."""
    to_device: str
    """Device at the upper end."""
    to_port: str
    """Its port."""
    type: str
    """Catalogue id."""


@record
class CablingReport(Result):
    """Every cable of a design."""

    schema_version: str
    """Version of this format."""
    design: str
    """Name of the design."""
    currency: str | None
    """Currency of the costs."""
    rows: int
    """Rows of racks."""
    racks: int
    """Racks that hold something."""
    kinds: tuple[CableKind, ...]
    """Cables by network, tier and type."""
    cables: tuple[CableRow, ...]
    """Every cable, a split one leg by leg."""


SCHEMAS = {
    "size": (SizeReport, "Output of `ffplan fabric size --format json`"),
    "route": (RouteReport, "Output of `ffplan fabric route --format json`"),
    "placement": (PlacementReport, "Output of `ffplan fabric place --format json`"),
    "faults": (FaultReport, "Output of `ffplan fabric faults --format json`"),
    "cabling": (CablingReport, "Output of `ffplan fabric cables --format json`"),
    "verify": (VerifyReport, "Output of `ffplan fabric verify --format json`"),
}
"""Files and outputs of this module, with their titles."""
