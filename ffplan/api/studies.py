"""One function for each study, as the commands have them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Unpack, cast

from ffplan.api.arguments import COUNTS, mapping, plain_value, reads, whole
from ffplan.api.designs import Design, load
from ffplan.api.keywords import PlanKeywords, SizeKeywords, _ran
from ffplan.base.errors import UsageError
from ffplan.base.formatting import listed
from ffplan.catalog.named import part_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ffplan.catalog.store import Catalog
    from ffplan.results.collective import CollectiveTable
    from ffplan.results.design import Assessment
    from ffplan.results.fabric import SizeReport
    from ffplan.results.training import TrainReport
    from ffplan.studies.train.setup import TrainRequest

TOP = 5
"""Plans that a search returns."""


def _one_of(value: Any, known: Iterable[str], what: str) -> None:
    from ffplan.base.errors import did_you_mean

    names = list(known)
    if value is not None and value not in names:
        raise UsageError(f"{what}: no {what} `{value}`; {did_you_mean(str(value), names, what=what)}")


@reads()
def assess(design: str | Path | Design) -> Assessment:
    """Return the fabric, bounds, cost and power of a design, with the findings of every rule.

    Args:
        design: any source that `load` accepts.

    Raises:
        InputError: for a design that is wrong or cannot be built, with every fault.
    """
    from ffplan.check.run import examine

    loaded = load(design)
    return loaded.kept("assessment", lambda: examine(loaded.resolved, loaded.catalog))


@reads(tokens=mapping("fields to whole numbers"), gpus=COUNTS)
def collective(
    design: str | Path | Design,
    operation: str = "allreduce",
    *,
    gpus: int | str | Iterable[int] | None = None,
    sizes: float | str | Iterable[float | str] | None = None,
    library: str | None = None,
    algorithm: str | None = None,
    protocol: str | None = None,
    sharp: bool = False,
    zones: int | None = None,
    tokens: dict[str, int] | None = None,
) -> CollectiveTable:
    """Return the time of a collective over sizes and scales.

    Args:
        design: any source that `load` accepts.
        operation: allreduce, reduce-scatter, all-gather, broadcast, reduce, all-to-all, gather, scatter, sendrecv,
            dispatch or combine.
        gpus: ranks, one number or several, or text such as `8..64` [1]; all that one job can span if omitted.
        sizes: messages [byte], numbers or texts such as `186MiB` or `1MiB..1GiB`; the design's, or 1 GiB, if omitted.
        library: nccl, hfreduce, hfreduce-nvlink or deepep; the design's first that has the operation if omitted.
        algorithm: force one.
        protocol: force one.
        sharp: let the network's switches reduce.
        zones: zones that the job spans; as few as hold it if omitted.
        tokens: for dispatch and combine, fields of `expert_dispatch.Routing` in place of DeepSeek-V3's values.

    Raises:
        UsageError: for an impossible request, or options that exclude each other.
    """
    from ffplan.collectives.expert_dispatch import DEEPSEEK_V3, Routing
    from ffplan.collectives.nccl import NAMES
    from ffplan.collectives.volumes import OF_TOKENS, OPERATIONS, PROTOCOLS
    from ffplan.studies.collective import collective as study
    from ffplan.studies.fabric.cabling import message_bytes

    loaded, name = load(design), study.operation_name(operation)
    _one_of(name, OPERATIONS, "operation")
    _one_of(library, study.LIBRARIES, "library")
    _one_of(algorithm, NAMES, "algorithm")
    _one_of(protocol, PROTOCOLS, "protocol")
    if tokens is not None and name not in OF_TOKENS:
        raise UsageError(f"collective: tokens have no effect on {name}; leave them out")
    for key in tokens or {}:
        _one_of(key, (*DEEPSEEK_V3, "sms"), "field")
    libraries = [library or study.default_library(name, loaded.resolved)]
    fields = {**DEEPSEEK_V3, **{key: _token_field(key, value) for key, value in (tokens or {}).items()}}
    routing = Routing(**fields) if name in OF_TOKENS else None
    request = study.CollectiveRequest(
        operation=name, algorithm=algorithm, protocol=protocol, in_network=sharp, routing=routing, zones=zones
    )
    messages = (message_bytes(loaded.resolved),) if sizes is None else cast("tuple[float, ...]", sizes)
    try:
        study.check_together(request, libraries, loaded.resolved)
        return study.collective_table(
            loaded.resolved,
            loaded.catalog,
            libraries,
            request,
            gpus=cast("tuple[int, ...] | None", gpus),
            sizes=messages,
        )
    except study.QueryError as error:
        raise UsageError(f"collective: {error}") from None


def _token_field(name: str, value: Any) -> int:
    try:
        return int(whole()(value))
    except ValueError as error:
        raise UsageError(f"collective: tokens: {name}: {error}") from None


def _train_request(
    design: str | Path | Design,
    model: str,
    counts: tuple[int, ...],
    plan: str | Path | None,
    memory: Any,
    fields: PlanKeywords,
) -> tuple[Design, Catalog, TrainRequest]:
    from ffplan.catalog.models import Model
    from ffplan.design.plan_file import read_plan
    from ffplan.studies.basis.job_layout import most_gpus
    from ffplan.studies.train.setup import TrainRequest

    loaded = load(design)
    parts = loaded.catalog
    settings = read_plan(
        None if plan is None else str(plan),
        {key: plain_value(setting) for key, setting in fields.items()},
        counts[0] if len(counts) == 1 else None,
        None if counts else most_gpus(loaded.resolved),
    )
    return (
        loaded,
        parts,
        TrainRequest(
            model=part_of(parts, Model, model, "model"),
            plan=settings,
            gpus=counts or (most_gpus(loaded.resolved),),
            memory=None if memory is None else float(memory),
            fixed=frozenset(settings.model_fields_set),
        ),
    )


@reads(keywords=PlanKeywords, gpus=COUNTS)
def train(
    design: str | Path | Design,
    model: str,
    *,
    gpus: int | str | Iterable[int] | None = None,
    plan: str | Path | None = None,
    memory: float | str | None = None,
    **fields: Unpack[PlanKeywords],
) -> TrainReport:
    """Return the step of a plan on one number of accelerators or several.

    Args:
        design: any source that `load` accepts.
        model: id of a model of the catalogue.
        gpus: accelerators, one number or several, or text such as `8..64` [1]; all that one job can span if omitted.
        plan: file with a training plan.
        memory: device memory [byte], or a text such as `76GiB`; the accelerator's less 2 GiB if omitted.
        **fields: fields of a training plan, which take precedence over the file: tensor, pipeline, batch, zero, ...

    Raises:
        UsageError: if the plan cannot run, with the reason and a plan that can, or for an unknown field.
        InputError: if a file is wrong.
    """
    from ffplan.studies.train import train as study

    counts = cast("tuple[int, ...]", gpus or ())
    loaded, parts, request = _train_request(design, model, counts, plan, memory, fields)
    request = dataclasses.replace(request, machines=loaded.kept("machines", dict))
    return _ran("train", lambda: study.train(loaded.resolved, parts, request))


@reads(keywords=PlanKeywords)
def search(
    design: str | Path | Design,
    model: str,
    *,
    gpus: int | None = None,
    top: int = TOP,
    plan: str | Path | None = None,
    memory: float | str | None = None,
    **fields: Unpack[PlanKeywords],
) -> TrainReport:
    """Return the best plans of a model on some accelerators; given fields stay fixed.

    Args:
        design: any source that `load` accepts.
        model: id of a model of the catalogue.
        gpus: accelerators [1]; all that one job can span if omitted.
        top: plans to return [1].
        plan: file with a training plan.
        memory: device memory [byte], or a text such as `76GiB`.
        **fields: fields of a training plan.

    Raises:
        UsageError: if no plan can run, with why, or for an unknown field.
        InputError: if a file is wrong.
    """
    from ffplan.studies.train import plan_search as study

    loaded, parts, request = _train_request(design, model, () if gpus is None else (gpus,), plan, memory, fields)
    return _ran("search", lambda: study.search(loaded.resolved, parts, request, top))


@reads(keywords=SizeKeywords)
def size(
    endpoints: int,
    switch: str,
    *,
    catalog: Catalog | None = None,
    prices: str | None = None,
    oversubscription: float | str = 1.0,
    **fields: Unpack[SizeKeywords],
) -> SizeReport:
    """Return every family of networks that holds a number of endpoints.

    Args:
        endpoints: endpoints (NICs) [1].
        switch: catalogue id of the switch.
        catalog: catalogue of the parts; the shipped one if omitted.
        prices: catalogue id of a price book.
        oversubscription: most downlinks per uplink of a leaf [1], or a text such as `3:1`.
        **fields: other fields of `SizeRequest`: breakout, tiers, planes, rails, core_policy, endpoint_link, link.

    Raises:
        UsageError: if a part is missing, or a field is unknown.
    """
    from ffplan.catalog.parts import Link, Switch
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose import size as study

    parts = catalog or Catalog()
    settings = cast("dict[str, Any]", fields)
    named = {key: settings[key] for key in ("endpoint_link", "link") if settings.get(key) is not None}
    if named and prices is None:
        raise UsageError(f"size: {listed(named)} have an effect with prices only")
    settings |= {key: part_of(parts, Link, name, f"size: {key}").id for key, name in named.items()}
    try:
        return study.size(
            study.SizeRequest(
                endpoints=endpoints,
                switch=part_of(parts, Switch, switch, "size: switch"),
                oversubscription=cast("float", oversubscription),
                prices=part_of(parts, PriceBook, prices, "size: prices") if prices else None,
                **settings,
            )
        )
    except study.SizeError as error:
        raise UsageError(f"size: {error}") from None
