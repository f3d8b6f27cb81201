"""`ffplan import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.catalog.named import part_of
from ffplan.cli.loading import read_bytes, read_text
from ffplan.cli.options import CatalogOption, OutputOption
from ffplan.cli.output import write

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog

app = typer.Typer(help="Read files of other programs.", no_args_is_help=True, rich_markup_mode=None)
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="The file.")]


def pci_ids(catalog: Catalog) -> dict[str, str]:
    """Return the catalogue id of every PCI id that a part of the catalogue shows."""
    found = {}
    for name in catalog.ids():
        if catalog.kind_of(name) in ("accelerator", "nic"):
            for pci in getattr(catalog.entry(name).part, "pci_ids", ()):
                found[pci] = name
    return found


@app.command("nccl")
def import_nccl(
    file: FileArgument,
    name: Annotated[str, typer.Option("--id", metavar="ID", help="Id of the server.")] = "imported-server",
    cpu: Annotated[str | None, typer.Option("--cpu", metavar="ID", help="Catalogue id of the CPUs.")] = None,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Turn NCCL topology XML into a server file, and name the figures that the file still lacks."""
    from ffplan.catalog.parts import Cpu
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.model import IDENTIFIER
    from ffplan.inputs.validate import pattern_words
    from ffplan.interop.nccl import MOST_BYTES, read_inside, server_yaml

    if not IDENTIFIER.fullmatch(name):
        raise UsageError(f"ffplan import nccl: --id: `{name}` is no id; {pattern_words(IDENTIFIER.pattern)}")
    own = Catalog(catalog or ())
    if cpu:
        part_of(own, Cpu, cpu, "ffplan import nccl: --cpu")
    inside = read_inside(read_bytes(file, MOST_BYTES), file)
    parts = pci_ids(own)
    if cpu:
        parts["cpu"] = cpu
    text, lacking = server_yaml(inside, name, Path(file).name, parts)
    write(text, output)
    for item in lacking:
        print(f"ffplan import: still to fill in: {item}", file=sys.stderr)


@app.command("ibnetdiscover")
def import_ibnetdiscover(file: FileArgument, output: OutputOption = None) -> None:
    """Turn the output of ibnetdiscover into JSON: switches, hosts and links as built."""
    from ffplan.interop.asbuilt import MOST_BYTES, as_built_report, read_ibnetdiscover
    from ffplan.report.formats.json import to_json

    write(to_json(as_built_report(read_ibnetdiscover(read_text(file, MOST_BYTES), file), file)), output)
