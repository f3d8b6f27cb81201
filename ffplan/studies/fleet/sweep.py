"""Sweeps of a fleet file: each point is the plan of the fleet with some of the file's values changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, UsageError, did_you_mean, listed_names
from ffplan.base.outcomes import IN_TIME
from ffplan.base.plain import numbers, plain, steps
from ffplan.base.record import record
from ffplan.design.fleet_file import FleetFile, design_file, read_fleet
from ffplan.figures.address import place_of
from ffplan.inputs.document import parse_document, read_bytes
from ffplan.results.result import DesignInfo
from ffplan.studies.choose.sweep import Studied, Sweep, SweepQuery
from ffplan.studies.cost.ledger import CostRequest
from ffplan.studies.fleet.members import _FleetDesigns, _Members
from ffplan.studies.fleet.plan import _plan_document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ffplan.base.array_math import Floats
    from ffplan.results.fleet_plan import FleetPlan, OrderChoice
    from ffplan.studies.choose.sweep_axes import SweptAxis

_LEAST_CHUNKS = 64
"""Chunks of a sweep with as many points, so that all cores work [1]."""
_USUAL = (
    "totals.purchase.p50",
    "totals.running.p50",
    "totals.carbon_t.p50",
    "totals.shortfall.mean",
    "totals.cash.p50",
    "totals.met",
)
"""Metrics of a sweep that names none, beside those of its sites; the first screen shows the last that differ."""
_DESIGN = re.compile(r"clusters\[\d+\]\.design")
_ROW = re.compile(r"(clusters|sites)\[\d+\](\..*)")
_POSITION = re.compile(r"\.(\d+)(?=\.|$)")


@record
class _FleetQuery(SweepQuery):
    """A sweep of a fleet, in plain data."""

    def sweep(self) -> Sweep:
        """Return the sweep, ready to evaluate."""
        return _FleetSweep(self)


def _fleet_query(query: SweepQuery) -> SweepQuery:
    """Return the sweep of a fleet with the designs that the file and the axes name.

    Raises:
        InputError: if the file is no fleet.
    """
    document = parse_document(query.text.encode(), query.file)
    names = dict.fromkeys(cluster.design for cluster in read_fleet(document).clusters)
    for axis in query.points.axes:
        if _DESIGN.fullmatch(axis.path) and axis.texts is not None:
            names |= dict.fromkeys(axis.texts)
    return _FleetQuery(
        text=query.text,
        file=query.file,
        overlays=query.overlays,
        points=query.points,
        metrics=query.metrics,
        designs=tuple(_texts(names, query.file)),
    )


def _texts(names: dict[str, None], file: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, label and text of each design that can be read; others are told of where they are resolved."""
    for name in names:
        try:
            path, label = design_file(name, file)
            yield name, label, read_bytes(path, label).decode("utf-8-sig")
        except (InputError, UsageError, UnicodeDecodeError):
            continue


class _FleetSweep(Sweep):
    """A sweep of a fleet; what its designs do is studied once where it does not differ."""

    what = "fleet"

    def __init__(self, query: SweepQuery) -> None:
        super().__init__(query)
        fleet = read_fleet(self.document)
        self.fleet = fleet
        texts = {name: (label, text) for name, label, text in query.designs}
        self._designs = _FleetDesigns(self.catalog, CostRequest(seed=self.points.seed), query.file, texts)
        _Members(fleet, self.document, self._designs, lambda _: None).check()
        self.size = max(1, min(self.size, self.points.count // _LEAST_CHUNKS))
        for axis in self.points.axes:
            self._refuse_unknown(axis)
            self._check(axis)
        sites = [f"sites.{name}.{field}" for name in fleet.sites for field in ("over", "facility_peak_kw")]
        self.names = query.metrics or (*_USUAL[:2], *sites, *_USUAL[2:])
        self._refuse_metrics()

    @property
    def info(self) -> DesignInfo:
        """The fleet's name and origin."""
        document = self.document
        return DesignInfo(name=self.fleet.name, description=None, file=document.file, sha256=document.sha256)

    def _refuse_unknown(self, axis: SweptAxis) -> None:
        """Raise `UsageError` for a path to a field, site or demand that the fleet does not have."""
        way = steps(axis.path)
        asked: list[tuple[str | int, Collection[str], str]] = [(way[0], FleetFile.model_fields, "field")]
        if way[0] == "sites" and len(way) > 1:
            asked.append((way[1], self.fleet.sites, "site"))
        if way[0] == "clusters" and "use" in way[2:3] and len(way) > 3:
            asked.append((way[3], [demand.name for demand in self.fleet.demand], "demand"))
        for name, known, what in asked:
            if name not in known:
                remedy = did_you_mean(str(name), known, what=what)
                raise UsageError(f"--vary {axis.path}: the fleet has no {what} `{name}`; {remedy}")

    def _refuse_metrics(self) -> None:
        known = self._known() if self.query.metrics else set()
        for name in self.query.metrics if known else ():
            if name not in known:
                raise UsageError(f"--metric {name}: {self._metric_fault(name, known)}")

    def _metric_fault(self, name: str, known: set[str]) -> str:
        row = _ROW.fullmatch(name)
        names = [*self.fleet.sites] if row and row[1] == "sites" else [item.name for item in self.fleet.clusters]
        if row and names:
            named = listed_names([f"{row[1]}.{part}{row[2]}" for part in names])
            return f"{row[1]} go by their names, since their order may differ from point to point; write {named}"
        if place_of(name) is not None:
            return f"a figure of designs, not of fleets; write one of fleets, such as {listed_names([*_USUAL])}"
        return f"no such number in the plan; {did_you_mean(name, known, what='metric')}"

    def _known(self) -> set[str]:
        """Return the figures of the first point, or of the fleet itself where the point cannot be planned."""
        first = {axis.path: axis.value(0) for axis in self.points.axes}
        for values in (first, {}):
            try:
                return set(self._figures(self._text(values)))
            except InputError:
                continue
        return set()

    def _validate(self, text: str) -> object:
        return read_fleet(parse_document(text.encode(), self.query.file))

    def _figures(self, text: str) -> dict[str, float]:
        document = parse_document(text.encode(), self.query.file)
        return _figures_of(_plan_document(document, self._designs, chance=IN_TIME))

    def _study(self, key: tuple[int, ...], arrays: dict[str, Floats]) -> Studied:
        assert not arrays  # a fleet carries no axis by arrays
        values = {axis.path: axis.value(place) for axis, place in zip(self.points.axes, key, strict=True)}
        return Studied(values=self._figures(self._text(values)))

    def _reason(self, error: Exception) -> str:
        """Say which field is wrong: of many clusters, the message names none."""
        if not isinstance(error, InputError):
            return str(error)
        first = error.findings[0]
        place = _POSITION.sub(r"[\1]", first.path) if first.file == self.query.file else first.file
        return f"{place}: {first.message}" if place else first.message


def _figures_of(plan: FleetPlan) -> dict[str, float]:
    """Return the numbers of a plan by their path.

    Paths are those of the JSON of `ffplan fleet`, but clusters, sites and other dates have their name in place of their
    position, which follows the dates of orders: `clusters.b200.late`, `clusters.b200.choices.never.regret`. A site with
    parts of unknown power has no risk that it is over its limit.
    """
    clusters: dict[str, Any] = {row.name: plain(row) for row in plan.clusters}
    for row in plan.clusters:
        choices = {_shift(choice): {"cost": choice.cost, "regret": choice.regret} for choice in row.choices}
        clusters[row.name]["choices"] = choices
    sites: dict[str, dict[str, Any]] = {row.site: plain(row) for row in plan.sites}
    for site in plan.sites:
        if site.unchecked:
            del sites[site.site]["over"]
    parts = {"totals": plan.totals, "quarters": plan.quarters, "clusters": clusters, "sites": sites}
    return numbers(plain(parts | {"shortfall_hour": plan.shortfall_hour}))


def _shift(choice: OrderChoice) -> str:
    if choice.shift is None:
        return "never"
    return f"{choice.shift:+d}" if choice.shift else "planned"
