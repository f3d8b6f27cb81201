"""A figure of an assessment with its equation, and the values that it is made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.figures.origins import figure_at, unit_of
from ffplan.studies.explain.explain import declared
from ffplan.studies.explain.explain_parts import BY_PATH, collective_parts, cost_parts

if TYPE_CHECKING:
    from ffplan.results.design import Assessment
    from ffplan.results.explanation import Derivation
    from ffplan.studies.explain.input_places import Places


def derivation_of(found: Assessment, path: str, value: float, meaning: str, places: Places | None = None) -> Derivation:
    """Return the derivation of a figure of an assessment.

    Args:
        path: path of the figure.
        meaning: its description, which names its unit.
        places: files of the design and its parts, for the lines of what it is made of; none if omitted.
    """
    unit = unit_of(meaning).replace("electricity_currency", found.power.electricity_currency or "")
    inner: tuple[Derivation, ...] = ()
    how = ""
    head, _, field = path.partition(".")
    if head == "cost":
        inner, how = cost_parts(found, field, places)
        unit = found.cost.currency if found.cost else unit
    elif match := re.fullmatch(r"communication\[([0-9]{1,9})\]\.(algbw_gbyte_s|busbw_gbyte_s|time_s)", path):
        inner = collective_parts(found.communication[int(match[1])], places)
        how = "message over time" if match[2] == "algbw_gbyte_s" else ""
    else:
        make = BY_PATH.get(path)
        inner = make(found, places) if make else ()
        how = "sum of the parts" if inner else ""
    return declared(path, value, unit, figure_at(found, path), inner, how)
