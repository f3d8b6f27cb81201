"""The contract of `storage --format json`, and failures and storage in an assessment, in short."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import CatalogFile, DesignInfo, Result, ToolInfo, UnverifiedFigure


@record
class ReliabilitySummary:
    """Failures expected in the largest job of the design: on all nodes of its kind, or of one zone without links to
    the others."""

    profile: str
    """Catalogue id of the reliability profile."""
    gpus: int
    """Accelerators of that job."""
    mtbf_hours: float
    """Mean time between interruptions, likely [h]."""
    mtbf_hours_low: float
    """With the rates of the worse of the fleets known [h]."""
    mtbf_hours_high: float
    """With the better rates [h]."""
    beside: str | None
    """Catalogue id of another reliability profile, of another fleet; null if the first names none."""
    beside_mtbf_hours: float | None
    """Mean time between interruptions by that one [h]; null as above."""
    interruptions_per_day: float
    """Likely [1/day]."""
    largest: tuple[str, ...]
    """Kinds of failure behind most of them, the largest first."""
    nodes_in_repair: float
    """Nodes in repair at any time, on average [1]."""
    spares: int
    """Spare nodes [1]."""
    spares_for_99: int
    """Spares with which no node is lacking 99 % of the time [1]."""


@record
class StorageSummary:
    """Storage of a design, as `ffplan operate storage` has it."""

    planned: bool
    """Whether the design plans it; otherwise the ownership profile sizes it."""
    servers: int
    """Storage servers."""
    raw_bytes: float
    """Capacity of all drives [byte]."""
    usable_bytes: float
    """Capacity for data, after copies [byte]."""
    read_gbyte_s: float
    """Read rate expected of all servers together [GB/s]."""
    write_gbyte_s: float
    """Write rate, of data and not of its copies [GB/s]."""
    read_per_accelerator: float
    """Read rate over all accelerators [GB/s]."""
    write_per_accelerator: float
    """Write rate over all accelerators [GB/s]."""
    read_binds: str
    """Bottleneck of reading."""
    write_binds: str
    """Bottleneck of writing."""


@record
class StorageTerm:
    """One limit of a rate."""

    label: str
    """The limiting part."""
    gbyte_s: float
    """The rate that it allows [GB/s]."""


@record
class TierRow:
    """A vendor's guidance compared with the design."""

    tier: str
    """Its name."""
    use: str
    """Its use."""
    read_gbyte_s: float
    """Recommended read rate for this number of accelerators [GB/s]."""
    write_gbyte_s: float
    """Write rate that it wants [GB/s]."""
    met: bool
    """Whether the design has both."""


@record
class IncastRow:
    """One client that reads from several servers at once."""

    senders: int
    """Servers with data for it."""
    limited_gbyte_s: float
    """Rate if the client grants requests to send [GB/s]."""
    free_gbyte_s: float
    """Rate where servers send first in, first out, and so wait behind each other [GB/s]."""


@record
class StorageServers:
    """Storage servers that are alike, and what they hold and carry alone."""

    name: str
    """Catalogue id of the server; where some of them differ, with what tells these."""
    server: str
    """Catalogue id of the server."""
    file_system: str
    """Catalogue id of what runs on them."""
    servers: int
    """Servers."""
    drives: int
    """Data drives."""
    nics: int
    """NICs of the servers."""
    copies: float
    """Copies of all data [1]."""
    raw_bytes: float
    """Capacity of all drives [byte]."""
    usable_bytes: float
    """Capacity for data, after copies [byte]."""
    read_gbyte_s: float
    """Read rate of these alone [GB/s]."""
    read_binds: str
    """Bottleneck of reading."""
    write_gbyte_s: float
    """Write rate of these alone, of data and not of its copies [GB/s]."""
    write_binds: str
    """Bottleneck of writing."""


@record
class WearRow:
    """Writes to storage servers that are alike."""

    server: str
    """Their name, as in `groups`."""
    copies: float
    """Copies of all data [1]."""
    written_per_day: float
    """Data written a day, copies included [byte/day]."""
    drive_life_years: float | None
    """Until their drives have been written their endurance; null if that is unknown [year]."""


@record
class BurstReport:
    """Checkpoints of a job as storage sees them."""

    model: str
    """Catalogue id of the model."""
    gpus: int
    """Accelerators of the job."""
    bytes: float
    """A checkpoint [byte]."""
    save_s: float
    """Time to save it [s]."""
    load_s: float
    """Time to read it [s]."""
    binds: str
    """Bottleneck of saving."""
    interval_s: float
    """Work between two checkpoints [s]."""
    storage_every: float
    """Checkpoints from one that goes to storage to the next: 1 unless others stay in the memory of nodes [1]."""
    node_gbyte_s: float
    """Write rate of each node meanwhile [GB/s]."""
    nic_share: float
    """Part of a node's NICs that it takes while it lasts [1]."""
    mean_nic_share: float
    """Part of a node's NICs that it takes over all time [1]."""
    beside_allreduce_s: float | None
    """Time to save where allreduce wants the same NICs at once and each has a virtual lane of equal weight [s]; null of
    storage on a separate network."""
    allreduce_left: float | None
    """Part of its rate that allreduce keeps meanwhile [1]; null as above."""
    written_per_day: float
    """Data written a day, copies included [byte/day]."""
    drive_life_years: float | None
    """Until the first drives have been written their endurance: those of `wear[0]`; null if that is unknown [year]."""
    wear: tuple[WearRow, ...]
    """Servers that are alike, the shortest life of drives first, unknown ones last."""
    kept: float
    """Checkpoints that fit into the usable capacity [1]."""
    kept_wanted: float | None
    """Checkpoints that are kept at a time [1]; null if neither the profile nor the design says it."""
    kept_bytes: float | None
    """What these take, without their copies [byte]; null as above."""
    kept_share: float | None
    """That over the usable capacity [1]; null as above."""
    writers: int
    """Nodes that write it: all of the job, or one where all ranks have the same state."""
    files: int
    """Files of a checkpoint: one for each accelerator, or one in all where one node writes it."""
    opens_s: float
    """Files opened a second while a checkpoint is saved, so that opening keeps step with the transfer [1/s]."""


@record
class ReadReport:
    """Reads of a training run."""

    tokens_s: float
    """Tokens a second; from its step time [1/s]."""
    gbyte_s: float
    """Reads of training text [GB/s]."""
    share: float
    """Of what storage reads [1]."""
    context_bytes: float
    """Keys and values of a full context, for caches on storage [byte]."""
    contexts_s_node: float
    """Such contexts a second that one node can read [1/s]."""


@record
class ImageJob:
    """What training a convolutional network reads."""

    model: str
    """Catalogue id of the model."""
    gpus: int
    """Accelerators of the job."""
    micro_batch: int
    """Images of a rank in a micro-batch: the largest power of two that fits into device memory."""
    batch: int
    """Images of a step over all ranks."""
    step_s: float
    """Time of a step, with its images there [s]."""
    step_bytes: float
    """Bytes that a step reads [byte]."""
    images_s: float
    """Images a second that it takes [1/s]."""
    gbyte_s: float
    """What these read [GB/s]."""
    node_gbyte_s: float
    """What one of these nodes reads [GB/s]."""
    reach_gbyte_s: float
    """Highest read rate of the job: from storage in its zones, through its nodes' NICs [GB/s]."""
    binds: str
    """Bottleneck of that rate."""
    reach_share: float
    """Its read rate over the highest [1]."""
    fed: float
    """Part of the images a second that reading leaves [1]; 1 if storage keeps up."""


@record
class ImageReport:
    """Images of a data set, one file each."""

    image_bytes: float
    """Bytes of an image [byte]."""
    image_bytes_low: float
    """Lower end of it [byte]."""
    image_bytes_high: float
    """Upper end of it [byte]."""
    source: str
    """Where it is from."""
    most_s: float
    """Images a second that the read rate of storage allows [1/s]."""
    most_accelerator_s: float
    """Images a second and accelerator that the read rate of storage allows [1/s]."""
    asked_s: float | None
    """Images a second, as requested or as the job reads; null without any [1/s]."""
    gbyte_s: float | None
    """What these read [GB/s]; null as above."""
    share: float | None
    """Of what storage reads [1]; null as above."""
    job: ImageJob | None
    """Reads of a convolutional network; null for other jobs."""


@record
class MetadataReport:
    """What metadata servers have to open."""

    planned: int | None
    """Management nodes that the design plans; null if it plans none."""
    opens_s: float
    """Files opened a second: images, and files of a checkpoint while it is saved [1/s]."""
    each_s: float | None
    """Files that one server opens a second, as the design states it [1/s]; null if it does not: no source does."""
    needed: int | None
    """Servers that this needs; null as above."""
    files: int | None
    """Files of a checkpoint, which its writers open at once; null without a job."""
    open_s: float | None
    """Time that the planned servers take to open them, before the transfer [s]; null if the design states no rate,
    or plans no server."""


@record
class StorageReport(Result):
    """Storage of a design."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """Program that wrote it."""
    design: DesignInfo
    """The design."""
    catalog: tuple[CatalogFile, ...]
    """Catalogue files read."""
    headline: tuple[str, ...]
    """The answer in words."""
    storage: StorageSummary
    """Capacity and rates."""
    server: tuple[str, ...]
    """Catalogue ids of the servers."""
    groups: tuple[StorageServers, ...]
    """Servers that are alike, whatever groups of the design they are in: one row where all are."""
    file_system: tuple[str, ...]
    """Catalogue ids of what runs on them; the rates of the first are taken."""
    drives: int
    """Data drives."""
    nics: int
    """NICs of the servers."""
    copies: float
    """Copies of all data, in the mean over what is written where servers differ [1]."""
    efficiency: float
    """Rate that the service reaches over what NICs carry, in the mean over NICs where servers differ [1]."""
    shared: bool
    """Whether the compute fabric carries storage."""
    line_gbyte_s: float
    """Rate of all servers' NICs in one direction [GB/s]."""
    read: tuple[StorageTerm, ...]
    """Limits of reading, the least first."""
    write: tuple[StorageTerm, ...]
    """Limits of writing, the least first."""
    zones: int
    """Zones of the fabric."""
    zone_read_gbyte_s: float
    """Read rate that a job within one zone can reach [GB/s]."""
    client_gbyte_s: float
    """What one compute node reads: the least of `node_read` [GB/s]."""
    client_write_gbyte_s: float
    """What one compute node writes: the least of `node_write` [GB/s]."""
    node_read: tuple[StorageTerm, ...]
    """Limits of what one compute node reads, the least first."""
    node_write: tuple[StorageTerm, ...]
    """Limits of what one compute node writes, the least first."""
    clients_gbyte_s: float
    """What all of them read together, servers and file system included [GB/s]."""
    clients_write_gbyte_s: float
    """What all of them write together [GB/s]."""
    clients_busy: int
    """Compute nodes that keep all servers busy reading."""
    bytes_per_accelerator: float
    """Usable capacity over all accelerators [byte]."""
    tiers: tuple[TierRow, ...]
    """Guidance for training storage."""
    incast: tuple[IncastRow, ...]
    """Reads of one client from several servers."""
    burst: BurstReport | None
    """Checkpoints; null without a job."""
    reads: ReadReport | None
    """Reads of the job; null if it was not timed."""
    images: ImageReport | None
    """Images of a data set; null if their size is unknown."""
    metadata: MetadataReport
    """Metadata servers."""
    metadata_servers: int | None
    """Management nodes that the design plans; null if it plans none."""
    assumptions: tuple[str, ...]
    """Assumptions behind the result."""
    unverified: tuple[UnverifiedFigure, ...]
    """Figures recalled and not verified."""


SCHEMAS = {
    "storage": (StorageReport, "JSON output of `ffplan operate storage`"),
}
"""Files and outputs of this module, with their titles."""
