"""What the commands on a wired fabric share."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.common import ReportFormat, find_design, to_terminal, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import Fabric
    from ffplan.report.blocks import Block

P = TypeVar("P", bound="Part")

SeedOption = Annotated[int, typer.Option("--seed", min=0, max=2**31, help="Seed of everything drawn at random.")]
NodesOption = Annotated[
    int | None,
    typer.Option("--nodes", "-n", min=2, help="Nodes of the job; all of the first compute group if omitted."),
]
SizeOption = Annotated[
    str | None, typer.Option("--size", "-s", metavar="SIZE", help="Bytes per node; the design's message if omitted.")
]
OrderOption = Annotated[
    str,
    typer.Option(
        "--order",
        metavar="ORDER",
        help="Order of ranks: aligned (zone by zone, leaf by leaf), alternating (zones in turn) or random.",
    ),
]


@dataclass(frozen=True)
class Wired:
    """A design with its wired fabric."""

    design: ResolvedDesign
    catalog: Catalog
    fabric: Fabric
    names: Names


def resolved_design(name: str, catalogs: list[str] | None) -> tuple[ResolvedDesign, Catalog]:
    """Return a design given by path or name, with its catalogue."""
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import resolve
    from ffplan.inputs.document import read_document

    path, file = find_design(name)
    catalog = Catalog(catalogs or ())
    return resolve(read_document(path, file), catalog), catalog


def wired_design(name: str, catalogs: list[str] | None) -> Wired:
    """Return a design given by path or name, wired."""
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import wire

    design, catalog = resolved_design(name, catalogs)
    fabric = wire(design)
    return Wired(design, catalog, fabric, Names(design, fabric))


def part_of(catalog: Catalog, kind: type[P], name: str, option: str) -> P:
    """Return a part given on the command line.

    Args:
        catalog: where to look.
        kind: the kind of part.
        name: its id.
        option: command and option, for messages.

    Raises:
        UsageError: where there is none of that kind, with the nearest.
    """
    from ffplan.inputs.suggest import did_you_mean

    try:
        part = catalog.entry(name).part
    except KeyError:
        what = kind.kind_words
        known = [other for other in catalog.ids() if catalog.kind_of(other) == what.replace(" ", "-")]
        raise UsageError(f"{option}: no {what} `{name}`; {did_you_mean(name, known, what=what)}") from None
    if not isinstance(part, kind):
        from ffplan.base.formatting import article

        raise UsageError(f"{option}: `{name}` is {article(part.kind_words)}, not {article(kind.kind_words)}")
    return part


def parsed(parse: Callable[[], float], option: str) -> float:
    """Return a quantity given on the command line.

    Args:
        parse: reads it.
        option: where it stands.

    Raises:
        UsageError: where it is none.
    """
    from pydantic_core import PydanticCustomError

    try:
        return parse()
    except PydanticCustomError as error:
        context = error.context or {}
        raise UsageError(f"ffplan: {option}: {context.get('message')}; {context.get('remedy')}") from None


def message_size(design: ResolvedDesign, text: str | None) -> float:
    """Return the bytes per node: those asked for, the design's message, or 1 GiB."""
    from ffplan.inputs.quantities import DATA, parse_quantity

    if text is not None:
        return parsed(lambda: parse_quantity(text, DATA), "--size")
    wanted = design.spec.communication
    return wanted.message_size if wanted else float(2**30)


def choice(value: str, known: tuple[str, ...], option: str) -> str:
    """Return a value that is one of the choices.

    Raises:
        UsageError: where it is not, with the nearest.
    """
    if value in known:
        return value
    from ffplan.inputs.suggest import did_you_mean

    raise UsageError(f"ffplan: {option}: no `{value}`; {did_you_mean(value, known, what='choice')}")


def emit(
    value: Any, rows: list[Any], head: str, blocks: Callable[[], list[Block]], form: ReportFormat, output: str | None
) -> None:
    """Write a result in one of the formats.

    Args:
        value: the whole result, for JSON.
        rows: its main table, for CSV.
        head: first line of text and Markdown.
        blocks: makes the tables of text and Markdown.
        form: the format.
        output: file, or None for standard output.
    """
    if form is ReportFormat.JSON:
        from ffplan.report.plain import to_json

        write(to_json(value), output)
        return
    from ffplan.report import blocks as report

    if form is ReportFormat.CSV:
        write(report.records_csv(rows), output)
    elif form is ReportFormat.MARKDOWN:
        write(report.blocks_markdown(head, blocks()), output)
    else:
        write(report.blocks_text(head, blocks(), terminal=to_terminal(output)), output)


class Progress:
    """A line on standard error that says how far a long piece of work is; silent unless that is a terminal."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = sys.stderr is not None and sys.stderr.isatty()

    def step(self, done: int, total: int, detail: str = "") -> None:
        """Say how far it is."""
        if self.shown:
            print(f"\r\x1b[K{self.what}: {done} of {total} {detail}", end="", file=sys.stderr, flush=True)

    def count(self, done: int) -> None:
        """Say how often it was done, where nobody knows how often it will be."""
        if self.shown:
            print(f"\r\x1b[K{self.what}: {done} times", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
