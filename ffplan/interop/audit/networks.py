"""The networks of a design in files that list several of them: each is compared with its own, the rest is left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.interop.asbuilt.model import PORTS, _renumbered, _union_find
from ffplan.interop.asbuilt.names import named
from ffplan.interop.audit.report import _open_questions
from ffplan.results.as_built import AuditCause, DiffReport
from ffplan.results.design import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.interop.asbuilt.model import AsBuilt
    from ffplan.interop.asbuilt.names import _NameRule
    from ffplan.interop.audit.sides import Designed

_PAIR = 2
"""Devices of a link that joins nothing else [1]."""


@record
class Parts:
    """The connected parts of a fabric as built."""

    root: tuple[int, ...]
    """The part of every device, by one device of it; -1 of a device without a link."""
    large: frozenset[int]
    """Parts of more than a single link."""

    def holding(self, devices: set[int]) -> frozenset[int]:
        """Return the parts that hold some devices."""
        return frozenset(self.root[number] for number in devices) - {-1}

    def devices(self, parts: frozenset[int]) -> list[int]:
        """Return the devices of some parts."""
        return [number for number, root in enumerate(self.root) if root in parts]


def parts_of(built: AsBuilt) -> Parts:
    """Return the connected parts of a fabric as built."""
    roots = _union_find((int(a), int(b)) for a, b in (built.ends // PORTS).tolist())
    root = tuple(roots.get(number, -1) for number in range(len(built.devices)))
    sizes = Counter(root)
    return Parts(root=root, large=frozenset(part for part in set(root) if part >= 0 and sizes[part] > _PAIR))


def own_parts(
    built: AsBuilt, parts: Parts, designed: Designed, rules: Sequence[_NameRule], *, switches: bool
) -> frozenset[int]:
    """Return the parts with a device that a network of the design names.

    Args:
        switches: whether a switch has to be among them. NICs of several networks may share a name.
    """
    known = named(built.devices, designed.names, rules, "")
    return parts.holding({number for number, place in known.items() if designed.roles[place] or not switches})


def without(built: AsBuilt, devices: Sequence[int], remark: str = "") -> AsBuilt:
    """Return a fabric as built without some devices and their links.

    Args:
        remark: what to say of them; nothing if empty.
    """
    kept = np.ones(len(built.devices), bool)
    kept[list(devices)] = False
    place = np.cumsum(kept) - 1
    rows = kept[built.ends // PORTS].all(axis=1)
    return replace(
        built,
        devices=[device for device, keep in zip(built.devices, kept.tolist(), strict=True) if keep],
        ends=_renumbered(built.ends[rows], place),
        lanes=built.lanes[rows],
        gbit_s=built.gbit_s[rows],
        idle=built.idle[rows],
        remarks=(*built.remarks, *([remark] if remark else [])),
    )


def left_out(built: AsBuilt, devices: Sequence[int], parts: int, why: str) -> str:
    """Return the remark on parts of the files that are compared with nothing; empty of none."""
    if not devices:
        return ""
    such = built.devices[devices[0]].name[:60]
    return f"left out {plural(parts, 'network')} of {plural(len(devices), 'device')} {why}, such as `{such}`"


def absent_network(designed: Designed, design: str, form: str) -> DiffReport:
    """Return the report on a network of the design that is in no file, as one finding.

    Args:
        design: name of the design.
        form: format of the files.
    """
    switches = tuple(title for title, role in zip(designed.names, designed.roles.tolist(), strict=True) if role)
    title = designed.title
    cause = AuditCause(
        kind="absent-network",
        severity="error",
        what=f"no cable of {title} is in the files, though they list other networks of the design: "
        f"{plural(len(switches), 'switch', 'switches')} and {plural(len(designed.ends), 'cable')}",
        where=switches,
        do=(f"give the list of {title} too, or lay its cables",),
        effect=f"{title} is not there, unless another file has it",
        links=len(designed.ends),
    )
    pairs = (sorted(designed.full(end) for end in pair) for pair in designed.ends.tolist())
    return DiffReport(
        schema_version=SCHEMA_VERSION,
        design=design,
        form=form,
        same=0,
        causes=(cause,),
        effect="",
        by_name=0,
        by_wiring=(),
        absent=tuple(sorted(designed.names)),
        unknown=(),
        missing=tuple(sorted((near, far) for near, far in pairs)),
        extra=(),
        miswired=(),
        slow=(),
        remarks=(),
    )


def joint(reports: Sequence[DiffReport], built: AsBuilt) -> DiffReport:
    """Return the reports of several networks as one, the worst findings first.

    Args:
        built: the part of the files that was compared, with its remarks.
    """
    first = reports[0]
    rank = {"error": 0, "warning": 1, "info": 2}
    causes = [cause for report in reports for cause in report.causes]
    return replace(
        first,
        same=sum(report.same for report in reports),
        causes=tuple(sorted(causes, key=lambda cause: (rank[cause.severity], -cause.links))),
        effect="; ".join(_effects(reports)) if len(causes) > 1 else "",
        by_name=sum(report.by_name for report in reports),
        by_wiring=tuple(row for report in reports for row in report.by_wiring),
        absent=tuple(sorted(name for report in reports for name in report.absent)),
        unknown=tuple(sorted(name for report in reports for name in report.unknown)),
        missing=tuple(sorted(pair for report in reports for pair in report.missing)),
        extra=tuple(sorted(pair for report in reports for pair in report.extra)),
        miswired=tuple(row for report in reports for row in report.miswired),
        slow=tuple(row for report in reports for row in report.slow),
        remarks=(*built.remarks, *_open_questions(built)),
    )


def _effects(reports: Sequence[DiffReport]) -> list[str]:
    """Return what the findings of every network cost together."""
    return [
        words
        for report in reports
        if (words := report.effect or "; ".join(cause.effect for cause in report.causes if cause.effect))
    ]
