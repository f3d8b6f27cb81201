"""Jobs drawn from published traces: means, medians and maxima of run times and sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.elementary import log2
from ffplan.base.record import record
from ffplan.reliability.scheduler import JobTable

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Ints

CHUNK = 20_000
"""Smallest batch of jobs from which running ones are drawn [1]."""
NARROW = 1e-9
"""Standard deviation in place of 0 [1]."""


def _lognormal_of(mean: float, middle: float) -> tuple[float, float]:
    """Return the parameters of a lognormal distribution.

    Args:
        mean: its mean [any unit].
        middle: its median [same unit]; at most the mean.

    Returns:
        mu and sigma [1] of the logarithm.

    Equation:
        mu = ln(median), sigma = sqrt(2 ln(mean / median))

    Source:
        Moments of the lognormal distribution.
    """
    return float(np.log(middle)), float(np.sqrt(2 * np.log(max(mean / middle, 1.0))))


@record
class JobDraw:
    """Distribution of jobs: mean, median and largest of run times and sizes."""

    run: tuple[float, float, float]
    """Mean, median and longest run time [s]."""
    gpus: tuple[float, float, float]
    """Mean, median and most accelerators [1]."""
    most_gpus: int
    """Accelerators of the cluster: no job is larger [1]."""

    def draw(self, random: np.random.Generator, count: int) -> tuple[Floats, Ints]:
        """Return run times [s] and sizes [1] of some jobs; sizes are powers of two."""
        (run_mu, run_sigma), (gpu_mu, gpu_sigma) = _lognormal_of(*self.run[:2]), _lognormal_of(*self.gpus[:2])
        most = min(self.gpus[2], float(self.most_gpus))
        runs = np.minimum(random.lognormal(run_mu, run_sigma, count), self.run[2])
        sizes = np.minimum(random.lognormal(gpu_mu, gpu_sigma, count), most)
        # rounded in logarithms, so that 2^(k ± 1/2) are the edges, as `mean_work` counts them
        powers = 2 ** np.round(log2(np.maximum(sizes, 1.0)))
        return np.maximum(runs, 1.0), np.minimum(powers, 2 ** np.floor(log2(most))).astype(int)

    @property
    def mean_work(self) -> float:
        """Mean accelerator-seconds of a job, cut and rounded as in `draw` [s].

        Equation:
            E[run] E[size], which are independent; E[run] = F(1) + m (F'(c) - F'(1)) + c (1 - F(c)), E[size] = sum of
            2^k (F(2^(k + 1/2)) - F(2^(k - 1/2))), with F the distribution, c the longest, m the mean, and F' the
            distribution with the logarithm's mean moved by its variance

        Source:
            Partial moments of the lognormal distribution.
        """
        mu, sigma = _lognormal_of(*self.run[:2])
        longest = self.run[2]
        inside = below(longest, mu + sigma**2, sigma) - below(1.0, mu + sigma**2, sigma)
        run = below(1.0, mu, sigma) + self.run[0] * inside + longest * (1 - below(longest, mu, sigma))
        mu, sigma = _lognormal_of(*self.gpus[:2])
        top = int(np.floor(log2(min(self.gpus[2], float(self.most_gpus)))))
        # sizes beyond the largest power all count as it: the last edge is 1
        edges = [0.0, *(below(2.0 ** (k + 0.5), mu, sigma) for k in range(top)), 1.0]
        size = sum(2.0**k * (edges[k + 1] - edges[k]) for k in range(top + 1))
        return float(run * size)


def below(value: float, mu: float, sigma: float) -> float:
    """Return the probability that a lognormal variable lies below a value [1].

    Args:
        value: the value, above 0 [any unit].
        mu: mean of the logarithm [1].
        sigma: its standard deviation [1]; 0 for the constant exp(mu).

    Equation:
        (1 + erf((ln(value) - mu) / (sqrt(2) sigma))) / 2

    Source:
        Distribution function of the normal distribution.
    """
    distance = math.log(value) - mu
    return 0.5 * (1.0 + math.erf(distance / (math.sqrt(2.0) * max(sigma, NARROW))))


def job_count(jobs: JobDraw, work_gpu_s: float) -> int:
    """Return the number of jobs with a given mean work, at least one [1].

    Args:
        work_gpu_s: accelerator-seconds [s].
    """
    return max(1, round(work_gpu_s / jobs.mean_work))


def drawn_jobs(jobs: JobDraw, *, work_gpu_s: float, seconds: float, seed: int) -> JobTable:
    """Return jobs drawn from means, medians and maxima, arriving at random.

    The number of jobs is fixed, not their work: a few large jobs hold most of it, so that with fixed work one of
    them would displace thousands of others.

    Args:
        work_gpu_s: mean accelerator-seconds that arrive [s].
        seconds: time over which they arrive [s].
        seed: seed of the draws.

    Returns:
        Jobs by arrival.

    Equation:
        `job_count` jobs, with lognormal run times and sizes, cut at their maxima; arrivals at random

    Source:
        `lognormal_of`; two moments are what the traces publish.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    count = job_count(jobs, work_gpu_s)
    runs, sizes = jobs.draw(random, count)
    return JobTable(np.sort(random.uniform(0, seconds, count)), runs, sizes)


def with_running(table: JobTable, jobs: JobDraw, *, gpus: float, seed: int) -> JobTable:
    """Prepend jobs that already run at the start.

    An empty cluster takes as long to fill as its longest jobs run, and is underused until then.

    Args:
        table: arriving jobs.
        gpus: accelerators held by running jobs [1].
        seed: seed of the draw.

    Returns:
        Jobs by arrival, the running ones first.

    Equation:
        jobs drawn in proportion to their run times, each with a random part of its time left, until they hold `gpus`

    Source:
        Renewal theory: who looks at a random time finds long jobs as often as they are long, at a random age.
    """
    # another stream than the arrivals, which therefore do not depend on running jobs
    random = np.random.Generator(np.random.PCG64([seed, 1]))
    runs, sizes = jobs.draw(random, max(CHUNK, len(table.gpus)))
    order = random.choice(len(runs), size=len(runs), p=runs / runs.sum())
    count = int(np.searchsorted(np.cumsum(sizes[order]), gpus, side="right"))
    chosen = order[:count]
    left = np.maximum(runs[chosen] * random.uniform(0, 1, count), 1.0)
    return JobTable(
        arrival_s=np.concatenate([np.zeros(count), table.arrival_s]),
        run_s=np.concatenate([left, table.run_s]),
        gpus=np.concatenate([sizes[chosen], table.gpus]),
        running=count,
    )
