"""Verdicts on two designs in words: advantages without a job, the price of a token with one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, data_size, kilowatts, listed, number, percent
from ffplan.base.record import record
from ffplan.results.design import Assessment
from ffplan.results.difference import EVEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.results.comparison import Ratios, TrainingComparison

_TWICE = 2.0
"""Ratio from which words say `times`, not per cent [1]."""
_THOUSAND = 1000


@record
class _Measure:
    """A figure that one of two designs wins."""

    name: str
    ratio: float | None
    """Over the other design's; None if they cannot be compared [1]."""
    low: bool
    """Less of it is better."""
    show: Callable[[Assessment], str]
    """Returns it with its unit."""
    less: str = "less"
    """Words for less of it, for more, and for several times as much."""
    more: str = "more"
    times: str = "as much"


def advantages(
    designs: tuple[Assessment, ...], labels: tuple[str, ...], baseline: int, ratios: dict[str, Ratios]
) -> tuple[str, ...]:
    """Return sentences on every design but the baseline: in what each of the two has the advantage.

    Args:
        labels: label of each.
        baseline: position of the design that ratios refer to.
        ratios: ratios to it by label.
    """
    base, base_name = designs[baseline], labels[baseline]
    sentences: list[str] = []
    for name, design in zip(labels, designs, strict=True):
        if design is not base:
            sentences += _pair((name, design), (base_name, base), list(_measures(design, base, ratios[name])))
    return (*sentences, _no_job(designs))


def _pair(one: tuple[str, Assessment], two: tuple[str, Assessment], measures: list[_Measure]) -> Iterator[str]:
    """Yield a sentence for each of two designs that has an advantage, and one for what they have alike."""
    known = [(measure, measure.ratio) for measure in measures if measure.ratio]
    apart = [(measure, ratio) for measure, ratio in known if abs(ratio - 1) > EVEN]
    both = " and ".join(f"{design.accelerators:,}" for _, design in (two, one))
    if one[1].accelerators != two[1].accelerators:
        yield f"{two[0]} and {one[0]} have {both} accelerators: what follows is for one accelerator of each."
    for (name, mine), (loser, theirs), wins in (
        (two, one, [measure for measure, ratio in apart if (ratio < 1) is not measure.low]),
        (one, two, [measure for measure, ratio in apart if (ratio < 1) is measure.low]),
    ):
        phrases = [_advantage(measure, mine is one[1], mine, theirs) for measure in wins]
        if phrases:
            yield f"{name} has the advantage over {loser} in {listed(phrases)}."
    alike = [measure.name for measure, ratio in known if abs(ratio - 1) <= EVEN]
    if alike:
        yield f"{two[0]} and {one[0]} are alike in {listed(alike)}."
    unknown = [measure.name for measure in measures if not measure.ratio]
    if unknown:
        yield f"{two[0]} and {one[0]} cannot be compared in {listed(unknown)}."


def _advantage(measure: _Measure, over: bool, mine: Assessment, theirs: Assessment) -> str:
    """Return an advantage with both figures.

    Args:
        over: whether its ratio is the winner's over the other's.
        mine: the side with the advantage.
    """
    assert measure.ratio is not None
    ratio = measure.ratio if over else 1 / measure.ratio
    if ratio < 1:
        size = f"{percent(1 - ratio)} {measure.less}"
    else:
        size = (
            f"{number(ratio, 3)} times {measure.times}" if ratio >= _TWICE else f"{percent(ratio - 1)} {measure.more}"
        )
    return f"{measure.name} ({size}: {measure.show(mine)} against {measure.show(theirs)})"


def _measures(design: Assessment, base: Assessment, ratios: Ratios) -> Iterator[_Measure]:
    """Yield the measures of a comparison; per accelerator if the designs have different numbers of them."""
    same = design.accelerators == base.accelerators
    if design.cost and base.cost:
        yield _Measure(
            name="price of the planned parts",
            ratio=ratios.cost_total if same else ratios.cost_per_accelerator,
            low=True,
            show=lambda a: _price(a, per_accelerator=not same),
        )
    per_accelerator = 1.0 if same else base.accelerators / design.accelerators
    yield _Measure(
        name="switches" if same else "switches per 1,000 accelerators",
        ratio=_scaled(ratios.switches, per_accelerator),
        low=True,
        show=lambda a: number(a.fabric.switches.total / (1 if same else a.accelerators / _THOUSAND), 3),
        less="fewer",
    )
    yield _Measure(
        name="planned IT power",
        ratio=_scaled(ratios.it_power, per_accelerator),
        low=True,
        show=lambda a: kilowatts(a.power.it_kw / (1 if same else a.accelerators)),
    )
    yield _Measure(
        name="bisection",
        ratio=_scaled(ratios.bisection, per_accelerator),
        low=False,
        show=lambda a: f"{number(a.fabric.bisection_gbyte_s / (1 if same else a.accelerators), 3)} GB/s",
    )
    if design.communication and base.communication:
        messages = [assessment.communication[0].message_bytes for assessment in (base, design)]
        same_message, sizes = messages[0] == messages[1], listed(map(data_size, messages))
        yield _Measure(
            name=f"allreduce of {sizes} over all accelerators",
            ratio=ratios.allreduce if same_message else None,
            low=False,
            show=lambda a: f"{number(a.communication[0].algbw_gbyte_s, 3)} GB/s with {a.communication[0].library}",
            more="faster",
            times="as fast",
        )


def _scaled(ratio: float | None, factor: float) -> float | None:
    return None if ratio is None else ratio * factor


def _price(assessment: Assessment, *, per_accelerator: bool) -> str:
    assert assessment.cost is not None
    price = assessment.cost.per_accelerator if per_accelerator else assessment.cost.total
    return f"{amount(price or 0.0)} {assessment.cost.currency}"


def _no_job(designs: tuple[Assessment, ...]) -> str:
    """Return that none of these figures is the speed of a job."""
    kinds = listed(design.hardware.accelerator.partition(" x ")[2] for design in designs if design.hardware.accelerator)
    differ = len({design.hardware.accelerator for design in designs}) > 1
    alike = f", and their accelerators differ ({kinds})" if differ else ""
    return f"None of these is the speed of a job{alike}: `--model ID --batch N` times one, and `--tokens` prices it."


def verdicts(training: TrainingComparison, labels: tuple[str, ...], baseline: int) -> tuple[str, ...]:
    """Return a sentence for every design but the baseline: when it is cheaper for the job, and when not.

    Args:
        training: the job on every design.
        labels: what each design is called.
        baseline: position of the design that ratios refer to.
    """
    sentences = []
    for index, name in enumerate(labels):
        if index == baseline:
            continue
        ratios = [(size.batch, size.sides[index].capital_ratio) for size in training.sizes]
        known = [(batch, ratio) for batch, ratio in ratios if ratio is not None]
        job = f"{training.model} on {training.gpus:,} accelerators"
        if not known:
            sentences.append(_unknown(training, labels, (index, baseline), job))
            continue
        parts = [f"{_compared_price(ratio)} at batch {batch:,}" for batch, ratio in known]
        sentences.append(f"For {job}, a token of {name} is {_listed(parts)}, against {labels[baseline]}.")
        sentences += _estimates(training, labels, (index, baseline))
    return tuple(sentences)


def _unknown(training: TrainingComparison, labels: tuple[str, ...], both: tuple[int, int], job: str) -> str:
    """Return why the price of a token cannot be compared."""
    idle = [labels[index] for index in both if all(size.sides[index].refused for size in training.sizes)]
    if idle:
        return f"{job} cannot run on {' and '.join(idle)}: no price of a token can be compared."
    return (
        f"{labels[both[0]]} and {labels[both[1]]} are not priced alike: no price of a token can be compared for {job}."
    )


def _estimates(training: TrainingComparison, labels: tuple[str, ...], both: tuple[int, int]) -> list[str]:
    """Return which speeds are estimated, with their error."""
    sentences = []
    for index in both:
        side = next((size.sides[index] for size in training.sizes if size.sides[index].estimated_from), None)
        if side is not None and side.error_band is not None:
            text = f"with the efficiencies of {side.estimated_from}, ±{100 * side.error_band:.0f}%"
            sentences.append(f"The speed of {labels[index]} is estimated {text}.")
    return sentences


def _compared_price(ratio: float) -> str:
    """Return how a price compares with another."""
    if abs(ratio - 1) < EVEN:
        return "equally expensive"
    return f"{1 - ratio:.0%} cheaper" if ratio < 1 else f"{ratio:.2f} times as expensive"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
