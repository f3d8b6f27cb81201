"""`ffplan fabric import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.catalog.named import part_of
from ffplan.cli.loading import _day_of, read_bytes
from ffplan.cli.options import CatalogOption, OutputOption, _part_option
from ffplan.cli.output import write

if TYPE_CHECKING:
    from ffplan.catalog.configs.part import Import
    from ffplan.catalog.launch.read import Launch
    from ffplan.catalog.store import Catalog
    from ffplan.interop.topology.server_file import Basis

app = typer.Typer(help="Read files of other programs.", no_args_is_help=True, rich_markup_mode=None)
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="The file.")]


def _basis(catalog: Catalog, name: str | None) -> Basis | None:
    from ffplan.catalog.parts import Server
    from ffplan.interop.topology.server_file import Basis

    if name is None:
        return None
    server = part_of(catalog, Server, name, "ffplan fabric import nccl: --like")
    return Basis(server, catalog.entry(name).document.data)


def _refuse_id(name: str, who: str) -> None:
    from ffplan.inputs.model import IDENTIFIER
    from ffplan.inputs.validate import pattern_remedy

    if not IDENTIFIER.fullmatch(name):
        raise UsageError(f"{who}: --id: `{name}` is no id; {pattern_remedy(IDENTIFIER.pattern)}")


@app.command("nccl")
def import_nccl(
    file: FileArgument,
    name: Annotated[str, typer.Option("--id", metavar="ID", help="Id of the server.")] = "imported-server",
    cpu: Annotated[str | None, typer.Option("--cpu", metavar="ID", help="Catalogue id of the CPUs.")] = None,
    like: Annotated[
        str | None, _part_option("server", "Server of the catalogue that fills figures missing in the file.", "--like")
    ] = None,
    gpus: Annotated[
        str | None, typer.Option("--gpu-bus", metavar="BUS,...", help="Bus ids of GPUs, where the file does not say.")
    ] = None,
    nics: Annotated[
        str | None, typer.Option("--nic-bus", metavar="BUS,...", help="Bus ids of NICs, where the file does not say.")
    ] = None,
    date: Annotated[
        str | None, typer.Option("--date", metavar="DAY", help="Day of the reading, 2026-08-31; today if omitted.")
    ] = None,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Turn topology XML of NCCL or RCCL into a server file, and name the fields to fill in."""
    from ffplan.catalog.parts import Cpu
    from ffplan.catalog.store import Catalog
    from ffplan.interop.topology.model import known_parts
    from ffplan.interop.topology.reading import read_server
    from ffplan.interop.topology.server_file import server_file
    from ffplan.interop.xml_tree import MOST_BYTES

    _refuse_id(name, "ffplan fabric import nccl")
    parts, day = Catalog(catalog or ()), _day_of(date, "ffplan fabric import nccl")
    if cpu:
        part_of(parts, Cpu, cpu, "ffplan fabric import nccl: --cpu")
    basis = _basis(parts, like)
    named = [bus.split(",") if bus else [] for bus in (gpus, nics)]
    server = read_server(read_bytes(file, MOST_BYTES), file, *named)
    written = server_file(server, known_parts(parts), name=name, file=Path(file).name, date=day, cpu=cpu, basis=basis)
    write(written.text, output)
    for remark in written.warnings:
        print(f"ffplan fabric import: warning: {remark}", file=sys.stderr)
    for todo in written.todo:
        print(f"ffplan fabric import: still to fill in: {todo}", file=sys.stderr)


@app.command("model")
def import_model(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A config.json of Hugging Face or its folder; arguments of Megatron-LM or NeMo (shell, YAML); "
            "TOML of torchtitan; JSON of DeepSpeed.",
        ),
    ],
    name: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Id of the model; made of its name if omitted.")
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Write the training plan into this file, for --plan.")
    ] = None,
    output: OutputOption = None,
) -> None:
    """Turn what another program trains into a model file and a training plan; say what was assumed and is left out.

    A file without dimensions gives its plan alone.
    """
    from ffplan.catalog.configs.part import read_import

    who = "ffplan fabric import model"
    if name is not None:
        _refuse_id(name, who)
    imported = read_import(file, name)
    launch = imported.launch
    if save is not None and launch is None:
        raise UsageError(f"{who}: --save: {file} has a model, and no training plan")
    if launch is not None:
        _refuse_plan(launch)
    text, remarks = _model_text(imported)
    if launch is not None and (text is None or save is not None):
        target, option = (output, "--output") if save is None else (save, "--save")
        write(launch.text, target, option=option)
        remarks += [f"plan: {remark}" for remark in launch.of_plan]
    elif launch is not None:
        remarks.append(f"it has a training plan of {launch.program} too: `--save FILE` writes it")
    if text is not None:
        write(text, output)
    for remark in remarks:
        print(f"{who}: {remark}", file=sys.stderr)


def _refuse_plan(launch: Launch) -> None:
    from ffplan.design.training import PlanFile
    from ffplan.inputs.validate import validate

    validate(PlanFile, launch.document())


def _model_text(imported: Import) -> tuple[str | None, list[str]]:
    from ffplan.catalog.models import Model
    from ffplan.catalog.store import Catalog
    from ffplan.training.model_flops import parameters

    if imported.model is None:
        place = Catalog().locate(imported.launch.part) if imported.launch is not None and imported.launch.part else None
        return (
            (None, []) if place is None else (place[0].read_text(), [f"the model is {place[0].stem} of the catalogue"])
        )
    part = imported.model.entry.part
    assert isinstance(part, Model)
    size = (
        []
        if part.transformer is None
        else [f"{parameters(part.transformer) / 1e9:,.4g} bn parameters by its dimensions"]
    )
    return imported.model.text, [*size, *imported.model.remarks]


@app.command("ibnetdiscover")
def import_ibnetdiscover(
    file: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Files of a fabric, as `ffplan fabric audit` reads them.")
    ],
    output: OutputOption = None,
) -> None:
    """Turn the output of fabric tools into JSON: switches, hosts and links as built."""
    from ffplan.cli.audit import _read_files
    from ffplan.interop.asbuilt.model import as_built_report
    from ffplan.report.formats.data import to_json

    built = _read_files(file, "fabric import ibnetdiscover", partial=True)
    write(to_json(as_built_report(built, file[0])), output)
    for remark in built.remarks:
        print(f"ffplan fabric import: {remark}", file=sys.stderr)


@app.command("slurm")
def import_slurm(file: FileArgument, output: OutputOption = None) -> None:
    """Turn a topology file of Slurm into JSON: switches, blocks, and faults that Slurm would refuse."""
    from ffplan.interop.slurm_conf import MOST_BYTES
    from ffplan.interop.slurm_files import read_slurm
    from ffplan.report.formats.data import to_json

    topology = read_slurm(read_bytes(file, MOST_BYTES), file)
    write(to_json(topology), output)
    for remark in topology.remarks:
        print(f"ffplan fabric import: {remark}", file=sys.stderr)
