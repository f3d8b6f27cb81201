"""An assessment as sections of labelled lines, from which text and Markdown are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import amount, data_size, duration, ids_listed, kilowatts, listed, number, plural
from ffplan.base.plain import plain
from ffplan.base.tracked import read_alike
from ffplan.report.design_site import _cost_lines, _failures, _nodes, _power_lines, _site_lines, _storage
from ffplan.report.document import Document, Grid, Lines, _Body, provenance
from ffplan.report.first.design import _design_screen
from ffplan.results.fabric_counts import RouterSwitches

if TYPE_CHECKING:
    from ffplan.base.outcomes import Term
    from ffplan.results.collective import CollectiveReport, CollectiveRow
    from ffplan.results.design import Assessment, LevelRow
    from ffplan.results.fabric_counts import FabricReport, NetworkReport, ScaleUpReport

_SMALL = 0.01
"""Part of a time below which it is not listed [1]."""


def _ratio(value: float) -> str:
    return f"{number(value)}:1"


def _counts(record: object) -> list[tuple[int, str]]:
    return [
        (count, {"interzone": "inter-zone"}.get(name, name.replace("_", "-")))
        for name, count in plain(record).items()
        if name != "total"
    ]


def _fabric(f: FabricReport) -> Lines:
    roles, tiers = _counts(f.switches), _counts(f.links)
    spares = _counts(f.spare_ports_by_role)[1:]
    planes = f"{f.planes} planes x " if f.planes > 1 else ""
    zones = f"{f.zones} zones x " if f.zones > 1 else ""
    models = {row.switch for row in f.by_role}
    rates = {rate for row in f.by_role for rate in (row.down_gbyte_s, row.up_gbyte_s) if rate}
    plain = f"{f.switch} ({f.ports_per_switch} ports)" if len(rates) == 1 else f.switch
    switch = plain if len(models) == 1 else f"{f.switch} leaves"
    tiered = "" if isinstance(f.switches, RouterSwitches) else f" of {plural(f.tiers, 'tier')}"
    over = _ratio(f.oversubscription)
    most = f.most_oversubscription
    if most is not None and most > f.oversubscription and _ratio(most) != over:
        over += f"; at most {_ratio(most)} asked: uplinks round up to ports that the spines share evenly"
    if f.zone_oversubscription is not None:
        over += f" within a zone; {_ratio(f.zone_oversubscription)} between zones"
    spare_roles = "".join(f", {count:,} {role}" for count, role in spares if count)
    return Lines(
        "Fabric",
        (
            ("topology", f"{planes}{zones}{f.family}{tiered}, {switch}"),
            ("switches", f"{f.switches.total:,} = " + " + ".join(f"{n:,} {role}" for n, role in roles if n)),
            *_tiers(f),
            ("links", ", ".join(f"{n:,} {tier}" for n, tier in tiers if n)),
            *_cables_as_sold(f),
            ("spare ports", f"{f.spare_ports:,} for endpoints{spare_roles}"),
            ("oversubscription", over),
            ("bisection", f"{number(f.bisection_gbyte_s)} GB/s each way"),
            *([("scale-up", _scale_up(f.scale_up))] if f.scale_up else []),
            *(_bridge(f.scale_up) if f.scale_up else []),
        ),
    )


def _cables_as_sold(f: FabricReport) -> list[tuple[str, str]]:
    sold = f.cables_as_sold
    if (sold.endpoint, sold.inter_switch) == (f.links.endpoint, f.links.total - f.links.endpoint):
        return []
    between = f", {sold.inter_switch:,} between switches" if sold.inter_switch else ""
    return [("cables as sold", f"{sold.endpoint:,} endpoint{between}")]


def _networks(networks: tuple[NetworkReport, ...]) -> Lines:
    rows = []
    for network in networks:
        f = network.fabric
        roles = " + ".join(f"{n:,} {role}" for n, role in _counts(f.switches) if n)
        models = listed(row.switch for row in f.by_role)
        tiered = "" if isinstance(f.switches, RouterSwitches) else f" of {plural(f.tiers, 'tier')}"
        over = f", oversubscription {_ratio(f.oversubscription)}" if f.tiers > 1 else ""
        joined = f"{plural(f.endpoints, 'port')} of {number(f.port_gbyte_s * 8)} Gb/s" if f.port_gbyte_s else ""
        joined = joined or plural(f.endpoints, "port")
        text = f"{f.family}{tiered}, {models}: {roles}, {joined}, {f.spare_ports:,} spare{over}"
        rows.append((network.name, text))
    return Lines("Other networks", tuple(rows), name="networks")


def _tiers(f: FabricReport) -> list[tuple[str, str]]:
    """Return a line for each role of switches, where models or rates of links differ."""
    rates = {rate for row in f.by_role for rate in (row.down_gbyte_s, row.up_gbyte_s) if rate}
    plain = len(rates) == 1 and not any(row.unused_ports for row in f.by_role)
    if plain and len({row.switch for row in f.by_role}) == 1:
        return []
    lines = []
    for row in f.by_role:
        text = f"{row.switch}: {row.downlinks} x {number(row.down_gbyte_s * 8)} Gb/s down"
        text += f", {row.uplinks} x {number(row.up_gbyte_s * 8)} Gb/s up" if row.uplinks else ""
        text += f", {row.unused_ports} of {row.ports} ports unused" if row.unused_ports else ""
        lines.append((row.role, text))
    return lines


def _scale_up(s: ScaleUpReport) -> str:
    rate = f", {number(s.gbyte_s)} GB/s each way" if s.gbyte_s else ""
    kind = {
        "switch": "switched domains",
        "mesh": "meshes",
        "torus": "tori",
        "pairs": "bridged pairs",
        "links": "linked nodes",
    }[s.kind]
    parts = [plural(s.switches_per_domain, "switch chip")] if s.switches_per_domain else []
    parts += [plural(s.links_per_domain, "link")] if s.links_per_domain and s.kind != "pairs" else []
    across = f", {number(s.bisection_gbyte_s)} GB/s across" if s.bisection_gbyte_s and parts else ""
    inside = f"; each {listed(parts)}{across}" if parts else ""
    return f"{s.domains:,} {s.name} {kind} of {s.accelerators_per_domain} accelerators{rate}{inside}"


def _bridge(s: ScaleUpReport) -> list[tuple[str, str]]:
    """Return the gain of a bridge: the allreduce of a pair with and without it."""
    if s.pair_time_s is None or s.pair_time_without_s is None:
        return []
    text = f"{duration(s.pair_time_s)} for an allreduce between a pair, {duration(s.pair_time_without_s)} over PCIe"
    return [("bridge", text)]


def _term(term: Term) -> str:
    low, high = number(term.low_gbyte_s, 3), number(term.high_gbyte_s, 3)
    value = number(term.gbyte_s, 3)
    span = "" if read_alike(low, high) else f" ({low} to {high})"
    return f"{term.label} {value}{span}"


def _choice_words(row: CollectiveRow | CollectiveReport) -> str:
    """Return algorithm and protocol, or the library if it has one way only."""
    return row.library if row.algorithm == "hfreduce" else f"{row.algorithm} {row.protocol}".strip()


def _parts(row: CollectiveRow) -> str:
    """Return the parts of a time, the longest first, with the resource that the stream passes."""
    through = "" if row.limited_by == "latency" else f" ({row.limited_by_label})"
    parts = [
        (row.stream_s, f"stream {duration(row.stream_s)}{through}"),
        (row.latency_s, f"latency {duration(row.latency_s)}"),
        (row.fill_s, f"pipeline fill {duration(row.fill_s)}"),
    ]
    return ", ".join(text for seconds, text in sorted(parts, reverse=True) if seconds > row.time_s * _SMALL)


def _collective(c: CollectiveReport) -> list[tuple[str, str]]:
    way = f" with {_choice_words(c)}" if c.algorithm != "hfreduce" else ""
    text = f"{duration(c.time_s)}{way}, {number(c.algbw_gbyte_s, 3)} GB/s: {_parts(c.scales[-1])}"
    if c.time_s > c.fastest_time_s * (1 + _SMALL):
        text += f"; {c.fastest} would take {duration(c.fastest_time_s)}"
    bound = c.bound
    most = f"{number(bound.algbw_gbyte_s, 3)} GB/s"
    if c.algorithm != "hfreduce":
        most += f" with {bound.algorithm}"
    most += f" by {_term(bound.terms[0])}"
    if len(bound.terms) > 1:
        most += f"; next {_term(bound.terms[1])}"
    memory = next((term for term in bound.terms[2:] if term.name == "host_memory"), None)
    if memory and c.ledger_operations:
        most += f"; {_term(memory)} from {number(c.ledger_operations)} operations per byte"
    return [(c.library, text), ("  bound", most)]


def _communication(a: Assessment) -> list[Lines | Grid]:
    if not a.communication:
        return []
    first = a.communication[0]
    lines = [line for report in a.communication for line in _collective(report)]
    title = f"Allreduce of {data_size(first.message_bytes)} over {first.ranks:,} accelerators"
    blocks: list[Lines | Grid] = [Lines(title, tuple(lines))]
    if len(first.scales) > 1:
        blocks.append(_scales(a.communication))
    return blocks


def _scales(reports: tuple[CollectiveReport, ...]) -> Grid:
    by = [{row.gpus: row for row in report.scales} for report in reports]
    counts = sorted({gpus for rows in by for gpus in rows})

    def cell(row: CollectiveRow | None) -> str:
        if row is None:
            return "-"
        way = f" {_choice_words(row)}" if row.algorithm != "hfreduce" else ""
        return f"{number(row.algbw_gbyte_s, 3)}{way}"

    rows = tuple((f"{gpus:,}", *(cell(reached.get(gpus)) for reached in by)) for gpus in counts)
    bars = tuple(tuple(reached[gpus].algbw_gbyte_s if gpus in reached else None for reached in by) for gpus in counts)
    title = f"Allreduce of {data_size(reports[0].message_bytes)} by scale, GB/s"
    return Grid(title, rows, ("GPUs", *(report.library for report in reports)), bars=bars)


def _findings(a: Assessment) -> Lines | None:
    if not a.findings:
        return None
    lines = [
        (finding.severity.value, f"{finding.message} [{finding.rule}]")
        for finding in a.findings
        if finding.severity is not Severity.INFO
    ]
    notes = [note.rule for note in a.findings if note.severity is Severity.INFO]
    if notes:
        lines.append(("notes", f"{', '.join(notes)}; `ffplan check` explains"))
    return Lines("Findings", tuple(lines))


def _assumptions(a: Assessment) -> Lines:
    lines = [("", text) for text in a.assumptions]
    if a.unverified:
        parts = sorted({figure.part for figure in a.unverified})
        lines.append(
            (
                "",
                f"{len(a.unverified)} recalled, unverified figures come from {len(parts)} of the files read; JSON "
                "lists them under `unverified`.",
            )
        )
    return Lines("Assumptions", tuple(lines))


def _levels(levels: tuple[LevelRow, ...]) -> Grid | None:
    """Return the level table of the scaling book; empty if nobody asked for it."""
    if not levels:
        return None
    rows = tuple(
        (
            row.level,
            f"{row.accelerators:,}",
            number(row.gbyte_s / 1e3),
            number(row.gbyte_s_each),
            number(row.allreduce_gbyte_s),
            f"{row.data_tokens:,.0f}",
            f"{row.sharded_tokens:,.0f}",
        )
        for row in levels
    )
    header = ("level", "accelerators", "TB/s", "GB/s each", "allreduce GB/s", "tokens each, DP", "FSDP")
    return Grid("Levels and the batch from which compute binds, as in the scaling book", rows, header)


def _body(a: Assessment) -> _Body:
    every = (
        _nodes(a),
        _fabric(a.fabric),
        *([_networks(a.networks)] if a.networks else []),
        *_communication(a),
        _site_lines(a),
        _levels(a.levels),
        _power_lines(a.power),
        _cost_lines(a.cost, a),
        _storage(a.storage),
        _failures(a),
        _findings(a),
        _assumptions(a),
    )
    return _Body(
        title=a.design.name,
        blocks=tuple(section for section in every if section is not None),
        intro=a.design.description,
        footer=provenance(a.tool, a.design),
    )


def design_words(a: Assessment) -> tuple[str, ...]:
    """Return an assessment in a few sentences: size and power, the allreduce and what binds it, and the price."""
    gpus, switches = plural(a.accelerators, "accelerator"), plural(a.fabric.switches.total, "switch", "switches")
    power = f"{kilowatts(a.power.it_kw)} in training"
    if a.site is not None:
        peak, training = kilowatts(a.site.facility_peak_kw), kilowatts(a.site.facility_training_kw)
        power = f"{training} at the meter in training, {peak} at the peak"
    least = "at least " if a.power.missing else ""
    said = [f"{gpus} on {switches} draw {least}{power}."]
    if a.communication:
        first = a.communication[0]
        rate = f"{number(first.algbw_gbyte_s, 3)} GB/s with {first.library}"
        said.append(
            f"An allreduce of {data_size(first.message_bytes)} over all takes {duration(first.time_s)}, {rate}."
        )
        bound = (
            f"{first.bound.limited_by_label}: long messages reach {number(first.bound.algbw_gbyte_s, 3)} GB/s at most"
        )
        bare = f"; no root-port limit of {ids_listed(first.bound.lacks)} is known" if first.bound.lacks else ""
        said.append(f"What binds it: {bound}{bare}.")
    if a.site is not None and a.site.headline is not None:
        share = amount(a.site.per_accelerator or 0.0)
        without = f", without {listed(a.site.left_out)}" if a.site.left_out else ""
        said.append(
            f"The purchase comes to {amount(a.site.headline)} {a.site.currency}, {share} an accelerator{without}."
        )
    return tuple(said)


def design_document(assessment: Assessment) -> Document:
    """Return the report of `ffplan design`."""
    # the table of levels is shown where it was asked for
    return Document(assessment, _body, first=None if assessment.levels else _design_screen)
