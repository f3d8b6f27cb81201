"""`ffplan catalog`, with the JSON Schema of files and outputs."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from ffplan.base.errors import EXIT_INVALID, FfplanError, UsageError
from ffplan.cli.options import CatalogOption, OutputOption, _project_catalogs
from ffplan.cli.output import emit, write

app = typer.Typer(help="List, show and audit parts.", no_args_is_help=True, rich_markup_mode=None)


class _ListFormat(StrEnum):
    TABLE = "table"
    JSON = "json"


class _AuditFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


FormatOption = Annotated[_ListFormat, typer.Option("--format", "-f", help="Format.")]


def _complete_part(ctx: typer.Context, incomplete: str) -> list[str]:
    from ffplan.catalog.store import Catalog

    try:
        known = Catalog(_project_catalogs(ctx.params.get("catalog"))).ids()
    except FfplanError:
        return []
    return [name for name in known if name.startswith(incomplete)]


def _complete_kind(incomplete: str) -> list[str]:
    from ffplan.catalog.folders import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]


def _complete_listed(incomplete: str) -> list[str]:
    return [*_complete_kind(incomplete), *(["rents"] if "rents".startswith(incomplete) else [])]


def _kind(kind: str | None, command: str) -> str | None:
    from ffplan.catalog.folders import KINDS, kind_hint

    if kind is None or kind in KINDS:
        return kind
    for ending in ("s", "es"):
        if kind.removesuffix(ending) in KINDS:
            return kind.removesuffix(ending)
    raise UsageError(f"ffplan catalog {command}: no kind `{kind}`; {kind_hint(kind)}")


@app.command("list")
def list_parts(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="Kind of part, or rents; the kinds themselves if omitted.",
            autocompletion=_complete_listed,
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="List the parts of every kind.")] = False,
    form: FormatOption = _ListFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """List the kinds of parts in the catalogue, or the parts of a kind.

    JSON has every part.     Exit code 2 if a file is wrong; standard error names it, and the other parts are listed.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.report.catalog import offers_document, parts_document
    from ffplan.studies.explain.catalog import offer_list, part_list

    if kind == "rents":
        emit(offers_document(offer_list(Catalog(catalog or ()))), form, output)
        return
    parts = part_list(Catalog(catalog or ()), _kind(kind, "list"))
    emit(parts_document(parts, by_kind=kind is None and not full), form, output)
    for broken in parts.broken:
        typer.echo(broken.fault, err=True)
    if parts.broken:
        raise typer.Exit(EXIT_INVALID)


@app.command("show")
def show_part(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of a part.", autocompletion=_complete_part)],
    form: FormatOption = _ListFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Show one part: every figure with its unit, range, source, date, grade and status."""
    from ffplan.base.errors import did_you_mean
    from ffplan.catalog.named import memory_words
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.part_ids import id_of, meant, unknown_part
    from ffplan.report.catalog import part_document
    from ffplan.studies.explain.catalog import part_sheet

    store = Catalog(catalog or ())
    usual = name if store.locate(name) else id_of(name, store.ids())
    called = [] if store.locate(usual) else store.switches_called(name)
    try:
        sheet = part_sheet(store, called[0] if len(called) == 1 else usual)
    except KeyError:
        if called or len(meant(name, store.ids())) > 1:
            fault = unknown_part(name, store.ids(), "part", partial(memory_words, store), called)
            raise UsageError(f"ffplan catalog show: {'; '.join(fault)}") from None
        hint = did_you_mean(name, store.ids(), what="part")
        raise UsageError(f"ffplan catalog show: no part `{name}`; {hint}") from None
    emit(part_document(sheet), form, output)


@app.command("audit")
def audit_parts(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help="Kind of part; all if omitted.", autocompletion=_complete_kind),
    ] = None,
    months: Annotated[
        int, typer.Option("--months", min=1, max=600, help="Age from which a price is stale, from the newest source.")
    ] = 24,
    form: Annotated[_AuditFormat, typer.Option("--format", "-f", help="Format.")] = _AuditFormat.TABLE,
    today: Annotated[
        str | None, typer.Option("--today", metavar="DAY", help="Day after which no source can be, such as 2027-03-31.")
    ] = None,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """List figures that need a second look: out of range, contradicted, of no part, unpriced, stale, undated, wide,
    recalled, second-hand.

    Exit code 2 if a file is wrong.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.cli.loading import _day_of
    from ffplan.report.catalog import audit_document
    from ffplan.studies.explain.catalog import audit

    day = date.fromisoformat(_day_of(today, "ffplan catalog audit", "--today"))
    report = audit(Catalog(catalog or ()), day, _kind(kind, "audit"), months)
    emit(audit_document(report), form, output)
    for broken in report.broken:
        typer.echo(broken.fault, err=True)
    if report.broken:
        raise typer.Exit(EXIT_INVALID)


@app.command("new")
def new_part(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="Kind of part, such as switch.", autocompletion=_complete_kind)
    ],
    name: Annotated[str, typer.Option("--id", metavar="ID", help="Id of the part.")] = "new-part",
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="ID", help="Part whose values are the examples.", autocompletion=_complete_part),
    ] = None,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Print a template file of a part: every field of its kind explained, with examples."""
    from ffplan.base.errors import did_you_mean
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.model import IDENTIFIER
    from ffplan.inputs.part_ids import id_of
    from ffplan.schema.part_template import part_template

    known = _kind(kind, "new")
    assert known is not None
    if not IDENTIFIER.fullmatch(name):
        raise UsageError(f"ffplan catalog new: --id `{name}`: use lower-case letters, digits, `.`, `+` and `-`")
    parts = Catalog(catalog or ())
    ids = parts.ids_of(known) if like is not None else []
    like = id_of(like, ids) if like is not None else None
    if like is not None and like not in ids:
        raise UsageError(f"ffplan catalog new: --like: no {known} `{like}`; {did_you_mean(like, ids, what=known)}")
    write(part_template(known, name, parts, like), output)


class _SchemaName(StrEnum):
    DESIGN = "design"
    CATALOG = "catalog"
    ASSESSMENT = "assessment"
    COMPARISON = "comparison"
    COST = "cost"
    FINDINGS = "findings"
    COMMUNICATION_CASES = "communication-cases"
    TRAINING_CASES = "training-cases"
    SERVING_CASES = "serving-cases"
    TRAINING_PLAN = "training-plan"
    PROJECT = "project"
    COLLECTIVE = "collective"
    TRAIN = "train"
    SERVE = "serve"
    CALIBRATION = "calibration"
    SERVING_CALIBRATION = "serving-calibration"
    LEAVE_ONE_OUT = "leave-one-out"
    KERNEL_RECORDING = "kernel-recording"
    MEASURE_PLAN = "measure-plan"
    MEASURE_FIT = "measure-fit"
    ACCURACY = "accuracy"
    SIZE = "size"
    ROUTE = "route"
    PLACEMENT = "placement"
    FAULTS = "faults"
    CABLING = "cabling"
    VERIFY = "verify"
    GOODPUT = "goodput"
    STORAGE = "storage"
    ACCEPTANCE = "acceptance"
    UTILIZATION = "utilization"
    SWEEP = "sweep"
    RECOMMENDATION = "recommendation"
    FLEET_RECOMMENDATION = "fleet-recommendation"
    FLEET = "fleet"
    FLEET_PLAN = "fleet-plan"
    SERVE_COMPARISON = "serve-comparison"
    INIT = "init"
    EXPLANATION = "explanation"
    AUDIT = "audit"
    DIFF = "diff"
    AS_BUILT = "as-built"
    SLURM_TOPOLOGY = "slurm-topology"
    REPRODUCTION = "reproduction"


def schema(
    name: Annotated[_SchemaName, typer.Argument(help="File or output to describe.")],
    with_catalog: Annotated[
        bool, typer.Option("--with-catalog", help="Offer the ids of all parts, including --catalog, as choices.")
    ] = False,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Print the JSON Schema of design files, catalogue files, a project's `ffplan.toml`, or a JSON output.

    With --with-catalog an editor completes ids of parts, and underlines an id that no part has.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.report.formats.data import to_json
    from ffplan.schema.json_schema import json_schema

    ids_of = Catalog(catalog or ()).ids_of if with_catalog else None
    write(to_json(json_schema(name.value, ids_of)), output)
