"""From parts, a plan and options to what formulas of serving take, with the reasons why a plan cannot run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import did_you_mean
from ffplan.base.formatting import GIB, number, plural
from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.models import Model
from ffplan.results.serving import ServeTransfer
from ffplan.serving.hardware import (
    EngineSpeed,
    cache_precision,
    compute_precision,
    deployment_of,
    engine_speed,
    machine_of,
)
from ffplan.serving.kept import once
from ffplan.serving.load import closed_loop, open_loop, prompt_share
from ffplan.serving.memory import model_weights, splits_heads, weight_memory
from ffplan.serving.placement import copies_that_fit, least_nodes, nodes_held
from ffplan.serving.plan import on_network
from ffplan.serving.pools import Pools, pools_loop, pools_open_loop, slices
from ffplan.serving.room import MemoryUse, memory_use, requests_with_room
from ffplan.serving.step import Served
from ffplan.studies.serve.links import Fleet, ServeError, _link_of, _units_of, fleet_of

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Transformer
    from ffplan.catalog.store import Catalog
    from ffplan.serving.load import Steady
    from ffplan.serving.placement import Parts
    from ffplan.serving.requests import Requests

WIDEST = 64
"""Most tensor ranks of a plan that the study chooses [1]."""
_LEAST_ROOM = 16
"""Requests that must have room at a time for a plan to be taken by default [1]."""


@record
class PlanRequest:
    """How a copy is to be spread; None where the study chooses: a usual plan, or the best of a search."""

    precision: str | None = None
    kv: str | None = None
    tensor: int | None = None
    pipeline: int | None = None
    expert: int | None = None
    data: int | None = None
    chunk: int | None = None

    @property
    def stages(self) -> int:
        """Pipeline stages, one if open [1]."""
        return self.pipeline or 1

    @property
    def groups(self) -> int:
        """Attention groups, one if open [1]."""
        return self.data or 1


@record
class _Apart:
    """Prompts computed on separate accelerators."""

    prefill: ServeSetup
    """A copy that computes prompts."""
    pools: Pools
    """A unit of both pools."""
    transfer: ServeTransfer


@record
class ServeSetup:
    """One copy of a model on its accelerators; with separate prefill, a decoding copy in a unit of both pools."""

    model: Model
    engine: Engine
    speed: EngineSpeed
    fleet: Fleet
    request: PlanRequest
    served: Served
    use: MemoryUse
    chunk: int
    precision: str
    kv: str
    apart: _Apart | None = None

    @property
    def gpus(self) -> int:
        """Accelerators of a copy, or of a unit [1]."""
        return self.decode_gpus + self.prefill_gpus

    @property
    def decode_gpus(self) -> int:
        """Accelerators of a copy or unit that decode [1]."""
        gpus = int(self.served.deployment.gpus)
        return gpus if self.apart is None else gpus * int(self.apart.pools.decodes)

    @property
    def prefill_gpus(self) -> int:
        """Accelerators of a unit that compute prompts alone [1]."""
        return 0 if self.apart is None else int(self.apart.prefill.served.deployment.gpus * self.apart.pools.prefills)

    @property
    def parts(self) -> int:
        """Equal parts of a copy or unit that share no queue [1]: attention groups, or slices of a unit."""
        return int(self.served.deployment.data) if self.apart is None else slices(self.apart.pools)

    @property
    def copies(self) -> int:
        """Copies, or units of pools, that the fleet holds [1]."""
        if self.apart is None:
            return copies_that_fit(self.parts_placed, self.fleet.ground)
        return _units_of((self.apart.prefill.fleet, self.fleet), self.parts_placed)

    @property
    def parts_placed(self) -> Parts:
        """What is placed together: a copy, or both pools of a unit, the one with prompts first."""
        own = int(self.served.deployment.gpus)
        if self.apart is None:
            return ((own, 1),)
        pools, prefill = self.apart.pools, int(self.apart.prefill.served.deployment.gpus)
        return ((prefill, int(pools.prefills)), (own, int(pools.decodes)))

    def copies_on(self, nodes: int, down: int = 0) -> int:
        """Return the copies or units that fit on nodes of its kind [1]; `down`: nodes in repair among them [1]."""
        return copies_that_fit(self.parts_placed, self.fleet.ground.of_nodes(nodes), down)

    def least_nodes(self, copies: int, down: int = 0) -> int:
        """Return the fewest nodes that hold copies or units [1]; `down`: nodes in repair among them [1]."""
        return least_nodes(self.parts_placed, self.fleet.ground, copies, down)

    def nodes_held(self, copies: int, nodes: int | None = None) -> int:
        """Return the nodes on which copies or units lie [1], of some nodes, or of the fewest that hold them."""
        ground = self.fleet.ground.of_nodes(nodes or self.least_nodes(copies))
        return nodes_held(self.parts_placed, ground, copies)

    @property
    def held(self) -> float:
        """Accelerators of its kinds for each copy or unit [1]: its own, and a part of those that no copy uses."""
        return self.gpus + self.idle / self.copies

    @property
    def kinds(self) -> tuple[ServeSetup, ...]:
        """The copy, and the one that computes prompts where its accelerators are of another kind."""
        prefill = self.apart.prefill if self.apart is not None else self
        return (self,) if prefill.fleet.accelerator.id == self.fleet.accelerator.id else (self, prefill)

    @property
    def idle(self) -> int:
        """Accelerators of its kinds that no copy uses [1]."""
        return sum(part.fleet.gpus for part in self.kinds) - self.copies * self.gpus

    @property
    def bearing(self) -> float:
        """Accelerators that bear cost and facility for each copy or unit [1]: its own, and a part of those that serve
        nothing, of other kinds too unless only some accelerators of the design serve.
        """
        return self.held + self.others / self.copies

    @property
    def others(self) -> int:
        """Accelerators of other kinds in a design that serves with all of its own kinds [1]."""
        design, fleets = self.fleet.design, [part.fleet for part in self.kinds]
        if design is None or any(fleet.gpus < fleet_of(fleet.design or design).gpus for fleet in fleets):
            return 0
        return int(design.accelerators) - sum(fleet.gpus for fleet in fleets)

    @property
    def groups(self) -> float:
        """Attention groups of a copy or unit that decode [1]."""
        return float(self.served.deployment.data if self.apart is None else self.apart.pools.decode_groups)

    def room(self, requests: Requests) -> float:
        """Return how many requests an attention group runs at a time [1]."""
        shape = self.served.shape
        return float(requests_with_room(self.use, shape, requests))

    def most(self, requests: Requests) -> float:
        """Return how many requests a copy runs at a time [1]."""
        return self.room(requests) * self.groups

    def means(self, requests: Requests, concurrency: Number) -> Steady:
        """Return the mean of a load with a fixed number of requests under way on a copy or unit."""
        room = self.room(requests)
        if self.apart is not None:
            return once(pools_loop, self.apart.pools, requests, concurrency, room)
        return once(closed_loop, self.served, requests, concurrency, room)

    def means_at(self, requests: Requests, rate: Number) -> Steady:
        """Return the mean of a load that arrives at a rate at a copy or unit."""
        room = self.room(requests)
        if self.apart is not None:
            return once(pools_open_loop, self.apart.pools, requests, rate, room)
        return once(open_loop, self.served, requests, rate, room)

    def prompt_share(self, requests: Requests, steady: Steady) -> float:
        """Return the fraction of the accelerators' time that is for prompts [1], at a load."""
        if self.apart is not None:
            return self.prefill_gpus / self.gpus
        if steady.filled is not None:
            return min(float(steady.filled), 1.0)
        return float(prompt_share(self.served, requests, steady))


def engine_of(catalog: Catalog, text: str) -> Engine:
    """Return the engine of a name such as vllm, vllm@0.12 or vllm-2026.

    Args:
        text: a catalogue id; or software, and a version: the release whose versions hold it, or the nearest.

    Raises:
        ServeError: if no engine has that name.
    """
    aside = catalog.fork()  # engines that are only looked at are no files of the report
    engines = [part for name in catalog.ids_of("engine") if isinstance(part := aside.entry(name).part, Engine)]
    software, _, version = text.lower().partition("@")
    exact = [engine for engine in engines if engine.id == software]
    named = exact or sorted((e for e in engines if e.software == software), key=lambda e: (e.date, e.id))
    if not named:
        known = sorted({e.software for e in engines} | {e.id for e in engines})
        raise ServeError(f"--engine: no `{software}`; {did_you_mean(software, known, what='serving engine')}")
    chosen = named[-1]
    if version:
        release = _parts(version)
        if not release:
            raise ServeError(f"--engine: `{version}` is no version; write {software}@{chosen.versions[-1]}")
        older = [engine for engine in named if engine.versions and _parts(engine.versions[0]) <= release]
        chosen = older[-1] if older else named[0]
    engine = catalog.entry(chosen.id).part
    assert isinstance(engine, Engine)
    return engine


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def default_precision(model: Model) -> str:
    """Return the precision of a model's published weights."""
    return model.transformer.checkpoint if model.transformer else "bf16"


def serve_setup(
    catalog: Catalog, model: Model, engine: Engine, fleet: Fleet, request: PlanRequest, *, requests: Requests
) -> ServeSetup:
    """Return a copy of a model on a fleet, as a request says or by default.

    By default a copy takes the fewest accelerators, a power of two, that have room for sixteen of the requests; with
    expert parallelism at least as many.

    Raises:
        ServeError: if the plan is impossible, or nothing has room.
    """
    shape = model.transformer
    if shape is None:
        raise ServeError(f"--model: {model.id} is no transformer")
    _refuse_features(engine, request)
    if request.tensor is not None:
        setup = _with_tensor(catalog, model, engine, fleet, request, request.tensor)
        _refuse_full(catalog, setup, requests)
        return setup
    widest = max(min(fleet.gpus // (request.stages * request.groups), WIDEST), 1)
    least = 1 if request.expert is None or request.groups > 1 else request.expert
    setups = [
        _with_tensor(catalog, model, engine, fleet, request, 2**power)
        for power in range(widest.bit_length())
        if splits_heads(shape, 2**power) and least <= 2**power <= widest
    ]
    roomy = [setup for setup in setups if setup.most(requests) >= _LEAST_ROOM]
    some = [setup for setup in setups if setup.most(requests) >= 1]
    if not setups or not some:
        last = setups[-1] if setups else _with_tensor(catalog, model, engine, fleet, request, 1)
        _refuse_full(catalog, last, requests)
    return (roomy or some[-1:])[0]


def _refuse_features(engine: Engine, request: PlanRequest) -> None:
    """Refuse what an engine cannot do.

    Raises:
        ServeError: with the feature.
    """
    needs = {
        "pipeline": request.stages > 1,
        "data-attention": request.groups > 1 and (request.expert or 1) > 1,
    }
    for feature, needed in needs.items():
        if needed and feature not in engine.features:
            raise ServeError(f"--engine: {engine.name} has no {feature}; it has {', '.join(engine.features)}")


def _with_tensor(
    catalog: Catalog, model: Model, engine: Engine, fleet: Fleet, request: PlanRequest, tensor: int
) -> ServeSetup:
    """Return a copy with a number of tensor ranks.

    Raises:
        ServeError: if the model does not split so, or the fleet is too small.
    """
    shape = model.transformer
    assert shape is not None
    if not splits_heads(shape, tensor):
        raise _uneven(shape, tensor, model.id)
    if request.stages > shape.layers:
        raise ServeError(f"--pp {request.stages}: {model.id} has {shape.layers} layers")
    expert = _expert_ways(shape, request, tensor, model.id)
    gpus = tensor * request.stages * request.groups
    if gpus > fleet.gpus:
        raise ServeError(
            f"a copy takes {plural(gpus, 'accelerator')}, and there are {fleet.gpus:,}; write a smaller --tp, --pp or "
            "--dp"
        )
    precision = request.precision or default_precision(model)
    kv = cache_precision(engine, precision, request.kv)
    accelerator = fleet.accelerator
    speed = engine_speed(engine, accelerator, precision)
    deployment = deployment_of(
        shape,
        precision,
        kv,
        compute_precision(accelerator, precision),
        tensor=tensor,
        pipeline=request.stages,
        data=request.groups,
        expert=expert,
    )
    links = [_link_of(fleet, catalog, int(ranks)) for ranks in (tensor, deployment.expert_gpus)]
    served = Served(
        shape=shape,
        weights=model_weights(shape),
        deployment=deployment,
        machine=machine_of(accelerator, precision, *(link.rate for link in links)),
        rates=on_network(speed.rates, *(link.latency for link in links)),
        mixed=engine.mixed,
    )
    return ServeSetup(
        model=model,
        engine=engine,
        speed=speed,
        fleet=fleet,
        request=request,
        served=served,
        use=memory_use(served, engine),
        chunk=request.chunk or int(engine.chunk.value),
        precision=precision,
        kv=kv,
    )


def _uneven(shape: Transformer, tensor: int, model: str) -> ServeError:
    """Return the refusal of tensor ranks between which heads do not split, with the nearest that fit."""
    fitting = [ways for ways in range(1, shape.heads + 1) if splits_heads(shape, ways)]
    near = [max(ways for ways in fitting if ways < tensor), *(ways for ways in fitting if ways > tensor)][:2]
    heads = f"{shape.heads} heads"
    if shape.heads % tensor == 0:
        heads += f" and {shape.key_value_heads} of keys and values"
    return ServeError(f"--tp {tensor}: {model} has {heads}; write {_either(near)}")


def _expert_ways(shape: Transformer, request: PlanRequest, tensor: int, model: str) -> int:
    """Return the expert parallelism of a plan.

    Raises:
        ServeError: if the model has no experts, or the ways are neither 1 nor the group's.
    """
    ways = request.expert or 1
    if ways == 1:
        return 1
    if shape.experts is None:
        raise ServeError(f"--ep {ways}: {model} has no experts")
    if ways not in (tensor, tensor * request.groups):
        both = sorted({1, tensor, tensor * request.groups})
        raise ServeError(f"--ep {ways}: experts spread over a tensor group or over all; write {_either(both)}")
    if shape.experts.routed % ways:
        raise ServeError(f"--ep {ways}: {shape.experts.routed} experts of {model} are not divisible by {ways}")
    return ways


def _either(values: list[int]) -> str:
    return " or ".join(str(value) for value in values)


def _refuse_full(catalog: Catalog, setup: ServeSetup, requests: Requests) -> None:
    """Refuse a plan without room for a single request.

    Raises:
        ServeError: with what would fit.
    """
    if setup.most(requests) >= 1:
        return
    limit, held = (
        float(setup.use.limit) / GIB,
        float(weight_memory(setup.served.weights, setup.served.deployment)) / GIB,
    )
    rest = "no room for keys and values" if held >= limit else "a request of this length has no room beside it"
    each = f"each of {setup.gpus} accelerators" if setup.gpus > 1 else "one accelerator"
    ways = _ways_with_room(catalog, setup, requests)
    raise ServeError(
        f"{setup.model.id} at {setup.precision} takes {number(held, 3)} of {number(limit, 3)} GiB on {each}, "
        f"and {rest}; try {' or '.join(ways) or 'shorter requests, or accelerators with more memory'}",
        infeasible=True,
    )


def _ways_with_room(catalog: Catalog, setup: ServeSetup, requests: Requests) -> list[str]:
    """Return options with which a single request has room: the fewest ranks, and the widest precision."""
    fleet, tensor = setup.fleet, int(setup.served.deployment.tensor)
    most = fleet.design.accelerators if fleet.design is not None else setup.gpus * WIDEST
    whole = replace(fleet, gpus=int(most))

    def fits(ranks: int, precision: str) -> bool:
        request = replace(setup.request, precision=precision)
        try:
            other = _with_tensor(catalog, setup.model, setup.engine, whole, request, ranks)
        except ServeError:
            return False
        return other.most(requests) >= 1

    ways = []
    wider = [2**power * tensor for power in range(1, WIDEST.bit_length()) if 2**power * tensor <= WIDEST]
    ranks = next((ranks for ranks in wider if fits(ranks, setup.precision)), None)
    if ranks is not None:
        gpus = setup.gpus // tensor * ranks
        more = f"--gpus {gpus}" if gpus > fleet.gpus else ""
        fixed = f"--tp {ranks}" if not more or setup.request.tensor is not None else ""
        ways.append(" ".join(option for option in (more, fixed) if option))
    narrower = ("bf16", "fp8", "fp4")
    if setup.precision in narrower:
        smaller = narrower[narrower.index(setup.precision) + 1 :]
        ways += [f"--precision {name}" for name in smaller if fits(tensor, name)][:1]
    return ways
