"""Kinds of parts: modules of their models, and synonyms."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ffplan.base.errors import did_you_mean

if TYPE_CHECKING:
    from ffplan.catalog.parts import Part

KINDS = {
    "accelerator": "parts.Accelerator",
    "cpu": "parts.Cpu",
    "nic": "parts.Nic",
    "switch": "parts.Switch",
    "link": "parts.Link",
    "server": "parts.Server",
    "storage-server": "parts.StorageServer",
    "file-system": "file_systems.FileSystem",
    "price-book": "prices.PriceBook",
    "rent-book": "prices.RentBook",
    "token-book": "prices.TokenBook",
    "ownership": "ownership.OwnershipProfile",
    "failure-study": "reliability.FailureStudy",
    "xid-table": "reliability.XidTable",
    "reliability": "reliability.ReliabilityProfile",
    "job-mix": "reliability.JobMix",
    "library": "library.Library",
    "attention-rates": "stacks.AttentionRates",
    "runtime": "stacks.Runtime",
    "stack": "stacks.SoftwareStack",
    "engine": "engines.Engine",
    "model": "models.Model",
}
"""Module with the model of each kind, imported on demand."""
OTHER_WORDS = {
    "gpu": "accelerator",
    "tpu": "accelerator",
    "processor": "cpu",
    "adapter": "nic",
    "hca": "nic",
    "router": "switch",
    "cable": "link",
    "optic": "link",
    "transceiver": "link",
    "host": "server",
    "node": "server",
    "storage": "storage-server",
    "filesystem": "file-system",
    "object-store": "file-system",
    "price": "price-book",
    "rent": "rent-book",
    "token": "token-book",
    "api": "token-book",
    "tco": "ownership",
    "failure": "failure-study",
    "xid": "xid-table",
    "goodput": "reliability",
    "job": "job-mix",
    "trace": "job-mix",
    "kernel": "attention-rates",
    "allocator": "runtime",
    "framework": "stack",
    "software": "stack",
}
"""Kinds of part by synonym."""
OTHER_FILES = {
    "design": "design",
    "communication-cases": "case file",
    "training-cases": "case file",
    "serving-cases": "case file",
    "training-plan": "plan",
    "fleet": "fleet",
    "kernel-recording": "recording",
}
"""Names of files other than parts, by stated kind; a design may omit its kind."""


def kind_hint(name: str) -> str:
    """Return the remedy for an unknown kind of part: the kind meant, or the nearest."""
    meant = OTHER_WORDS.get(name.lower().removesuffix("s"))
    return f"did you mean `{meant}`?" if meant else did_you_mean(name, KINDS, what="kind")


def _model_of(kind: str) -> type[Part]:
    module, name = KINDS[kind].split(".")
    model: type[Part] = getattr(import_module(f"ffplan.catalog.{module}"), name)
    return model
