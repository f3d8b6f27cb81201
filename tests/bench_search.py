"""Speed of the plan search on the space of Calculon's README: 530 billion parameters, 5,128 GPUs, batch 2,520.

Distinct plans timed in a second, with no collective known before, against a loop that times one plan after the other,
and the whole search as a command against `ffplan design` of the same design, all in the same run. Candidates that
cannot run are counted, and not timed. Printed, not asserted.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import replace

from ffplan.catalog.models import Model
from ffplan.cli.loading import _resolved_design
from ffplan.design.training import PlanFields
from ffplan.studies.train.cluster import cluster_of
from ffplan.studies.train.software import software_of
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.search_space import best, evaluate_space, search_space, single
from ffplan.training.step import step_parts, step_time
from ffplan.training.train_run import TrainRun
from tests.bench import COMMAND, seconds
from tests.bench_collective import best as shortest

DESIGN, MODEL, GPUS, BATCH = "dgx-a100-10k", "megatron-529.6b", 5128, 2520
ROUNDS, SAMPLE = 9, 50


def main() -> None:
    """Time the search in process and as a command."""
    design, catalog = _resolved_design(DESIGN, None)
    model, part = catalog.entry(MODEL).part, design.compute.accelerator
    assert isinstance(model, Model)
    assert model.transformer is not None
    assert part is not None
    shape = model.transformer
    plans = parallel_plans(PlanFields(batch=BATCH), 1.0)

    software = software_of(catalog, part, None, design.document)

    def fresh() -> TrainRun:
        return TrainRun(shape, plans, software.rates(part, PlanFields()), cluster_of(design, catalog))

    run = fresh()
    space = search_space(shape, GPUS, run.system.domain, {})
    limit = software.room(part)
    cold = shortest(
        lambda: evaluate_space(replace(run, system=replace(run.system, known={})), space, GPUS, limit).step()
    )
    warm = shortest(lambda: evaluate_space(run, space, GPUS, limit).step())
    found = evaluate_space(run, space, GPUS, limit)
    chosen = [single(found.plans, found.code.shape, at) for at in best(found.step(), SAMPLE)]

    def loop() -> None:
        for item in chosen:
            step_time(step_parts(replace(run, plans=item)))

    each = shortest(loop) / len(chosen)
    refused = ", ".join(f"{name} {count:,}" for name, count in found.refused.items())
    print(f"{found.candidates:,} candidates, {found.code.size:,} distinct plans timed; refused: {refused}")
    print(f"{'':34} {'timed/s':>12} {'times the loop':>15} {'aim':>12}")
    print(f"{'one plan after the other':34} {1 / each:12,.0f} {1:15.0f}x")
    for name, taken in (("no collective known", cold), ("collectives known", warm)):
        timed = found.code.size / taken
        print(f"{name:34} {timed:12,.0f} {each * timed:15.0f}x {500_000:12,}")
    search = [COMMAND, "train", DESIGN, "--model", MODEL, "--gpus", str(GPUS), "--batch", str(BATCH), "--search"]
    pairs = [(seconds([COMMAND, "design", DESIGN]), seconds(search)) for _ in range(ROUNDS)]
    plain, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{'ffplan train --search':34} {whole * 1e3:9.0f} ms, {whole / plain:.2f}x `ffplan design` (aim 2x)")
    target = ["--model", "llama3-70b", "--tokens", "2T", "--days", "30"]
    recommend = seconds([COMMAND, "recommend", *target])
    with tempfile.TemporaryDirectory() as folder:
        first = seconds([COMMAND, "init", "--accelerator", "h100-sxm-80gb", "--power", "5MW", "--folder", folder])
    for name, taken in (("ffplan recommend", recommend), ("ffplan init --power", first)):
        print(f"{name:34} {taken * 1e3:9.0f} ms, {taken / plain:.2f}x `ffplan design`")


if __name__ == "__main__":
    main()
