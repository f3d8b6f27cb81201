"""Check of a failure study: its classes against the sums that its source prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.catalog.reliability import FailureStudy
from ffplan.inputs.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Part
    from ffplan.inputs.document import Document


def _sum_faults(study: Part, document: Document) -> Iterator[Finding]:
    """Yield printed sums of a failure study that its classes do not add up to."""
    assert isinstance(study, FailureStudy)
    for name, printed in study.printed.items():
        classes = study.sums.get(name, tuple(study.events))
        unknown = [event for event in classes if event not in study.events]
        for event in unknown:
            remedy = did_you_mean(event, study.events, what="class")
            yield document.finding("catalog-reliability", ("sums", name), f"the study counts no `{event}`", remedy)
        total = sum(study.events[event].value for event in classes if event in study.events)
        if classes and not unknown and total != printed.value:
            yield document.finding(
                "catalog-reliability",
                ("printed", name),
                f"the classes sum to {total:,}, where the source prints {printed.value:,}",
                "correct a count, or write under `sums` which classes it is over; none if it is not a sum of them",
            )
