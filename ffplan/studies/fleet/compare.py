"""A model served on several designs, each with its best plan within the targets."""

from __future__ import annotations

from math import log
from statistics import NormalDist
from typing import TYPE_CHECKING

from ffplan.base.outcomes import gap_words
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import UnverifiedFigure
from ffplan.results.serve_comparison import ServeComparison, ServedSide, ServeVerdict, UnservedSide
from ffplan.serving.hardware import engine_speed
from ffplan.studies.basis.provenance import files_of
from ffplan.studies.cost.cost import study_cost
from ffplan.studies.cost.ledger import CostRequest
from ffplan.studies.fleet.capacity import _spread_of
from ffplan.studies.serve.answer import answer
from ffplan.studies.serve.links import ServeError, fleet_of
from ffplan.studies.serve.money import token_price, tokens_per_megawatt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.serving import ServeReport
    from ffplan.studies.serve.answer import ServeQuestion

    Asked = tuple[str, ResolvedDesign, Catalog, ServeQuestion]

_NORMAL = NormalDist()


def compare_served(designs: Sequence[Asked], baseline: str, tell: Callable[[str], None]) -> ServeComparison:
    """Return how designs serve a model, each on all of its accelerators.

    Args:
        baseline: name of the design that ratios refer to.
    """
    sides, unserved, unverified = list[ServedSide](), list[UnservedSide](), dict[UnverifiedFigure, None]()
    for label, design, catalog, asked in designs:
        tell(label)
        try:
            report = answer(fleet_of(design), catalog, asked)
        except ServeError as error:
            unserved.append(UnservedSide(label, str(error)))
            continue
        unverified |= dict.fromkeys(report.unverified)
        sides.append(_side(design, catalog, asked, report, label))
    first = designs[0][3]
    requests = first.task.load.requests
    return ServeComparison(
        schema_version=SCHEMA_VERSION,
        model=first.model.id,
        prompt_tokens=float(requests.prompt),
        output_tokens=float(requests.output),
        targets=first.task.targets,
        baseline=baseline,
        sides=tuple(sides),
        unserved=tuple(unserved),
        verdict=_verdict(sides, baseline),
        api=token_price(designs[0][2], first.model.id, requests),
        assumptions=(
            "Each design serves with the plan of most tokens a second within the targets, on all of its accelerators "
            "of one kind; tokens bear the hours of every accelerator.",
            "Precision is the model's published one unless --precision says another.",
            "Requests under way are kept at one number, and all have the same lengths.",
            "The chance counts the engines' bands alone: errors on unlike accelerators are independent, one engine "
            "on one accelerator has the same error on both sides, unless one has pools, "
            "and prices are fixed.",
        ),
        catalog=files_of(catalog for _, _, catalog, _ in designs),
        unverified=tuple(unverified),
    )


def _side(
    design: ResolvedDesign, catalog: Catalog, asked: ServeQuestion, report: ServeReport, label: str
) -> ServedSide:
    row = report.rows[report.best]
    costed = study_cost(design, catalog.fresh(), CostRequest())
    under_way = row.concurrency * report.copies
    accelerator = design.compute.accelerator
    assert accelerator is not None
    accelerators, peak = int(design.accelerators), costed.power.facility_peak_kw
    unrated = gap_words(costed.power.missing)
    return ServedSide(
        label=label,
        accelerator=report.accelerator,
        accelerators=accelerators,
        engine=report.engine,
        plan=report.plan,
        pools=report.pools,
        copies=report.copies,
        meets=row.meets is not False,
        rate_s=row.rate_s,
        concurrency=under_way,
        ttft_s=row.ttft_s,
        tpot_s=row.tpot_s,
        output_tokens_s=row.output_tokens_s,
        output_tokens_s_gpu=row.output_tokens_s / accelerators,
        output_tokens_s_user=row.output_tokens_s_user,
        unrated=unrated,
        output_tokens_s_mw=None if unrated else tokens_per_megawatt(row.output_tokens_s, peak),
        racks=costed.power.racks,
        users_rack=under_way / max(costed.power.racks, 1),
        facility_peak_kw=peak,
        capex=costed.tco.purchase.p50 if costed.bom is not None and costed.tco is not None else None,
        recalled_share=costed.bom.recalled_share if costed.bom is not None else None,
        cost=row.cost,
        band=engine_speed(asked.engine, accelerator, report.plan.precision).band,
        calibrated=report.calibrated_on is not None,
        choices=report.choices,
    )


def _verdict(sides: Sequence[ServedSide], baseline: str) -> ServeVerdict | None:
    """Return who is cheapest; None unless two designs within the targets have whole costs in one currency."""
    priced = [
        (side.cost.per_million_output_all, side)
        for side in sides
        if side.meets and side.cost is not None and not side.cost.partial
    ]
    if len(priced) < 2 or len({side.cost.currency for _, side in priced if side.cost is not None}) > 1:
        return None
    ranked = sorted(priced, key=lambda pair: (pair[0], pair[1].label))
    (least, cheapest), (most, other) = ranked[0], ranked[1]
    for cost, side in ranked[1:]:
        if side.label == baseline:
            most, other = cost, side
    return ServeVerdict(cheapest.label, other.label, ratio=least / most, chance=_chance(cheapest, other, least / most))


def _chance(cheapest: ServedSide, other: ServedSide, ratio: float) -> float:
    """Return the chance that the cheaper of two designs is [1].

    Equation:
        P(ln ratio + e < 0), e normal with the variances of both engines' times; 1 where both are one engine's on one
        accelerator
    """
    kinds = [(side.engine, side.accelerator, side.pools is None) for side in (cheapest, other)]
    if kinds[0] == kinds[1]:
        return 1.0
    spread = (_spread_of(cheapest.band) ** 2 + _spread_of(other.band) ** 2) ** 0.5
    return _NORMAL.cdf(-log(ratio) / spread)
