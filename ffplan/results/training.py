"""JSON output of `train`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import CatalogFile, Result
from ffplan.results.run import Band, PlanRow, RunReport, StepPart, SurePlan


@record
class StageMemory:
    """Device memory of a pipeline stage [GiB]."""

    stage: int
    """Position, the first 0."""
    layers: int
    """Layers of it."""
    weights_gib: float
    """Weights."""
    gradients_gib: float
    """Gradients."""
    optimizer_gib: float
    """Optimizer states."""
    activations_gib: float
    """Activations of all micro-batches in flight."""
    logits_gib: float
    """Scores over the vocabulary."""
    working_gib: float
    """A layer's fresh gradients; layers gathered or recomputed."""
    total_gib: float
    """Total."""


@record
class Gain:
    """Speed-up of the step from a resource that is 10 % faster."""

    resource: str
    """Stable name of the resource."""
    label: str
    """For people."""
    faster: float
    """Step before over step after, less one [1]."""


@record
class Roofline:
    """A plan on one of the scaling book's rooflines."""

    name: str
    """data, fsdp or experts as the book has them: gradients of 2 bytes, reduced by switches; data-here, fsdp-here or
    experts-here as the plan has them; tensor."""
    label: str
    """For people."""
    unit: str
    """tokens a GPU, or ways: the TP size."""
    value: float
    """Value of the plan; tokens of a micro-batch if it reduces or gathers for each."""
    critical: float
    """Least tokens, or largest TP size, at which computing binds at the specified peak and link rates."""
    computing_binds: bool
    """True if computing binds."""


@record
class TrainRow:
    """A plan with its time and memory."""

    plan: PlanRow
    """The plan."""
    idle: int
    """Accelerators asked for that it leaves idle."""
    step_s: float
    """Time of a step [s]."""
    tokens_s: float
    """Tokens, or images, trained in a second."""
    tokens_s_gpu: float
    """Tokens, or images, a second and accelerator."""
    tflops_gpu: float
    """Model TFLOP/s of each accelerator, attention counted in full."""
    mfu: float
    """Model FLOP/s over the dense peak at the plan's precision [1]."""
    peak_tflops: float
    """That peak [TFLOP/s]."""
    mfu_16_bit: float | None
    """Model FLOP/s over the dense peak at 16 bits, as reports of FP8 runs have it; null without one [1]."""
    mfu_causal: float
    """MFU with half of attention counted, as with a causal mask [1]."""
    hfu: float
    """HFU: MFU with recomputation counted [1]."""
    efficiency: float
    """Tokens, or images, a second and accelerator over the value of the first row [1]."""
    parts: tuple[StepPart, ...]
    """Parts of the step, the largest first."""
    binding: str
    """Name of the resource that a 10 % gain in would speed the step up most."""
    binding_label: str
    """Its label."""
    gains: tuple[Gain, ...]
    """Gain from each resource, the largest first."""
    rooflines: tuple[Roofline, ...]
    """The plan on rooflines, at specified rates and without latency."""
    path_lost: float | None
    """Part of its rate that it keeps while a NIC lacks one of its ports to several planes [1]; null on one plane."""
    memory_gib: float
    """Memory that tensors take on the fullest stage [GiB]."""
    memory_verdict: str
    """fits, or edge: memory that the runtime reserves, or takes for a moment, may not fit. A plan that does not fit is
    refused."""
    memory_words: str | None
    """Why it is at the edge; null if it fits."""
    reserved_low_gib: float | None
    """Least memory that the runtime's allocator reserves for it [GiB]; null if its margin is unknown."""
    reserved_high_gib: float | None
    """Most memory that the runtime's allocator reserves for it [GiB]; null if its margin is unknown."""
    transient_gib: float
    """Memory that the optimizer takes for a moment while it updates its shard [GiB]; 0 also if unknown."""
    offloaded_gib: float
    """What host memory, or the drives of the node, hold of a rank [GiB]."""
    limit_gib: float
    """Memory limit [GiB]."""
    stages: tuple[StageMemory, ...]
    """Memory of every stage; of more than 16, the first, second, last and fullest."""
    lost: str | None
    """In a search: reason why it is slower than the best; null for the best."""


@record
class Refused:
    """Plans of a search that cannot run, by reason."""

    reason: str
    """Stable name."""
    label: str
    """For people."""
    plans: int
    """Plans."""


@record
class Skipped:
    """A number of accelerators on which a plan cannot run, while it can on others."""

    gpus: int
    """Accelerators asked for."""
    why: str
    """Reason why it cannot, and a plan that can."""


@record
class TrainReport(Result):
    """Output of `ffplan train`."""

    schema_version: str
    """Version of this format."""
    tool_version: str
    """Version of ffplan."""
    design: str
    """Name of the design."""
    design_file: str
    """Its file, as ffplan takes it."""
    design_sha256: str
    """SHA-256 of its file."""
    catalog: tuple[CatalogFile, ...]
    """Every catalogue file read."""
    model: str
    """Id of the model."""
    parameters: float
    """Parameters of the model."""
    unit: str
    """Unit of rates: tokens, or images of a convolutional network."""
    accelerator: str
    """Id of the accelerator."""
    stack: str | None
    """Catalogue id of the software stack; null if unknown for the accelerator."""
    stack_named: bool
    """True if the plan names it."""
    attention_kernel: str | None
    """Kernel of fused attention whose measured rates the times rest on; null if the accelerator has one rate."""
    calibration: str
    """The set of constants behind the times, and the runs that it was fitted on."""
    estimated_from: str | None
    """The calibrated accelerator whose efficiencies are taken; null if the accelerator has its own."""
    error_band: float
    """Errors to expect: 80 % of published runs lie within it, from P10 to P90 [1]."""
    error_within: float
    """Its part that differs between runs of one source: what two designs with the same accelerators do not share
    [1]."""
    error_basis: str
    """Runs behind that error."""
    step: Band
    """Step of the first row, with P10 and P90 of that error [s]."""
    searched: int
    """Plans of the space of a search; 0 without one."""
    timed: int
    """Plans of that space that were timed: those whose structure is possible."""
    feasible: int
    """Of those, plans that can run, before their refinement."""
    refused: tuple[Refused, ...]
    """The others, by reason."""
    rows: tuple[TrainRow, ...]
    """A row for each number of accelerators, or the best plans of a search."""
    sure: SurePlan | None
    """Alternative if the fastest plan of a search is at the edge of memory; null if it is not, without a search, or if
    no plan fits beyond doubt."""
    skipped: tuple[Skipped, ...]
    """Numbers of accelerators on which the plan cannot run."""
    run: RunReport | None
    """The first row as a training run; null if no tokens were given."""
    assumptions: tuple[str, ...]
    """Assumptions behind the result that are not in the design."""


SCHEMAS = {
    "train": (TrainReport, "Output of `ffplan train --format json`"),
}
"""Files and outputs of this module, with their titles."""
