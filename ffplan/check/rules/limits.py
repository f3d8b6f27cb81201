"""The limits that a design may declare, a row each.

A limit is a field of `ffplan.design.schema.Limits` and a row of `LIMITS`. `LIMITED` has the address of its figure, of
which the table of figures knows unit and sense; one that takes reasoning names the function that finds the breaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import listed, number, plural
from ffplan.catalog.evidence import date_of, months_of
from ffplan.check.limit import DesignLimit, _declared, _unknown_job, _unpriced, _unpriced_tokens, _unrated, compare
from ffplan.check.rule import REGISTER, Breach
from ffplan.inputs.quantities import Money, exchanged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ffplan.check.rule import Examined
    from ffplan.results.design import CostReport


def _purchase(limit: DesignLimit, examined: Examined) -> tuple[float | None, str]:
    """Nothing is added to the parts that a design without accelerators plans."""
    cost, currency = examined.assessment.cost, _declared(limit, examined).currency
    if cost is None or not (cost.lines or cost.missing):
        return None, ""
    site, unknown = examined.site
    if unknown:
        return None, unknown
    amount, priced = (
        (cost.total, cost.currency) if site is None or site.headline is None else (site.headline, site.currency)
    )
    if priced == currency:
        return amount, ""
    turned = exchanged(Money(amount, priced), currency, examined.design.spec.site.exchange)
    return turned, "" if turned is not None else f"the purchase is priced in {priced}, without a rate into {currency}"


def _capex(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    amount, unknown = _purchase(limit, examined)
    yield from _money(limit, examined, amount, unknown)


def _cost_per_accelerator(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    (amount, unknown), count = _purchase(limit, examined), examined.assessment.accelerators
    yield from _money(limit, examined, amount / count if amount is not None and count else None, unknown)


def _money(limit: DesignLimit, examined: Examined, amount: float | None, unknown: str) -> Iterator[Breach]:
    yield from compare(
        limit,
        amount,
        _declared(limit, examined),
        remedy="name a price book under `cost` that prices something in scope" if amount is None else "",
        missing=_unpriced(examined.assessment.cost),
        unknown=unknown,
    )


def _cost_per_million_tokens(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    run, bound = examined.run, _declared(limit, examined)
    priced, cost, unknown = None, None, _unknown_job(examined, tokens=True)
    if run is not None:
        priced = run.cost_per_million_tokens
        rates = examined.design.spec.site.exchange
        cost = exchanged(Money(priced.likely, run.currency), bound.currency, rates) if priced and run.currency else None
        unknown = f"the run is priced in {run.currency}" if run.cost else "the design has no prices"
    lacks = _unpriced_tokens(examined)
    yield from compare(limit, cost, bound, missing=lacks, unknown="" if cost is not None else unknown)


def _allreduce_bandwidth(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    reports, bound = examined.assessment.communication, _declared(limit, examined)
    if not reports:
        yield from compare(limit, None, bound, remedy="name a library under `communication`")
        return
    first = reports[0]
    remedy = limit.remedy.format(resource=first.limited_by_label)
    yield from compare(limit, first.algbw_gbyte_s, bound, what=f"{limit.what} of {first.library}", remedy=remedy)


def _blast_radius(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    accelerators = examined.assessment.accelerators
    if not accelerators:
        return
    lost = examined.switch_loss
    what = f"{limit.what} ({lost:,} accelerators)"
    # Both in per cent: the limit is a fraction.
    yield from compare(limit, 100 * lost / accelerators, 100 * _declared(limit, examined), what=what)


def _power_per_rack(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    for node, plan in zip(examined.assessment.power.nodes, examined.power.nodes, strict=True):
        yield from compare(
            limit,
            node.rack_w,
            _declared(limit, examined),
            what=f"the power of a rack of `{node.server}` at the nodes' maximum",
            remedy="" if node.rack_w else f"add `per_rack` to the {node.role} nodes",
            missing="" if plan.rated else _unrated(node.missing),  # a rating is of the whole node
        )


def _goodput(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    """Hold the likely goodput of the workload, and warn if its median alone breaks the limit."""
    recovery, bound = examined.recovery, _declared(limit, examined)
    if recovery is None:
        yield from compare(limit, None, bound, unknown=_unknown_job(examined))
        return
    from ffplan.studies.cost.cost import band
    from ffplan.studies.operate.goodput_job import DRAWS, drawn_outcome

    likely = float(recovery.outcome.goodput)
    drawn = band(recovery.outcome.goodput, drawn_outcome(recovery, DRAWS, 0).goodput)
    spread = f" (median {_tenths(drawn.p50)}, P10 to P90 {_tenths(drawn.p10)} to {_tenths(drawn.p90)})"
    breaches = tuple(compare(limit, likely, bound, what=f"{limit.what}{spread}"))
    yield from breaches
    if not breaches and drawn.p50 < bound:
        yield Breach(
            path=("limits", limit.field),
            message=f"{limit.what}, {_tenths(likely)}, holds the limit of {_tenths(bound)}; its median does not"
            f"{spread}",
            remedy="leave room: uncertain inputs reach further down than up; `ffplan operate goodput` has them",
            severity=Severity.WARNING,
        )


def _tenths(share: float) -> str:
    return f"{100 * share:.1f} %"


def _price_age(limit: DesignLimit, examined: Examined) -> Iterator[Breach]:
    cost, book, today = examined.assessment.cost, examined.design.prices, examined.today
    if today is None:
        return
    most, path = 12 * _declared(limit, examined), ("limits", limit.field)
    if examined.design.rent is not None or cost is None or book is None or not cost.lines:
        rented = examined.design.rent is not None
        why = "the cluster is rented, so no part has a price" if rented else "the design has no prices"
        yield from compare(limit, None, most, unknown=why)
        return
    now = today.year * 12 + today.month
    dates = {line.part: date_of(book.items[line.part], book.sources) for line in cost.lines if line.total}
    ages = {part: now - months_of(date) for part, date in dates.items() if date is not None}
    old = {part: age for part, age in ages.items() if age > most}
    if old:
        oldest = plural(max(old.values()), "month")
        message = f"{_share(cost, old)} rests on prices up to {oldest} old; the limit is {number(most)}: {_named(old)}"
        yield Breach(path=path, message=message, remedy=limit.remedy)
    undated = [part for part, date in dates.items() if date is None]
    if undated:
        yield Breach(
            path=path,
            message=f"{_share(cost, undated)} rests on prices whose date is unknown, so the limit cannot be checked: "
            f"{_named(undated)}",
            remedy="overlay a price book with dated quotes of these parts with `--catalog`",
            unchecked=True,
        )


def _share(cost: CostReport, parts: Collection[str]) -> str:
    return f"{number(100 * sum(line.total for line in cost.lines if line.part in parts) / cost.total, 2)} % of the cost"


def _named(parts: Collection[str]) -> str:
    return listed(f"`{part}`" for part in sorted(parts))


_LESS_POWER = "use fewer nodes or nodes of less power, cool with less, or raise the limit"

LIMITS: tuple[DesignLimit, ...] = (
    DesignLimit(
        field="allreduce_bandwidth",
        holder=_allreduce_bandwidth,
        what="the allreduce bandwidth",
        remedy="relieve what binds it, the {resource}, or lower the limit",
        title="The allreduce falls short of `limits.allreduce_bandwidth`",
        why="The design declares the algorithm bandwidth that its training needs, at its message size over all nodes.",
        example="limits: {allreduce_bandwidth: 8 GB/s}  # HFReduce on fire-flyer-2 reaches 5.6, its bound is 8.1",
        good="limits: {allreduce_bandwidth: 5 GB/s}",
        fix="Relieve the resource that binds, which the finding names, or lower the limit.",
    ),
    DesignLimit(
        field="blast_radius",
        holder=_blast_radius,
        printed_unit="% of the accelerators",
        what="the share cut off by the loss of one switch",
        remedy="join each node to several leaf switches (planes, rails), or use smaller ones",
        title="The loss of one switch cuts off more accelerators than `limits.blast_radius`",
        why="A node whose ports all hang on one switch is lost with it, and so is every job that runs on it.",
        example="limits: {blast_radius: 1 %}  # fire-flyer-2 loses 152 accelerators, 1.52 % of them",
        good="limits: {blast_radius: 2 %}",
        fix="Join each node to several leaf switches, use smaller switches, or raise the limit.",
    ),
    DesignLimit(
        field="capex",
        holder=_capex,
        what="the purchase",
        remedy="spend less, or raise the limit",
        title="The purchase costs more than `limits.capex`",
        why="The design declares the highest purchase price: the whole bill of `ffplan cost`, with storage, side "
        "networks, spares, racks and building, in the median of its draws.",
        example="limits: {capex: 11000 paper-unit}  # fire-flyer-2 costs 11,989",
        good="limits: {capex: 13000 paper-unit}",
        fix="Change the design, or the limit. A limit without a price book, or with a price missing, cannot be checked "
        "and is reported too.",
    ),
    DesignLimit(
        field="cost_per_accelerator",
        holder=_cost_per_accelerator,
        what="the purchase for each accelerator",
        remedy="spend less, or raise the limit",
        title="An accelerator costs more than `limits.cost_per_accelerator`",
        why="The design declares the highest price of an accelerator, servers and network included.",
        example="limits: {cost_per_accelerator: 1 paper-unit}  # fire-flyer-2 costs 1.1989",
        good="limits: {cost_per_accelerator: 2 paper-unit}",
        fix="Change the design, or the limit.",
    ),
    DesignLimit(
        field="cost_per_million_output",
        what="a million output tokens of the load",
        remedy="raise the limit, or see what decides the cost with `ffplan serve`",
        title="A million output tokens cost more than `limits.cost_per_million_output`",
        why="The design declares the highest cost of an output token, by the time that accelerators spend on it.",
        example="serving: {model: llama3.1-70b, rate: 1/s}\nlimits: {cost_per_million_output: $0.01}",
        good="serving: {model: llama3.1-70b, concurrency: 64}\nlimits: {cost_per_million_output: $100}",
        fix="Serve more requests on each copy, search another plan with `ffplan serve --search`, or change the limit.",
    ),
    DesignLimit(
        field="cost_per_million_tokens",
        holder=_cost_per_million_tokens,
        what="a million tokens of the workload",
        remedy="raise the limit, or see what decides the cost with `ffplan cost`",
        title="A million tokens cost more than `limits.cost_per_million_tokens`",
        why="The design declares the highest cost of a token, ownership or rent included.",
        example="workload: {model: llama3-70b, tokens: 15T}\nlimits: {cost_per_million_tokens: $0.01}",
        good="workload: {model: llama3-70b, tokens: 15T}\nlimits: {cost_per_million_tokens: $1}",
        fix="See what decides the cost with `ffplan cost`, or change the limit.",
    ),
    DesignLimit(
        field="facility_peak",
        what="the facility power at the rated peak, {pue}",
        remedy=_LESS_POWER,
        title="The facility power at its rated peak exceeds `limits.facility_peak`",
        why="A feed must carry everything at its rated maximum, times PUE; a contract that is sized to the mean trips.",
        example="limits: {facility_peak: 4 MW}  # fire-flyer-2 may draw 4,428 kW at PUE 1.25",
        good="limits: {facility_peak: 5 MW}",
        fix="Change the design, lower the PUE, or raise the limit. The power in training is "
        "`limits.facility_training`.",
    ),
    DesignLimit(
        field="facility_training",
        what="the facility power in training, {pue}",
        remedy=_LESS_POWER,
        title="The facility power in training exceeds `limits.facility_training`",
        why="Power of the site at the meter in training: IT power times PUE.",
        example="limits: {facility_training: 4 MW}  # fire-flyer-2 draws 4,146 kW at PUE 1.25",
        good="limits: {facility_training: 5 MW}",
        fix="Change the design, lower the PUE, or raise the limit. The load on the feed is `limits.facility_peak`.",
    ),
    DesignLimit(
        field="goodput",
        holder=_goodput,
        printed_unit="of its time",
        what="the likely goodput of the workload",
        remedy="lower the limit, or change what loses time; `ffplan operate goodput` names what would help",
        title="The workload keeps less of its time than `limits.goodput`",
        why="Failures, checkpoints and restarts cost tokens that are paid for. The likely value is judged, which "
        "`goodput` prints first and `cost` takes; where the median over the uncertain inputs alone lies below, it is "
        "a warning.",
        example="workload: {model: llama3-70b, batch: 1024}\nlimits: {goodput: 99.9 %}",
        good="workload: {model: llama3-70b, batch: 1024}\nlimits: {goodput: 90 %}",
        fix="Restart faster, plan spares, or change the limit.",
    ),
    DesignLimit(
        field="it_power",
        what="the IT power in training, network and storage included",
        remedy=_LESS_POWER,
        title="The IT power in training exceeds `limits.it_power`",
        why="A hall's power distribution is built for a load of servers, switches and storage.",
        example="limits: {it_power: 3 MW}  # fire-flyer-2 draws 3,317 kW",
        good="limits: {it_power: 4 MW}",
        fix="Change the design, or the limit. The load on the feed is `limits.facility_peak`.",
    ),
    DesignLimit(
        field="oversubscription",
        printed_unit="to 1",
        what="the oversubscription of a leaf switch",
        remedy="lower `fabric.oversubscription`, or raise the limit",
        title="A leaf switch is oversubscribed beyond `limits.oversubscription`",
        why="Oversubscription divides the bandwidth of every job that leaves its leaf.",
        example="fabric: {oversubscription: 3:1}\nlimits: {oversubscription: 1:1}",
        good="fabric: {oversubscription: 1:1}\nlimits: {oversubscription: 1:1}",
        fix="Lower the oversubscription of the fabric, or raise the limit. Links between zones are not held to it.",
    ),
    DesignLimit(
        field="power_per_rack",
        holder=_power_per_rack,
        printed_unit="W",
        what="the power of a rack at the nodes' maximum",
        remedy="put fewer nodes in a rack",
        title="A rack draws more than `limits.power_per_rack`",
        why="Power and cooling are built per rack, for the rated maximum and not for the average.",
        example="limits: {power_per_rack: 25 kW}  # with per_rack: 4 on DGX A100, 26 kW",
        good="limits: {power_per_rack: 30 kW}",
        fix="Lower `per_rack`, or raise the limit. A group without `per_rack` cannot be checked and is reported too.",
    ),
    DesignLimit(
        field="price_age",
        holder=_price_age,
        printed_unit="year",
        what="the age of the prices",
        remedy="overlay a price book of newer quotes with `--catalog`",
        title="A price is older than `limits.price_age`, or of an unknown date",
        why="Prices of accelerators and optics move by tens of percent a year. Age counts from the date of the price, "
        "never from the day on which somebody read it. It holds the parts that the design plans, not those that its "
        "ownership profile stands in.",
        example="cost: {price_book: usd-2024}\nlimits: {price_age: 6 months}",
        good="cost: {price_book: usd-2026}\nlimits: {price_age: 36 months}",
        fix="Overlay a price book of newer, dated quotes with `--catalog`.",
    ),
    DesignLimit(
        field="run_days",
        what="the run of the workload",
        remedy="raise the limit, or train faster; `ffplan cost` shows the run",
        title="The run of the workload takes longer than `limits.run_days`",
        why="The design declares by when its tokens must be trained.",
        example="workload: {model: llama3-70b, tokens: 15T}\nlimits: {run_days: 10}",
        good="workload: {model: llama3-70b, tokens: 15T}\nlimits: {run_days: 365}",
        fix="Change what binds the step, or the limit.",
    ),
    DesignLimit(
        field="step_time",
        what="the step of the workload",
        remedy="raise the limit, or change what binds the step; `ffplan train` names it",
        title="A step of the workload takes longer than `limits.step_time`",
        why="The design declares the longest step, for the job that it is bought for.",
        example="workload: {model: llama3-70b, batch: 1024}\nlimits: {step_time: 1 s}",
        good="workload: {model: llama3-70b, batch: 1024}\nlimits: {step_time: 60 s}",
        fix="Change what binds the step, or the limit.",
    ),
    DesignLimit(
        field="tokens_per_mw",
        printed_unit="tokens/s per MW",
        what="the output of the load for each megawatt of the facility's peak",
        remedy="serve more requests on each copy, or lower the limit",
        title="The load yields fewer tokens/s per MW than `limits.tokens_per_mw`",
        why="If power is scarce, tokens a megawatt limit a site's sales.",
        example="serving: {model: llama3.1-70b, rate: 1/s}\nlimits: {tokens_per_mw: 1e9}",
        good="serving: {model: llama3.1-70b, concurrency: 64}\nlimits: {tokens_per_mw: 1}",
        fix="Serve more requests on each copy, search another plan with `ffplan serve --search`, or change the limit.",
    ),
    DesignLimit(
        field="tokens_per_second",
        printed_unit="tokens/s",
        what="the rate of the workload",
        remedy="lower the limit, or change what binds the step; `ffplan train` names it",
        title="The workload trains fewer tokens a second than `limits.tokens_per_second`",
        why="The design declares the least rate, for the job that it is bought for.",
        example="workload: {model: llama3-70b, batch: 1024}\nlimits: {tokens_per_second: 1e9}",
        good="workload: {model: llama3-70b, batch: 1024}\nlimits: {tokens_per_second: 1e5}",
        fix="Change what binds the step, or the limit.",
    ),
    DesignLimit(
        field="tpot_p99",
        what="the time of a further token of 99 requests in 100",
        remedy="buy more copies, or search another plan with `ffplan serve --search`",
        title="A further token of the load takes longer than `limits.tpot_p99`",
        why="The design declares how fast text appears to a user at the load under `serving`.",
        example="serving: {model: llama3.1-70b, rate: 1/s}\nlimits: {tpot_p99: 0.1 ms}",
        good="serving: {model: llama3.1-70b, rate: 1/s}\nlimits: {tpot_p99: 1 s}",
        fix="Fewer requests on a copy, or a plan with more tensor ranks, make tokens faster; else change the limit.",
    ),
    DesignLimit(
        field="ttft_p99",
        what="the time to the first token of 99 requests in 100",
        remedy="buy more copies, or search another plan with `ffplan serve --search`",
        title="The first token of the load takes longer than `limits.ttft_p99`",
        why="The design declares how long a user waits at the load under `serving`.",
        example="serving: {model: llama3.1-70b, rate: 1/s, isl: 8192}\nlimits: {ttft_p99: 10 ms}",
        good="serving: {model: llama3.1-70b, rate: 1/s, isl: 8192}\nlimits: {ttft_p99: 30 s}",
        fix="More copies, a plan with more tensor ranks, or a lower rate shorten the wait; else change the limit.",
    ),
)
"""Every limit, by its field."""

REGISTER += [limit.rule() for limit in LIMITS]
