"""The first screen of `ffplan design`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import amount, data_size, duration, kilowatts, listed, number, plural, span
from ffplan.inputs.design_files import as_argument
from ffplan.report.document import _FirstScreen, _recalled_count
from ffplan.results.design import purchase_words

if TYPE_CHECKING:
    from ffplan.results.design import Assessment

_HOUR = 3_600.0


def _design_screen(a: Assessment) -> _FirstScreen:
    figures = (_purchase(a), _power(a), _fabric(a), _allreduce(a), _storage(a), _failures(a))
    return _FirstScreen(
        head=f"{a.design.name} · {plural(a.nodes['compute'], 'node')} of {a.hardware.accelerator} · {a.fabric.family}",
        verdict=(_verdict(a),),
        figures=tuple(row for row in figures if row),
        advice=(
            ("Binds", _binding(a)),
            ("Left out", f"of the purchase: {listed(a.site.left_out)}" if a.site and a.site.left_out else ""),
            ("Look at", _worst(a)),
            ("Next", f"ffplan cost {as_argument(a.design.file)}"),
        ),
        unverified=_recalled_count(a.unverified),
    )


def _verdict(a: Assessment) -> str:
    severities = Counter(finding.severity for finding in a.findings)
    errors, warnings = severities[Severity.ERROR], severities[Severity.WARNING]
    if errors:
        return f"Cannot work as planned: {plural(errors, 'error')}, {plural(warnings, 'warning')}."
    if warnings:
        return f"Works, with {plural(warnings, 'warning')}."
    return "Works: `ffplan check` finds no error and no warning."


def _purchase(a: Assessment) -> tuple[str, ...]:
    site = a.site
    if site is None or site.purchase is None:
        if a.cost is None:
            return ("purchase", "unknown", "the design names no price book")
        partial = ", partial" if a.cost.missing else ""
        return ("planned parts", f"{amount(a.cost.total, 3)} {a.cost.currency}{partial}", "")
    each = f"{amount(site.per_accelerator, 3)} {site.currency} an accelerator" if site.per_accelerator else ""
    return ("purchase", purchase_words(site, site.currency), each)


def _power(a: Assessment) -> tuple[str, ...]:
    least = "at least " if a.power.missing else ""
    if a.site is None:
        return ("planned IT power", f"{least}{kilowatts(a.power.it_kw)} in training", "")
    training = f"{least}{kilowatts(a.site.facility_training_kw)} in training"
    return ("facility peak", f"{least}{kilowatts(a.site.facility_peak_kw)}", training)


def _fabric(a: Assessment) -> tuple[str, ...]:
    f = a.fabric
    parts = f"{plural(f.switches.total, 'switch', 'switches')}, {plural(f.links.total, 'link')}"
    tiers = f"{plural(f.tiers, 'tier')}, " if f.tiers else ""
    return ("fabric", parts, f"{tiers}{number(f.oversubscription)}:1, {plural(f.spare_ports, 'spare leaf port')}")


def _allreduce(a: Assessment) -> tuple[str, ...]:
    if not a.communication:
        return ()
    first = a.communication[0]
    timed = f"{duration(first.time_s)}, {number(first.algbw_gbyte_s, 3)} GB/s"
    label = f"allreduce of {data_size(first.message_bytes)}"
    return (label, timed, f"all {first.ranks:,} with {first.library}")


def _storage(a: Assessment) -> tuple[str, ...]:
    storage = a.storage
    if storage is None:
        return ()
    rates = f"{number(storage.read_gbyte_s, 3)} GB/s read, {number(storage.write_gbyte_s, 3)} write"
    planned = plural(storage.servers, "server") + ("" if storage.planned else " assumed, none planned")
    return ("storage", rates, planned)


def _largest_job(a: Assessment) -> str:
    """Return the job that failures stop, in words: on all accelerators, or on the most that one job can span."""
    if a.reliability is None or a.reliability.gpus == a.accelerators:
        return "a job on all"
    return f"a job on {a.reliability.gpus:,}"


def _failures(a: Assessment) -> tuple[str, ...]:
    known = a.reliability
    if known is None:
        return ()
    stops = f"stops every {span(known.mtbf_hours * _HOUR)}"
    ends = f"{span(known.mtbf_hours_low * _HOUR)} to {span(known.mtbf_hours_high * _HOUR)} by fleet"
    return (_largest_job(a), stops, ends if known.mtbf_hours_low < known.mtbf_hours_high else "")


def _binding(a: Assessment) -> str:
    if not a.communication:
        return ""
    bound = a.communication[0].bound
    text = f"{bound.limited_by_label}: {number(bound.algbw_gbyte_s, 3)} GB/s at most"
    following = bound.terms[1] if len(bound.terms) > 1 else None
    return f"{text}; next {following.label} at {number(following.gbyte_s, 3)}" if following else text


def _worst(a: Assessment) -> str:
    """Return the first finding of the highest severity; notes do not count."""
    for severity in (Severity.ERROR, Severity.WARNING):
        rows = [finding for finding in a.findings if finding.severity is severity]
        if rows:
            more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
            return f"{rows[0].message}{more}"
    return "" if a.fabric.spare_ports else "every leaf port is taken: no room for growth or repair"
