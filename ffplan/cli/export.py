"""`ffplan fabric export`."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.loading import _resolved_design, _wired_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption
from ffplan.cli.output import _refuse_page, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.interop.exported import Exported
    from ffplan.studies.fabric.cabling import WiredDesign


class _Target(StrEnum):
    IBSIM = "ibsim"
    OPENSM_QOS = "opensm-qos"
    OPENSM_CONF = "opensm-conf"
    SLURM = "slurm"
    GRAPHML = "graphml"
    DOT = "dot"
    HOSTS = "hosts"
    SVG = "svg"
    CABLES = "cables"
    LABELS = "labels"
    PORTS = "ports"
    RACKS = "racks"
    STEPS = "steps"
    NCCL = "nccl"
    SLURM_BLOCK = "slurm-block"
    SLURM_YAML = "slurm-yaml"
    KUBERNETES = "kubernetes"
    KUBERNETES_OLD = "kubernetes-0.5"
    NETBOX = "netbox"
    NAUTOBOT = "nautobot"
    CONTAINERLAB = "containerlab"
    PTM = "ptm"
    ASTRA_SIM = "astra-sim"
    SIMAI = "simai"
    INFRAGRAPH = "infragraph"


class Table(StrEnum):
    """Tables of an inventory, in the order of import."""

    DEVICES = "devices"
    INTERFACES = "interfaces"
    CABLES = "cables"


def _opensm_conf(design: ResolvedDesign, share: float | None) -> str:
    from ffplan.interop.exported import NO_STORAGE, qos_options

    if not any(group.group.role == "storage" for group in design.groups):
        raise UsageError(NO_STORAGE)
    return qos_options(0.5 if share is None else share)


def _slurm(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.schedulers import topology_conf

    _whole(plane, zone, "Slurm's tree covers the whole fabric")
    return topology_conf(wired.fabric, wired.names)


def _hosts(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.fabric.routing.job_loads import pick_job

    job = pick_job(wired.design, wired.fabric, None, "aligned", 0, least=1)
    endpoints = wired.fabric.network.endpoints
    first = job.ports[:, 0]
    keep = [zone is None or z == zone for z in endpoints.zone[first].tolist()]
    if plane is not None:
        raise UsageError("ffplan fabric export: hosts are in every plane; leave out --plane")
    return "".join(f"{wired.names.endpoint(int(port))[0]}\n" for port, kept in zip(first, keep, strict=True) if kept)


def _whole(plane: int | None, zone: int | None, what: str) -> None:
    if plane is not None or zone is not None:
        raise UsageError(f"ffplan fabric export: {what}; leave out --plane and --zone")


def _svg(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.drawing import drawing

    _whole(plane, zone, "the drawing shows the whole fabric")
    return drawing(wired.design, wired.fabric)


def _cables(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.report.formats.data import flat_lines
    from ffplan.studies.fabric.cabling import cable_list

    _whole(plane, zone, "the list covers every network")
    return flat_lines(cable_list(wired))


def _labels(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.interop.delivery import labels
    from ffplan.studies.fabric.cabling import cable_list

    _whole(plane, zone, "labels are of every network")
    return labels(cable_list(wired))


def _ports(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.interop.delivery import port_map
    from ffplan.studies.fabric.cabling import cable_list

    _whole(plane, zone, "the map has the switches of every network")
    return port_map(_every_network(wired), cable_list(wired))


def _racks(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.interop.delivery import elevations
    from ffplan.studies.fabric.cabling import floor_places

    _whole(plane, zone, "racks hold the whole fabric")
    if assumed := wired.design.assumed_heights:
        typer.echo(f"ffplan fabric export: assumed of the floor plan: {', '.join(assumed)}", err=True)
    return elevations(_every_network(wired), floor_places(wired))


def _steps(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.interop.delivery import installation
    from ffplan.studies.fabric.cabling import cabling, floor_places

    _whole(plane, zone, "steps are of every network")
    return installation(_every_network(wired), floor_places(wired), cabling(wired).cables)


def _nccl(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.catalog.parts import Server
    from ffplan.interop.topology.writing import Inside, topology_xml

    _whole(plane, zone, "the file describes a server")
    group = wired.design.compute
    assert isinstance(group.server, Server)
    nics, cpus = {part.id: part for part in group.nics}, {part.id: part for part in group.cpus}
    return topology_xml(Inside(group.server, group.accelerator, nics, cpus))


def _every_network(wired: WiredDesign) -> Exported:
    from ffplan.interop.exported import Exported
    from ffplan.studies.fabric.cabling import wired_networks

    beside = tuple(Exported(network.design, network.fabric, network.names) for network in wired_networks(wired))
    return Exported(wired.design, wired.fabric, wired.names, beside)


_OF_SUBNET = {
    _Target.IBSIM: ("exported", "netlist"),
    _Target.OPENSM_QOS: ("exported", "qos_policy"),
    _Target.GRAPHML: ("graph", "graphml"),
    _Target.DOT: ("graph", "dot"),
}
"""Targets that take a plane or a zone: module of `ffplan.interop`, imported when it is needed, and function."""
_OF_WHOLE: dict[_Target, tuple[str, str, dict[str, bool]]] = {
    _Target.SLURM_BLOCK: ("schedulers", "block_conf", {}),
    _Target.SLURM_YAML: ("schedulers", "topology_yaml", {}),
    _Target.KUBERNETES: ("schedulers", "node_labels", {"old": False}),
    _Target.KUBERNETES_OLD: ("schedulers", "node_labels", {"old": True}),
    _Target.CONTAINERLAB: ("simulators", "containerlab", {}),
    _Target.PTM: ("simulators", "topology_dot", {}),
    _Target.ASTRA_SIM: ("simulators", "astra_sim", {}),
    _Target.SIMAI: ("simulators", "simai", {}),
    _Target.INFRAGRAPH: ("simulators", "infragraph", {}),
}
"""Targets that take the whole fabric: module, function and its options."""
_OTHERS: dict[_Target, Callable[[WiredDesign, int | None, int | None], str | Iterator[str]]] = {
    _Target.SLURM: _slurm,
    _Target.HOSTS: _hosts,
    _Target.SVG: _svg,
    _Target.CABLES: _cables,
    _Target.LABELS: _labels,
    _Target.PORTS: _ports,
    _Target.RACKS: _racks,
    _Target.STEPS: _steps,
    _Target.NCCL: _nccl,
}


def _subnet(target: _Target, wired: WiredDesign, plane: int | None, zone: int | None) -> str | Iterator[str]:
    from ffplan.interop.exported import subnet

    module, function = _OF_SUBNET[target]
    network = wired.fabric.network
    text: str | Iterator[str] = _interop(module, function)(network, wired.names, subnet(network, plane, zone))
    return text


def _whole_fabric(target: _Target, table: Table | None, wired: WiredDesign) -> str | Iterator[str]:
    """Export the whole fabric; an inventory lists the networks beside it as well."""
    from ffplan.interop.exported import Exported

    if table is not None:
        from ffplan.interop.inventory import inventory_table

        return inventory_table(_every_network(wired), target.value, table.value)
    module, function, options = _OF_WHOLE[target]
    whole = Exported(wired.design, wired.fabric, wired.names)
    text: str | Iterator[str] = _interop(module, function)(whole, **options)
    return text


def _interop(module: str, function: str) -> Callable[..., Any]:
    export: Callable[..., Any] = getattr(import_module(f"ffplan.interop.{module}"), function)
    return export


def _check_table(target: _Target, table: Table | None) -> None:
    inventories = (_Target.NETBOX, _Target.NAUTOBOT)
    if table is not None and target not in inventories:
        raise UsageError("ffplan fabric export: --table goes with --to netbox and --to nautobot")
    if table is None and target in inventories:
        raise UsageError(f"ffplan fabric export: --to {target.value} needs --table: {', '.join(Table)}")


def export(
    file: DesignArgument,
    target: Annotated[_Target, typer.Option("--to", help="Program or format to export to.")],
    plane: Annotated[int | None, typer.Option("--plane", min=1, help="Only this plane, counted from 1.")] = None,
    zone: Annotated[int | None, typer.Option("--zone", min=1, help="Only this zone, counted from 1.")] = None,
    share: Annotated[
        float | None,
        typer.Option(
            "--share", min=0.01, max=0.99, help="opensm-conf: fraction of a link for the job; half if omitted."
        ),
    ] = None,
    table: Annotated[
        Table | None, typer.Option("--table", help="netbox, nautobot: the table; import them in this order.")
    ] = None,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Export the wired fabric to another program.

    ibsim: netlist in the format of ibnetdiscover. opensm-qos, opensm-conf: lanes for job and storage. slurm,
    slurm-block, slurm-yaml: its topology files. graphml, dot: graphs. hosts: compute hosts in the order of ranks.
    svg: drawing. cables: list from port to port of every network, with lengths where the design has a floor.
    labels: what to print on both ends of every cable. ports: a page to print for every switch. racks: contents of
    racks by unit. steps: order of installation. nccl: topology XML of the compute server. kubernetes: labels of
    nodes. netbox, nautobot: CSV of every network, by --table. containerlab, ptm: labs and link checks. astra-sim,
    simai, infragraph: simulators. docs/interop.md has a table.
    """
    if share is not None and target is not _Target.OPENSM_CONF:
        raise UsageError(f"ffplan fabric export: --share goes with --to {_Target.OPENSM_CONF.value}")
    _check_table(target, table)
    if target is _Target.PORTS:
        _refuse_page("--to ports", output)
    if target is _Target.OPENSM_CONF:  # the options are those of every fabric: the design is read, not wired
        _whole(plane, zone, "the options apply to every subnet")
        design, _ = _resolved_design(file, catalog)
        write(_opensm_conf(design, share), output)
        return
    wired = _wired_design(file, catalog)
    for name, value, most in (("--plane", plane, wired.fabric.planes), ("--zone", zone, wired.fabric.zones)):
        if value is not None and value > most:
            raise UsageError(f"ffplan fabric export: {name} {value}: the fabric has {most}")
    part = (None if plane is None else plane - 1, None if zone is None else zone - 1)
    if target in _OTHERS:
        write(_OTHERS[target](wired, *part), output)
        return
    if target in _OF_SUBNET:
        write(_subnet(target, wired, *part), output)
        return
    _whole(plane, zone, f"{target.value} takes the whole fabric")
    try:
        write(_whole_fabric(target, table, wired), output)  # a text made line by line may fail late
    except ValueError as error:
        raise UsageError(f"ffplan fabric export: {error}") from None
