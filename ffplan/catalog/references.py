"""The ids of other parts that a part names, and the dangling ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.catalog.engines import ANY, Engine
from ffplan.catalog.ownership import OwnershipProfile, SideNetwork
from ffplan.catalog.parts import Accelerator, Server, StorageServer
from ffplan.catalog.prices import PriceBook, RentBook, TokenBook
from ffplan.catalog.reliability import FailureStudy, ReliabilityProfile
from ffplan.catalog.stacks import SoftwareStack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Part
    from ffplan.catalog.read import Entry
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document

    Place = tuple[str | int, ...]
    Reference = tuple[Place, str, str]
    """Where a part names another, its id, and the kind that is wanted there."""

SOLD = ("server", "storage-server", "switch", "nic", "link")
"""Kinds of parts that have prices."""


def _of_accelerator(part: Accelerator) -> Iterator[Reference]:
    yield ("library",), part.library, "library"
    if part.training is not None:
        for field, kind in (("kernels", "attention-rates"), ("stack", "stack")):
            if (name := getattr(part.training, field)) is not None:
                yield ("training", field), name, kind


def _of_server(part: Server | StorageServer) -> Iterator[Reference]:
    for position, socket in enumerate(part.sockets):
        yield ("sockets", position, "cpu"), socket.cpu, "cpu"
    for position, nic in enumerate(part.nics):
        yield ("nics", position, "part"), nic.part, "nic"
    if isinstance(part, StorageServer):
        yield ("service", "file_system"), part.file_system, "file-system"
    elif part.accelerator is not None:
        yield ("accelerator",), part.accelerator, "accelerator"


def _of_profile(part: ReliabilityProfile) -> Iterator[Reference]:
    if part.beside is not None:
        yield ("beside",), part.beside, "reliability"
    for name, hazard in part.hazards.items():
        if hazard.counted is not None:
            yield ("hazards", name, "counted", "study"), hazard.counted.study, "failure-study"
    yield ("silent_rate", "study"), part.silent_rate.study, "failure-study"


def _of_ownership(part: OwnershipProfile) -> Iterator[Reference]:
    for field, kind in (("price_book", "price-book"), ("storage_server", "storage-server")):
        if (name := getattr(part, field)) is not None:
            yield (field,), name, kind
    for field in type(part).model_fields:
        network = getattr(part, field)
        if isinstance(network, SideNetwork):
            yield (field, "switch"), network.switch, "switch"
            yield (field, "link"), network.link, "link"


def _of_stack(part: SoftwareStack) -> Iterator[Reference]:
    yield ("runtime",), part.runtime, "runtime"
    for name in part.attention:
        yield ("attention", name), name, "attention-rates"


def _references(part: Part) -> Iterator[Reference]:
    """Yield the parts that a part needs; the one that it extends is read with it."""
    if isinstance(part, Accelerator):
        yield from _of_accelerator(part)
    elif isinstance(part, Server | StorageServer):
        yield from _of_server(part)
    elif isinstance(part, ReliabilityProfile):
        yield from _of_profile(part)
    elif isinstance(part, OwnershipProfile):
        yield from _of_ownership(part)
    elif isinstance(part, SoftwareStack):
        yield from _of_stack(part)
    elif isinstance(part, FailureStudy) and part.accelerator is not None:
        yield ("accelerator",), part.accelerator, "accelerator"


def dangling(part: Part, document: Document, catalog: Catalog) -> Iterator[Finding]:
    """Yield a finding for every part that a part names and no folder has, as a design that uses it has them."""
    for path, name, kind in _references(part):
        if (fault := catalog.misnamed(kind, name, document, path)) is not None:
            yield fault


def whole_entry(catalog: Catalog, name: str) -> Entry:
    """Return a part whose references all exist.

    Raises:
        KeyError: if no folder has it.
        InputError: if its file is wrong, or names a part that no folder has.
    """
    entry = catalog.entry(name)
    if entry.key[1] != catalog.shipped_position and (faults := list(dangling(entry.part, entry.document, catalog))):
        raise InputError(*faults)
    return entry


def keyed_parts(part: Part) -> Iterator[tuple[Place, str, tuple[str, ...]]]:
    """Yield (path, id, kinds) of the parts that figures are for: a figure of an id that no part has is never used."""
    if isinstance(part, PriceBook):
        for field in ("items", "unpriced"):
            for name in getattr(part, field):
                yield (field, name), name, SOLD
    elif isinstance(part, RentBook):
        for offer, rent in part.offers.items():
            yield ("offers", offer, "accelerator"), rent.accelerator, ("accelerator",)
    elif isinstance(part, TokenBook):
        for offer, tokens in part.offers.items():
            yield ("offers", offer, "model"), tokens.model, ("model",)
    elif isinstance(part, Engine):
        for name in part.rates:
            if name != ANY:
                yield ("rates", name), name, ("accelerator",)
    elif isinstance(part, ReliabilityProfile):
        for name in part.relative:
            yield ("relative", name), name, ("accelerator",)
