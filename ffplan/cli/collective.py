"""`ffplan collective`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import MOST, _parsed, _resolved_design, choice, series
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign

SizesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        "-s",
        metavar="SIZES",
        help="Messages, such as 186MiB, or 1MiB,1GiB, or 4MiB..4GiB (doubling); the design's if omitted.",
    ),
]
GpusOption = Annotated[
    list[str] | None,
    typer.Option(
        "--gpus", "-g", metavar="NUMBERS", help="Ranks, such as 16,32 or 16..1024 (doubling); all if omitted."
    ),
]
OperationOption = Annotated[
    str,
    typer.Option(
        "--op",
        "--operation",
        help="allreduce, reduce-scatter, all-gather, broadcast, reduce, all-to-all, gather, scatter, sendrecv, "
        "dispatch or combine.",
    ),
]
LibraryOption = Annotated[
    str | None,
    typer.Option(
        "--library",
        "-l",
        metavar="NAMES",
        help="nccl, hfreduce, hfreduce-nvlink or deepep, or several with commas; the design's first if omitted.",
    ),
]
AlgorithmOption = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        help="Force one: ring, tree, nvls, nvls-tree, sharp, hierarchical; pat for all-gather and reduce-scatter; "
        "direct or rail for all-to-all; node-limited or straight for tokens.",
    ),
]
ProtocolOption = Annotated[
    str | None, typer.Option("--protocol", metavar="NAME", help="Force one: ll, ll128 or simple.")
]
SharpOption = Annotated[bool, typer.Option("--sharp/--no-sharp", help="Let the network's switches reduce.")]
NicRateOption = Annotated[
    str | None,
    typer.Option("--nic-rate", metavar="RATE", help="Rate limit of each NIC, such as 200Gb/s, for what-if questions."),
]
ZonesOption = Annotated[
    int | None, typer.Option("--zones", min=1, help="Zones that the job spans; as few as hold it if omitted.")
]
TokensOption = Annotated[
    int | None, typer.Option("--tokens", min=1, max=MOST, help="dispatch, combine: tokens of a GPU; 4,096 if omitted.")
]
HiddenOption = Annotated[
    int | None, typer.Option("--hidden", min=1, max=MOST, help="dispatch, combine: width of a token; 7,168 if omitted.")
]
TopKOption = Annotated[
    int | None, typer.Option("--top-k", min=1, max=64, help="dispatch, combine: experts of a token; 8 if omitted.")
]
ExpertsOption = Annotated[
    int | None, typer.Option("--experts", min=1, max=MOST, help="dispatch, combine: experts in total; 256 if omitted.")
]
MaxNodesOption = Annotated[
    int | None,
    typer.Option("--max-nodes", min=1, max=MOST, help="dispatch, combine: most nodes of a token; 4 if omitted."),
]
SmsOption = Annotated[
    int | None,
    typer.Option(
        "--sms",
        min=1,
        max=1024,
        help="dispatch, combine: multiprocessors (SMs) that copy tokens; without limit if omitted.",
    ),
]
ChartOption = Annotated[bool, typer.Option("--chart", help="Add a chart of bus bandwidth to the table.")]


MOST_POINTS = 100_000


def _refuse_idle(operation: str, of_tokens: dict[str, int | None], of_messages: dict[str, str | None]) -> None:
    from ffplan.collectives.volumes import OF_TOKENS

    tokens = operation in OF_TOKENS
    idle: dict[str, object] = {**(of_messages if tokens else of_tokens)}
    for name, value in idle.items():
        if value is not None:
            raise UsageError(f"ffplan collective: {name} has no effect on {operation}; leave it out")


def _libraries(text: str | None, operation: str, design: ResolvedDesign) -> list[str]:
    """Return the requested libraries, or the design's first with the operation."""
    from ffplan.studies.collective.collective import LIBRARIES, default_library

    if text is not None:
        return [choice(name.strip().lower(), LIBRARIES, "--library") for name in dict.fromkeys(text.split(","))]
    return [default_library(operation, design)]


def collective(
    file: DesignArgument,
    operation: OperationOption = "allreduce",
    library: LibraryOption = None,
    size: SizesOption = None,
    gpus: GpusOption = None,
    algorithm: AlgorithmOption = None,
    protocol: ProtocolOption = None,
    sharp: SharpOption = False,
    nic_rate: NicRateOption = None,
    zones: ZonesOption = None,
    tokens: TokensOption = None,
    hidden: HiddenOption = None,
    top_k: TopKOption = None,
    experts: ExpertsOption = None,
    max_nodes: MaxNodesOption = None,
    sms: SmsOption = None,
    chart: ChartOption = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Time a collective over sizes and scales: the algorithm chosen, the limiting resource, algbw and busbw."""
    from ffplan.collectives.expert_dispatch import DEEPSEEK_V3, Routing
    from ffplan.collectives.nccl import NAMES
    from ffplan.collectives.volumes import OF_TOKENS, OPERATIONS, PROTOCOLS
    from ffplan.inputs.dimensions import BANDWIDTH
    from ffplan.inputs.quantities import parse_quantity
    from ffplan.report.collective import collective_document
    from ffplan.studies.collective import collective as study
    from ffplan.studies.fabric.cabling import message_bytes

    operation = study.operation_name(operation)
    choice(operation, OPERATIONS, "--op")
    options = {"--tokens": tokens, "--hidden": hidden, "--top-k": top_k, "--experts": experts, "--max-nodes": max_nodes}
    _refuse_idle(
        operation, {**options, "--sms": sms}, {"--size": ",".join(size) if size else None, "--protocol": protocol}
    )
    algorithm = choice(algorithm.lower(), NAMES, "--algorithm") if algorithm else None
    protocol = choice(protocol.lower(), PROTOCOLS, "--protocol") if protocol else None
    design, parts = _resolved_design(file, catalog)
    libraries = _libraries(library, operation, design)
    tokens_of = {name: value or DEEPSEEK_V3[name] for name, value in zip(DEEPSEEK_V3, options.values(), strict=True)}
    routing = Routing(**tokens_of, sms=sms) if operation in OF_TOKENS else None
    rate = _parsed(lambda: parse_quantity(nic_rate, BANDWIDTH), "--nic-rate") if nic_rate else None
    request = study.CollectiveRequest(
        operation=operation,
        algorithm=algorithm,
        protocol=protocol,
        in_network=sharp,
        routing=routing,
        zones=zones,
        nic_gbyte_s=rate,
    )
    sizes = series(",".join(size), "ffplan collective: --size", sizes=True) if size else (message_bytes(design),)
    ranks = tuple(int(n) for n in series(",".join(gpus), "ffplan collective: --gpus", sizes=False)) if gpus else None
    if len(ranks or (0,)) * len(sizes) * len(libraries) > MOST_POINTS:
        raise UsageError(f"ffplan collective: more than {MOST_POINTS:,} points; ask for fewer sizes or numbers")
    try:
        study.check_together(request, libraries, design)
        report = study.collective_table(design, parts, libraries, request, ranks, sizes)
    except study.QueryError as error:
        raise UsageError(f"ffplan collective: {error}") from None
    emit(_with_extras(collective_document(report, chart=chart), form, [file], catalog, "collective"), form, output)
