"""The schema of the design file."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ffplan.catalog.parts import Cooling
from ffplan.catalog.prices import Currency
from ffplan.design.sections import OwnershipSection, ReliabilitySection, RentSection, WorkloadSection
from ffplan.inputs.model import MOST_COUNT, Count, Frozen, Identifier, Many, Text
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
Family = Literal["fat-tree", "rail-optimised", "top-of-rack", "rail-only", "dragonfly"]
Library = Literal["hfreduce", "hfreduce-nvlink", "nccl", "rccl"]
CorePolicy = Literal["minimal", "per-rail-whole-pods", "equal-stripe"]
CostCategory = Literal["servers", "storage", "switches", "endpoint-links", "inter-switch-links"]
MOST_PUE = 5.0
SmallCount = Annotated[int, Field(ge=1, le=10_000)]
Split = Annotated[int, Field(ge=1, le=8)]
PortCount = Annotated[int, Field(ge=0, le=64)]
NetworkName = Literal["storage", "front-end", "out-of-band"]


class NodeGroup(Frozen):
    """A number of equal nodes."""

    role: Role
    """Role of the nodes."""
    server: Identifier
    """Catalogue id of the server."""
    count: Count
    """Number of nodes."""
    nics: SmallCount | None = None
    """NICs of each node on the fabric, spread evenly over its slots; the others are not bought. All if omitted."""
    zones: Literal["split", "every"] = "split"
    """`split`: the nodes are divided over the zones. `every`: each node has NICs in every zone."""
    per_rack: SmallCount | None = None
    """Nodes per rack, required with `limits.power_per_rack`. If omitted, a `floor` fills each rack."""
    rack_units: SmallCount | None = None
    """Height of one node in rack units, required where the design has a `floor`."""


class InterZone(Frozen):
    """Links between zones; a design input, since no rule yields them."""

    switches: SmallCount
    """Switches between the zones, per plane."""
    links_per_zone: SmallCount
    """Links from each zone to these switches, per plane; each takes a leaf port."""


class LinkChoice(Frozen):
    """Cables, or fibre with transceivers."""

    endpoint: Identifier
    """Catalogue id of the link from a NIC to a leaf switch."""
    inter_switch: Identifier | None = None
    """Catalogue id of the links between switches; needed where there are any."""


class LeafTier(Frozen):
    """Ports of a leaf switch."""

    downlinks: SmallCount | None = None
    """Endpoint ports in use on a leaf, after the split; the ports beyond them stay free."""
    uplinks: SmallCount | None = None
    """Uplinks of a leaf, after their split; what `oversubscription` needs if omitted."""
    uplink_breakout: Split | None = None
    """Ports that each port for uplinks is split into; `breakout` if omitted. With `breakout: 4` and
    `uplink_breakout: 2`, ports of 800G carry 200G down and 400G up."""
    rails: SmallCount | None = None
    """Rails of a `rail-optimised` fabric that share a leaf; 1 if omitted."""


class SpineTier(Frozen):
    """Spine switches."""

    switch: Identifier | None = None
    """Catalogue id of the spine switch; that of the leaves if omitted."""
    breakout: Split | None = None
    """Ports that each of its ports is split into; that of the leaves' uplinks if omitted."""
    downlinks: SmallCount | None = None
    """Links to leaves that a spine takes at most, after the split; all its ports if omitted, less its uplinks."""
    pod_leaves: SmallCount | None = None
    """Leaves of a full pod, in three tiers; as many as a spine has ports for if omitted."""
    uplinks: SmallCount | None = None
    """Uplinks of a spine of a full pod, in three tiers; what `spine_oversubscription` needs if omitted."""
    per_pod: SmallCount | None = None
    """Spine switches of a pod, where they are not as few as can be; it divides the uplinks of a leaf."""


class CoreTier(Frozen):
    """Core switches."""

    switch: Identifier | None = None
    """Catalogue id of the core switch; that of the spines if omitted."""
    breakout: Split | None = None
    """Ports that each of its ports is split into; that of the spines if omitted."""


class Fabric(Frozen):
    """The network that joins the nodes."""

    family: Family
    """Topology. `fat-tree` fills leaf after leaf, NIC by NIC. `rail-optimised` puts NIC r of the nodes of a scalable
    unit on leaf r of that unit. `top-of-rack` puts all NICs of the nodes of a scalable unit on one leaf, as a switch
    in each rack does. `rail-only` gives NIC r of all nodes a separate tree; the rails are not joined. With
    one tier, as many rails share a switch as its ports hold, the same number on each.
    `dragonfly` is balanced: groups of routers, all joined inside, every two groups joined; nodes fill group after
    group."""
    switch: Identifier
    """Catalogue id of the switch: of the leaves, and of every tier that names no other."""
    link: LinkChoice
    """Links."""
    tiers: Annotated[int, Field(ge=1, le=3)] = 1
    """Switch tiers: 1, 2 (leaf, spine) or 3 (leaf, spine, core). Trees need it; a dragonfly has
    none."""
    zones: Annotated[int, Field(ge=1, le=64)] = 1
    """Separate trees, each with a part of the nodes."""
    planes: Annotated[int, Field(ge=1, le=64)] = 1
    """Separate copies of the whole network. A `rail-only` fabric has one for each NIC of a compute node, or for
    the NICs that share a switch."""
    planes_by: Literal["nic", "port"] = "nic"
    """`nic`: each NIC is in exactly one plane. `port`: each NIC has one port in every plane."""
    breakout: Split = 1
    """Ports that each port of the switch is split into, such as 2 for 64 x 800G used as 128 x 400G."""
    leaf: LeafTier = LeafTier.model_construct()
    """Ports of a leaf, where they do not follow from the switch and `oversubscription`."""
    spine: SpineTier = SpineTier.model_construct()
    """Spine switches, where they are not those of the leaves."""
    core: CoreTier = CoreTier.model_construct()
    """Core switches, where they are not those of the spines."""
    scalable_unit: SmallCount | None = None
    """Nodes of a scalable unit of a `rail-optimised` or `top-of-rack` fabric; as many as fill a leaf if omitted."""
    inter_zone: InterZone | None = None
    """Links between zones."""
    core_policy: CorePolicy = "equal-stripe"
    """Policy for the number of core switches of a three-tier tree. `equal-stripe` joins each spine to its cores by as
    many links, which OpenSM's ftree engine accepts; `per-rail-whole-pods` and `minimal` can need fewer switches."""
    oversubscription: Ratio = 1.0
    """Largest bandwidth down over bandwidth up of the ports of a leaf switch, such as 3:1; 1:2 gives it more up than
    down."""
    spine_oversubscription: Ratio = 1.0
    """Largest number of downlinks per uplink of a spine switch, in a three-tier tree."""
    access_points: Count | None = None
    """Endpoint ports to build, over all zones and planes, where this is more than the nodes need."""


class NetworkPorts(Frozen):
    """Ports that one node, or one switch, has on a network beside the compute fabric."""

    compute: PortCount = 0
    """Ports of a compute node."""
    storage: PortCount = 0
    """Ports of a storage node."""
    management: PortCount = 0
    """Ports of a management node."""
    switches: PortCount = 0
    """Ports of each switch of the compute fabric, and of the networks listed before this one."""


class OtherNetwork(Frozen):
    """A network of its own beside the compute fabric, with its own topology, switches and links."""

    name: NetworkName
    """`storage` carries the storage, whose servers then leave the compute fabric; `front-end` carries logins, data
    and management; `out-of-band` the management processors."""
    ports: NetworkPorts
    """What joins it."""
    fabric: Fabric
    """Its topology, switches and links."""


class HfReduceOptions(Frozen):
    """Options of HFReduce."""

    h2d: Literal["gdrcopy", "memcpy-async"] = "gdrcopy"
    """Copy of the results to the GPUs: GDRCopy reads host memory once per socket, MemcpyAsync once per copy."""


class Communication(Frozen):
    """The collectives to time, and their bounds."""

    libraries: Annotated[Many[Library], Field(min_length=1)]
    """Libraries to time; the first is the one that limits refer to."""
    message_size: Data
    """Message of an accelerator that is timed [byte]."""
    hfreduce: HfReduceOptions = HfReduceOptions.model_construct(h2d="gdrcopy")
    """Options of HFReduce."""


class Site(Frozen):
    """Site of the cluster."""

    pue: Annotated[float, Field(ge=1.0, le=MOST_PUE)] | None = None
    """Power usage effectiveness: facility power over IT power; needed unless `cooling` is given."""
    cooling: Cooling | None = None
    """How the site takes heat away, in place of `pue`, which the ownership profile then gives for it."""
    training_power: Annotated[float, Field(gt=0.0, le=1.0)] = 0.75
    """Power in training over rated maximum, for servers with accelerators whose power in training is not measured; 0.75
    is Epoch AI's average (DGX A100 in the Fire-Flyer paper: 4.2 of 6.5 kW, 0.65)."""
    currency: Currency | None = None
    """Currency of the report; every price used must have it."""
    electricity_price: EnergyPrice | None = None
    """Price of electrical energy."""
    exchange: dict[Currency, MoneyAmount] = Field(default_factory=dict)
    """Value of one unit of another currency, such as `CNY: $0.14`; no other conversion is made."""


class Cost(Frozen):
    """Cost scope and price book."""

    price_book: Identifier
    """Catalogue id of the price book."""
    exclude: Many[CostCategory] = ()
    """Categories excluded from the cost; the report states them."""


class Limits(Frozen):
    """Limits of the design; `ffplan check` reports every limit that the design exceeds."""

    replaced: ClassVar[dict[str, str]] = {
        "total_power": "write `it_power` for servers, network and storage, or `facility_peak` for the feed",
        "facility_power": "write `facility_peak` for what the feed must carry, or `facility_training` for training",
    }

    capex: MoneyAmount | None = None
    """Largest purchase: the whole bill of materials, with what the design leaves open, spares, racks and building."""
    cost_per_accelerator: MoneyAmount | None = None
    """Largest purchase per accelerator."""
    it_power: Power | None = None
    """Most IT power in training: servers, storage and every network, those that the design leaves open too [W]."""
    facility_peak: Power | None = None
    """Most facility power with everything at its rated maximum, PUE included: what the feed must carry [W]."""
    facility_training: Power | None = None
    """Most facility power in training: IT power times PUE, at the meter [W]."""
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
    """Most that a million tokens of the workload may cost, ownership or rent included."""
    goodput: Share | None = None
    """Least goodput of the workload: the part of its time that failures, checkpoints and restarts leave [1]. Its likely
    value is judged, as `ffplan goodput` prints it first; a median below is a warning."""
    run_days: Annotated[float, Field(gt=0.0)] | None = None
    """Longest run of the workload over its tokens [day]."""
    blast_radius: Share | None = None
    """Most accelerators that the loss of one switch may cut off, over all [1]."""
    price_age: Years | None = None
    """Oldest price of the price book that a cost may rest on, on the day of the check; `ffplan check` alone judges it,
    since reports do not know the day [year]."""


class Floor(Frozen):
    """Floor plan: equal rows, leaf switches in the middle of each, all other switches in separate rows in the middle
    of the floor."""

    racks_per_row: Annotated[int, Field(ge=1, le=1000)]
    """Racks of a row, including racks of switches."""
    switch_racks_per_row: Annotated[int, Field(ge=1, le=100)] = 1
    """Racks in the middle of each row that hold leaf switches."""
    rack_units: Annotated[int, Field(ge=1, le=100)] = 42
    """Rack units of a rack."""
    switch_units: Annotated[int, Field(ge=1, le=40)] = 1
    """Rack units of a switch, including the space for its cables."""
    power_per_rack: Power | None = None
    """Power limit of a rack, at the nodes' rated maximum where known [W]."""
    rack_width: Length
    """Distance from rack to rack along a row [m]."""
    row_pitch: Length
    """Distance from row to row [m]."""
    riser: Length
    """Length from a port up to the cable tray, at each end [m]."""
    slack: Length
    """Spare length of every cable [m]."""
    links: Annotated[Many[Identifier], Field(min_length=1)]
    """Catalogue ids of the cables and optics to choose from; the cheapest that reaches is taken."""


class Phase(Frozen):
    """What is bought when; the last phase is the whole design."""

    name: Identifier
    """Name of the phase."""
    after: Years
    """From the first order to the order of this phase [year]."""
    nodes: Annotated[Many[Annotated[int, Field(ge=0, le=MOST_COUNT)]], Field(min_length=1)]
    """Nodes of each group, in the order of `nodes`, that stand once this phase is in production."""
    price_change: Change = 0.0
    """Prices of this phase over those of the price book, less one: -15 % where parts are 15 % cheaper by then [1]."""
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
    """Networks beside it, each counted, priced and powered with the design."""
    communication: Communication | None = None
    """Collectives to bound."""
    site: Site
    """The site."""
    cost: Cost | None = None
    """Pricing; without it the report has no cost."""
    ownership: OwnershipSection = None
    """What owning the cluster takes; `ffplan cost` reads it."""
    rent: RentSection = None
    """The cluster is rented and not bought; it then has no `cost`."""
    phases: Many[Phase] = ()
    """What is bought when, in order."""
    workload: WorkloadSection = None
    """The job that the cluster is bought for; `ffplan check` holds it against limits, `ffplan cost` prices it."""
    reliability: ReliabilitySection = None
    """Failures, checkpoints and restarts; a usual profile if omitted."""
    floor: Floor | None = None
    """The floor plan; with it, cables have lengths, and the bill of materials the types that reach."""
    limits: Limits = Limits.model_construct()
    """Limits that `ffplan check` compares the design with."""


SCHEMAS = {
    "design": (Design, "An ffplan design file"),
}
"""Files and outputs of this module, with their titles."""
