"""Constants of serving engines, fitted jointly over measured runs with priors.

The time of a token is linear in the reciprocals of most constants. Every constant is a base value times a factor of its
software, its release, its accelerator, and of the release on the accelerator; factors are near 1 a priori, so that a
cell with few rows takes its kin's value. Nothing is fitted for a model or a row.

Sources:
    [1] Gelman and Hill, Data Analysis Using Regression and Multilevel Models (2007), chapter 12: partial pooling.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import maximum
from ffplan.base.record import record
from ffplan.serving.memory import cache_bytes, cache_share, cached_tokens, dense_bytes, expert_bytes
from ffplan.serving.plan import Rates
from ffplan.serving.step import attention_flops, collective_seconds, hand_over_seconds, prompt_layers, token_flops
from ffplan.validation.serving_replay import REQUESTS, median_prompts, with_rates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ffplan.base.array_math import Floats, Number
    from ffplan.serving.pools import Pools
    from ffplan.serving.step import Served
    from ffplan.validation.serving_replay import ServedPoint, ServedRun

PRIORS = {
    "weights": (1.15, 0.15),
    "experts": (1.3, 0.25),
    "cache": (1.1, 0.2),
    "matrix": (1.45, 0.2),
    "matrix_fp8": (1.8, 0.1),
    "matrix_fp4": (2.6, 0.2),
    "grouped": (1.6, 0.3),
    "attention": (3.0, 0.4),
    "layer": (30e-6, 0.5),
    "expert_layer": (15e-6, 0.6),
    "latent_layer": (40e-6, 0.5),
    "quantised_layer": (8e-6, 0.6),
    "sequence": (35e-6, 0.5),
    "expert_sequence": (8e-6, 0.8),
    "call": (8e-6, 0.4),
    "exchange": (20e-6, 0.6),
    "step": (0.7e-3, 0.6),
    "first": (20e-3, 0.4),
    "prompt_layer": (300e-6, 0.8),
}
"""Constants with their prior: reciprocal of a fraction, or seconds, and its deviation as a logarithm."""
NAMES = tuple(PRIORS)
FRACTIONS = NAMES[:8]
SECONDS = NAMES[8:-2]
"""Constants that a step has in seconds; the last two are of prompts alone."""
_MATRIX = NAMES.index("matrix")
_NARROW = [NAMES.index("matrix_fp8"), NAMES.index("matrix_fp4")]
"""GEMMs at fewer bits: what a release or an accelerator does to those at 16 bits it does to these, so that runs at one
precision alone never make fewer bits slower."""
LEVELS = ("software", "engine", "accelerator", "cell")
"""Factors: of the software, its release, the accelerator, and the release on the accelerator."""
SPREAD = 0.35
"""Deviation of a factor as a fraction of its constant's [1]."""
NOISE = 0.07
"""Deviation of measured over model as a logarithm: rows measured twice differ by 6 % [1]."""
NOISE_FIRST = 0.12
"""The same of first tokens, which wait for each other [1]."""
ALONE = 8
"""Most requests of an attention group at which first tokens hardly wait for each other [1]."""
ROUNDS = 60
"""Most steps of a fit [1]."""
_UNIT = Rates(
    **dict.fromkeys(("weights", "experts", "cache", "matrix", "grouped", "attention"), 1.0),
    **dict.fromkeys(
        (
            *("layer", "expert_layer", "latent_layer", "quantised_layer", "sequence", "expert_sequence"),
            *("call", "exchange", "step", "first", "prompt_layer"),
        ),
        0.0,
    ),
)


@record
class _Observation:
    """A measured time of a token, with the factor of each constant."""

    seconds: float
    """Time of a token [s]."""
    groups: tuple[str, ...]
    """Its group at every level."""
    source: str
    model: str
    case: str
    terms: dict[str, float]
    """Seconds for constant 1, or number of times for constants in seconds."""


def _observed(served: ServedRun, point: ServedPoint, source: str) -> list[_Observation]:
    """Return the observations of a point: time per token, and time to first token if requests hardly wait."""
    if point.output <= 1 and served.run.load != "static":
        return []
    if served.pools is not None:
        return _apart(served, served.pools, point, source)
    group = point.load / served.run.data
    observations = []
    seconds = _token_seconds(served, point)
    if seconds is not None and point.output > 1:
        observations.append(_observation(served, point, source, seconds, _token_parts(served, point, group)))
    if "ttft_ms" in point.numbers and group <= ALONE:
        observations.append(_first(served, point, source))
    return observations


def _first(served: ServedRun, point: ServedPoint, source: str) -> _Observation:
    """Return the time to a first token: its own prompt, which passes all stages, and half of the time between looks.

    A mean also has the first requests of a run, which come all at once and wait for each other.
    """
    stages, group = float(served.served.deployment.pipeline), point.load / served.run.data
    before = (group - 1) / 2 / REQUESTS if served.run.statistic == "mean" else 0.0
    share, mixed = point.prompt / served.chunk, float(served.served.mixed)
    own, carried = max(share, 1.0), before * min(share, 1.0)
    parts = _TimeParts(
        first=1.0,
        steps=own * mixed + (point.poll - 1) / 2 * (group > 1),
        prompts=1 + before / stages,
        launches=own + carried / stages,
        alone=(1 - mixed) * (own + carried),
    )
    return _observation(served, point, source, point["ttft_ms"] / 1e3, parts)


def _apart(served: ServedRun, pools: Pools, point: ServedPoint, source: str) -> list[_Observation]:
    """Return the observations of a point with separate prefill and decoding.

    Time per token follows from the number of decoding requests: their rate times the time of an answer. Prompts take
    at most the time that the measured rate leaves them.
    """
    answer = (point.output - 1) * point["tpot_ms"] / 1e3
    rate = point.load / (point["ttft_ms"] / 1e3 + answer)
    decoding = replace(point, load=rate * answer / served.run.copies)
    token = _observation(served, decoding, source, point["tpot_ms"] / 1e3, _TimeParts())
    assert served.run.prefill is not None
    assert served.prefill_use is not None
    computing = replace(
        served,
        run=served.run.model_copy(update={"data": served.run.prefill.data}),
        served=pools.prefill,
        use=served.prefill_use,
    )
    alone = replace(point, load=float(served.run.prefill.data))
    share, mixed, stages = point.prompt / served.chunk, pools.prefill.mixed, float(pools.prefill.deployment.pipeline)
    parts = _TimeParts(
        bound=1.0, steps=share * mixed, prompts=1 / stages, launches=share / stages, alone=share * (not mixed)
    )
    return [token, _observation(computing, alone, source, float(pools.prompt_groups) / rate, parts)]


@record
class _TimeParts:
    first: float = 0.0
    """1 if it is a time to first token."""
    bound: float = 0.0
    """1 if the model's time is at most that."""
    steps: float = 1.0
    """Steps that decode [1], with prompts in them if the engine mixes both."""
    prompts: float = 0.0
    """Prompts, over all stages [1]."""
    launches: float = 0.0
    """Steps that carry them, over all stages [1]."""
    alone: float = 0.0
    """Steps of prompts' own [1]."""


def _observation(served: ServedRun, point: ServedPoint, source: str, seconds: float, parts: _TimeParts) -> _Observation:
    run, unit = served.run, with_rates(served, _UNIT).served
    deployment, machine, shape = unit.deployment, unit.machine, unit.shape
    dense, experts = token_flops(unit.weights, deployment)
    terms = {
        **asdict(parts),
        "prompt": point.prompt * dense / machine.peak,
        "prompt_experts": point.prompt * experts / machine.peak,
        "attention": attention_flops(shape, point.prompt) / deployment.tensor / machine.peak16,
        "prompt_moved": collective_seconds(unit, point.prompt),
        "prompt_layers": prompt_layers(unit),
        **_step_terms(unit, point.load / run.data, point.prompt + point.output / 2),
        **{f"alone_{name}": value for name, value in _step_terms(unit, 1.0, 0.0).items()},
    }
    return _Observation(
        seconds=seconds,
        groups=(served.engine.software, run.engine, run.accelerator, f"{run.engine} {run.accelerator}"),
        source=source,
        model=run.model,
        case=run.id,
        terms={**{name: float(value) for name, value in terms.items()}, "width": _WIDTH[served.computed]},
    )


def _step_terms(unit: Served, group: float, context: float) -> dict[str, Number]:
    """Return the terms of a step that decodes."""
    deployment, machine, shape, weights = unit.deployment, unit.machine, unit.shape, unit.weights
    batch = maximum(group / deployment.pipeline, 1.0)
    held = cached_tokens(shape, context) * cache_bytes(shape, deployment.cache_width)
    dense, experts = token_flops(weights, deployment)
    shared = deployment.shares_experts * weights.expert_layers
    return {
        "weights": dense_bytes(weights, deployment) / machine.bandwidth,
        "experts": expert_bytes(weights, deployment, batch) / machine.bandwidth,
        "cache": batch * held * cache_share(shape, deployment.tensor) / machine.bandwidth,
        "decoded": batch * dense / machine.peak,
        "decoded_experts": batch * experts / machine.peak,
        "layer": shape.layers,
        "expert_layer": weights.expert_layers,
        "latent_layer": shape.layers * (shape.latent is not None),
        "quantised_layer": shape.layers * deployment.quantised,
        "sequence": group,
        "expert_sequence": group * (weights.expert_layers > 0),
        "call": (2 * shape.layers - shared) * (deployment.tensor > 1) + (deployment.pipeline - 1),
        "exchange": 2 * shared,
        "step": 1.0,
        "moved": collective_seconds(unit, batch) + hand_over_seconds(unit, batch),
    }


_WIDTH = {"bf16": 0.0, "fp8": 1.0, "fp4": 2.0}
"""Position of a precision among the fractions of the peak."""


def _token_seconds(served: ServedRun, point: ServedPoint) -> float | None:
    """Return the measured time of a token, its share of prompts included [s]."""
    for name in ("tpot_ms", "itl_ms"):
        if name in point.numbers:
            return point[name] / 1e3
    if served.run.load == "closed":
        return None
    if "latency_s" in point.numbers:
        return point["latency_s"] / point.output
    return point.load / point["tokens_s"]


def _prompts(served: ServedRun, point: ServedPoint, group: float) -> float:
    """Return the prompts that share a token's time: of all others, or of all if rates count whole requests [1]."""
    if served.run.load != "closed":
        return group / point.output
    if "itl_ms" in point.numbers:
        return median_prompts(group / point.output)
    return max(group - 1, 0.0) / point.output


def _token_parts(served: ServedRun, point: ServedPoint, group: float) -> _TimeParts:
    """Return the parts of a token's time; each step that carries prompts launches its kernels once."""
    prompts, share = _prompts(served, point, group), point.prompt / served.chunk
    apart, stages = float(not served.served.mixed), float(served.served.deployment.pipeline)
    if served.run.load == "static":
        # prompts of a batch pass all stages before it decodes
        carried = max(group * share, 1.0) / point.output
        return _TimeParts(steps=1 - apart / point.output, prompts=prompts, launches=carried, alone=apart * carried)
    carried = min(prompts, 1.0) if "itl_ms" in point.numbers else 1 - math.exp(-prompts * max(share, 1.0))
    return _TimeParts(prompts=prompts / stages, launches=carried / stages, alone=apart * carried)


class Fit:
    """A joint fit: base values and factors of every group."""

    def __init__(
        self,
        observations: Sequence[_Observation],
        levels: Iterable[str] = LEVELS,
        prior: Mapping[str, tuple[float, float]] = PRIORS,
    ) -> None:
        """Fit constants to observations, with robust errors.

        Args:
            observations: measured times.
            levels: levels that have factors.
            prior: reciprocal of a fraction, or seconds, and its deviation as a logarithm, by constant.
        """
        self.levels = tuple(levels)
        at = [LEVELS.index(level) for level in self.levels]
        keys = [(k, name) for k in at for name in sorted({o.groups[k] for o in observations})]
        self.place = {key: position for position, key in enumerate(keys)}
        self._members = [np.array([self.place[k, o.groups[k]] for o in observations]) for k in at]
        self._at = at
        self._mean = np.log([prior[name][0] for name in NAMES])
        self._spread = np.array([prior[name][1] for name in NAMES])
        self._table = _table(observations)
        self._log = np.log([o.seconds for o in observations])
        self._noise = np.where(self._table["first"] > 0, NOISE_FIRST, NOISE)
        size = len(NAMES) * (1 + len(keys))
        self.solution = self._solved(np.zeros(size))

    def _solved(self, x: Floats) -> Floats:
        """Return the least squares by Gauss-Newton steps, halved while they do not help.

        The prior makes the normal equations well conditioned.
        """
        residuals = self._residuals(x)
        least = float(residuals @ residuals)
        for _ in range(ROUNDS):
            slopes = self._slopes(x)
            step = np.linalg.solve(slopes.T @ slopes, slopes.T @ residuals)
            for halving in range(8):
                there = x - step / 2**halving
                residuals = self._residuals(there)
                size = float(residuals @ residuals)
                if size < least:
                    break
            else:
                return x
            x, gain, least = there, least - size, size
            if gain < 1e-6 * least:
                break
        return x

    def _constants(self, x: Floats) -> Floats:
        count = len(NAMES)
        factors = x[count:].reshape(-1, count) * self._spread * SPREAD
        deviations = (self._spread * x[:count])[None, :] + sum(factors[members] for members in self._members)
        constants: Floats = np.exp((self._mean + _together(deviations)).T)
        return constants

    def _residuals(self, x: Floats) -> Floats:
        error = self._errors(np.log(times(self._table, self._constants(x))))
        # soft L1: squares of small errors, sizes of large ones
        return np.concatenate([np.sign(error) * np.sqrt(2 * (np.sqrt(1 + error * error) - 1)), x])

    def _errors(self, logs: Floats) -> Floats:
        """Return errors of logarithms of times over the noise [1]; none below a bound."""
        error = (logs - self._log) / self._noise
        return np.where((self._table["bound"] > 0) & (error < 0), 0.0, error)

    def _slopes(self, x: Floats) -> Floats:
        constants = self._constants(x)
        base = np.log(times(self._table, constants))
        error = self._errors(base)
        below = (self._table["bound"] > 0) & (error <= 0)
        robust = np.sqrt(2 * (np.sqrt(1 + error * error) - 1))
        gain = np.where(np.abs(error) < 1e-6, 1.0, np.abs(error) / np.maximum(robust, 1e-12) / np.sqrt(1 + error**2))
        gain = np.where(below, 0.0, gain)
        count, rows = len(NAMES), len(error)
        slopes = np.zeros((rows + len(x), len(x)))
        every = np.arange(rows)
        for k in range(count):
            moved = constants.copy()
            moved[[k, *_NARROW] if k == _MATRIX else k] *= 1.001
            slope = (np.log(times(self._table, moved)) - base) / np.log(1.001) / self._noise * gain
            slopes[:rows, k] = slope * self._spread[k]
            for members in self._members:
                slopes[every, count + members * count + k] += slope * self._spread[k] * SPREAD
        slopes[rows:] = np.eye(len(x))
        return slopes

    def constants(self, groups: Sequence[str | None]) -> dict[str, float]:
        """Return the constants of a group at every level; a group that is None or unknown has factor 1.

        Returns:
            Fractions and seconds by name, and the priors' deviations that its base value is off.
        """
        count = len(NAMES)
        deviations = self._spread * self.solution[:count]
        factors = self.solution[count:].reshape(-1, count) * self._spread * SPREAD
        for k in self._at:
            position = self.place.get((k, groups[k] or ""))
            if position is not None:
                deviations = deviations + factors[position]
        values = np.exp(self._mean + _together(deviations))
        constants = {
            name: float(min(1 / value, 1.0) if name in FRACTIONS else value)
            for name, value in zip(NAMES, values, strict=True)
        }
        # of twice the peak: an engine could as well compute with more bits
        for more, fewer in pairwise(("matrix", "matrix_fp8", "matrix_fp4")):
            constants[fewer] = max(constants[fewer], constants[more] / 2)
        return constants

    def told(self) -> dict[str, float]:
        """Return the share of each base value's prior variance that the observations take away [1].

        Equation:
            1 - posterior variance / prior variance, the posterior normal around the solution

        Source:
            Gelman et al., Bayesian Data Analysis, 3rd edition (2013), section 4.1.
        """
        slopes = self._slopes(self.solution)
        variances = np.diag(np.linalg.inv(slopes.T @ slopes))[: len(NAMES)]
        return {name: float(1 - variance) for name, variance in zip(NAMES, variances, strict=True)}

    def predicted(self, observations: Sequence[_Observation]) -> Floats:
        """Return the times of a token of observations, which may be new [s]."""
        return predicted(observations, [self.constants(o.groups) for o in observations])


def _together(deviations: Floats) -> Floats:
    """Return deviations of logarithms, the last axis by name, with those of 16-bit GEMMs in those at fewer bits."""
    moved = deviations.copy()
    moved[..., _NARROW] += deviations[..., [_MATRIX]]
    return moved


def predicted(observations: Sequence[_Observation], constants: Sequence[Mapping[str, float]]) -> Floats:
    """Return the times of a token of observations [s]."""
    rows = [[1 / values[name] if name in FRACTIONS else values[name] for name in NAMES] for values in constants]
    return times(_table(observations), np.array(rows, dtype=float).T)


def _table(observations: Sequence[_Observation]) -> dict[str, Floats]:
    names = observations[0].terms
    return {name: np.array([o.terms[name] for o in observations]) for name in names}


def times(table: dict[str, Floats], constants: Any) -> Floats:
    """Return the time of a token of each observation [s].

    Args:
        table: terms by name.
        constants: one row for each of `NAMES`; fractions as their reciprocals.

    Equation:
        steps x step + alone x step of one sequence + max(prompts, launches (launch - step that carries them)), as
        `ffplan.serving.load._Loop` adds prompts; a step with prompts is one of the first kind if the engine mixes both,
        else one of the second; for a first token, its own prompt
    """
    by_name = dict(zip(NAMES, constants, strict=True))
    width = table["width"].astype(int)
    matrix = np.choose(width, [by_name["matrix"], by_name["matrix_fp8"], by_name["matrix_fp4"]])

    def step(kind: str) -> Any:
        memory = table[f"{kind}weights"] * by_name["weights"] + table[f"{kind}experts"] * by_name["experts"]
        products = (table[f"{kind}decoded"] + table[f"{kind}decoded_experts"] * by_name["grouped"]) * matrix
        rest = sum(table[f"{kind}{name}"] * by_name[name] for name in ("cache", *SECONDS))
        return np.maximum(memory, products) + table[f"{kind}moved"] + rest

    decoding, alone = step(""), step("alone_")
    prompt = (table["prompt"] + table["prompt_experts"] * by_name["grouped"]) * matrix
    prompt = prompt + table["attention"] * by_name["attention"] + table["prompt_moved"]
    launch = table["prompt_layers"] * by_name["prompt_layer"]
    beside = np.where(table["alone"] > 0, alone, decoding)
    prompt = np.maximum(table["prompts"] * prompt, table["launches"] * (launch - beside))
    steps = table["steps"] * decoding + table["alone"] * alone
    return np.asarray(steps + prompt + table["first"] * by_name["first"])
