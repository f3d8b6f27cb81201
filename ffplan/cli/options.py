"""Arguments and options shared by several commands, settings of a project that stand in for them, and completion.

The settings are `catalog` and `prices` of the nearest `ffplan.toml`; the shell completes names, fields that `sweep`
varies, and figures that `explain` derives.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ffplan.base.errors import FfplanError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.design.policy_schema import PolicyFields
    from ffplan.inputs.document import Document

_TABLE = re.compile(rb"\btool\.ffplan\b|^\s*\[tool\]", re.MULTILINE)
"""What a `pyproject.toml` with settings of ffplan has."""


def _may_have(folder: Path) -> bool:
    """Return whether a folder may have settings, without importing what reads them."""
    if (folder / "ffplan.toml").is_file():
        return True
    try:
        return _TABLE.search((folder / "pyproject.toml").read_bytes()) is not None
    except OSError:
        return False


def _here() -> Path | None:
    """Return the working folder; None if it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None


@cache
def _settings(folder: Path | None) -> tuple[Path, PolicyFields] | None:
    """Return the folder of the nearest settings upwards, and the settings; None without any."""
    if folder is None or not any(map(_may_have, (folder, *folder.parents))):
        return None
    from ffplan.check.policy import find_policy, read_defaults

    path = find_policy(folder)
    return None if path is None else (path.parent, read_defaults(path, os.path.relpath(path)))


def _project_catalogs(given: list[str] | None = None) -> list[str]:
    """Return the folders of parts: first from the option, then from the project."""
    settings = _settings(_here())
    folders = [] if settings is None else [os.path.relpath(settings[0] / name) for name in settings[1].catalog]
    return [*(given or ()), *folders]


def _given_catalogs(folders: list[str] | None) -> list[str]:
    """Return the folders of parts of the command line, without the project's."""
    return folders[: len(folders) - len(_project_catalogs())] if folders else []


def _project_prices() -> str | None:
    settings = _settings(_here())
    return None if settings is None else settings[1].prices


def _complete_design(incomplete: str) -> list[str]:
    from ffplan.inputs.design_files import shipped_designs

    return [name for name in shipped_designs() if name.startswith(incomplete)]


def _complete_design_or_fleet(incomplete: str) -> list[str]:
    from ffplan.inputs.design_files import shipped_designs, shipped_fleets

    return [name for name in (*shipped_designs(), *shipped_fleets()) if name.startswith(incomplete)]


def _complete_part(kind: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        from ffplan.catalog.store import Catalog

        return [name for name in Catalog(_project_catalogs()).ids_of(kind) if name.startswith(incomplete)]

    return complete


def _part_option(kind: str, text: str, *names: str, metavar: str = "ID") -> Any:
    return typer.Option(*names, metavar=metavar, help=text, autocompletion=_complete_part(kind))


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
    _part_option(
        "reliability", "Reliability profile in place of the design's own: failures of another fleet.", "--profile"
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


USUAL = ("nodes[0].count", "fabric.oversubscription", "fabric.switch", "fabric.tiers", "site.pue")
"""Paths that are offered before a design is named."""


def _document(ctx: typer.Context) -> Document | None:
    """Return the design that the command line names; None if it names none that can be read."""
    from ffplan.cli.versions import _design_document

    name: Any = ctx.params.get("file") or ctx.params.get("what")
    if not isinstance(name, str) or name == "-":
        return None
    try:
        return _design_document(name)
    except FfplanError:
        return None


def _complete_varied(ctx: typer.Context, incomplete: str) -> list[str]:
    from ffplan.base.plain import leaves
    from ffplan.inputs.design_files import find_design_or_fleet
    from ffplan.inputs.document import read_document

    file: Any = ctx.params.get("file")
    try:
        data = read_document(*find_design_or_fleet(file)).data if isinstance(file, str) and file != "-" else {}
    except FfplanError:
        data = {}
    fleet = isinstance(data, dict) and data.get("kind") == "fleet"
    known = dict.fromkeys([*(path for path, _ in leaves(data) if path), *(() if fleet else USUAL)])
    left_out = ("kind", "schema_version", "name", "description")
    return [f"{path}=" for path in known if path.startswith(incomplete) and path not in left_out]


def _complete_figure(ctx: typer.Context, incomplete: str) -> list[str]:
    document = _document(ctx)
    if document is None:
        return []
    from ffplan.catalog.store import Catalog
    from ffplan.studies.explain.path import known_figures

    try:
        known = known_figures(document, Catalog(_project_catalogs(ctx.params.get("catalog"))))
    except FfplanError:
        return []
    return [path for path in known if path.startswith(incomplete)]
