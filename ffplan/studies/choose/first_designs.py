"""Designs to start from: a few wishes turned into three valid, costed designs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ffplan.base.formatting import listed
from ffplan.base.record import record
from ffplan.catalog.parts import FABRICS, Accelerator, Link, Nic, NicSlot, Server, Switch
from ffplan.catalog.prices import PriceBook
from ffplan.studies.choose.candidates import (
    MOST_DESIGNS,
    POWERS,
    Built,
    Draft,
    Idea,
    Wishes,
    _built_from,
    _draft_from,
    _rounder_design,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog


_MESSAGE = "1 GiB"
_RACK_REACH, _HALL_REACH = 20.0, 50.0
"""Least reach of a cable to a leaf, and between switches, without a floor plan [m]."""
MOST_NODES = 20_000
_KNOWN = 128
"""Drafts of a builder that are kept: the sizes of a search, with every switch [1]."""
_MOST_GUESSES = 6
"""Sizes that are guessed from what the last one takes, before the rest is halved [1]."""
_PROTOCOLS = {"ethernet": "Ethernet", "infiniband": "InfiniBand", "omni-path": "Omni-Path"}
_LEAST_USED = 1e-9


class NoDesignError(Exception):
    """The wishes cannot be met; the message is for people."""


@record
class _Parts:
    server: Server
    switch: Switch
    breakout: int
    endpoint: Link
    between: Link


def _sold(catalog: Catalog, kind: str, book: PriceBook, excluded: tuple[str, ...]) -> Iterator[Part]:
    """Yield parts of a kind that have a price, are sold, and are not excluded."""
    for name in catalog.ids_of(kind):
        if name in book.items and name not in excluded and not (part := catalog.entry(name).part).announced:
            yield part


def _links(catalog: Catalog, book: PriceBook, rate: float, excluded: tuple[str, ...]) -> tuple[Link, Link] | None:
    """Return the cheapest links of a rate to a leaf and between switches; None if none reaches."""
    links = _sold(catalog, "link", book, excluded)
    fitting = [link for link in links if isinstance(link, Link) and link.rate.value == rate]
    pairs = []
    for reach in (_RACK_REACH, _HALL_REACH):
        far = [link for link in fitting if link.reach.value >= reach]
        if not far:
            return None
        pairs.append(min(far, key=lambda link: (book.items[link.id].value, link.id)))
    return pairs[0], pairs[1]


def _priced_server(catalog: Catalog, accelerator: str, book: PriceBook, excluded: tuple[str, ...] = ()) -> Server:
    """Return the server with an accelerator whose price for each is least."""
    parts = _sold(catalog, "server", book, excluded)
    servers = [part for part in parts if isinstance(part, Server) and part.accelerator == accelerator]
    if not servers:
        remedy = "add one with `--catalog`, or choose another accelerator"
        raise NoDesignError(f"`{book.id}` prices no server with `{accelerator}`; {remedy}")
    return min(servers, key=lambda part: (book.items[part.id].value / len(part.accelerators), part.id))


def priced_accelerators(
    catalog: Catalog, book: PriceBook, allowed: tuple[str, ...], excluded: tuple[str, ...], left_out: dict[str, str]
) -> Iterator[tuple[Accelerator, Server]]:
    """Yield the accelerators that a server with a price has, each with the server whose price for each is least.

    Args:
        allowed: accelerators to choose from; all that are sold if empty.
        left_out: filled with the other accelerators of `allowed`, with reasons.
    """
    for name in allowed or catalog.ids_of("accelerator"):
        part = catalog.entry(name).part
        assert isinstance(part, Accelerator)
        if name in excluded or (part.announced and name not in allowed):
            left_out |= {name: "it is excluded"} if name in allowed else {}
            continue
        try:
            yield part, _priced_server(catalog, name, book, excluded)
        except NoDesignError as error:
            left_out |= {name: str(error)} if allowed else {}


def _fabric_slots(server: Server) -> list[NicSlot]:
    return [slot for slot in server.nics if slot.network in ("both", "compute")]


def _choices(catalog: Catalog, server: Server, book: PriceBook, wishes: Wishes) -> Iterator[_Parts]:
    slots = _fabric_slots(server)
    document = catalog.entry(server.id).document
    places = [("nics", server.nics.index(slot), "part") for slot in slots]
    nics = [catalog.get(Nic, slot.part, document, place) for slot, place in zip(slots, places, strict=True)]
    if not nics:
        return
    nic = nics[0]
    for switch in _sold(catalog, "switch", book, wishes.excluded):
        assert isinstance(switch, Switch)
        if wishes.switches and switch.id not in wishes.switches:
            continue
        if switch.fabric not in (nic.fabrics or FABRICS):
            continue
        if (wishes.watts is not None or wishes.powered) and switch.power is None:
            continue  # what it draws cannot be held against the wish, or another design
        breakout = round(switch.rate.value / nic.rate.value)
        most = switch.splits.value if switch.splits else 1
        if breakout < 1 or switch.rate.value != breakout * nic.rate.value or breakout > max(1, most):
            continue
        links = _links(catalog, book, switch.rate.value, wishes.excluded)
        if links is not None:
            yield _Parts(server=server, switch=switch, breakout=breakout, endpoint=links[0], between=links[1])


def _rails(idea: Idea, server: Server) -> int:
    return idea.nics or len(_fabric_slots(server))


def _tiers(idea: Idea, parts: _Parts, nodes: int) -> tuple[int, ...]:
    """Return the tiers of switches that may hold an idea with some nodes, the fewest first.

    One tier is one switch, or one per separate rail, and has no uplinks to save.
    """
    rails = _rails(idea, parts.server)
    switches = rails if idea.family == "rail-only" else 1
    ports = switches * int(parts.switch.ports.value) * parts.breakout
    return (1, 2, 3) if idea.oversubscription == "1:1" and nodes * rails <= ports else (2, 3)


_LIMITS = {"facility-peak": "facility_peak", "facility-training": "facility_training", "it-training": "it_power"}
"""Limits of design files that hold a wished power; the IT peak is held by the facility's, over the PUE."""


def _limits(wishes: Wishes, currency: str) -> list[str]:
    lines = []
    if wishes.budget is not None:
        lines.append(f"  capex: {wishes.budget:.15g} {currency}  # the whole bill of `ffplan cost`, in the median")
    if wishes.watts is not None and wishes.power_of in _LIMITS:
        lines.append(f"  {_LIMITS[wishes.power_of]}: {wishes.watts / 1e6:.15g} MW")
    elif wishes.watts is not None:
        most = wishes.watts * wishes.pue / 1e6
        lines.append(f"  facility_peak: {most:.15g} MW  # PUE times {wishes.watts / 1e6:.6g} MW of IT at its peak")
    if wishes.days is not None and wishes.tokens is not None:
        lines.append(f"  run_days: {wishes.days:.15g}")
    return lines


def _workload(wishes: Wishes) -> str:
    if wishes.tokens is None:
        return f"workload: {{model: {wishes.model}}}  # the fastest plan is searched; add `tokens` for a run"
    return f"workload: {{model: {wishes.model}, tokens: {wishes.tokens:.15g}}}  # the fastest plan is searched"


def _text(builder: Builder, idea: Idea, parts: _Parts, nodes: int, tiers: int) -> str:
    wishes = builder.wishes
    per = len(parts.server.accelerators)
    rails = _rails(idea, parts.server)
    fewer = f", nics: {idea.nics}" if idea.nics else ""
    family = idea.family if rails > 1 else "fat-tree"
    limits = _limits(wishes, builder.book.currency)
    lines = [
        f"# {nodes * per:,} accelerators; {idea.words}.",
        *([f"# {wishes.note}"] if wishes.note else []),
        "# A start: set prices, PUE, floor plan and storage to yours, then `ffplan check`, `compare` and `cost` it.",
        f"name: {builder.prefix}-{idea.name}",
        f"description: {nodes * per:,} {wishes.accelerator}, {idea.name}",
        "",
        "nodes:",
        f"  - {{role: compute, server: {parts.server.id}, count: {nodes}{fewer}}}  # {per} accelerators each",
        "",
        "fabric:",
        f"  family: {family}  # fat-tree, rail-optimised, rail-only or dragonfly",
        f"  switch: {parts.switch.id}  # {parts.switch.name}",
        f"  link: {{endpoint: {parts.endpoint.id}, inter_switch: {parts.between.id}}}"
        f"  # reach {parts.endpoint.reach.value:g} and {parts.between.reach.value:g} m",
        f"  tiers: {tiers}",
    ]
    lines += [f"  breakout: {parts.breakout}  # ports that each switch port is split into"] * (parts.breakout > 1)
    lines += [f"  oversubscription: {idea.oversubscription}  # downlinks per uplink of a leaf"] * (tiers > 1)
    lines += ["", "communication:", "  libraries: [nccl]", f"  message_size: {_MESSAGE}", ""]
    lines += ["site:", f"  pue: {wishes.pue:g}  # facility over IT power"]
    lines += ["", "cost:", f"  price_book: {wishes.book}"]
    if wishes.rack_area is not None or wishes.effort is not None:
        lines += ["", "ownership:"]
    if wishes.rack_area is not None:
        lines.append(f"  rack_area: {wishes.rack_area:g} m2  # a rack with its share of aisles")
    if wishes.effort is not None:
        lines.append(f"  effort: {wishes.effort}  # tuned as the fastest plan, typical, or a team's first-run")
    if wishes.model is not None:
        lines += ["", _workload(wishes)]
    lines += ["", "limits:", *limits] if limits else []
    return "\n".join(lines) + "\n"


class Builder:
    """Builds ideas in the cheapest way; one of the other protocol takes the design whose protocol it must not have."""

    def __init__(self, wishes: Wishes, catalog: Catalog, prefix: str) -> None:
        book = catalog.entry(wishes.book).part
        assert isinstance(book, PriceBook)
        self.wishes, self.catalog, self.prefix, self.book = wishes, catalog, prefix, book
        self.server = _priced_server(catalog, wishes.accelerator, book, wishes.excluded)
        self.choices = tuple(_choices(catalog, self.server, book, wishes))
        self._cheapest: dict[str, int] = {}
        """Position of the choice of the last cheapest draft, by the name of its idea."""
        # searches come back to sizes: for another plan, or to build the size that they end at
        self._known = lru_cache(maxsize=_KNOWN)(self._draft)

    @property
    def step(self) -> int:
        """Nodes that stay together [1]."""
        return self.server.domain_nodes

    def drafts(self, idea: Idea, nodes: int, first: Draft | Built | None = None) -> list[Draft]:
        """Return an idea with some nodes from every switch that holds them, the cheapest first.

        Args:
            first: the design whose protocol an idea of the other one must not have.
        """
        made: list[tuple[float, str, Draft, int]] = []
        but = first.design.parts.switch.fabric if first is not None and idea.other else ""
        for position, parts in enumerate(self.choices):
            if parts.switch.fabric == but:
                continue
            draft = self._known(idea, nodes, position)
            if draft is not None:
                made.append((draft.cost, draft.text, draft, position))
        made.sort(key=lambda item: item[:2])
        if made:
            self._cheapest[idea.name] = made[0][3]
        return [draft for _, _, draft, _ in made]

    def _draft(self, idea: Idea, nodes: int, position: int) -> Draft | None:
        parts = self.choices[position]
        made = (
            _draft_from(_text(self, idea, parts, nodes, tiers), idea, self.catalog)
            for tiers in _tiers(idea, parts, nodes)
        )
        return next((draft for draft in made if draft is not None), None)  # more tiers cost more

    def protocol_missing(self, idea: Idea, first: Draft | Built | None) -> str:
        """Return why no switch has the protocol of an idea of the other one; empty if one has."""
        same = first.design.parts.switch.fabric if first is not None and idea.other else None
        if same is None or any(parts.switch.fabric != same for parts in self.choices):
            return ""
        other = " or ".join(_PROTOCOLS[name] for name in FABRICS if name != same)
        if self.wishes.switches:
            return f"the same with {other}, but every switch of --switch is {_PROTOCOLS[same]}"
        return f"the same with {other}, but no such switch with cables for the servers' NICs is priced"

    def near(self, idea: Idea, nodes: int, first: Draft | Built | None = None) -> Draft | None:
        """Return an idea with some nodes on the switch that was cheapest for it before; None if it cannot be built.

        Args:
            first: the design whose protocol an idea of the other one must not have.
        """
        position = self._cheapest.get(idea.name)
        draft = self._known(idea, nodes, position) if position is not None else None
        return draft or next(iter(self.drafts(idea, nodes, first)), None)

    def build(self, idea: Idea, nodes: int, first: Built | None = None) -> Built | None:
        """Return the cheapest way to build an idea with some nodes; None if no switch and no tiers hold them.

        Args:
            first: the design whose protocol an idea of the other one must not have.
        """
        candidates = (_built_from(draft.text, idea, self.catalog) for draft in self.drafts(idea, nodes, first))
        return next((built for built in candidates if built is not None), None)

    def largest(self, idea: Idea, first: Built | None = None, most: int = MOST_NODES) -> Built | None:
        """Return an idea with the most nodes that budget and power allow; None if not even the fewest fit.

        Args:
            first: the design whose protocol an idea of the other one must not have.
        """
        low, high = 0, most // self.step
        guess, trials = (high + 1) // 2, 0
        while low < high:
            drafts = self.drafts(idea, guess * self.step, first)
            fits = bool(drafts) and not _why_not(drafts[0], self.wishes)
            low, high = (guess, high) if fits else (low, guess - 1)
            trials += 1
            if drafts and trials < _MOST_GUESSES:
                guess = min(max(int(guess / _used(drafts[0], self.wishes)), low + 1), high)
            else:
                guess = (low + high + 1) // 2
        return self.build(idea, low * self.step, first) if low else None


def _used(draft: Draft, wishes: Wishes) -> float:
    parts = [draft.purchase / max(wishes.budget, 1.0)] if wishes.budget is not None else []
    parts += [draft.drawn(wishes.power_of) / max(wishes.watts, 1.0)] if wishes.watts is not None else []
    return max([*parts, _LEAST_USED])


def _why_not(built: Draft | Built, wishes: Wishes) -> str:
    reasons = []
    if wishes.budget is not None and (cost := built.purchase) > wishes.budget:
        reasons.append(f"costs {cost / 1e6:,.2f} of {wishes.budget / 1e6:,.2f} million")
    if wishes.watts is not None and built.ledger.missing_power:
        parts = listed(dict.fromkeys(f"`{gap.part}`" for gap in built.ledger.missing_power))
        reasons.append(f"draws what nobody knows: no power of {parts}")
    drawn = built.drawn(wishes.power_of)
    if wishes.watts is not None and drawn > wishes.watts:
        reasons.append(f"draws {drawn / 1e6:,.2f} of {wishes.watts / 1e6:,.2f} MW {POWERS[wishes.power_of]}")
    return " and ".join(reasons)


def _surplus(built: Built, first: Built) -> str:
    mine, two = built.assessment, first.assessment
    if built.idea.other:
        same = built.design.parts.switch.fabric == first.design.parts.switch.fabric
        return "no other protocol is priced" if same else ""
    if mine.accelerators <= two.accelerators and built.purchase >= first.purchase * (1 - _LEAST_SAVING):
        return f"it saves nothing over {two.design.name} at this size"
    return ""


_LEAST_SAVING = 0.001
"""Part of the cost that an idea saves at least [1]."""


def first_designs(wishes: Wishes, catalog: Catalog, prefix: str) -> tuple[list[Built], list[str], dict[str, str]]:
    """Return designs that meet some wishes, why other ideas do not, and by name why one has fewer nodes than fit.

    Each idea has the cheapest switch and links.

    Raises:
        NoDesignError: if no server has the accelerator, or nothing bounds the size.
    """
    if wishes.gpus is None and wishes.budget is None and wishes.watts is None:
        raise NoDesignError("say how large: --gpus, --budget or --power")
    builder = Builder(wishes, catalog, prefix)
    if wishes.switches and not builder.choices:
        named = " or ".join(f"`{name}`" for name in wishes.switches)
        raise NoDesignError(
            f"{named} takes no NIC of `{builder.server.id}` with the switches and cables that `{wishes.book}` prices; "
            "name another switch"
        )
    step = builder.step
    designs: list[Built] = []
    left: list[str] = []
    rounded: dict[str, str] = {}
    for idea in wishes.ideas():
        first = designs[0] if designs else None
        if idea.other and first is None:
            continue

        def build(nodes: int, idea: Idea = idea, first: Built | None = first) -> Built | None:
            return builder.build(idea, nodes, first)

        if wishes.gpus is None:
            built = builder.largest(idea, first)
            why = "not even the smallest cluster fits" if built is None else ""
            if built is not None and wishes.model is not None:
                built, reason = _rounder_design(built, build, step, catalog)
                rounded |= {built.assessment.design.name: reason} if reason else {}
        else:
            built = build(-(-wishes.gpus // (len(builder.server.accelerators) * step)) * step)
            why = "" if built is None else _why_not(built, wishes)
            if built is None:
                why = builder.protocol_missing(idea, first) or "no switch and cable of the price book hold it"
        if built is not None and first is not None and not why:
            why = _surplus(built, first)
        if built is None or why:
            left.append(f"{idea.name}: {why}")
        elif len(designs) < MOST_DESIGNS:
            designs.append(built)
    kept = {design.assessment.design.name for design in designs}
    return designs, left, {name: words for name, words in rounded.items() if name in kept}
