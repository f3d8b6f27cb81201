"""Many designs at once: one design whose numbers are arrays, through the functions that assess a single one.

Counts of nodes, oversubscription, PUE, prices and figures of parts may be arrays of one shape; all other fields
stay as they are. A thousand designs cost about as much as one.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Bools, Floats, Ints, Number, Truth, choose, maximum
from ffplan.base.errors import InputError, UsageError, nearest
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.catalog.evidence import EfficiencyFigure, Figure
from ffplan.collectives.bottleneck import sustained_rate
from ffplan.collectives.timing import CollectiveQuery, chosen_time
from ffplan.cost.bom import CostPlan, cable_items, cables_sold, price
from ffplan.cost.power import annual_energy, plan_power
from ffplan.design.schema import MOST_PUE
from ffplan.fabric.sizing.leaf_cables import countable
from ffplan.fabric.sizing.plan import reachable_nodes
from ffplan.fabric.sizing.tree_grid import REASONS, check_divisible, plan_tree_grid
from ffplan.inputs.model import MOST_COUNT
from ffplan.inputs.quantities import LARGEST_AMOUNT, LARGEST_RATIO
from ffplan.node.resources import resources
from ffplan.studies.basis.job_layout import job_layout, most_gpus, node_of
from ffplan.studies.collective.allreduce import allreduce_query, bound_faults, bound_ledgers

if TYPE_CHECKING:
    from collections.abc import Collection

    from ffplan.catalog.parts import Link
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.design.resolved import FabricParts, ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan


_WORDS = np.array([*REASONS, "fewer than two accelerators to communicate"])
_COMMUNICATION = ("time_s", "algbw_gbyte_s", "bound.algbw_gbyte_s")
"""Columns of an allreduce with a library: its time, its rate, and the bound of that."""


@record
class DesignGrid:
    """Many designs."""

    axes: dict[str, Floats]
    columns: dict[str, Floats]
    """Results by the path that they have in an assessment; NaN if the design cannot be built."""
    feasible: Bools
    why: Any
    """Why a design cannot be built, empty if it can, as texts of the same shape."""
    unpriced: tuple[str, ...] = ()
    """Parts without a price; with any, the sums of cost are partial."""


def _bound(query: CollectiveQuery, job: RankLayout) -> Number:
    """Return the bound of an allreduce with one library [GB/s], as `allreduce_bound` has it for one design."""
    known = resources(job.host, job.cuts)
    best: Number = 0.0
    for ledger in bound_ledgers(query, job):
        best = maximum(best, choose(ledger.possible, sustained_rate(known, ledger.lines, at_line_rate=True), 0.0))
    return best


def _can_communicate(design: ResolvedDesign) -> Truth:
    communication = design.spec.communication
    if communication is None:
        return True
    faults = bound_faults(design, communication)
    if faults:
        raise InputError(*faults)
    return design.compute.accelerators_per_node * reachable_nodes(design) >= 2


def _communication(design: ResolvedDesign, plan: FabricPlan, metrics: Collection[str] | None) -> dict[str, Number]:
    """Return the columns of communication; libraries and their bounds only if a metric needs them."""
    communication = design.spec.communication
    if communication is None:
        return {}
    node, size, ranks = node_of(design), communication.message_size, most_gpus(design)
    columns: dict[str, Number] = {}
    for position, (name, library) in enumerate(zip(communication.libraries, design.libraries, strict=True)):
        time, rate, bound = (f"communication[{position}].{path}" for path in _COMMUNICATION)
        timed = metrics is None or time in metrics or rate in metrics
        bounded = metrics is None or bound in metrics
        if not (timed or bounded):
            continue
        query = allreduce_query(design, library, name)
        job = job_layout(design, plan, node, ranks, by_domain=library.method != "hfreduce")
        if timed:
            columns[time] = chosen_time(query, job, size)
            columns[rate] = size / columns[time] / 1e9
        if bounded:
            columns[bound] = _bound(query, job)
    return columns


def _cost(cost: CostPlan | None, design: ResolvedDesign) -> dict[str, Number]:
    if cost is None:
        return {}
    columns: dict[str, Number | None] = {
        "cost.servers": cost.servers,
        "cost.network": cost.network,
        "cost.total": cost.total,
        "cost.total_low": sum(line.low for line in cost.lines),
        "cost.total_high": sum(line.high for line in cost.lines),
    }
    if np.all(design.accelerators):
        columns["cost.per_accelerator"] = cost.per_accelerator(design.accelerators)
    return {path: value for path, value in columns.items() if value is not None}


def _power(design: ResolvedDesign, plan: FabricPlan, links: list[tuple[str, Link, int]]) -> dict[str, Number]:
    power, tariff = plan_power(design, plan, links), design.spec.site.electricity_price
    energy = annual_energy(power.facility_w)
    columns = {
        "power.it_kw": power.it_w / 1e3,
        "power.it_maximum_kw": power.it_maximum_w / 1e3,
        "power.facility_kw": power.facility_w / 1e3,
        "power.network_kw": (power.switches_w + power.links_w) / 1e3,
        "power.energy_mwh_per_year": energy,
    }
    return columns | ({"power.electricity_per_year": energy * 1e3 * tariff.amount} if tariff else {})


def _evaluated(varied: ResolvedDesign, metrics: Collection[str] | None) -> tuple[dict[str, Any], Any, tuple[str, ...]]:
    """Return the results of a design with arrays by path, the numbers of the reasons why some cannot be built, and
    parts without a price.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        plan, why = plan_tree_grid(varied)
        columns: dict[str, Any] = {"accelerators": varied.accelerators, "fabric.endpoints": plan.endpoints}
        columns |= {f"fabric.switches.{role}": count for role, count in plan.switches_by_role.items()}
        columns |= {"fabric.switches.total": plan.switches}
        columns |= {f"fabric.links.{tier}": count for tier, count in plan.links_by_tier.items()}
        columns |= {
            "fabric.links.total": plan.links,
            "fabric.cables.endpoint": plan.endpoint_cables,
            "fabric.cables.inter_switch": plan.inter_switch_cables,
            "fabric.spare_ports": plan.spare_ports,
            "fabric.oversubscription": plan.oversubscription,
            "fabric.bisection_gbyte_s": plan.bisection_gbyte_s,
        }
        why = np.where((why == 0) & ~np.asarray(_can_communicate(varied)), len(REASONS), why)
        links = cable_items(varied, plan)
        to_endpoints, between = cables_sold(links)
        columns |= {"fabric.cables_as_sold.endpoint": to_endpoints, "fabric.cables_as_sold.inter_switch": between}
        cost = price(varied, plan, links)
        columns |= _communication(varied, plan, metrics) | _cost(cost, varied) | _power(varied, plan, links)
    if metrics is not None:
        columns = {path: values for path, values in columns.items() if path in metrics}
    return columns, why, tuple(missing_price.part for missing_price in cost.missing) if cost is not None else ()


def _alike(varied: ResolvedDesign, count: int) -> list[Ints]:
    """Return the positions of designs with as many planes: rails that share a switch depend on the nodes."""
    shared = np.broadcast_to(np.asarray(varied.rails_per_switch), (count,))
    return [np.flatnonzero(shared == value) for value in np.unique(shared)]


def _gridded(design: ResolvedDesign) -> bool:
    """Return whether arrays can carry a design: trees without floor plan or other networks, with cables that follow
    from counts.
    """
    alone = design.spec.fabric.family != "dragonfly" and design.spec.floor is None and not design.networks
    return alone and countable(design)


def design_grid(design: ResolvedDesign, axes: dict[str, Any], metrics: Collection[str] | None = None) -> DesignGrid:
    """Return many designs.

    Args:
        axes: arrays by path, see `with_arrays`; they broadcast against each other.
        metrics: columns to return; all if None. Communication costs most time, and is left out unless named.

    Raises:
        UsageError: for a design that `gridded` refuses, or a path without a number.
        InputError: for a missing price, and for NICs that planes or zones cannot share evenly.
    """
    if not _gridded(design):
        what = "a dragonfly" if design.spec.fabric.family == "dragonfly" else "split ports shared by uneven rails"
        what = "other networks" if design.networks else what
        what = "a floor plan" if design.spec.floor is not None else what
        raise UsageError(f"`{design.spec.name}` has {what}: assess such designs one by one")
    arrays = np.broadcast_arrays(*(np.asarray(value) for value in axes.values())) if axes else [np.zeros(1)]
    shape, count = arrays[0].shape, arrays[0].size
    swept = {path: array.ravel() for path, array in zip(axes, arrays, strict=False)}
    varied = _with_arrays(design, swept)
    reasons = np.zeros(count, np.int64)
    table: dict[str, Floats] = {}
    unpriced: dict[str, None] = {}
    for rows in _alike(varied, count):
        part = (
            varied if len(rows) == count else _with_arrays(design, {path: array[rows] for path, array in swept.items()})
        )
        check_divisible(part)
        columns, why, lacking = _evaluated(part, metrics)
        unpriced |= dict.fromkeys(lacking)
        reasons[rows] = why
        for path, values in columns.items():
            table.setdefault(path, np.full(count, np.nan))[rows] = np.where(reasons[rows] == 0, values, np.nan)
    return DesignGrid(
        axes={path: array.reshape(shape) for path, array in swept.items()},
        columns={path: values.reshape(shape) for path, values in table.items()},
        feasible=(reasons == 0).reshape(shape),
        why=_WORDS[reasons].reshape(shape),
        unpriced=tuple(unpriced),
    )


def _with_arrays(design: ResolvedDesign, axes: dict[str, Floats]) -> ResolvedDesign:
    """Return a design with arrays in place of numbers.

    Axes are `nodes[i].count`, `fabric.oversubscription`, `site.pue`, `site.electricity_price`, `prices.<part>`, or a
    figure of a part that it uses, such as `qm8700.power`, in the unit of the catalogue's canonical values.
    """
    for path, array in axes.items():
        head, _, rest = path.partition(".")
        _require_finite(path, array)
        if head.startswith("nodes[") and rest == "count":
            design = _with_count(design, path, array)
        elif path == "fabric.oversubscription":
            if (uplinks := design.spec.fabric.leaf.uplinks) is not None:
                raise UsageError(f"`{path}` has no effect beside the {plural(uplinks, 'uplink')} of a leaf")
            if np.any((array < 1) | (array > LARGEST_RATIO)):
                raise UsageError(
                    f"`fabric.oversubscription`: ratios must be 1 or more, and at most {LARGEST_RATIO:,.0f}"
                )
            fabric = design.spec.fabric.model_copy(update={"oversubscription": array})
            design = replace(design, spec=design.spec.model_copy(update={"fabric": fabric}))
        elif path in ("site.pue", "site.electricity_price"):
            design = _with_site(design, rest, array)
        else:
            design = _with_figure(design, path, array)
    return design


def _require_finite(path: str, value: Number) -> None:
    if not np.all(np.isfinite(value)) or np.any(np.asarray(value) < 0):
        raise UsageError(f"`{path}`: numbers must be finite and not below 0")


def _require_possible(figure: Any, path: str, value: Number) -> None:
    values = np.unique(np.asarray(value, float))
    for end in (*values[:2], values[-1]):  # of some dimensions 0 is in the range, and what comes next above it is not
        if isinstance(figure, Figure) and (fault := figure.fault(float(end))) is not None:
            raise UsageError(f"`{path}`: {fault}")


def _with_figure(design: ResolvedDesign, path: str, value: Number) -> ResolvedDesign:
    _require_finite(path, value)
    head, _, rest = path.partition(".")
    return _with_price(design, rest, value) if head == "prices" else _with_part(design, head, rest, value)


def _with_count(design: ResolvedDesign, path: str, array: Floats) -> ResolvedDesign:
    place = path[len("nodes[") :].partition("]")[0]
    written = design.spec.nodes
    if not place.isdecimal() or path != f"nodes[{place}].count" or int(place) >= len(written):
        raise UsageError(f"`{path}`: the design has {len(written)} groups of nodes")
    if np.any(array != np.floor(array)) or np.any((array < 1) | (array > MOST_COUNT)):
        raise UsageError(f"`{path}`: counts must be whole, at least 1 and at most {MOST_COUNT:,}")
    groups = list(design.groups)
    at = next(at for at, group in enumerate(groups) if int(place) in group.written)
    others = sum(written[position].count for position in groups[at].written if position != int(place))
    counts = array.astype(np.int64) + others
    groups[at] = replace(groups[at], group=groups[at].group.model_copy(update={"count": counts}))
    return replace(design, groups=tuple(groups))


def _with_site(design: ResolvedDesign, field: str, array: Floats) -> ResolvedDesign:
    site = design.spec.site
    value: Any = array
    if field == "electricity_price":
        if site.electricity_price is None:
            raise UsageError("`site.electricity_price`: the design names none, and so no currency")
        if np.any(array > LARGEST_AMOUNT):
            raise UsageError(f"`site.electricity_price`: a price per kWh is at most {LARGEST_AMOUNT:g}")
        value = replace(site.electricity_price, amount=array)  # type: ignore[arg-type]
    elif np.any((array < 1) | (array > MOST_PUE)):
        raise UsageError(f"`site.pue`: a facility draws no less than its IT; give 1 or more, and at most {MOST_PUE:g}")
    return replace(design, spec=design.spec.model_copy(update={"site": site.model_copy(update={field: value})}))


def _with_price(design: ResolvedDesign, part: str, array: Number) -> ResolvedDesign:
    book = design.prices
    if book is None or part not in book.items:
        close = nearest(part, book.items) if book is not None else None
        remedy = f"; did you mean `prices.{close}`?" if close else ""
        raise UsageError(f"`prices.{part}`: the design's price book has no such part{remedy}")
    _require_possible(book.items[part], f"prices.{part}", array)
    figure = book.items[part].model_copy(update={"value": array, "low": None, "high": None})
    return replace(design, prices=book.model_copy(update={"items": {**book.items, part: figure}}))


def _figure(part: Any, steps: list[str], array: Number, path: str) -> Any:
    if not steps:
        if not hasattr(part, "value"):
            raise UsageError(f"`{path}` is no figure")
        if isinstance(part.value, int):
            raise UsageError(f"`{path}` is a count, which shapes the design: vary it one by one")
        if isinstance(part, EfficiencyFigure) and np.any(np.asarray(array) > 1):
            raise UsageError(f"`{path}`: a fraction is at most 1")
        _require_possible(part, path, array)
        return part.model_copy(update={"value": array, "low": None, "high": None})
    name, *rest = steps
    inner = part.get(name) if isinstance(part, dict) else getattr(part, name, None)
    if inner is None or isinstance(inner, str | int | float | tuple):
        close = nearest(name, part if isinstance(part, dict) else type(part).model_fields)
        raise UsageError(f"`{path}`: no figure `{name}` there" + (f"; did you mean `{close}`?" if close else ""))
    changed = _figure(inner, rest, array, path)
    return {**part, name: changed} if isinstance(part, dict) else part.model_copy(update={name: changed})


def _with_part(design: ResolvedDesign, part: str, path: str, array: Number) -> ResolvedDesign:
    whole, steps, met = f"{part}.{path}", path.split("."), False

    def changed(value: Any) -> Any:
        nonlocal met
        if value is None or value.id != part:
            return value
        met = True
        return _figure(value, steps, array, whole)

    def fabric(parts: FabricParts) -> FabricParts:
        return replace(parts, **{field.name: changed(getattr(parts, field.name)) for field in fields(parts)})

    groups = tuple(
        replace(
            group,
            server=changed(group.server),
            cpus=tuple(changed(cpu) for cpu in group.cpus),
            nics=tuple(changed(nic) for nic in group.nics),
            accelerator=changed(group.accelerator),
        )
        for group in design.groups
    )
    design = replace(
        design,
        groups=groups,
        cable_choices=tuple(changed(link) for link in design.cable_choices),
        networks=tuple(replace(network, parts=fabric(network.parts)) for network in design.networks),
        parts=fabric(design.parts),
    )
    if not met:
        raise UsageError(f"`{whole}`: the design uses no part `{part}`")
    return design
