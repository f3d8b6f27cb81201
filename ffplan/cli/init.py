"""`ffplan init`."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.control_characters import visible
from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.files import is_file, is_folder, text_lines
from ffplan.base.formatting import ids_listed, listed
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import MOST, _parsed, choice
from ffplan.cli.options import CatalogOption, PricesOption, _complete_design, _given_options, _part_option
from ffplan.cli.output import emit, write
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.results.recommendation import FirstDesign
    from ffplan.studies.choose.candidates import Built, Wishes


class _PowerOf(StrEnum):
    FACILITY_PEAK = "facility-peak"
    FACILITY_TRAINING = "facility-training"
    IT_PEAK = "it-peak"
    IT_TRAINING = "it-training"


SwitchOption = Annotated[
    str | None, _part_option("switch", "Switch of the fabric; the cheapest if omitted.", "--switch")
]
FAMILIES = ("rail-optimised", "rail-only", "fat-tree", "top-of-rack")
"""Families that `init` builds."""
FabricOption = Annotated[
    str | None,
    typer.Option(
        "--fabric",
        metavar="FAMILY",
        help=f"{', '.join(FAMILIES[:-1])} or {FAMILIES[-1]}; rail-optimised and rail-only if omitted.",
        autocompletion=lambda incomplete: [name for name in FAMILIES if name.startswith(incomplete)],
    ),
]
PowerOption = Annotated[
    str | None,
    typer.Option(
        "--power",
        metavar="POWER",
        help="Most power, such as 5MW: of the facility with everything at its rated maximum, PUE included.",
    ),
]
PowerOfOption = Annotated[
    _PowerOf, typer.Option("--power-of", help="Kind of power limited by --power; the facility's peak if omitted.")
]


def _row(built: Built, file: str | None, wishes: Wishes, catalog: Catalog) -> FirstDesign:
    from ffplan.results.recommendation import FirstDesign
    from ffplan.studies.train.default_job import workload_report
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    tokens_s, refused = None, None
    if wishes.model is not None:
        try:
            job = workload_report(built.design, catalog.fresh(), built.design.stated_workload)
            tokens_s = job.rows[0].tokens_s
        except (RefusedError, UncalibratedError) as error:
            refused = str(error)
    assessment, timed = built.assessment, built.assessment.communication
    return FirstDesign(
        name=assessment.design.name,
        idea=built.idea.words,
        file=file,
        accelerators=assessment.accelerators,
        nodes=assessment.nodes["compute"],
        switches=assessment.fabric.switches.total,
        currency=built.study.currency,
        cost=built.purchase,
        cost_per_accelerator=built.purchase / assessment.accelerators,
        facility_peak_kw=built.study.power.facility_peak_kw,
        unrated=built.ledger.unrated,
        allreduce_gbyte_s=timed[0].algbw_gbyte_s if timed else None,
        tokens_s=tokens_s,
        refused=refused,
        fewer=None,
    )


def _copied(name: str, prefix: str | None, folder: str, *, force: bool) -> None:
    from ffplan.inputs.design_files import find_design
    from ffplan.inputs.document import read_bytes
    from ffplan.inputs.model import IDENTIFIER

    path, file = find_design(name)
    try:
        text = read_bytes(path, file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"ffplan init: --from {name}: this is no UTF-8 text") from None
    new = prefix or path.stem
    if not IDENTIFIER.fullmatch(new):
        raise UsageError(f"ffplan init: --from {name}: `{new}` is not a valid name of a design; give --name")
    kept = [line for line in text_lines(text) if not line.startswith("# yaml-language-server:")]
    lines = [f"name: {new}" if line.startswith("name:") else line for line in kept]
    target = Path(folder) / f"{new}.yaml"
    _make_room([target], force=force)
    write("\n".join(lines) + "\n", str(target), option="--folder", replacing=force)
    typer.echo(visible(f"{target}: {file} to start from"))


def _make_room(targets: list[Path], *, force: bool) -> None:
    for target in targets:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"ffplan init: --folder: {target.parent} cannot be made: {error.strerror}") from None
        if is_folder(target):
            raise UsageError(f"ffplan init: {target} is a folder; choose another --name or --folder")
        if is_file(target) and not force:
            remedy = "replace it with --force, or choose another --name or --folder"
            raise UsageError(f"ffplan init: {target} exists already; {remedy}")


_WISHES = ("gpus", "accelerator", "budget", "power", "power_of", "switch", "fabric", "model", "prices", "pue")
"""Options that a copied design does not take."""


def _refuse_wishes(ctx: typer.Context) -> None:
    given = _given_options(ctx)
    wished = [name for name in _WISHES if name in given]
    if wished:
        named = listed(f"--{name.replace('_', '-')}" for name in wished)
        raise UsageError(f"ffplan init: --from copies a design as it is; drop {named}, or --from")


def init(
    ctx: typer.Context,
    *,
    gpus: Annotated[
        int | None, typer.Option("--gpus", "-g", min=1, max=MOST, help="Accelerators; the rest decides if omitted.")
    ] = None,
    accelerator: Annotated[str | None, _part_option("accelerator", "Accelerator.", "--accelerator", "-a")] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", "--capex", metavar="MONEY", help="Most to spend on the cluster, such as '$160M'."),
    ] = None,
    power: PowerOption = None,
    power_of: PowerOfOption = _PowerOf.FACILITY_PEAK,
    switch: SwitchOption = None,
    fabric: FabricOption = None,
    model: Annotated[str | None, _part_option("model", "Model to train.", "--model", "-m")] = None,
    prices: PricesOption,
    pue: Annotated[float, typer.Option("--pue", min=1.0, max=5.0, help="Facility over IT power.")] = 1.25,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="DESIGN", help="Copy a shipped design.", autocompletion=_complete_design),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Start of the names.")] = None,
    folder: Annotated[str, typer.Option("--folder", metavar="DIR", help="Folder of the files.")] = ".",
    force: Annotated[bool, typer.Option("--force", help="Replace files of the same names.")] = False,
    form: FormatOption = ReportFormat.TABLE,
    catalog: CatalogOption = None,
) -> None:
    """Write designs to start from: three for a few wishes, with cost, or a copy of a shipped one.

    Exit code 1 if no design meets the wishes: then the largest within budget and power are written.
    """
    from ffplan.inputs.model import IDENTIFIER

    if name is not None and not IDENTIFIER.fullmatch(name):
        raise UsageError(f"ffplan init: --name: `{name}` is invalid; use lower-case letters, digits, `.`, `+` and `-`")
    if start is not None:
        _refuse_wishes(ctx)
        _copied(start, name, folder, force=force)
        return
    if accelerator is None:
        raise UsageError("ffplan init: --accelerator ID; `ffplan catalog list accelerators` lists them")
    if power is None and "power_of" in _given_options(ctx):
        raise UsageError("ffplan init: --power-of has an effect with --power only")
    wishes = _wishes(
        accelerator=accelerator,
        gpus=gpus,
        budget=budget,
        power=power,
        power_of=power_of,
        switch=switch,
        fabric=fabric,
        model=model,
        prices=prices,
        pue=pue,
        catalogs=catalog,
    )
    _wished(wishes, name, folder, form, catalog, force=force)


def _wishes(
    *,
    accelerator: str,
    gpus: int | None,
    budget: str | None,
    power: str | None,
    power_of: _PowerOf,
    switch: str | None,
    fabric: str | None,
    model: str | None,
    prices: str,
    pue: float,
    catalogs: list[str] | None,
) -> Wishes:
    from ffplan.catalog.named import part_of
    from ffplan.catalog.parts import Accelerator, Switch
    from ffplan.catalog.store import Catalog
    from ffplan.cli.job import _book_of, _money_of, _refuse_own_file, _transformer_of
    from ffplan.inputs.dimensions import POWER
    from ffplan.inputs.quantities import parse_quantity
    from ffplan.studies.choose.candidates import Wishes

    parts = Catalog(catalogs or ())
    accelerator = part_of(parts, Accelerator, accelerator, "ffplan init: --accelerator").id
    book = _book_of(parts, prices, "init")
    if model is not None:
        _refuse_own_file(parts, model, "init")
        model = _transformer_of(parts, model, "init").id
    return Wishes(
        accelerator=accelerator,
        gpus=gpus,
        budget=_money_of(budget, book, "--budget", "init"),
        watts=_parsed(lambda: parse_quantity(power, POWER), "--power", "init") if power is not None else None,
        model=model,
        book=book.id,
        pue=pue,
        power_of=power_of.value,
        switches=() if switch is None else (part_of(parts, Switch, switch, "ffplan init: --switch").id,),
        family=None if fabric is None else _family(fabric, parts),
    )


def _family(name: str, parts: Catalog) -> str:
    family = name.replace("optimized", "optimised")
    if family not in FAMILIES and (called := parts.switches_called(name)):
        raise UsageError(f"ffplan init: --fabric: `{name}` names switches; write --switch with {ids_listed(called)}")
    return choice(family, FAMILIES, "--fabric")


def _wished(
    wishes: Wishes,
    name: str | None,
    folder: str,
    form: ReportFormat,
    catalogs: list[str] | None,
    *,
    force: bool,
) -> None:
    from ffplan.catalog.store import Catalog
    from ffplan.report.choose import init_document
    from ffplan.results.design import SCHEMA_VERSION
    from ffplan.results.recommendation import InitReport
    from ffplan.studies.choose.first_designs import NoDesignError, first_designs
    from ffplan.studies.choose.relaxed_targets import RelaxedSearch

    parts, prefix, unmet = Catalog(catalogs or ()), name or wishes.accelerator, None
    progress = Progress("sizing designs")
    progress.step(0, 3)
    try:
        built, left, fewer = first_designs(wishes, parts, prefix)
        if not built:
            search = RelaxedSearch(wishes, parts, prefix)
            near = search.smaller()
            unmet = search.unmet(near)
            built, left = (near[1], near[2]) if near else ([], left)
    except NoDesignError as error:
        raise UsageError(f"ffplan init: {error}") from None
    targets = [Path(folder) / f"{row.assessment.design.name}.yaml" for row in built]
    _make_room(targets, force=force)
    rows = []
    for number, (row, target) in enumerate(zip(built, targets, strict=True)):
        progress.step(number, len(built))
        write(row.text, str(target), option="--folder", replacing=force)
        rows.append(replace(_row(row, str(target), wishes, parts), fewer=fewer.get(row.assessment.design.name)))
    progress.end()
    emit(init_document(InitReport(SCHEMA_VERSION, tuple(rows), tuple(left), unmet)), form, None)
    if unmet is not None:
        size = f"; those written have {rows[0].accelerators:,} accelerators" if rows else ""
        typer.echo(f"ffplan init: no design meets the wishes{size}", err=True)
        raise typer.Exit(EXIT_FINDINGS)
