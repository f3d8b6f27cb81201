"""Rates between nodes and storage: the inputs of a file system, and the limits of a number of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.evidence import Figure
from ffplan.catalog.parts import Part, StorageServer
from ffplan.reliability.storage import server_terms, service_rates, transfer_terms, with_nics
from ffplan.results.storage import StorageTerm

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.cost.inputs import Input
    from ffplan.reliability.job import JobCase
    from ffplan.reliability.storage import ServiceRates, Way
    from ffplan.studies.operate.goodput_basis import GoodputBasis, _StorageBasis

_LABELS = {
    "client": "the client of one node {way}",
    "whole": "all clients together {way}",
    "checkpoint": "a checkpoint is {way}",
}
"""What the rates of a file system are called, by its field; `{way}` is one of `WAYS`."""
WAYS = {
    "client": ("reads", "writes"),
    "whole": ("read", "write"),
    "checkpoint": ("loaded", "saved"),
}
"""Words for reading and writing."""


def _efficiency(basis: GoodputBasis, storage: _StorageBasis) -> tuple[Figure, Part]:
    server, system, profile = storage.service.server, storage.service.file_system, basis.hazards.profile
    assert isinstance(server, StorageServer)
    assert system is not None
    if server.service is not None and server.service.efficiency is not None:
        return server.service.efficiency, server
    if profile.storage_efficiency is not None:
        return profile.storage_efficiency, profile
    return system.efficiency, system


@record
class _StorageFigure:
    name: str
    """Its name in formulas."""
    label: str
    unit: str
    figure: Figure
    owner: Part
    """Part whose sources the figure names."""


def _storage_figures(basis: GoodputBasis) -> tuple[_StorageFigure, ...]:
    storage = basis.storage
    if storage is None:
        return ()
    system = storage.service.file_system
    assert system is not None
    figure, owner = _efficiency(basis, storage)
    label = "storage service over its NICs"
    rates = [_StorageFigure(name="storage_efficiency", label=label, unit="1", figure=figure, owner=owner)]
    for kind, words in _LABELS.items():
        both = getattr(system, kind)
        if both is None:
            continue
        for way, word in zip(("read", "write"), WAYS[kind], strict=True):
            label = f"{system.id}: {words.format(way=word)}"
            rates.append(
                _StorageFigure(name=f"{kind}.{way}", label=label, unit="GB/s", figure=getattr(both, way), owner=system)
            )
    return tuple(rates)


def _storage_inputs(basis: GoodputBasis) -> tuple[Input, ...]:
    from ffplan.studies.operate.reliability import (
        _estimate_input,  # numpy comes with it, which `design` does without
    )

    return tuple(
        _estimate_input(figure.name, figure.label, figure.unit, figure.figure, figure.owner, part=figure.unit == "1")
        for figure in _storage_figures(basis)
    )


def _service_of(basis: GoodputBasis, way: Way, *, least: bool = False) -> ServiceRates:
    """Return rates in one direction, read or write; with `least`, each rate's low end in place of the likely one."""
    figures = ((figure.name, figure.figure) for figure in _storage_figures(basis))
    return service_rates({name: float(figure.range[0] if least else figure.value) for name, figure in figures}, way)


def _ordered(terms: dict[str, Number]) -> list[StorageTerm]:
    return [StorageTerm(name, float(rate)) for name, rate in sorted(terms.items(), key=lambda term: float(term[1]))]


def _servers(storage: _StorageBasis, way: Way) -> dict[str, float]:
    return storage.read if way == "read" else storage.write


def _servers_terms(basis: GoodputBasis, way: Way, part: float = 1.0) -> list[StorageTerm]:
    """Return what limits all storage servers together, the least first; `part` of their NICs are in reach."""
    if basis.storage is None:
        return []
    return _ordered(server_terms(with_nics(_servers(basis.storage, way), part), _service_of(basis, way)))


def _nodes_terms(basis: GoodputBasis, way: Way, nodes: int, *, least: bool = False) -> list[StorageTerm]:
    """Return what limits some nodes, the least first; with `least`, as the slowest healthy system reaches."""
    storage = basis.storage
    if storage is None:
        return []
    service = _service_of(basis, way, least=least)
    nics = nodes * storage.client_gbyte_s
    return _ordered(transfer_terms(_servers(storage, way), service, nodes=nodes, nics_gbyte_s=nics))


def _storage_range(basis: GoodputBasis, way: Way, nodes: int) -> tuple[StorageTerm, StorageTerm]:
    return _nodes_terms(basis, way, nodes)[0], _nodes_terms(basis, way, nodes, least=True)[0]


def _job_terms(basis: GoodputBasis, job: JobCase, way: Way) -> list[StorageTerm]:
    servers = job.read_gbyte_s if way == "read" else job.write_gbyte_s
    service = _service_of(basis, way)
    return _ordered(transfer_terms(servers, service, nodes=job.nodes, nics_gbyte_s=job.clients_gbyte_s))
