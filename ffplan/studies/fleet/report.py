"""The report of a fleet: rows, losses, and the hours of a day that nodes are free or rented in."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.cost.rent import MONTHS
from ffplan.reliability.hazards import DAY_S
from ffplan.results.cost import benchmark
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fleet import DayRent, FleetDay, FleetDesign, FleetHour, FleetLoss, FleetReport, FreeNodes
from ffplan.results.recommendation import UnsizedAccelerator
from ffplan.studies.cost.cost import study_cost
from ffplan.studies.cost.ledger import CostRequest
from ffplan.studies.fleet.capacity import Copy
from ffplan.studies.fleet.recommend import _aim_of, broken
from ffplan.studies.serve.loads import latency_of, run_open
from ffplan.studies.serve.money import token_price, tokens_per_megawatt
from ffplan.studies.serve.serve import plan_row, pools_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.results.cost import CostStudy
    from ffplan.results.serving import TokenPrice
    from ffplan.studies.fleet.capacity import FleetTarget
    from ffplan.studies.fleet.recommend import _Recommended, _SizedFleet
    from ffplan.studies.serve.setup import ServeSetup


_HOURLY = "on-demand"


def _free_block(free: Sequence[int]) -> FreeNodes | None:
    """Return the block with most node-hours that are free in a row, around the end of the file; None without any.

    Equation:
        over starts s and lengths n <= hours: the largest n min(free[s], ..., free[s + n - 1]); of equals the longest

    Source:
        Definition: a job of fixed size holds its nodes from its first hour to its last.
    """
    least = around = np.array(free, dtype=np.int64)
    best = (0, 0, 0)
    for length in range(1, len(free) + 1):
        start = int(np.argmax(least))
        best = max(best, (int(least[start]) * length, length, -start))
        least = np.minimum(least, np.roll(around, -length))
    area, length, start = best
    return FreeNodes(area // length, -start, length) if area else None


def _reserved_nodes(nodes: Sequence[int], committed: float, hourly: float) -> int:
    """Return the nodes to rent for a term if the rest is rented by the hour.

    Equation:
        the nodes k = 1, 2, ... for which hourly * (hours that need k or more) > committed * hours

    Source:
        Definition: each node is rented the cheaper way, and the hours that need node k fall with k.
    """
    levels = np.arange(1, max(nodes, default=0) + 1)
    used = (np.array(nodes)[None, :] >= levels[:, None]).sum(axis=1)
    return int((hourly * used > committed * len(nodes)).sum())


def _day_of(fleet: _SizedFleet, hours: tuple[float, ...]) -> FleetDay | None:
    if not hours:
        return None
    most, bought = max(hours), int(fleet.built.assessment.nodes["compute"])
    per_node = fleet.built.assessment.accelerators // bought
    rates = [fleet.peak * requests / most for requests in hours]
    copies = [max(ceil(rate / fleet.rate - 1e-9), 1) for rate in rates]
    nodes = [fleet.setup.nodes_held(count) for count in copies]
    return FleetDay(
        hours=tuple(
            FleetHour(hour=hour, rate_s=rate, copies=count, nodes=taken)
            for hour, (rate, count, taken) in enumerate(zip(rates, copies, nodes, strict=True))
        ),
        used_share=sum(nodes) / (bought * len(nodes)),
        free=_free_block([bought - fleet.spares - count for count in nodes]),
        rents=_rents(fleet.built.study, nodes, per_node),
    )


def _rents(study: CostStudy, nodes: list[int], per_node: int) -> tuple[DayRent, ...]:
    """Return the rent of the nodes: for a term, by the hour, and each the cheaper way; the cheapest first."""
    assert study.tco is not None, "the builder takes parts with prices"
    hourly = next((row for row in study.tco.rents if row.term == _HOURLY and not row.index), None)
    committed = benchmark(study.tco.rents)
    by_hour = hourly.price if hourly is not None else 0.0
    # an hour of a term in use carries those without: what is paid for every hour, with its upfront part
    by_term = committed.hour * study.tco.utilisation if committed is not None else 0.0
    most, ways = max(nodes), dict[int, str]()
    if hourly is not None and committed is not None:
        ways[_reserved_nodes(nodes, by_term, by_hour)] = "mixed"
    if hourly is not None:
        ways[0] = "on-demand"
    if committed is not None:
        ways[most] = "reserved"
    rents = [
        DayRent(
            way=way,
            reserved_nodes=kept,
            reserved_offer=committed.offer if committed is not None and kept else None,
            hourly_offer=hourly.offer if hourly is not None and kept < most else None,
            month=per_node
            * HOURS_PER_YEAR
            / MONTHS
            * (by_term * kept + by_hour * (sum(max(count - kept, 0) for count in nodes) / len(nodes))),
        )
        for kept, way in ways.items()
    ]
    return tuple(sorted(rents, key=lambda rent: rent.month))


_PAPER = 3


def kept(found: _Recommended, target: FleetTarget, best: int) -> list[_SizedFleet]:
    """Return the fleets to report as designs: trusted ones within the limits, or all if named."""
    return [fleet for fleet in found.fleets if not broken(fleet, target) and _may_win(fleet, target)][:best]


def _may_win(fleet: _SizedFleet, target: FleetTarget) -> bool:
    return fleet.trusted or bool(target.allowed)


def fleet_report(
    found: _Recommended, target: FleetTarget, catalog: Catalog, files: dict[str, str], best: int
) -> FleetReport:
    """Return the report of a search; `files`: files that designs were written to, by name of the design."""
    from ffplan.catalog.prices import PriceBook

    book = catalog.entry(target.book).part
    assert isinstance(book, PriceBook)
    designs = kept(found, target, best)
    paper = [fleet for fleet in found.fleets if not _may_win(fleet, target) and not broken(fleet, target)]
    near = sorted(
        (fleet for fleet in found.fleets if broken(fleet, target)),
        key=lambda fleet: (max(broken(fleet, target).values()), _aim_of(fleet, target)),
    )
    requests = target.load.requests
    api = token_price(catalog, target.model.id, requests)

    def row(fleet: _SizedFleet) -> FleetDesign:
        return _row(fleet, target, catalog, files, api)

    return FleetReport(
        schema_version=SCHEMA_VERSION,
        model=target.model.id,
        prompt_tokens=float(requests.prompt),
        output_tokens=float(requests.output),
        mean_rate_s=None if target.rate is None else target.rate / target.peak,
        peak_rate_s=target.rate,
        peak_over_mean=target.peak,
        targets=target.targets,
        aim=target.aim,
        chance=target.chance,
        available=target.available,
        price_book=book.id,
        currency=book.currency,
        designs=tuple(row(fleet) for fleet in designs),
        unmeasured=tuple(row(fleet) for fleet in paper[:_PAPER]),
        near=() if designs else tuple(row(fleet) for fleet in near[:best]),
        api=api,
        left_out=tuple(UnsizedAccelerator(name, reason) for name, reason in sorted(found.left_out.items())),
        assumptions=_assumptions(target),
    )


def _row(
    fleet: _SizedFleet, target: FleetTarget, catalog: Catalog, files: dict[str, str], api: TokenPrice | None
) -> FleetDesign:
    built, setup = fleet.built, fleet.setup
    study, assessment = built.study, built.assessment
    assert study.tco is not None
    load = replace(target.load, requests=replace(target.load.requests, chunk=setup.chunk))
    each, mean = fleet.peak / fleet.copies, fleet.peak / target.peak
    times = run_open(setup, load, each)
    output = float(load.requests.output)
    drawn = study_cost(built.design, catalog.fresh(), CostRequest()).tco
    assert drawn is not None
    purchase = drawn.purchase
    concurrency = fleet.peak * float(times.e2e.mean())
    peak_tokens, power = fleet.peak * output, study.power.facility_peak_kw
    return FleetDesign(
        name=assessment.design.name,
        accelerator=fleet.accelerator,
        server=built.design.compute.server.id,
        accelerators=assessment.accelerators,
        nodes=assessment.nodes["compute"],
        spare_nodes=fleet.spares,
        engine=setup.engine.id,
        plan=plan_row(setup),
        pools=pools_row(setup),
        copies=fleet.copies,
        rate_s=fleet.rate * fleet.copies,
        ttft_s=latency_of(times.ttft),
        tpot_s=latency_of(times.tpot),
        requests_day=mean * DAY_S,
        concurrency=concurrency,
        output_tokens_s=peak_tokens,
        output_tokens_s_gpu=peak_tokens / assessment.accelerators,
        chance=Copy(setup, load, target.targets).chance(each, target.chance),
        capex=purchase.p50,
        capex_p10=purchase.p10,
        capex_p90=purchase.p90,
        tco=study.tco.total,
        year=study.tco.year,
        per_million_output_year=study.tco.year / (mean * output * HOURS_PER_YEAR * 3600 / 1e6),
        api_requests_day=_even_with(api, study.tco.year, output) if api and api.currency == study.currency else None,
        facility_peak_kw=power,
        racks=study.power.racks,
        floor_m2=study.power.floor_m2,
        unrated=built.ledger.unrated,
        output_tokens_s_mw=None if built.ledger.unrated else tokens_per_megawatt(peak_tokens, power),
        recalled_share=fleet.recalled_share,
        calibrated=setup.speed.runs > 0,
        losses=_losses(fleet, concurrency),
        day=_day_of(fleet, target.hours),
        breaks=broken(fleet, target),
        file=files.get(assessment.design.name),
    )


def _even_with(api: TokenPrice, year: float, output: float) -> float:
    """Return the requests of a day whose tokens cost as much by API as a fleet does.

    Args:
        year: cost of the fleet [currency per year].
        output: tokens of an answer [1].

    Equation:
        cost of a day / (price of a token x tokens of an answer)

    Source:
        Definition: a fleet costs the same however few requests come.
    """
    days = HOURS_PER_YEAR * 3600 / DAY_S
    return year / days / (api.per_million_output_all / 1e6 * output)


def _assumptions(target: FleetTarget) -> tuple[str, ...]:
    said = [
        "Requests arrive at random at the peak rate, all of the same lengths, and spread evenly over the copies.",
        f"All times are off by one factor: the band of the engine's constants. Sized for a chance of "
        f"{100 * target.chance:.0f} %.",
        f"Nodes in repair leave enough up {100 * target.available:g} % of the time; lost requests are sent again.",
        "A copy within a scale-up domain has one NIC in a node on the fabric.",
        "Prefill and decoding share each copy, pools apart."
        if target.apart
        else "Prefill and decoding share each copy.",
    ]
    if target.hours:
        said.append("The load of an hour is even, and copies start and stop ahead of it; nodes on rent need no spares.")
    elif target.peak <= 1 + 1e-9:
        said.append("The load is the same all day: --peak sizes for more, --day for its busiest hour.")
    return tuple(said)


def _losses(fleet: _SizedFleet, concurrency: float) -> tuple[FleetLoss, ...]:
    """Return the losses from single failures, the smallest first; each with all other nodes up."""
    assessment = fleet.built.assessment
    nodes = int(assessment.nodes["compute"])
    per_node = assessment.accelerators // nodes
    rows = []
    for part, taken in sorted(_domains(fleet, nodes, per_node).items(), key=lambda item: item[1]):
        lost = min(_touched(fleet.setup, taken), fleet.copies)
        left = fleet.setup.copies_on(nodes - taken)
        rows.append(
            FleetLoss(
                part=part,
                nodes=taken,
                copies=lost,
                kept=min(left * fleet.rate / fleet.peak, 1.0),
                requests=concurrency * lost / fleet.copies,
            )
        )
    return tuple(rows)


def _touched(setup: ServeSetup, nodes: int) -> int:
    """Return the copies that lie on some neighbouring nodes at most [1]."""
    ground = setup.fleet.ground
    if setup.gpus > ground.domain:
        own, whole = setup.nodes_held(1), ground.domain // ground.node
        # the domain where a copy ends may hold the ends of others
        ends = whole // ((own - 1) % whole + 1)
        return ceil(nodes / own) + max(ends - 1, 0)
    domains, rest = divmod(nodes * ground.node, ground.domain)
    each = ground.domain // setup.gpus
    return domains * each + min(ceil(rest / setup.gpus), each)


def _domains(fleet: _SizedFleet, nodes: int, per_node: int) -> dict[str, int]:
    fabric, domain = fleet.built.assessment.fabric, fleet.setup.fleet.domain // per_node
    domains = {"node": 1, "rack": fleet.built.ledger.site.rack_nodes}
    if domain > 1:
        domains["scale-up domain"] = min(domain, nodes)
    leaf = next((role for role in fabric.by_role if role.role == "leaf"), None)
    if leaf is not None and fabric.planes == 1 and fabric.endpoints == nodes:
        # a node with one link has no other way out
        domains["leaf switch"] = min(leaf.downlinks, nodes)
    return domains
