"""What OpenSM's engines make of a fabric that they do not take as it is, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, plural
from ffplan.fabric.wiring.network import CORE, ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.fabric.wiring.wiring import WiredFabric
    from ffplan.results.fabric import Check


def root_notes(fabric: WiredFabric, reasons: Iterable[str]) -> Iterator[str]:
    """Yield what OpenSM must be told of a fabric whose trees its ftree engine refused for some reasons."""
    network = fabric.network
    for reason in reasons:
        top = ROLES[int(network.switches.role[network.switches.role <= CORE].max())]
        yield (
            f"OpenSM's ftree engine takes this tree for none, or for another ({reason}), unless its option "
            f"`root_guid_file` names the {top} switches: these checks are with it."
        )
    if bare := len(network.bare_leaves()):
        yield f"{plural(bare, 'leaf has', 'leaves have')} no host; ftree counts tiers from the hosts."


def chain_notes(checks: Iterable[Check]) -> Iterator[str]:
    """Yield what becomes of a tree of one switch in each tier, which OpenSM's ftree engine refuses even with roots."""
    chained = [item for item in checks if item.check == "fat tree" and item.passed is None]
    if any(item.found != item.expected for item in chained):
        yield (
            "OpenSM's ftree engine takes a tree of one switch in each tier for none, and routes it by minhop: packets "
            "pass the same switches."
        )


def rate_notes(checks: Iterable[Check]) -> Iterator[str]:
    """Yield which rates hold where OpenSM's tables load links otherwise than the rule of `route` does."""
    differing = [f"{item.subject} {item.found} in place of {item.expected}" for item in checks if item.verdict]
    if differing:
        yield (
            f"A cluster has the rates of the tables, which its switches carry out: {listed(differing)}. `ffplan route` "
            "and `faults --routing static` have those of our rule."
        )


UPDN = (
    " A route of updn never leads up once it has led down: with spines as roots, routes between zones would; with the "
    "switches between zones as roots, those within a zone would. dfsssp routes the zones joined, ftree each by itself."
)
"""Why updn takes no zones that are joined at their leaves, and what does."""


def engine_notes(fabric: WiredFabric, checks: Iterable[Check]) -> Iterator[str]:
    """Yield what routes a fabric in place of an engine that was asked for, and why."""
    refused = {item.expected: item.found for item in checks if item.check == "routed by" and item.passed is False}
    for engine, other in refused.items():
        why = UPDN if engine == "updn" and fabric.interzone else ""
        yield f"OpenSM's {engine} engine does not take this fabric, and routes it by {other}.{why}"


SLOW_ENGINES = ("minhop", "dfsssp", "nue")
"""Engines of OpenSM that take three to seven times as long as ftree and updn on 11,320 devices; measured."""


def faster(fabric: WiredFabric) -> str:
    """Return which engine to take where a slow one does not end in time; updn takes no zones that are joined."""
    which = "`--engine ftree`, a zone at a time," if fabric.interzone else "`--engine ftree` or `updn`,"
    return f", or take {which} which need{'s' if fabric.interzone else ''} a fraction of it on large trees"


def late_notes(fabric: WiredFabric, late: Iterable[str], limit_s: float) -> Iterator[str]:
    """Yield what to do about subnets, named with their engines, without routes within the time limit [s]."""
    if names := listed(late):
        yield f"{names}: no routes within {limit_s:g} s; allow more with `--limit`{faster(fabric)}."
