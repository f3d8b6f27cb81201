"""The reports on a fabric: its size, routes, cables and faults, and the fabric as built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, duration, listed, number, percent, plural
from ffplan.base.hostlist import fold
from ffplan.report.document import Block, Document, Grid, Remarks, _Body

if TYPE_CHECKING:
    from ffplan.results.as_built import AuditCause, DiffReport
    from ffplan.results.fabric import (
        CablingReport,
        FaultReport,
        OrderReport,
        PlacementReport,
        RouteReport,
        SizeReport,
        VerifyReport,
    )


_VERDICTS = {True: "ok", False: "FAILED", None: ""}


def _rate(report: RouteReport) -> str:
    text = f"{percent(report.share)} of the ideal"
    if percent(report.share) != percent(report.adaptive_share):
        text += f"; {percent(report.adaptive_share)} if spread evenly"
    return text


def _allreduce(report: RouteReport) -> list[tuple[str, str]]:
    """Return the time of the allreduce on an idle fabric, and with the busiest link, if the traffic is one."""
    if report.collective_s is None or report.congested_s is None:
        return []
    text = f"{duration(report.collective_s)} on an idle fabric"
    if report.congested_s > report.collective_s * (1 + 1e-9):
        text += f", {duration(report.congested_s)} through the busiest link"
    return [("allreduce", text)]


def _pace_of(report: RouteReport) -> list[tuple[str, str]]:
    """Return the rate and the busiest link; where flows do not arrive, no rate, and the link of those that do."""
    busiest = f"{duration(report.time_s)} at line rate; endpoints alone {duration(report.ideal_s)}"
    hottest = ("hottest", f"{report.hottest.link}, {report.hottest.direction}, {data_size(report.hottest.bytes)}")
    if not report.unreached:
        return [("rate", _rate(report)), ("busiest link", busiest), *_allreduce(report), hottest]
    missing = ("not arriving", plural(report.unreached, "flow"))
    if not report.time_s:
        return [missing, ("busiest link", "none: nothing arrives")]
    return [missing, ("busiest link", f"{busiest}; of what arrives"), hottest]


def _route(report: RouteReport) -> list[Grid]:
    lines = _pace_of(report)
    if report.bytes_per_node:
        lines.append(("bytes per node", data_size(report.bytes_per_node)))
    lines += [("order of ranks", report.order), ("routing", report.holds_for)]
    if report.pairs_across_zones is not None:
        pairs = "one pair" if report.pairs_across_zones == 1 else f"{report.pairs_across_zones:,} pairs"
        lines.append(("across zones", f"{pairs} of nodes"))
    tiers = tuple(
        (
            f"{tier.tier.replace('_', '-')} {tier.direction}",
            duration(tier.time_s),
            duration(tier.mean_time_s),
            tier.link,
        )
        for tier in report.tiers
    )
    blocks = [Grid("", tuple(lines)), Grid("Busiest link of each tier", tiers, ("tier", "time", "mean", "link"))]
    if report.beside:
        lane = report.beside
        blocks.append(
            Grid(
                f"With {lane.traffic} at the same time, {percent(lane.share)} of every link reserved for the job",
                (
                    (report.traffic, percent(lane.job_rate_alone), percent(lane.job_rate_together)),
                    (lane.traffic, percent(lane.other_rate_alone), percent(lane.other_rate_together)),
                ),
                ("fraction of the ideal", "alone", "together"),
            )
        )
    return blocks


def _pace(order: OrderReport) -> tuple[str, str]:
    if order.unreached:
        return plural(order.unreached, "flow"), "cannot arrive"
    return duration(order.time_s), percent(order.share)


def _placement(report: PlacementReport) -> list[Grid]:
    lines = [("ranks per zone", ", ".join(f"{count:,}" for count in report.ranks_per_zone))]
    lines += [("across zones", f"{first} - {second}") for first, second in report.pairs[:4]]
    if len(report.pairs) > 4:
        lines.append(("", f"and {len(report.pairs) - 4:,} pairs more"))
    lines.append(("hosts", fold(list(report.hosts))))
    rows = tuple(
        (f"{order.order}, {order.tree}", f"{order.pairs_across_zones:,}", *_pace(order), order.hottest)
        for order in report.orders
    )
    return [
        Grid("", tuple(lines)),
        Grid("Cost of other orders", rows, ("order, tree", "pairs", "time", "rate", "hottest link")),
    ]


def _fault(report: FaultReport) -> list[Grid]:
    def share(mean: float | None, worst: float | None) -> str:
        if mean is None or worst is None:
            return "-"
        mean_text, worst_text = f"{100 * mean:.3g}", f"{100 * worst:.3g}"
        return mean_text if mean_text == worst_text else f"{mean_text}/{worst_text}"

    rows = tuple(
        (
            loss.lost,
            number(loss.endpoints_lost),
            number(loss.endpoints_cut_off),
            share(loss.zone_share, loss.zone_share_worst),
            share(loss.bisection_share, loss.bisection_share_worst),
            number(loss.nodes_lost),
            share(loss.nodes_share, loss.nodes_share_worst),
            share(loss.allreduce_share, loss.allreduce_share_worst),
        )
        for loss in report.losses
    )
    header = ("lost", "ports", "cut off", "zone", "all", "nodes", "job", "rate")
    return [Grid("", rows, header)] + [
        Grid("", (("", text),))
        for text in (
            "ports: endpoints without a link; cut off: those whose leaf has no way up;",
            "zone: bisection left of the zone hit hardest, alone; all: of the fabric;",
            *_jobs(report),
            "zone, all, job, rate: % of the healthy fabric, mean/worst draw.",
        )
    ]


def _jobs(report: FaultReport) -> tuple[str, ...]:
    """Return what the columns on the job mean, or on the jobs of zones that nothing joins."""
    if report.nodes_by_job is None:
        nodes = "nodes: lost to the job, which runs on the largest part left;"
        return nodes, f"job: fraction left of its {plural(report.nodes, 'node')}; rate: allreduce rate over those left."
    each = sorted(set(report.nodes_by_job))
    size = plural(each[0], "node") if len(each) == 1 else f"{each[0]:,} to {plural(each[-1], 'node')}"
    count = len(report.nodes_by_job)
    return (
        f"nothing joins the zones: {count:,} jobs of {size}, one in each;",
        "nodes: lost to the jobs, each on the largest part left of its zone;",
        f"job: fraction left of all {plural(report.nodes, 'node')}; rate: allreduce of the job hit hardest.",
    )


def _verify(report: VerifyReport) -> list[Block]:
    rows = tuple(
        (check.subject, check.check, check.expected, check.found, check.verdict or _VERDICTS[check.passed])
        for check in report.checks
    )
    table = Grid("", rows, ("subject", "check", "design", report.program, ""))
    return [table, Remarks(report.notes)] if report.notes else [table]


def _span(low: float, high: float) -> str:
    return f"{low:g} m" if low == high else f"{low:g} to {high:g} m"


def _cabling(report: CablingReport) -> list[Grid]:
    apart = any(kind.as_sold != kind.count for kind in report.kinds)
    several = len({cable.network for cable in report.kinds}) > 1
    rows = tuple(
        (
            *((cable.network,) if several else ()),
            cable.type,
            cable.tier.replace("_", "-"),
            f"{cable.count:,}",
            *((f"{cable.as_sold:,}",) if apart else ()),
            "" if cable.shortest_m is None or cable.longest_m is None else _span(cable.shortest_m, cable.longest_m),
            "" if cable.total_m is None else f"{cable.total_m:,.0f} m",
            "" if cable.cost is None else number(cable.cost),
        )
        for cable in report.kinds
    )
    cost = f"cost [{report.currency}]" if report.currency else ""
    length = sum(cable.total_m for cable in report.kinds if cable.total_m is not None)
    lines: tuple[tuple[str, str], ...] = (
        ("racks", f"{report.racks:,} in {plural(report.rows, 'row')}"),
        ("cables", f"{sum(cable.count for cable in report.kinds):,}, {length:,.0f} m"),
    )
    if any(cable.total_m is None for cable in report.kinds):
        lines += (("", "The floor plan places the switches of the compute fabric; other networks have no lengths."),)
    sold, network = ("as sold",) if apart else (), ("network",) if several else ()
    return [Grid("", lines), Grid("", rows, (*network, "type", "tier", "cables", *sold, "length", "in all", cost))]


def _size(report: SizeReport) -> list[Grid]:
    priced = report.currency is not None
    rows = []
    for size in report.options:
        roles = ", ".join(f"{count:,} {role}" for role, count in size.by_role.items() if count)
        step = f"{size.next_endpoints:,} with {size.next_switches:,}" if size.next_endpoints else "none"
        cells = [
            size.family,
            f"{size.switches:,} ({roles})",
            f"{size.inter_switch_links:,}",
            f"{size.spare_ports:,}",
            step,
        ]
        if priced:
            cells.append("" if size.cost is None else number(size.cost))
        rows.append(tuple(cells))
    header = ["family", "switches", "links", "spare", "next step"] + ([f"cost [{report.currency}]"] if priced else [])
    notes = tuple(("", f"{option.family}: {option.note}") for option in report.options if option.note)
    if report.missing:
        what = "Costs are partial" if any(size.cost is not None for size in report.options) else "Nothing has a price"
        notes = (("", f"{what}: no price of {listed(f'`{part}`' for part in report.missing)}."), *notes)
    blocks = [Grid("", tuple(rows), tuple(header))]
    if notes:
        blocks.append(Grid("Notes", notes))
    if report.too_small:
        left_out = tuple(("", text) for text in report.too_small)
        blocks.append(Grid("Left out, with the most endpoints that they hold", left_out))
    return blocks


def no_family(report: SizeReport) -> str:
    """Return that no family holds the endpoints, with what each can hold."""
    held = f": {'; '.join(report.too_small)}" if report.too_small else ""
    return f"no family holds {report.endpoints:,} endpoints on `{report.switch}`{held}"


def route_document(report: RouteReport) -> Document:
    """Return the report of `ffplan fabric route`."""
    head = f"{report.design}: {report.traffic} on {report.nodes:,} nodes, {report.routing} routing"
    if report.unreached:
        head += f"; no rate: {plural(report.unreached, 'flow')} cannot arrive"
    return Document(report, lambda told: _Body(head, _route(told)), lambda: report.tiers)


def placement_document(report: PlacementReport) -> Document:
    """Return the report of `ffplan fabric place`."""
    head = f"{report.design}: {report.nodes:,} nodes in {report.orders[0].order} order"
    return Document(report, lambda told: _Body(head, _placement(told)), lambda: report.orders)


def fault_document(report: FaultReport) -> Document:
    """Return the report of `ffplan fabric faults`."""
    head = f"{report.design}: cost of losses, {report.routing} routing, seed {report.seed}"
    return Document(report, lambda told: _Body(head, _fault(told)), lambda: report.losses)


def verify_document(report: VerifyReport) -> Document:
    """Return the report of `ffplan fabric verify`."""
    verdict = "accepted" if report.passed else "not accepted as designed"
    head = f"{report.design}: {verdict} by {report.program} {report.version}"
    return Document(report, lambda told: _Body(head, _verify(told)), lambda: report.checks)


def cabling_document(report: CablingReport) -> Document:
    """Return the report of `ffplan fabric cables`."""
    return Document(report, lambda told: _Body(f"{report.design}: cabling", _cabling(told)), lambda: report.cables)


def size_document(report: SizeReport) -> Document:
    """Return the report of `ffplan fabric size`."""
    ports = f"{report.radix} ports of {report.port_gbyte_s * 8:g} Gb/s"
    head = f"{report.endpoints:,} endpoints on {report.switch}, {ports}"
    return Document(report, lambda told: _Body(head, _size(told)), lambda: report.options)


_MOST_DEVICES = 20
"""Most devices identified by their cables that the table lists."""


def _audit_cause(number: int, cause: AuditCause) -> Grid:
    labels = ("do", *("" for _ in cause.do[1:]))
    rows = list(zip(labels, cause.do, strict=True)) + ([("costs", cause.effect)] if cause.effect else [])
    return Grid(f"{number}. {cause.severity}: {cause.what} [{cause.kind}]", tuple(rows))


def _told(report: DiffReport) -> list[Block]:
    """Return the devices identified by their wiring; a node's adapters share one row."""
    rows: dict[tuple[str, str], list[float]] = {}
    for device in report.by_wiring:
        host, slash, _ = device.designed.partition("/")
        key = (device.found.partition(" ")[0], host) if slash else (device.found, device.designed)
        rows.setdefault(key, []).append(device.confidence)
    if not rows:
        return []
    cells = tuple((*key, f"{min(parts):.0%}") for key, parts in list(rows.items())[:_MOST_DEVICES])
    blocks: list[Block] = [Grid("Identified by wiring", cells, ("as built", "in the design", "links agree"))]
    more = len(rows) - _MOST_DEVICES
    return [*blocks, Remarks((f"and {more:,} more; --format json lists all",))] if more > 0 else blocks


def differences(report: DiffReport) -> list[dict[str, str]]:
    """Return one row for each difference between a fabric as built and its design."""
    rows = [{"kind": "absent", "port": name, "designed": "", "found": ""} for name in report.absent]
    rows += [{"kind": "unknown", "port": name, "designed": "", "found": ""} for name in report.unknown]
    rows += [{"kind": "missing", "port": a, "designed": b, "found": ""} for a, b in report.missing]
    rows += [{"kind": "extra", "port": a, "designed": "", "found": b} for a, b in report.extra]
    rows += [
        {"kind": "miswired", "port": link.port, "designed": link.designed, "found": link.found}
        for link in report.miswired
    ]
    return rows + [
        {
            "kind": "slow",
            "port": link.a,
            "designed": f"{link.designed_gbit_s:g} Gb/s to {link.b}",
            "found": f"{link.found_gbit_s:g} Gb/s" if link.found_gbit_s else f"{link.lanes}x",
        }
        for link in report.slow
    ]


def audit_document(report: DiffReport) -> Document:
    """Return the report of `ffplan fabric audit`."""
    count = plural(len(report.causes), "finding")
    head = f"{report.design}: {report.same:,} links as designed, {count}"
    told = f"{report.by_name:,} devices matched by name, {len(report.by_wiring):,} by wiring, from {report.form}"
    blocks: list[Block] = [
        *(_audit_cause(number, cause) for number, cause in enumerate(report.causes, start=1)),
        *([Remarks((f"Together: {report.effect}.",))] if report.effect else []),
        *_told(report),
        Remarks((told, *report.remarks)),
    ]
    return Document(report, lambda _: _Body(head, blocks), lambda: differences(report))
