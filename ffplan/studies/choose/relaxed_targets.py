"""Targets that no design meets: what they take, and relaxed targets that three designs meet."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, kilowatts, listed
from ffplan.results.recommendation import NearWishes, UnmetWishes, WishedDesign
from ffplan.studies.choose.candidates import MOST_DESIGNS, POWERS
from ffplan.studies.choose.first_designs import Builder, _why_not, first_designs

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.candidates import Built, Idea, Wishes

_DIGITS = 3
"""Digits that a raised budget and a raised power are rounded up to [1]."""


class RelaxedSearch:
    """Looks for wishes near some that no design meets."""

    def __init__(self, wishes: Wishes, catalog: Catalog, prefix: str) -> None:
        self.wishes, self.catalog, self.prefix = wishes, catalog, prefix
        self.builder = Builder(wishes, catalog, prefix)
        self.each = len(self.builder.server.accelerators)
        self.currency = self.builder.book.currency

    def smaller(self) -> tuple[int, list[Built], list[str]] | None:
        """Return the most accelerators with which three ideas, or else the most, meet budget and power; the designs,
        and why other ideas do not. None if no size does.
        """
        built_largest = [self._largest(idea) for idea in self.wishes.ideas()]
        sizes = {largest.assessment.accelerators for largest in built_largest if largest is not None}
        best: tuple[int, list[Built], list[str]] | None = None
        for size in sorted(sizes, reverse=True):
            built, left, _ = first_designs(self._noted(size), self.catalog, self.prefix)
            if built and (best is None or len(built) > len(best[1])):
                best = size, built, left
            if len(built) >= MOST_DESIGNS:
                break
        return best

    def unmet(self, near: tuple[int, list[Built], list[str]] | None) -> UnmetWishes:
        """Return the requirements of the wishes, and relaxed wishes that three designs meet."""
        wishes = self.wishes
        relaxed = [NearWishes(f"--gpus {near[0]}", self._kept("budget", "watts"), len(near[1]))] if near else []
        relaxed += self._raised()
        return UnmetWishes(
            accelerators=wishes.gpus,
            budget=wishes.budget,
            power_kw=None if wishes.watts is None else wishes.watts / 1e3,
            power_of=wishes.power_of,
            pue=wishes.pue,
            designs=tuple(self._wished(built) for built in self._as_wished()),
            near=tuple(relaxed),
        )

    @property
    def _nodes(self) -> int:
        """Nodes of the wished size, in whole scale-up domains; of the smallest where no size was wished for [1]."""
        return -(-(self.wishes.gpus or 1) // (self.each * self.builder.step)) * self.builder.step

    def _largest(self, idea: Idea) -> Built | None:
        """Return an idea at the most nodes below the wished ones that budget and power allow."""
        if self.wishes.gpus is None:
            return None
        step = self.builder.step
        first = self.builder.build(self.wishes.ideas()[0], step) if idea.other else None
        return self.builder.largest(idea, first, self._nodes - step)

    def _noted(self, size: int) -> Wishes:
        wishes = self.wishes
        room = self._kept("budget", "watts") or "the largest fabric"
        note = f"{wishes.gpus:,} were asked for; {room} allows {size:,}."
        return replace(wishes, gpus=size, note=note)

    def _kept(self, *names: str) -> str:
        wishes, kept = self.wishes, []
        if "gpus" in names and wishes.gpus is not None:
            kept.append(f"{wishes.gpus:,} accelerators")
        if "budget" in names and wishes.budget is not None:
            kept.append(f"{amount(wishes.budget)} {self.currency}")
        if "watts" in names and wishes.watts is not None:
            kept.append(f"{kilowatts(wishes.watts / 1e3)} {POWERS[wishes.power_of]}")
        return listed(kept)

    def _as_wished(self) -> list[Built]:
        designs: list[Built] = []
        for idea in self.wishes.ideas():
            built = self.builder.build(idea, self._nodes, designs[0] if designs else None)
            designs += [built] if built is not None else []
        return designs

    def _wished(self, built: Built) -> WishedDesign:
        power, assessment = built.study.power, built.assessment
        rated = {part.name: part.rated_kw for part in power.parts}
        compute, storage = rated.get("compute", 0.0), rated.get("storage", 0.0)
        nodes = assessment.nodes["compute"]
        return WishedDesign(
            idea=built.idea.name,
            accelerators=assessment.accelerators,
            nodes=nodes,
            currency=self.currency,
            cost=built.purchase,
            node_kw=compute / nodes,
            compute_kw=compute,
            storage_kw=storage,
            network_kw=power.it_rated_kw - compute - storage,
            it_rated_kw=power.it_rated_kw,
            facility_peak_kw=power.facility_peak_kw,
            it_training_kw=power.it_training_kw,
            facility_kw=power.facility_kw,
            unrated=built.ledger.unrated,
            unmet=_why_not(built, self.wishes),
        )

    def _raised(self) -> list[NearWishes]:
        size = self._nodes * self.each
        sized = replace(self.wishes, gpus=size)
        free, _, _ = first_designs(replace(sized, budget=None, watts=None), self.catalog, self.prefix)
        if not free:
            return []
        cost = max(built.purchase for built in free)
        options: list[str] = []
        if sized.budget is not None and cost > sized.budget:
            budget = _rounded_up(cost)
            options.append(f"--budget {_money(budget, self.currency)}")
            sized = replace(sized, budget=budget)
        drawn = max(built.drawn(sized.power_of) for built in free)
        kept = "gpus" if self.wishes.gpus is not None else ""
        if sized.watts is None or drawn <= sized.watts:
            return [self._tried(sized, options, kept, "watts")]
        power = _rounded_up(drawn)
        relaxed = [self._tried(replace(sized, watts=power), [*options, f"--power {power / 1e6:g}MW"], kept)]
        for power_of in POWERS:
            if max(built.drawn(power_of) for built in free) <= sized.watts:
                meant = replace(sized, power_of=power_of)
                relaxed.append(self._tried(meant, [*options, f"--power-of {power_of}"], kept))
                break
        return relaxed

    def _tried(self, wishes: Wishes, options: list[str], *kept: str) -> NearWishes:
        built, _, _ = first_designs(wishes, self.catalog, self.prefix)
        return NearWishes(" ".join(options), self._kept(*kept), len(built))


def _rounded_up(value: float) -> float:
    size = 10.0 ** (math.floor(math.log10(value)) + 1 - _DIGITS)
    return math.ceil(value / size) * size


def _money(value: float, currency: str) -> str:
    """Return an amount as it is typed into a shell."""
    scaled = f"{value / 1e6:.10g}M" if value >= 1e6 else f"{value:.10g}"
    return f"'${scaled}'" if currency == "USD" else f"'{scaled} {currency}'"
