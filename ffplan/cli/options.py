"""Arguments and options shared by several commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ffplan.cli.project import _project_catalogs, _project_prices

if TYPE_CHECKING:
    from collections.abc import Callable


def _complete_design(incomplete: str) -> list[str]:
    """Return the shipped designs that complete a name, for the shell."""
    from ffplan.inputs.design_files import shipped_designs

    return [name for name in shipped_designs() if name.startswith(incomplete)]


def _complete_part(kind: str) -> Callable[[str], list[str]]:
    """Return a shell completer for ids of one kind of part."""

    def complete(incomplete: str) -> list[str]:
        from ffplan.catalog.store import Catalog

        return [name for name in Catalog(_project_catalogs()).ids_of(kind) if name.startswith(incomplete)]

    return complete


def _by_comma(values: list[str] | None) -> list[str] | None:
    """Return the values of an option that is repeated, or takes a list with commas."""
    return None if values is None else [text.strip() for value in values for text in value.split(",")]


CatalogOption = Annotated[
    list[str] | None,
    typer.Option(
        "--catalog",
        metavar="DIR",
        help="Folder of your own parts, searched first. May be repeated.",
        callback=_project_catalogs,
    ),
]

DEFAULT_BOOK = "usd-2026"
PricesOption = Annotated[
    str,
    typer.Option(
        "--prices",
        metavar="ID",
        help=f"Price book; the project's, or {DEFAULT_BOOK}, if omitted.",
        autocompletion=_complete_part("price-book"),
        default_factory=lambda: _project_prices() or DEFAULT_BOOK,
        show_default=False,
    ),
]

ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="ID",
        help="Reliability profile in place of the design's own: failures of another fleet.",
        autocompletion=_complete_part("reliability"),
    ),
]

EffortOption = Annotated[
    Literal["tuned", "typical", "first-run"] | None,
    typer.Option(
        "--effort",
        help="Time of a run: of its `tuned` fastest plan, as `typical` published runs took (the default), or as a "
        "team's `first-run` of its size took.",
    ),
]

OutputOption = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, whole or not at all."),
]

DesignArgument = Annotated[
    str,
    typer.Argument(
        metavar="DESIGN",
        help="A design file, or the name of a shipped design.",
        autocompletion=_complete_design,
    ),
]

DesignsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="DESIGN...",
        help="Design files, or names of shipped designs.",
        autocompletion=_complete_design,
    ),
]

SeedOption = Annotated[int, typer.Option("--seed", min=0, max=2**31, help="Seed of everything drawn at random.")]

NodesOption = Annotated[
    int | None,
    typer.Option("--nodes", "-n", min=2, help="Nodes of the job; all of the largest kind if omitted."),
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


def _given_options(context: typer.Context) -> set[str]:
    """Return the parameters that the command line gives, and leaves to no default."""
    from typer._click.core import ParameterSource

    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is ParameterSource.COMMANDLINE}
