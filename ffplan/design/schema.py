"""The schema of the design file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, AliasChoices, AliasGenerator, ConfigDict, Field

from ffplan.catalog.parts import Cooling
from ffplan.catalog.prices import Currency
from ffplan.inputs.model import MOST_COUNT, Count, Frozen, Identifier, Many, OnDemand, Text
from ffplan.inputs.part_ids import LinkId, PriceBookId, ServerId, SwitchId
from ffplan.inputs.quantities import (
    Bandwidth,
    Change,
    Data,
    Duration,
    EnergyPrice,
    Length,
    MoneyAmount,
    Power,
    Ratio,
    Share,
    Years,
)

Role = Literal["compute", "storage", "management"]
Family = Annotated[
    Literal["fat-tree", "rail-optimised", "rail-optimized", "top-of-rack", "rail-only", "dragonfly"],
    AfterValidator(lambda family: family.replace("optimized", "optimised")),
]
"""Topology; NVIDIA writes `rail-optimized`."""
Library = Literal["hfreduce", "hfreduce-nvlink", "nccl", "rccl"]
CorePolicy = Literal["minimal", "per-rail-whole-pods", "equal-stripe"]
CostCategory = Literal["servers", "storage", "switches", "endpoint-links", "inter-switch-links"]
MOST_PUE = 5.0
SmallCount = Annotated[int, Field(ge=1, le=10_000)]
Split = Annotated[int, Field(ge=1, le=8)]
PortCount = Annotated[int, Field(ge=0, le=64)]
NetworkName = Literal["storage", "front-end", "out-of-band"]


class NodeGroup(Frozen):
    """A group of equal nodes."""

    role: Role
    """Role of the nodes."""
    server: ServerId
    """Catalogue id of the server."""
    count: Count
    """Number of nodes."""
    nics: SmallCount | None = None
    """NICs of each node on the fabric, spread evenly over its slots; other slots stay empty. All if omitted."""
    zones: Literal["split", "every"] = "split"
    """`split`: the nodes are divided over the zones. `every`: each node has NICs in every zone."""
    per_rack: SmallCount | None = None
    """Nodes per rack, required with `limits.power_per_rack`. If omitted, a `floor` fills each rack."""
    rack_units: SmallCount | None = None
    """Height of one node in rack units, with a `floor`; if omitted, 8 for compute, 2 for storage and 1 for management
    nodes."""


class InterZone(Frozen):
    """Links between zones; a design input, since no rule derives them."""

    switches: SmallCount
    """Switches between the zones, per plane."""
    links_per_zone: SmallCount
    """Links from each zone to these switches, per plane; each takes a leaf port."""


class LinkChoice(Frozen):
    """Cables, or fibre with transceivers."""

    endpoint: LinkId
    """Catalogue id of the link from a NIC to a leaf switch."""
    inter_switch: LinkId | None = None
    """Catalogue id of the links between switches; needed with more than one switch."""


class LeafTier(Frozen):
    """Ports of a leaf switch."""

    downlinks: SmallCount | None = None
    """Endpoint ports in use on a leaf, after the split; remaining ports stay free."""
    uplinks: SmallCount | None = None
    """Uplinks of a leaf, after their split; derived from `oversubscription` if omitted."""
    uplink_breakout: Split | None = None
    """Ports per split uplink port; `breakout` if omitted. With `breakout: 4` and
    `uplink_breakout: 2`, ports of 800G carry 200G down and 400G up."""
    rails: SmallCount | None = None
    """Rails of a `rail-optimised` fabric that share a leaf; 1 if omitted."""


class SpineTier(Frozen):
    """Spine switches."""

    switch: SwitchId | None = None
    """Catalogue id of the spine switch; the leaf switch if omitted."""
    breakout: Split | None = None
    """Ports per split port of a spine; as for the leaves' uplinks if omitted."""
    downlinks: SmallCount | None = None
    """Largest number of links from a spine to leaves, after the split; all ports less its uplinks if omitted."""
    pod_leaves: SmallCount | None = None
    """Leaves of a full pod, in three tiers; as many as a spine's ports allow if omitted."""
    uplinks: SmallCount | None = None
    """Uplinks of a spine of a full pod, in three tiers; derived from `spine_oversubscription` if omitted."""
    per_pod: SmallCount | None = None
    """Spine switches of a pod, a divisor of a leaf's uplinks; as few as possible if omitted."""


class CoreTier(Frozen):
    """Core switches."""

    switch: SwitchId | None = None
    """Catalogue id of the core switch; the spine switch if omitted."""
    breakout: Split | None = None
    """Ports per split port of a core; as for the spines if omitted."""


class Fabric(Frozen):
    """The network between the nodes."""

    family: Family
    """Topology. `fat-tree` fills leaf after leaf, NIC by NIC. `rail-optimised` puts NIC r of a scalable unit's
    nodes on its leaf r. `top-of-rack` puts all NICs of a scalable unit on one leaf, as with a switch in each rack.
    `rail-only` gives NIC r of all nodes a separate tree, without links between rails; with one tier, as many rails
    share a switch as its ports allow, the same number on each. `dragonfly` is balanced: groups of fully connected
    routers, with a link between every two groups; nodes fill group after group."""
    switch: SwitchId
    """Catalogue id of the leaf switch, and the default for higher tiers."""
    link: LinkChoice
    """Links."""
    tiers: Annotated[int, Field(ge=1, le=3)] = 1
    """Switch tiers: 1, 2 (leaf, spine) or 3 (leaf, spine, core). Required for trees; a dragonfly has
    none."""
    zones: Annotated[int, Field(ge=1, le=64)] = 1
    """Separate trees, each with a part of the nodes."""
    planes: Annotated[int, Field(ge=1, le=64)] = 1
    """Separate copies of the whole network. A `rail-only` fabric has one per NIC of a compute node, or per
    group of NICs that share a switch."""
    planes_by: Literal["nic", "port"] = "nic"
    """`nic`: each NIC is in exactly one plane. `port`: each NIC has a port in every plane."""
    breakout: Split = 1
    """Ports per split port of the switch, such as 2 for 64 x 800G used as 128 x 400G."""
    leaf: LeafTier = LeafTier.model_construct()
    """Ports of a leaf; derived from the switch and `oversubscription` if omitted."""
    spine: SpineTier = SpineTier.model_construct()
    """Spine switches, if different from the leaves."""
    core: CoreTier = CoreTier.model_construct()
    """Core switches, if different from the spines."""
    scalable_unit: SmallCount | None = None
    """Nodes of a scalable unit of a `rail-optimised` or `top-of-rack` fabric; as many as fill a leaf if omitted."""
    inter_zone: InterZone | None = None
    """Links between zones."""
    core_policy: CorePolicy = "equal-stripe"
    """Policy for the number of core switches of a three-tier tree. `equal-stripe` connects each spine to all its cores
    by equal numbers of links, as OpenSM's ftree engine requires; `per-rail-whole-pods` and `minimal` can need fewer
    switches."""
    oversubscription: Ratio = 1.0
    """Largest bandwidth down over bandwidth up of the ports of a leaf switch, such as 3:1; 1:2 gives it more up than
    down."""
    spine_oversubscription: Ratio = 1.0
    """Largest number of downlinks per uplink of a spine switch, in a three-tier tree."""
    access_points: Count | None = None
    """Endpoint ports to build, over all zones and planes, if more than the nodes need."""


class NetworkPorts(Frozen):
    """Ports of one node, or one switch, on a side network."""

    compute: PortCount = 0
    """Ports of a compute node."""
    storage: PortCount = 0
    """Ports of a storage node."""
    management: PortCount = 0
    """Ports of a management node."""
    switches: PortCount = 0
    """Ports of each switch in the compute fabric and in networks listed earlier."""


class OtherNetwork(Frozen):
    """A network besides the compute fabric, with separate topology, switches and links."""

    name: NetworkName
    """`storage` carries the storage servers, which then leave the compute fabric; `front-end` carries logins, data
    and management; `out-of-band` the management processors."""
    ports: NetworkPorts
    """Ports of nodes and switches on it."""
    fabric: Fabric
    """Its topology, switches and links."""


class HfReduceOptions(Frozen):
    """Options of HFReduce."""

    h2d: Literal["gdrcopy", "memcpy-async"] = "gdrcopy"
    """Copy of the results to the GPUs: GDRCopy reads host memory once per socket, MemcpyAsync once per copy."""


class Communication(Frozen):
    """The collectives to time, and their bounds."""

    libraries: Annotated[Many[Library], Field(min_length=1)]
    """Libraries to time; limits refer to the first."""
    message_size: Data
    """Timed message of an accelerator [byte]."""
    hfreduce: HfReduceOptions = HfReduceOptions.model_construct(h2d="gdrcopy")
    """Options of HFReduce."""


class Site(Frozen):
    """Site of the cluster."""

    pue: Annotated[float, Field(ge=1.0, le=MOST_PUE)] | None = None
    """Power usage effectiveness: facility power over IT power; needed unless `cooling` is given."""
    cooling: Cooling | None = None
    """Cooling of the site, in place of `pue`: the ownership profile gives its PUE."""
    training_power: Annotated[float, Field(gt=0.0, le=1.0)] = 0.75
    """Power in training over rated maximum, for servers with accelerators and no measured power in training; 0.75
    is Epoch AI's average (DGX A100 in the Fire-Flyer paper: 4.2 of 6.5 kW, 0.65)."""
    currency: Currency | None = None
    """Currency of the report; every price must be in it."""
    electricity_price: EnergyPrice | None = None
    """Price of electrical energy."""
    exchange: dict[Currency, MoneyAmount] = Field(default_factory=dict)
    """Value of one unit of another currency, such as `CNY: $0.14`; no other conversion is made."""


class Cost(Frozen):
    """Cost scope and price book."""

    price_book: PriceBookId
    """Catalogue id of the price book."""
    exclude: Many[CostCategory] = ()
    """Categories excluded from the cost; the report states them."""


LIMITED: dict[str, str] = {
    "capex": "site.purchase_p50",
    "cost_per_accelerator": "site.per_accelerator",
    "it_power": "site.it_training_kw",
    "facility_peak": "site.facility_peak_kw",
    "facility_training": "site.facility_training_kw",
    "oversubscription": "fabric.oversubscription",
    "allreduce_bandwidth": "communication[0].algbw_gbyte_s",
    "step_time": "train.step_s",
    "tokens_per_second": "train.tokens_s",
    "cost_per_million_tokens": "run.cost_per_million_tokens",
    "goodput": "goodput.goodput",
    "run_days": "run.days",
    "ttft_p99": "serve.ttft_s.p99",
    "tpot_p99": "serve.tpot_s.p99",
    "cost_per_million_output": "serve.cost.per_million_output",
    "tokens_per_mw": "serve.output_tokens_s_mw",
}
"""Address of the figure that a limit holds, by the field of the limit; the others hold more than one figure."""


def _limit_names(field: str) -> AliasChoices:
    return AliasChoices(field, *([LIMITED[field]] if field in LIMITED else []))


def limit_path(field: str, data: Any) -> tuple[str, str]:
    """Return the path of a limit in the data of a design, by the name that it is written with."""
    address = LIMITED.get(field, field)
    return "limits", address if address in data.get("limits", {}) else field


class Limits(Frozen):
    """Limits of the design; `ffplan check` reports every exceeded one. A limit of a figure may also be written with the
    address of the figure in JSON output, such as `run.days`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=AliasGenerator(validation_alias=_limit_names))

    replaced: ClassVar[dict[str, str]] = {
        "total_power": "write `it_power` for servers, network and storage, or `facility_peak` for the feed",
        "facility_power": "write `facility_peak` for the load on the feed, or `facility_training` for training",
    }

    capex: MoneyAmount | None = None
    """Largest purchase: the whole bill of materials, including storage and networks added by the ownership profile,
    spares, racks and building, in the median of the draws."""
    cost_per_accelerator: MoneyAmount | None = None
    """Largest purchase per accelerator."""
    it_power: Power | None = None
    """Largest IT power in training: servers, storage and all networks, including unplanned ones [W]."""
    facility_peak: Power | None = None
    """Largest facility power at everything's rated maximum, with PUE: the load of the feed [W]."""
    facility_training: Power | None = None
    """Largest facility power in training: IT power times PUE, at the meter [W]."""
    power_per_rack: Power | None = None
    """Largest power of a rack, at the nodes' rated maximum where known [W]."""
    oversubscription: Ratio | None = None
    """Largest oversubscription of a leaf switch."""
    allreduce_bandwidth: Bandwidth | None = None
    """Least algorithm bandwidth of the first library's allreduce, at the design's message over all nodes [GB/s]."""
    step_time: Duration | None = None
    """Longest step of the workload [s]."""
    tokens_per_second: Annotated[float, Field(gt=0.0)] | None = None
    """Least tokens a second of the workload [1/s]."""
    cost_per_million_tokens: MoneyAmount | None = None
    """Largest cost of a million tokens of the workload, with ownership or rent."""
    goodput: Share | None = None
    """Least goodput of the workload: the share of time left by failures, checkpoints and restarts [1]. It applies to
    the likely value, which `ffplan operate goodput` prints first; a median below is a warning."""
    run_days: Annotated[float, Field(gt=0.0)] | None = None
    """Longest run of the workload over its tokens [day]."""
    ttft_p99: Duration | None = None
    """Longest time to the first token of the load under `serving`, of 99 requests in 100 [s]."""
    tpot_p99: Duration | None = None
    """Longest time per output token at that load, for 99 requests in 100 [s]."""
    cost_per_million_output: MoneyAmount | None = None
    """Largest cost of a million output tokens of that load, without the time of prompts."""
    tokens_per_mw: Annotated[float, Field(gt=0.0)] | None = None
    """Least output tokens a second of that load for each megawatt of the facility's peak [1/s]."""
    blast_radius: Share | None = None
    """Largest share of accelerators cut off by the loss of one switch [1]."""
    price_age: Years | None = None
    """Largest age of a price used from the price book, on the day of the check; only `ffplan check` tests it, since
    reports do not know the day [year]."""


class Floor(Frozen):
    """Floor plan: equal rows, leaf switches in the middle of each, all other switches in separate rows in the middle
    of the floor. Every field has a default: `floor: {}` is a floor plan, and the report says what it assumes."""

    racks_per_row: Annotated[int, Field(ge=1, le=1000)] = 10
    """Racks of a row, including racks of switches."""
    switch_racks_per_row: Annotated[int, Field(ge=1, le=100)] = 1
    """Racks in the middle of each row that hold leaf switches."""
    rack_units: Annotated[int, Field(ge=1, le=100)] = 42
    """Rack units of a rack."""
    switch_units: Annotated[int, Field(ge=1, le=40)] = 1
    """Rack units of a switch, including the space for its cables."""
    power_per_rack: Power | None = None
    """Power limit of a rack, of nodes or of switches, at their rated maximum where known [W]."""
    rack_width: Length = 0.6
    """Distance from rack to rack along a row [m]."""
    row_pitch: Length = 3.0
    """Distance from row to row [m]."""
    riser: Length = 1.5
    """Length from a port up to the cable tray, at each end [m]."""
    slack: Length = 1.0
    """Spare length of every cable [m]."""
    links: Many[LinkId] = ()
    """Catalogue ids of the cables and optics to choose from; the cheapest with enough reach is used. Those of
    `fabric.link` if omitted."""


class Phase(Frozen):
    """A phase of the purchase; the last phase completes the design."""

    name: Identifier
    """Name of the phase."""
    after: Years
    """From the first order to the order of this phase, 0 of the first [year]."""
    nodes: Annotated[Many[Annotated[int, Field(ge=0, le=MOST_COUNT)]], Field(min_length=1)]
    """Nodes of each group, in the order of `nodes`, once this phase is in production."""
    price_change: Change = 0.0
    """Price change of this phase against the price book: -15 % if parts are 15 % cheaper by then [1]."""
    lead_time: Years | None = None
    """From its order to its first job; lead time and commissioning of `ownership` if omitted [year]."""


class Design(Frozen):
    """A cluster as planned."""

    name: Identifier
    """Name of the design."""
    description: Text | None = None
    """Purpose of the design."""
    nodes: Annotated[Many[NodeGroup], Field(min_length=1)]
    """Groups of nodes."""
    fabric: Fabric
    """The network that carries the traffic of jobs."""
    networks: Many[OtherNetwork] = ()
    """Side networks, included in counts, cost and power of the design."""
    communication: Communication | None = None
    """Collectives to bound."""
    site: Site
    """The site."""
    cost: Cost | None = None
    """Pricing; without it the report has no cost."""
    ownership: Annotated[Any, OnDemand("ffplan.design.ownership_schema", "Ownership")] = None
    """Ownership of the cluster, for `ffplan cost`."""
    rent: Annotated[Any, OnDemand("ffplan.design.ownership_schema", "Rent")] = None
    """Rent of the cluster instead of a purchase; excludes `cost`."""
    phases: Many[Phase] = ()
    """Phases of the purchase, in order."""
    workload: Annotated[Any, OnDemand("ffplan.design.training", "Workload")] = None
    """The job of the cluster; `ffplan check` tests it against limits, `ffplan cost` prices it."""
    serving: Annotated[Any, OnDemand("ffplan.design.serving_schema", "Serving")] = None
    """The model that the cluster serves, and its load; `ffplan serve` answers it, `ffplan check` tests it against
    limits."""
    reliability: Annotated[Any, OnDemand("ffplan.design.reliability_schema", "Reliability")] = None
    """Failures, checkpoints and restarts; a default profile if omitted."""
    floor: Floor | None = None
    """The floor plan, which gives cables their lengths, and the bill of materials types with enough reach."""
    limits: Limits = Limits.model_construct()
    """Limits tested by `ffplan check`."""


SCHEMAS = {
    "design": (Design, "An ffplan design file"),
}
"""Files and outputs of this module, with their titles."""
