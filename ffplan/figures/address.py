"""Addresses of figures: one path for a figure, whatever shows, varies, limits or compares it.

An address is a path of JSON output: `fabric.switches.total` as `ffplan design` prints it, `run.days` as `ffplan cost`
does. Of a figure with quantiles it means the likely value.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from ffplan.base.errors import UsageError
from ffplan.base.plain import number_at, steps, value_at
from ffplan.base.record import record
from ffplan.design.schema import LIMITED
from ffplan.figures.figure import Figure
from ffplan.figures.origins import FIGURES
from ffplan.results.cost import Bom, Tco
from ffplan.results.design import Assessment
from ffplan.results.reliability import ReliabilityReport
from ffplan.results.run import Band, RunReport
from ffplan.results.serving import ServeRow
from ffplan.results.training import TrainRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOTS: dict[str, type] = {
    "bom": Bom,
    "tco": Tco,
    "run": RunReport,
    "train": TrainRow,
    "serve": ServeRow,
    "goodput": ReliabilityReport,
}
"""Record by the first step of its addresses, as `cost`, `train` (the fastest plan), `serve` (its best row) and
`goodput` print it; all others are of the assessment."""
NAMES: dict[str, str] = {
    "nodes": "nodes.compute",
    "accelerators": "accelerators",
    "switches": "fabric.switches.total",
    "cables": "fabric.cables.total",
    **{f"network_{n + 1}_switches": f"networks[{n}].fabric.switches.total" for n in range(3)},
    "storage_read": "storage.read_gbyte_s",
    "spare_ports": "fabric.spare_ports",
    "oversubscription": "fabric.oversubscription",
    "bisection": "fabric.bisection_gbyte_s",
    "allreduce": "communication[0].algbw_gbyte_s",
    "it_power": "power.it_kw",
    **{name: LIMITED[name] for name in ("facility_peak", "facility_training", "capex", "cost_per_accelerator")},
    "step": LIMITED["step_time"],
    "tokens_s": LIMITED["tokens_per_second"],
    **{name: LIMITED[name] for name in ("run_days", "cost_per_million_tokens")},
}
"""Address by the short name of a figure in `diff` and `check --against`, in the order of their reports."""
COMPARED: dict[str, str] = {
    "accelerators": "accelerators",
    "switches": "fabric.switches.total",
    "links": "fabric.links.total",
    "bisection": "fabric.bisection_gbyte_s",
    "allreduce": "communication[0].algbw_gbyte_s",
    "allreduce_bound": "communication[0].bound.algbw_gbyte_s",
    "gemm_tf32": "hardware.gemm_tflops.tf32",
    "gemm_fp16": "hardware.gemm_tflops.fp16",
    "node_price": "cost.node_price",
    "node_price_low": "cost.node_price_low",
    "node_price_high": "cost.node_price_high",
    "node_power": "power.per_node_w",
    "it_power": "power.it_kw",
    "cost_servers": "cost.servers",
    "cost_network": "cost.network",
    "cost_total": "cost.total",
    "cost_per_accelerator": "cost.per_accelerator",
}
"""Address by the field of `Ratios` that has it over the baseline's; other ratios are of several figures."""
PRICED: dict[str, str] = {
    "to_buy": "tco.capex",
    "accelerator_hour": "tco.per_accelerator_hour",
    "first_job_after": "tco.waiting.months",
    "cost_of_wait": "tco.waiting.value",
    "effective": "run.effective",
    "effort": "run.effort",
    "run_days": "run.days",
    "run_cost": "run.cost",
    "cost_per_million_tokens": "run.cost_per_million_tokens",
    "run_energy": "run.energy_mwh",
    "run_carbon": "run.carbon_t",
}
"""Address by the name of a row of a comparison in money."""
_SHORT = {**LIMITED, **NAMES}
"""Address by any short name; `it_power` as in `diff`, since only under `limits` it means the whole site."""
_OLD_ROOTS = {"training": "train"}
"""Present root by the one that an address had before."""


@record
class Place:
    """Where a figure is declared."""

    owner: type
    """Record class."""
    field: str
    key: str
    """Name below the field, if the field maps names to numbers; else empty."""
    ranged: bool
    """Whether it has quantiles."""
    counts: bool
    """Whether it is a whole number."""


def _options(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, UnionType):
        return get_args(annotation)
    return (annotation,)


def _counts(annotation: Any) -> bool:
    return int in _options(annotation) and float not in _options(annotation)


@cache
def _types(owner: type) -> dict[str, Any]:
    return get_type_hints(owner)


def _step(annotation: Any, step: str | int) -> tuple[type | None, Any]:
    """Return the record class with the step, None of a list or a mapping, and its type; (None, None) without it."""
    for option in _options(annotation):
        arguments, origin = get_args(option), get_origin(option)
        if is_dataclass(option) and isinstance(option, type) and step in _types(option):
            return option, _types(option)[str(step)]
        if (origin is dict and isinstance(step, str)) or (origin is tuple and isinstance(step, int)):
            return None, arguments[1] if origin is dict else arguments[0]
    return None, None


def _split(address: str) -> tuple[str, list[str | int]]:
    """Return the root of an address, empty for the assessment's, and the steps below it."""
    first, *rest = steps(address)
    first = _OLD_ROOTS.get(str(first), str(first))
    return (first, rest) if first in ROOTS else ("", [first, *rest])


@cache
def place_of(address: str) -> Place | None:
    """Return where the figure at an address is declared; None if no record has such a path."""
    try:
        root, way = _split(_SHORT.get(address, address))
    except UsageError:
        return None
    annotation: Any = ROOTS.get(root, Assessment)
    place: Place | None = None
    for step in way:
        owner, annotation = _step(annotation, step)
        if annotation is None:
            return None
        if owner is not None and owner is not Band:
            ranged = Band in _options(annotation)
            place = Place(owner=owner, field=str(step), key="", ranged=ranged, counts=_counts(annotation))
        elif owner is None and place is not None and isinstance(step, str):
            place = Place(owner=place.owner, field=place.field, key=step, ranged=False, counts=_counts(annotation))
    return place


def address_of(name: str) -> str:
    """Return the address that a short name, an older address or the path of a likely value means.

    What nobody knows is returned as it is.
    """
    address = _SHORT.get(name, name)
    head, dot, rest = address.partition(".")
    address = f"{_OLD_ROOTS.get(head, head)}{dot}{rest}"
    place = place_of(address)
    return address.removesuffix(".likely") if place is not None and place.ranged else address


def path_of(name: str) -> str:
    """Return the path of the number at an address: of a figure with quantiles, the likely value's."""
    address = address_of(name)
    place = place_of(address)
    field = address.rpartition(".")[2]
    return f"{address}.likely" if place is not None and place.ranged and field == place.field else address


def figure_at_address(name: str) -> Figure:
    """Return the table's entry for the figure at an address; a plain figure if it has none."""
    place = place_of(name)
    entry = FIGURES.get(place.owner, {}).get(place.field) if place is not None else None
    return entry if isinstance(entry, Figure) else Figure()


def label_of(name: str) -> str:
    """Return the label of the figure at an address; the address if it has none."""
    address, place = address_of(name), place_of(name)
    label = figure_at_address(name).label
    if not label or place is None:
        return address
    key = place.key.upper() if place.key[-1:].isdecimal() else place.key
    _, way = _split(address)
    beside = f" of network {int(way[1]) + 1}" if way[0] == "networks" else ""
    return f"{label.format(key=key)}{beside}"


def value_at_address(results: Mapping[str, Any], name: str) -> Any:
    """Return the value at an address, unconverted; None if the results have none.

    Args:
        results: records, or their plain data, by root; the assessment's root is empty.
    """
    root, way = _split(path_of(name))
    return value_at(results.get(root), way)


def number_at_address(results: Mapping[str, Any], name: str) -> float | None:
    """Return the number at an address; None if the results have none.

    Args:
        results: as for `value_at_address`.
    """
    return number_at({"": value_at_address(results, name)}, ("",))


def unit_at_address(results: Mapping[str, Any], name: str) -> str:
    """Return the unit of the figure at an address, with the currency of the results; empty for pure numbers.

    Args:
        results: as for `value_at_address`.
    """
    unit = figure_at_address(name).unit
    if not unit.startswith("currency"):
        return unit
    root, way = _split(address_of(name))
    holders = (value_at(results.get(root), [*way[:end], "currency"]) for end in range(len(way) - 1, -1, -1))
    return unit.replace("currency", next((str(currency) for currency in holders if currency), ""))


def addresses() -> Iterator[str]:
    """Yield the address of every figure with a label; of a list, its first item's; `<name>` means any name."""
    for root, owner in (("", Assessment), *ROOTS.items()):
        yield from _below(owner, root)


def _below(annotation: Any, path: str) -> Iterator[str]:
    for option in _options(annotation):
        origin, arguments = get_origin(option), get_args(option)
        if origin is tuple:
            yield from _below(arguments[0], f"{path}[0]")
        elif origin is dict:
            yield from _below(arguments[1], f"{path}.<name>")
        elif is_dataclass(option) and isinstance(option, type):
            for field in fields(option):
                inner = f"{path}.{field.name}" if path else field.name
                entry = FIGURES.get(option, {}).get(field.name)
                if isinstance(entry, Figure) and entry.label:
                    yield f"{inner}.<name>" if get_origin(_types(option)[field.name]) is dict else inner
                else:
                    yield from _below(_types(option)[field.name], inner)
