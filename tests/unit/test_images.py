"""Convolutional networks worked by hand: products and bytes, what is kept, buckets, the queue of reductions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.models import Convolution
from ffplan.catalog.store import Catalog
from ffplan.design.training import PlanFields
from ffplan.perf.images import ImageRun, fits, image_memory, image_parts, image_plan, without_host
from ffplan.perf.plans import Plans
from ffplan.perf.refusal import RefusedError
from ffplan.perf.speeds import Speeds, speeds
from ffplan.perf.talk import System
from ffplan.perf.train import step_time
from ffplan.perf.vision import (
    buckets,
    convolution_times,
    gradient_bytes,
    image_flops,
    kept_numbers,
    moved_numbers,
    queue_end,
)
from tests.support import host_named, model_named

MIB = 2.0**20


def rates(**more: float) -> Speeds:
    return replace(Speeds(1e40, 1e40, 1e40, 1e40, 1.0, 0.0, 0.0, 0.0, 0.0, 1e15), **more)


def layer(**more: object) -> Convolution:
    fields = {"name": "a", "inputs": 64, "outputs": 128, "kernel": 3, "size": 32} | more
    return Convolution.model_validate(fields)


def run(gpus: float = 32.0, **more: object) -> ImageRun:
    plans = Plans(gpus=gpus, batch=50 * gpus, micro=50.0, tensor=1.0, pipeline=1.0, data=gpus, expert_tensor=1.0,
                  precision="tf32", overlap=frozenset({"gradients"}))  # fmt: skip
    host, parts = host_named("fire-flyer-2-node"), [Catalog().entry(name).part for name in ("nccl", "hfreduce")]
    assert host.accelerator is not None
    assert isinstance(parts[0], Library)
    assert isinstance(parts[1], Library)
    at = without_host(speeds(host.accelerator, "tf32"))
    layers = model_named("vgg16").convolutions
    return ImageRun(layers, replace(plans, **more), at, System(host, parts[0], parts[1]), 4.0, 25 * MIB)  # type: ignore[arg-type]


def test_products_of_a_convolution() -> None:
    """Two images of 32 x 32: 2,048 x 128 over 576; 2,048 x 64 over 1,152; 128 x 576 over 2,048: full tiles."""
    ahead, behind = convolution_times(layer(), 2, rates(products=1e12), 4.0)
    assert ahead == pytest.approx(2 * 2048 * 128 * 576 / 1e12)
    assert behind == pytest.approx(2 * ahead)
    narrow, _ = convolution_times(layer(inputs=3, outputs=32), 2, rates(products=1e12), 4.0)
    assert narrow == pytest.approx(2 * 2048 * 64 * 27 / 1e12)  # half of a tile is empty


def test_bytes_of_a_convolution() -> None:
    """4 bytes of 2,048 x (64 + 128) numbers and 9 x 64 x 128 weights, three times."""
    ahead, behind = convolution_times(layer(), 2, rates(memory=1e12), 4.0)
    assert ahead == pytest.approx(4 * (2048 * 192 + 73728) / 1e12)
    assert behind == pytest.approx(2 * ahead)


def test_what_runs_behind_a_convolution() -> None:
    assert moved_numbers(layer()) == (2, 3)
    assert moved_numbers(layer(norm=True, add=True)) == (2 + 3 + 3, 3 + 5 + 3)
    assert moved_numbers(layer(bias=True)) == (4, 4)
    assert moved_numbers(layer(pool=2, count=2)) == (2 + 1.25 / 2, 3 + 1.5 / 2)


def test_what_is_kept_of_an_image() -> None:
    """The image, 64 x 32^2; twice 128 x 32^2 of each of two with norms; a pooling leaves a quarter of one."""
    assert kept_numbers([layer(norm=True, count=2, pool=2)]) == 64 * 1024 + 128 * 1024 * (2 * 2 + 0.25)


def test_buckets_are_whole_layers() -> None:
    """VGG16 from its end: fc3 and fc2, fc1, three layers of 9.4 MB, five of 9.4, 9.4, 4.7, 2.4 and 2.4, the rest."""
    found = buckets(model_named("vgg16").convolutions, 4.0, 25 * MIB)
    assert [round(size / 1e6, 1) for size, _ in found] == [83.5, 411.1, 28.3, 28.3, 2.2]
    assert [position for _, position in found] == [14, 13, 10, 5, 0]
    assert sum(size for size, _ in found) == pytest.approx(gradient_bytes(model_named("vgg16").convolutions))
    assert buckets([layer()], 4.0, 1e12) == [(4.0 * 73728, 0)]


def test_reductions_queue() -> None:
    """Ready at 1, 2 and 9 s, 3 s each: done at 4, 7 and 12."""
    assert queue_end([1.0, 2.0, 9.0], [3.0, 3.0, 3.0]) == 12
    assert queue_end([], []) == 0


def test_operations_of_an_image() -> None:
    """Three times forward, without the gradient of the image."""
    pair = [layer(), layer(inputs=128)]
    first, second = 2 * 64 * 128 * 9 * 1024, 2 * 128 * 128 * 9 * 1024
    assert image_flops(pair) == 2 * first + 3 * second


def test_parts_of_a_step() -> None:
    one, many = image_parts(run()), image_parts(run(batch=6400.0))
    assert min(float(value) for value in one.values()) >= 0
    for name in ("products", "memory", "kernels"):
        assert float(many[name]) == pytest.approx(4 * float(one[name]))
    for name in ("gradients", "optimizer"):
        assert float(many[name]) == pytest.approx(float(one[name]))
    assert float(one["optimizer"]) == pytest.approx(24 * 138.36e6 / run().speeds.memory, rel=1e-3)
    alone = image_parts(run(overlap=frozenset()))
    assert float(alone["gradients"]) > float(one["gradients"])
    assert float(step_time(image_parts(run(1.0)))) < float(step_time(one))
    assert float(image_parts(run(1.0))["gradients"]) == 0


def test_memory_of_a_rank() -> None:
    """4 bytes each of weight, gradient and momentum; activations of 50 images at 4 bytes."""
    found = image_memory(run(), 50.0)
    kept = 4 * 50 * kept_numbers(run().layers)
    sizes = [found[name] for name in ("weights", "gradients", "optimizer", "activations")]
    assert sizes == pytest.approx([553.4e6, 553.4e6, 553.4e6, kept], rel=1e-3)
    half = replace(run(), plans=replace(run().plans, precision="fp16"))
    assert image_memory(half, 50.0)["weights"] == pytest.approx(6 * 138.36e6, rel=1e-3)
    fits(run(), sum(found.values()))
    with pytest.raises(RefusedError, match="take at most 49 images"):
        fits(run(), sum(found.values()) - 1)


def test_a_plan_takes_its_batch_from_its_ranks() -> None:
    model = model_named("vgg16")
    plan = image_plan(model, PlanFields(micro_batch=50), 32)
    assert (plan.batch, plan.micro_batch, plan.data, plan.zero) == (1600, 50, 32, 0)
    plan = image_plan(model, PlanFields(batch=1600), 32)
    assert (plan.batch, plan.micro_batch) == (1600, 50)
    assert image_plan(model, PlanFields(micro_batch=50, zero=0, tensor=1), 32).zero == 0
    with pytest.raises(RefusedError, match="data parallelism alone"):
        image_plan(model, PlanFields(micro_batch=50, tensor=2), 32)
