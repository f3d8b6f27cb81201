"""Faults of a fabric's tiers: mismatched switches, and more ports than a switch has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import number, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Switch
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Design, Fabric
    from ffplan.inputs.document import Document

TIERED = {"leaf": 2, "spine": 2, "core": 3}
"""Fewest tiers at which each field has an effect."""
RAILED = ("rail-optimised", "top-of-rack")
"""Families of trees built from scalable units."""


def _tier_field_faults(spec: Design, document: Document) -> Iterator[Finding]:
    """Yield tier fields that the fabric lacks, or that contradict each other."""
    fabric = spec.fabric

    def wrong(message: str, remedy: str, *path: str) -> Finding:
        return document.finding("design-tiers", ("fabric", *path), message, remedy, key=True)

    for name, least in TIERED.items():
        if name in fabric.model_fields_set and fabric.tiers < least:
            reason = "one tier has no uplinks and no spines" if least == 2 else "there are no core switches"
            yield wrong(
                f"`{name}` says nothing with `tiers: {fabric.tiers}`: {reason}",
                f"remove `{name}`, or use `tiers: {least}`",
                name,
            )
    if fabric.tiers == 2 and fabric.spine.pod_leaves is not None:
        yield wrong("two tiers are one pod", "remove it, or use three tiers", "spine", "pod_leaves")
    if fabric.tiers == 2 and fabric.spine.uplinks is not None:
        yield wrong("the spines of two tiers have no uplinks", "remove it, or use three tiers", "spine", "uplinks")
    ratios = (("leaf", fabric.leaf, "oversubscription"), ("spine", fabric.spine, "spine_oversubscription"))
    for tier, own, ratio in ratios:
        if own.uplinks is not None and ratio in fabric.model_fields_set:
            yield wrong(
                f"`{ratio}` has no effect beside the {plural(own.uplinks, 'uplink')} of a {tier}",
                f"remove `{ratio}`, or `uplinks`",
                ratio,
            )
    if fabric.leaf.rails is not None and fabric.family != "rail-optimised":
        remedy = "remove `rails`, or write `family: rail-optimised`"
        whole = fabric.family == "top-of-rack"
        reason = "a leaf of `top-of-rack` takes every rail" if whole else f"`{fabric.family}` has no leaves for rails"
        yield document.finding("design-family", ("fabric", "leaf", "rails"), reason, remedy, key=True)


MOST_SPLIT = 8
"""Most parts of a port [1]: the lanes of OSFP and QSFP-DD, the widest modules."""


def no_split(switch: Switch, parts: int) -> str | None:
    """Return why a port's lanes cannot be split into equal parts; None if they can.

    Args:
        parts: parts of a port [1].
    """
    most = switch.splits.value if switch.splits is not None else MOST_SPLIT
    if parts > most:
        return f"a port of `{switch.id}` is split into {most} at most"
    if most % parts:
        fits = ", ".join(str(count) for count in range(1, most + 1) if most % count == 0)
        return f"the lanes of a port of `{switch.id}` do not divide into {parts} equal parts, but into {fits}"
    return None


def _split_faults(fabric: Fabric, document: Document, switches: dict[str, Switch]) -> Iterator[Finding]:
    """Yield ports split further than their switch allows."""
    leaf, spine = switches["leaf"], switches["spine"]
    requested = (
        (("breakout",), fabric.breakout, leaf),
        (("leaf", "uplink_breakout"), fabric.leaf.uplink_breakout, leaf),
        (("spine", "breakout"), fabric.spine.breakout, spine),
        (("core", "breakout"), fabric.core.breakout, switches["core"]),
    )
    for path, split, switch in requested:
        why = None if split is None else no_split(switch, split)
        if split is not None and why is not None:
            fits = max(count for count in range(1, split) if no_split(switch, count) is None)
            yield document.finding(
                "fabric-divisibility",
                ("fabric", *path),
                why,
                f"use `{path[-1]}: {fits}`, or overlay the switch with `--catalog` if its `splits` is wrong",
            )


def _rate_faults(fabric: Fabric, document: Document, switches: dict[str, Switch]) -> Iterator[Finding]:
    """Yield tiers with another port rate or protocol than the tier below."""
    split = fabric.leaf.uplink_breakout or fabric.breakout
    below, lower = switches["leaf"], "the uplinks of a leaf"
    rate = below.rate.value / split
    for role in ("spine", "core")[: fabric.tiers - 1]:
        tier, switch = getattr(fabric, role), switches[role]
        split = tier.breakout or split
        port = switch.rate.value / split
        named = "switch" if tier.switch is not None else "breakout"
        path = ("fabric", role, named) if role in fabric.model_fields_set else ("fabric", "switch")
        if switch.fabric != below.fabric:
            message = f"`{switch.id}` is {switch.fabric}, `{below.id}` below it {below.fabric}"
            yield document.finding("fabric-breakout", path, message, "choose switches of one protocol")
        elif abs(port - rate) > 1e-9 * rate:
            fits = switch.rate.value / rate
            whole = abs(fits - round(fits)) < 1e-9 and fits >= 1
            remedy = f"write `{role}: {{breakout: {round(fits)}}}`" if whole else "choose switches whose ports match"
            yield document.finding(
                "fabric-breakout",
                path,
                f"a port of `{switch.id}` runs at {number(port * 8)} Gb/s, {lower} at {number(rate * 8)} Gb/s",
                remedy,
            )
        below, lower = switch, "a port of the spines"


def _scale_up_faults(document: Document, leaf: Switch, spine: Switch | None, core: Switch | None) -> Iterator[Finding]:
    """Yield scale-up switches named by a fabric."""
    for switch, path in ((leaf, ("switch",)), (spine, ("spine", "switch")), (core, ("core", "switch"))):
        if switch is not None and switch.fabric == "nvlink":
            fault = f"`{switch.id}` joins accelerators within a scale-up domain, not servers"
            remedy = "name a switch of InfiniBand or Ethernet; servers with NVLink have such switches inside"
            yield document.finding("reference-kind", ("fabric", *path), fault, remedy)


def _tier_switch_faults(
    spec: Design, document: Document, leaf: Switch | None, spine: Switch | None, core: Switch | None
) -> Iterator[Finding]:
    if leaf is None:
        return
    switches = {"leaf": leaf, "spine": spine or leaf, "core": core or spine or leaf}
    faults = list(_split_faults(spec.fabric, document, switches))
    yield from faults
    # rates of ports that cannot be split this way mean nothing
    if not faults and spec.fabric.family != "dragonfly" and "tiers" in spec.fabric.model_fields_set:
        yield from _rate_faults(spec.fabric, document, switches)


def _port_faults(design: ResolvedDesign) -> Iterator[Finding]:
    """Yield leaves and spines with more links than ports, and rails not divisible among leaves."""
    fabric, document = design.spec.fabric, design.document
    ports = int(design.parts.switch.ports.value)
    down, up = fabric.leaf.downlinks, fabric.leaf.uplinks
    # whole ports, rounded up: a port is split for one direction only; an omitted direction takes one port
    used = -(-(down or 1) // fabric.breakout) + -(-(up or 1) // design.uplink_breakout)
    if used > ports and (down or up):
        path = ("fabric", "leaf", "downlinks" if down else "uplinks")
        fault = f"{down or 0:,} downlinks and {up or 0:,} uplinks take {used:,} ports of `{design.parts.switch.id}`"
        if not (down and up):
            kind, missing = ("downlinks", "uplinks") if down else ("uplinks", "endpoints")
            fault = f"{down or up or 0:,} {kind} leave no port for {missing} on `{design.parts.switch.id}`"
        yield document.finding(
            "fabric-divisibility", path, f"{fault}, which has {ports:,}", "use fewer, or a switch with more ports"
        )
    yield from _spine_port_faults(design)
    shared = fabric.leaf.rails
    if shared and design.rails % shared:
        yield document.finding(
            "fabric-divisibility",
            ("fabric", "leaf", "rails"),
            f"{design.rails} NICs of a node cannot be dealt evenly over leaves of {shared} rails",
            f"use a number that divides {design.rails}",
        )


def _spine_port_faults(design: ResolvedDesign) -> Iterator[Finding]:
    spine, radix = design.spec.fabric.spine, design.radix_of("spine")
    three = design.spec.fabric.tiers == 3
    requested = {"downlinks": spine.downlinks, "pod_leaves": spine.pod_leaves, "uplinks": spine.uplinks}
    named = [name for name, value in requested.items() if value]
    down, up = max(spine.downlinks or 1, spine.pod_leaves or 1), spine.uplinks or int(three)
    if named and down + up > radix:
        links = f"{down:,} downlinks" + (f" and {plural(up, 'uplink')}" if three else "")
        yield design.document.finding(
            "fabric-divisibility",
            ("fabric", "spine", named[0]),
            f"{links} of a spine are more than its {radix:,} ports",
            "use fewer, or a switch with more ports",
        )
    elif spine.downlinks and spine.pod_leaves and spine.pod_leaves > spine.downlinks:
        yield design.document.finding(
            "fabric-divisibility",
            ("fabric", "spine", "pod_leaves"),
            f"a pod of {spine.pod_leaves:,} leaves needs as many downlinks of each spine; it has {spine.downlinks:,}",
            "raise `downlinks`, or remove it",
        )
