"""`ffplan export`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.loading import resolved_design, wired_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption
from ffplan.cli.output import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.interop.exported import Exported
    from ffplan.studies.fabric.wired import WiredDesign


class Target(StrEnum):
    """Targets of an export."""

    IBSIM = "ibsim"
    OPENSM_QOS = "opensm-qos"
    OPENSM_CONF = "opensm-conf"
    SLURM = "slurm"
    GRAPHML = "graphml"
    DOT = "dot"
    HOSTS = "hosts"
    SVG = "svg"
    CABLES = "cables"
    NCCL = "nccl"
    SLURM_BLOCK = "slurm-block"
    SLURM_YAML = "slurm-yaml"
    KUBERNETES = "kubernetes"
    KUBERNETES_OLD = "kubernetes-0.5"
    NETBOX_DEVICES = "netbox-devices"
    NETBOX_INTERFACES = "netbox-interfaces"
    NETBOX_CABLES = "netbox-cables"
    NAUTOBOT_DEVICES = "nautobot-devices"
    NAUTOBOT_INTERFACES = "nautobot-interfaces"
    NAUTOBOT_CABLES = "nautobot-cables"
    CONTAINERLAB = "containerlab"
    PTM = "ptm"
    ASTRA_SIM = "astra-sim"
    SIMAI = "simai"
    INFRAGRAPH = "infragraph"


def _ibsim(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.interop.ibsim import netlist, subnet

    network = wired.fabric.network
    return netlist(network, wired.names, subnet(network, plane, zone))


def _opensm_qos(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.interop.ibsim import subnet
    from ffplan.interop.qos import policy

    network = wired.fabric.network
    return policy(network, wired.names, subnet(network, plane, zone))


def _opensm_conf(design: ResolvedDesign, share: float | None) -> str:
    from ffplan.interop.qos import NO_STORAGE, options

    if not any(group.group.role == "storage" for group in design.groups):
        raise UsageError(NO_STORAGE)
    return options(0.5 if share is None else share)


def _slurm(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.slurm import topology_conf

    _whole(plane, zone, "Slurm's tree covers the whole fabric")
    return topology_conf(wired.fabric, wired.names)


def _graphml(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.interop.graph import graphml
    from ffplan.interop.ibsim import subnet

    network = wired.fabric.network
    return graphml(network, wired.names, subnet(network, plane, zone))


def _dot(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.graph import dot
    from ffplan.interop.ibsim import subnet

    network = wired.fabric.network
    return dot(network, wired.names, subnet(network, plane, zone))


def _hosts(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.fabric.routing.job_loads import pick_job

    job = pick_job(wired.design, wired.fabric, None, "aligned", 0, least=1)
    endpoints = wired.fabric.network.endpoints
    first = job.ports[:, 0]
    keep = [zone is None or z == zone for z in endpoints.zone[first].tolist()]
    if plane is not None:
        raise UsageError("ffplan export: hosts are in every plane; leave out --plane")
    return "".join(f"{wired.names.endpoint(int(port))[0]}\n" for port, kept in zip(first, keep, strict=True) if kept)


def _whole(plane: int | None, zone: int | None, what: str) -> None:
    if plane is not None or zone is not None:
        raise UsageError(f"ffplan export: {what}; leave out --plane and --zone")


def _svg(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.interop.drawing import drawing

    _whole(plane, zone, "the drawing shows the whole fabric")
    return drawing(wired.design, wired.fabric)


def _cables(wired: WiredDesign, plane: int | None, zone: int | None) -> Iterator[str]:
    from ffplan.report.formats.csv import flat_lines
    from ffplan.studies.fabric.cabling import cable_list

    _whole(plane, zone, "the list covers every network")
    return flat_lines(cable_list(wired))


def _nccl(wired: WiredDesign, plane: int | None, zone: int | None) -> str:
    from ffplan.catalog.parts import Server
    from ffplan.interop.topology.writing import Inside, topology_xml

    _whole(plane, zone, "the file describes a server")
    group = wired.design.compute
    assert isinstance(group.server, Server)
    nics, cpus = {part.id: part for part in group.nics}, {part.id: part for part in group.cpus}
    return topology_xml(Inside(group.server, group.accelerator, nics, cpus))


def _beside(wired: WiredDesign) -> tuple[Exported, ...]:
    """Return the side networks."""
    from ffplan.interop.exported import Exported
    from ffplan.studies.fabric.wired import wired_networks

    return tuple(Exported(network.design, network.fabric, network.names) for network in wired_networks(wired))


def _slurm_block(whole: Exported) -> str:
    from ffplan.interop.slurm_blocks import block_conf

    return block_conf(whole)


def _slurm_yaml(whole: Exported) -> str:
    from ffplan.interop.slurm_blocks import topology_yaml

    return topology_yaml(whole)


def _kubernetes(whole: Exported) -> Iterator[str]:
    from ffplan.interop.kubernetes import node_labels

    return node_labels(whole, old=False)


def _kubernetes_old(whole: Exported) -> Iterator[str]:
    from ffplan.interop.kubernetes import node_labels

    return node_labels(whole, old=True)


def _netbox_devices(whole: Exported) -> Iterator[str]:
    from ffplan.interop.netbox import devices

    return devices(whole)


def _netbox_interfaces(whole: Exported) -> Iterator[str]:
    from ffplan.interop.netbox import interfaces

    return interfaces(whole)


def _netbox_cables(whole: Exported) -> Iterator[str]:
    from ffplan.interop.netbox import cables

    return cables(whole)


def _nautobot_devices(whole: Exported) -> Iterator[str]:
    from ffplan.interop.nautobot import devices

    return devices(whole)


def _nautobot_interfaces(whole: Exported) -> Iterator[str]:
    from ffplan.interop.nautobot import interfaces

    return interfaces(whole)


def _nautobot_cables(whole: Exported) -> Iterator[str]:
    from ffplan.interop.nautobot import cables

    return cables(whole)


def _containerlab(whole: Exported) -> str:
    from ffplan.interop.labs import containerlab

    return containerlab(whole)


def _ptm(whole: Exported) -> Iterator[str]:
    from ffplan.interop.labs import topology_dot

    return topology_dot(whole)


def _astra_sim(whole: Exported) -> str:
    from ffplan.interop.simulators import astra_sim

    return astra_sim(whole)


def _simai(whole: Exported) -> Iterator[str]:
    from ffplan.interop.simulators import simai

    return simai(whole)


def _infragraph(whole: Exported) -> Iterator[str]:
    from ffplan.interop.simulators import infragraph

    return infragraph(whole)


_WHOLE: dict[Target, Callable[[Exported], str | Iterator[str]]] = {
    Target.SLURM_BLOCK: _slurm_block,
    Target.SLURM_YAML: _slurm_yaml,
    Target.KUBERNETES: _kubernetes,
    Target.KUBERNETES_OLD: _kubernetes_old,
    Target.NETBOX_DEVICES: _netbox_devices,
    Target.NETBOX_INTERFACES: _netbox_interfaces,
    Target.NETBOX_CABLES: _netbox_cables,
    Target.NAUTOBOT_DEVICES: _nautobot_devices,
    Target.NAUTOBOT_INTERFACES: _nautobot_interfaces,
    Target.NAUTOBOT_CABLES: _nautobot_cables,
    Target.CONTAINERLAB: _containerlab,
    Target.PTM: _ptm,
    Target.ASTRA_SIM: _astra_sim,
    Target.SIMAI: _simai,
    Target.INFRAGRAPH: _infragraph,
}
"""Targets of the whole fabric."""
_INVENTORIES = tuple(target for target in Target if target.value.startswith(("netbox-", "nautobot-")))
"""Targets that also list side networks."""
_MAKERS: dict[Target, Callable[[WiredDesign, int | None, int | None], str | Iterator[str]]] = {
    Target.IBSIM: _ibsim,
    Target.OPENSM_QOS: _opensm_qos,
    Target.SLURM: _slurm,
    Target.GRAPHML: _graphml,
    Target.DOT: _dot,
    Target.HOSTS: _hosts,
    Target.SVG: _svg,
    Target.CABLES: _cables,
    Target.NCCL: _nccl,
}


def export(
    file: DesignArgument,
    target: Annotated[Target, typer.Option("--to", help="Program or format to export to.")],
    plane: Annotated[int | None, typer.Option("--plane", min=1, help="Only this plane, counted from 1.")] = None,
    zone: Annotated[int | None, typer.Option("--zone", min=1, help="Only this zone, counted from 1.")] = None,
    share: Annotated[
        float | None,
        typer.Option(
            "--share", min=0.01, max=0.99, help="opensm-conf: fraction of a link for the job; half if omitted."
        ),
    ] = None,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Export the wired fabric to another program.

    ibsim: netlist in the format of ibnetdiscover. opensm-qos, opensm-conf: lanes for job and storage. slurm, slurm-
    block, slurm-yaml: Slurm topology files. graphml, dot: graphs. hosts: compute hosts in the order of ranks. svg:
    drawing. cables: list from port to port of every network, with lengths given a floor plan. nccl: topology
    XML of the compute server. kubernetes: labels of nodes. netbox-*, nautobot-*: CSV of every network. containerlab,
    ptm: labs and link checks. astra-sim, simai, infragraph: simulators. docs/interop.md has a table.
    """
    if share is not None and target is not Target.OPENSM_CONF:
        raise UsageError(f"ffplan export: --share goes with --to {Target.OPENSM_CONF.value}")
    if target is Target.OPENSM_CONF:  # the options are those of every fabric: the design is read, not wired
        _whole(plane, zone, "the options are those of every subnet")
        design, _ = resolved_design(file, catalog)
        write(_opensm_conf(design, share), output)
        return
    wired = wired_design(file, catalog)
    for name, value, most in (("--plane", plane, wired.fabric.planes), ("--zone", zone, wired.fabric.zones)):
        if value is not None and value > most:
            raise UsageError(f"ffplan export: {name} {value}: the fabric has {most}")
    if target in _WHOLE:
        from ffplan.interop.exported import Exported

        _whole(plane, zone, f"{target.value} takes the whole fabric")
        whole = Exported(wired.design, wired.fabric, wired.names, _beside(wired) if target in _INVENTORIES else ())
        try:
            write(_WHOLE[target](whole), output)
        except ValueError as error:
            raise UsageError(f"ffplan export: {error}") from None
        return
    text = _MAKERS[target](wired, None if plane is None else plane - 1, None if zone is None else zone - 1)
    write(text, output)
