"""`ffplan collective`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.common import CatalogOption, DesignArgument, FormatOption, OutputOption, ReportFormat
from ffplan.cli.lists import series
from ffplan.cli.wired import choice, emit, parsed, resolved_design

if TYPE_CHECKING:
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.studies.collective import Wanted

LIBRARIES = ("nccl", "hfreduce", "hfreduce-nvlink", "deepep")
MOST_POINTS = 100_000
ALIASES = {
    "all-reduce": "allreduce",
    "alltoall": "all-to-all",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
}
DEFAULTS = (4096, 7168, 8, 256, 4)
"""Tokens, width, experts of a token, experts, most nodes, where dispatch and combine are given none."""
SizesOption = Annotated[
    str | None,
    typer.Option(
        "--size", "-s", metavar="SIZES",
        help="Messages, such as 186MiB, or 1MiB,1GiB, or 4MiB..4GiB (doubling); the design's if omitted.",
    ),
]  # fmt: skip
MOST = 10_000_000
"""Largest count taken."""
GpusOption = Annotated[
    str | None,
    typer.Option(
        "--gpus", "-g", metavar="NUMBERS", help="Ranks, such as 16,32 or 16..1024 (doubling); all if omitted."
    ),
]


def _refuse_idle(operation: str, of_tokens: dict[str, int | None], of_messages: dict[str, str | None]) -> None:
    """Refuse options that would have no effect.

    Raises:
        UsageError: where one is given.
    """
    from ffplan.collectives.volumes import OF_TOKENS

    tokens = operation in OF_TOKENS
    idle: dict[str, object] = {**(of_messages if tokens else of_tokens)}
    for name, value in idle.items():
        if value is not None:
            raise UsageError(f"ffplan collective: {name} has no effect on {operation}; leave it out")


def _libraries(text: str | None, operation: str, design: ResolvedDesign) -> list[str]:
    """Return the libraries to time: those asked for, or the design's first that has the operation."""
    from ffplan.collectives.volumes import OF_TOKENS

    if text is not None:
        return [choice(name.strip().lower(), LIBRARIES, "--library") for name in dict.fromkeys(text.split(","))]
    if operation in OF_TOKENS:
        return ["deepep"]
    wanted = design.spec.communication
    return [wanted.libraries[0] if wanted and operation == "allreduce" else "nccl"]


def _check(asked: Wanted, libraries: list[str], design: ResolvedDesign) -> None:
    """Refuse what cannot go together.

    Raises:
        UsageError: where something does not.
    """
    if any(name.startswith("hfreduce") for name in libraries) and (
        asked.algorithm or asked.protocol or asked.in_network
    ):
        raise UsageError("ffplan collective: HFReduce has one way only; leave out --algorithm, --protocol and --sharp")
    if asked.algorithm == "sharp" and not asked.in_network:
        raise UsageError("ffplan collective: --algorithm sharp: the network's switches reduce only with --sharp")
    if asked.in_network and design.switch.fabric != "infiniband":
        raise UsageError(f"ffplan collective: --sharp: `{design.switch.id}` is an Ethernet switch; it does not reduce")


def collective(
    file: DesignArgument,
    operation: Annotated[str, typer.Option("--op", help="allreduce, reduce-scatter, all-gather, broadcast, all-to-all, "
        "sendrecv, dispatch or combine.")] = "allreduce",
    library: Annotated[str | None, typer.Option("--library", "-l", metavar="NAMES", help="nccl, hfreduce, "
        "hfreduce-nvlink or deepep, or several with commas; the design's first if omitted.")] = None,
    size: SizesOption = None,
    gpus: GpusOption = None,
    algorithm: Annotated[str | None, typer.Option("--algorithm", "-a", metavar="NAME", help="Force one: ring, tree, "
        "nvls, nvls-tree, sharp, hierarchical; direct or rail for all-to-all; node-limited or straight for tokens.")]
        = None,
    protocol: Annotated[str | None, typer.Option("--protocol", metavar="NAME", help="Force one: ll, ll128 or simple.")]
        = None,
    sharp: Annotated[bool, typer.Option("--sharp/--no-sharp", help="Let the network's switches reduce.")] = False,
    nic_rate: Annotated[str | None, typer.Option("--nic-rate", metavar="RATE", help="Most that each NIC carries, such "
        "as 200Gb/s, to ask what if.")] = None,
    zones: Annotated[int | None, typer.Option("--zones", min=1, help="Zones that the job spans; as few as hold it if "
        "omitted.")] = None,
    tokens: Annotated[int | None, typer.Option("--tokens", min=1, max=MOST, help="dispatch, combine: "
        "tokens of a GPU; 4,096.")] = None,
    hidden: Annotated[int | None, typer.Option("--hidden", min=1, max=MOST, help="dispatch, combine: "
        "width of a token; 7,168.")] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", min=1, max=64, help="dispatch, combine: experts of a token; "
        "8.")] = None,
    experts: Annotated[int | None, typer.Option("--experts", min=1, max=MOST, help="dispatch, combine: "
        "experts altogether; 256.")] = None,
    max_nodes: Annotated[int | None, typer.Option("--max-nodes", min=1, max=MOST, help="dispatch, combine: "
        "most nodes of a token; 4.")] = None,
    chart: Annotated[bool, typer.Option("--chart", help="Add a chart of bus bandwidth to the table.")] = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:  # fmt: skip
    """Time a collective over sizes and scales: what the library chooses, what binds, algbw and busbw."""
    from ffplan.collectives.expert_dispatch import Routing
    from ffplan.collectives.volumes import ALGORITHMS, OF_TOKENS, OPERATIONS, PROTOCOLS
    from ffplan.inputs.quantities import BANDWIDTH, parse_quantity
    from ffplan.report.collective import collective_blocks
    from ffplan.studies.collective import Wanted, collective_table
    from ffplan.studies.collective_rows import WishError

    operation = ALIASES.get(operation.lower().replace("_", "-"), operation.lower().replace("_", "-"))
    choice(operation, OPERATIONS, "--op")
    asked = {"--tokens": tokens, "--hidden": hidden, "--top-k": top_k, "--experts": experts, "--max-nodes": max_nodes}
    _refuse_idle(operation, asked, {"--size": size, "--protocol": protocol})
    algorithm = choice(algorithm.lower(), ALGORITHMS, "--algorithm") if algorithm else None
    protocol = choice(protocol.lower(), PROTOCOLS, "--protocol") if protocol else None
    design, parts = resolved_design(file, catalog)
    libraries = _libraries(library, operation, design)
    tokens_of = tuple(value or default for value, default in zip(asked.values(), DEFAULTS, strict=True))
    routing = Routing(*tokens_of) if operation in OF_TOKENS else None
    rate = parsed(lambda: parse_quantity(nic_rate, BANDWIDTH), "--nic-rate") if nic_rate else None
    wanted = Wanted(operation, algorithm, protocol, sharp, routing, zones, rate)
    _check(wanted, libraries, design)
    message = design.spec.communication.message_size if design.spec.communication else float(2**30)
    sizes = series(size, "ffplan collective: --size", sizes=True) if size else (message,)
    ranks = tuple(int(n) for n in series(gpus, "ffplan collective: --gpus", sizes=False)) if gpus else None
    if len(ranks or (0,)) * len(sizes) * len(libraries) > MOST_POINTS:
        raise UsageError(f"ffplan collective: more than {MOST_POINTS:,} points; ask for fewer sizes or numbers")
    try:
        report = collective_table(design, parts, libraries, wanted, ranks, sizes)
    except WishError as error:
        raise UsageError(f"ffplan collective: {error}") from None
    head = f"{report.design}: {operation} with {report.library}"
    emit(report, list(report.rows), head, lambda: collective_blocks(report, chart=chart), form, output)
