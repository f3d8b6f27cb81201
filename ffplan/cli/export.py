"""`ffplan export`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.cli.common import CatalogOption, DesignArgument, OutputOption, write
from ffplan.cli.wired import Wired, wired_design
from ffplan.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable


class Target(StrEnum):
    """What a fabric can be exported to."""

    IBSIM = "ibsim"
    SLURM = "slurm"
    GRAPHML = "graphml"
    DOT = "dot"
    HOSTS = "hosts"


def _ibsim(wired: Wired, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.ibsim import netlist, subnet

    network = wired.fabric.network
    return netlist(network, wired.names, subnet(network, plane, zone))


def _slurm(wired: Wired, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.slurm import topology_conf

    if plane is not None or zone is not None:
        raise UsageError("ffplan export: Slurm's tree covers the whole fabric; leave out --plane and --zone")
    return topology_conf(wired.fabric, wired.names)


def _graphml(wired: Wired, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.graph import graphml
    from ffplan.interop.ibsim import subnet

    network = wired.fabric.network
    return graphml(network, wired.names, subnet(network, plane, zone))


def _dot(wired: Wired, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.graph import dot
    from ffplan.interop.ibsim import subnet

    network = wired.fabric.network
    return dot(network, wired.names, subnet(network, plane, zone))


def _hosts(wired: Wired, plane: int | None, zone: int | None) -> str:
    from ffplan.fabric.study import pick_job

    job = pick_job(wired.design, wired.fabric, None, "aligned", 0)
    endpoints = wired.fabric.network.endpoints
    first = job.ports[:, 0]
    keep = [zone is None or z == zone for z in endpoints.zone[first].tolist()]
    if plane is not None:
        raise UsageError("ffplan export: hosts are in every plane; leave out --plane")
    return "".join(f"{wired.names.endpoint(int(port))[0]}\n" for port, kept in zip(first, keep, strict=True) if kept)


_MAKERS: dict[Target, Callable[[Wired, int | None, int | None], str]] = {
    Target.IBSIM: _ibsim, Target.SLURM: _slurm, Target.GRAPHML: _graphml, Target.DOT: _dot, Target.HOSTS: _hosts,
}  # fmt: skip


def export(
    file: DesignArgument,
    target: Annotated[Target, typer.Option("--to", help="Program or format to export to.")],
    plane: Annotated[int | None, typer.Option("--plane", min=1, help="Only this plane, counted from 1.")] = None,
    zone: Annotated[int | None, typer.Option("--zone", min=1, help="Only this zone, counted from 1.")] = None,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Export the wired fabric to another program.

    ibsim: netlist in the format of ibnetdiscover. slurm: topology.conf. graphml, dot: graphs. hosts: compute hosts in
    the order of ranks.
    """
    wired = wired_design(file, catalog)
    for name, value, most in (("--plane", plane, wired.fabric.planes), ("--zone", zone, wired.fabric.zones)):
        if value is not None and value > most:
            raise UsageError(f"ffplan export: {name} {value}: the fabric has {most}")
    text = _MAKERS[target](wired, None if plane is None else plane - 1, None if zone is None else zone - 1)
    write(text, output)
