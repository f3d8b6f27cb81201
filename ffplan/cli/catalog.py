"""`ffplan catalog`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ffplan.base.errors import EXIT_INVALID, UsageError
from ffplan.cli.options import CatalogOption, OutputOption
from ffplan.cli.output import emit

app = typer.Typer(help="List and show parts.", no_args_is_help=True, rich_markup_mode=None)


class ListFormat(StrEnum):
    """Formats of the catalogue."""

    TABLE = "table"
    JSON = "json"


FormatOption = Annotated[ListFormat, typer.Option("--format", "-f", help="Format.")]


def _complete_part(incomplete: str) -> list[str]:
    from ffplan.catalog.store import Catalog

    return [name for name in Catalog().ids() if name.startswith(incomplete)]


@app.command("list")
def list_parts(
    kind: Annotated[str | None, typer.Argument(metavar="KIND", help="Kind of part; all if omitted.")] = None,
    form: FormatOption = ListFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """List the parts of the catalogue.

    Exit code 2 where a file is wrong; standard error names it, and the other parts are listed.
    """
    from ffplan.catalog.store import KINDS, Catalog, kind_hint

    if kind is not None and kind not in KINDS and kind.removesuffix("s") in KINDS:
        kind = kind.removesuffix("s")
    if kind is not None and kind not in KINDS:
        raise UsageError(f"ffplan catalog list: no kind `{kind}`; {kind_hint(kind)}")
    from ffplan.report.catalog import parts_document
    from ffplan.studies.catalog import part_list

    parts = part_list(Catalog(catalog or ()), kind)
    emit(parts_document(parts), form, output)
    for item in parts.broken:
        typer.echo(item.fault, err=True)
    if parts.broken:
        raise typer.Exit(EXIT_INVALID)


@app.command("show")
def show_part(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of a part.", autocompletion=_complete_part)],
    form: FormatOption = ListFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Show one part: every figure with its unit, range, source, date, grade and status."""
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.suggest import did_you_mean
    from ffplan.report.catalog import part_document
    from ffplan.studies.catalog import part_sheet

    store = Catalog(catalog or ())
    try:
        sheet = part_sheet(store, name)
    except KeyError:
        hint = did_you_mean(name, store.ids(), what="part")
        raise UsageError(f"ffplan catalog show: no part `{name}`; {hint}") from None
    emit(part_document(sheet), form, output)
