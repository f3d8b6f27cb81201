"""Convolutional networks worked by hand: products and bytes, what is kept, buckets, the queue of reductions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.models import Convolution
from ffplan.catalog.store import Catalog
from ffplan.design.training import PlanFields
from ffplan.training.accelerator_rates import AcceleratorRates, accelerator_rates
from ffplan.training.axes import ParallelPlans
from ffplan.training.constraints import RefusedError
from ffplan.training.conv_layers import (
    _behind_bytes,
    _buckets,
    _conv_kept_bytes,
    _convolution_times,
    _queue_end,
    gradient_bytes,
    image_flops,
)
from ffplan.training.conv_step import ConvRun, check_memory, conv_memory, conv_plan, conv_step_parts, without_host
from ffplan.training.group_collectives import Cluster
from ffplan.training.step import step_time
from tests.support import host_named, model_named

MIB = 2.0**20


def rates(**more: float) -> AcceleratorRates:
    more.setdefault("stream", more.get("memory", 1e40))
    return replace(
        AcceleratorRates(
            products=1e40,
            attention=1e40,
            plain=1e40,
            memory=1e40,
            stream=0.0,
            units=1.0,
            kernel=0.0,
            launch=0.0,
            launch_parallel=0.0,
            launch_step=0.0,
            peak=1e15,
        ),
        **more,  # type: ignore[arg-type]
    )


def layer(**more: object) -> Convolution:
    fields = {"name": "a", "inputs": 64, "outputs": 128, "kernel": 3, "size": 32} | more
    return Convolution.model_validate(fields)


def run(gpus: float = 32.0, **more: object) -> ConvRun:
    plans = ParallelPlans(
        gpus=gpus,
        batch=50 * gpus,
        micro=50.0,
        tensor=1.0,
        pipeline=1.0,
        data=gpus,
        expert_tensor=1.0,
        precision="tf32",
        overlap=frozenset({"gradients"}),
    )
    host, parts = host_named("fire-flyer-2-node"), [Catalog().entry(name).part for name in ("nccl", "hfreduce")]
    assert host.accelerator is not None
    assert isinstance(parts[0], Library)
    assert isinstance(parts[1], Library)
    at = without_host(accelerator_rates(host.accelerator, "tf32"))
    layers = model_named("vgg16").convolutions
    return ConvRun(
        layers=layers,
        plans=replace(plans, **more),  # type: ignore[arg-type]
        speeds=at,
        system=Cluster(host=host, library=parts[0], reducer=parts[1]),
        gradient=4.0,
        bucket=25 * MIB,
    )


def test_products_of_a_convolution() -> None:
    """Two images of 32 x 32: 2,048 x 128 over 576; 2,048 x 64 over 1,152; 128 x 576 over 2,048: full tiles."""
    ahead, inputs, weights = _convolution_times(layer(), 2, rates(products=1e12), 4.0)
    assert ahead == pytest.approx(2 * 2048 * 128 * 576 / 1e12)
    assert (inputs, weights) == pytest.approx((ahead, ahead))
    ahead, inputs, weights = _convolution_times(layer(inputs=3, outputs=32), 2, rates(products=1e12), 4.0)
    assert ahead == pytest.approx(2 * 2048 * 64 * 27 / 1e12)  # half of a tile is empty
    assert inputs == pytest.approx(2 * 2048 * 64 * 288 / 1e12)  # 3 of 64 columns
    assert weights == pytest.approx(2 * 128 * 64 * 2048 / 1e12)  # 32 x 27 in one tile


def test_bytes_of_a_convolution() -> None:
    """4 bytes of 2,048 x (64 + 128) numbers and 9 x 64 x 128 weights, three times."""
    ahead, inputs, weights = _convolution_times(layer(), 2, rates(memory=1e12), 4.0)
    assert (ahead, inputs, weights) == pytest.approx((4 * (2048 * 192 + 73728) / 1e12,) * 3)


def test_what_runs_behind_a_convolution() -> None:
    assert _behind_bytes(layer(), 4.0) == (8, 12)
    assert _behind_bytes(layer(relu=False), 4.0) == (0, 0)
    assert _behind_bytes(layer(norm=True, add=True), 2.0) == (2 * (2 + 3 + 3), 2 * (3 + 5 + 3))
    assert _behind_bytes(layer(bias=True), 4.0) == (16, 16)
    assert _behind_bytes(layer(bias=True, kernel=1, size=1), 4.0) == (8, 12)
    assert _behind_bytes(layer(pool=2, count=2), 4.0) == (8 + 3.5, 12 + 3.5)  # 4 + 12 / 4, behind one of two


def test_a_step_by_hand() -> None:
    """Two layers of 3 x 3 x 64 x 128 and 3 x 3 x 128 x 128 on one image of 32 x 32: nobody needs its gradient, so that
    one of six kernels is left out, and 16 + 8 bytes a parameter are moved by SGD.
    """
    at = rates(products=1e12, memory=1e12, kernel=1e-6)
    plans = ParallelPlans(
        gpus=1.0, batch=2.0, micro=1.0, tensor=1.0, pipeline=1.0, data=1.0, expert_tensor=1.0, precision="tf32"
    )
    two = (layer(relu=False), layer(inputs=128, relu=False))
    found = conv_step_parts(
        ConvRun(layers=two, plans=plans, speeds=at, system=run().system, gradient=4.0, bucket=25 * MIB)
    )
    first, second = (2 * 1024 * 128 * 9 * inputs / 1e12 for inputs in (64, 128))
    assert float(found["products"]) == pytest.approx(2 * (2 * first + 3 * second))
    assert float(found["kernels"]) == pytest.approx(2 * 5e-6)
    assert float(found["memory"]) == 0
    assert float(found["gradients"]) == 0
    assert float(found["optimizer"]) == pytest.approx(24 * 9 * 128 * 192 / 1e12)
    many = conv_step_parts(
        ConvRun(
            layers=(layer(inputs=128, count=3, relu=False),),
            plans=plans,
            speeds=at,
            system=run().system,
            gradient=4.0,
            bucket=25 * MIB,
        )
    )
    assert float(many["products"]) == pytest.approx(2 * 8 * second)


def test_buckets_are_whole_layers() -> None:
    """VGG16 from its end: fc3 and fc2, fc1, three layers of 9.4 MB, five of 9.4, 9.4, 4.7, 2.4 and 2.4, the rest."""
    found = _buckets(model_named("vgg16").convolutions, 4.0, 25 * MIB)
    assert [round(size / 1e6, 1) for size, _ in found] == [83.5, 411.1, 28.3, 28.3, 2.2]
    assert [position for _, position in found] == [14, 13, 10, 5, 0]
    assert sum(size for size, _ in found) == pytest.approx(gradient_bytes(model_named("vgg16").convolutions))
    assert _buckets([layer()], 4.0, 1e12) == [(4.0 * 73728, 0)]


def test_reductions_queue() -> None:
    """Ready at 1, 2 and 9 s, 3 s each: done at 4, 7 and 12."""
    assert _queue_end([1.0, 2.0, 9.0], [3.0, 3.0, 3.0]) == 12
    assert _queue_end([], []) == 0


def test_operations_of_an_image() -> None:
    """Three times forward, without the gradient of the image."""
    pair = [layer(), layer(inputs=128)]
    first, second = 2 * 64 * 128 * 9 * 1024, 2 * 128 * 128 * 9 * 1024
    assert image_flops(pair) == 2 * first + 3 * second
    assert image_flops([layer(count=4)]) == 11 * first


def test_parts_of_a_step() -> None:
    one, many = conv_step_parts(run()), conv_step_parts(run(batch=6400.0))
    assert min(float(value) for value in one.values()) >= 0
    for name in ("products", "memory", "kernels"):
        assert float(many[name]) == pytest.approx(4 * float(one[name]))
    for name in ("gradients", "optimizer"):
        assert float(many[name]) == pytest.approx(float(one[name]))
    assert float(one["optimizer"]) == pytest.approx(24 * 138.36e6 / run().speeds.stream, rel=1e-3)
    alone = conv_step_parts(run(overlap=frozenset()))
    assert float(alone["gradients"]) > float(one["gradients"])
    assert float(step_time(conv_step_parts(run(1.0)))) < float(step_time(one))
    assert float(conv_step_parts(run(1.0))["gradients"]) == 0


def test_memory_of_a_rank() -> None:
    """4 bytes each of weight, gradient, momentum and bucket; activations of 50 images at 4 bytes."""
    found = conv_memory(run(), 50.0)
    kept = 50 * _conv_kept_bytes(run().layers, 4.0)
    sizes = [found[name] for name in ("weights", "gradients", "optimizer", "working", "activations")]
    assert sizes == pytest.approx([553.4e6] * 4 + [kept], rel=1e-3)
    half = replace(run(), plans=replace(run().plans, precision="fp16"))
    assert conv_memory(half, 50.0)["weights"] == pytest.approx(6 * 138.36e6, rel=1e-3)
    need = float(sum(found.values()))
    check_memory(run(), need)
    with pytest.raises(RefusedError, match="take at most 49 images"):
        check_memory(run(), need - 1)


def test_a_plan_takes_its_batch_from_its_ranks() -> None:
    model = model_named("vgg16")
    plan = conv_plan(model, PlanFields(micro_batch=50), 32)
    assert (plan.batch, plan.micro_batch, plan.data, plan.zero) == (1600, 50, 32, 0)
    plan = conv_plan(model, PlanFields(batch=1600), 32)
    assert (plan.batch, plan.micro_batch) == (1600, 50)
    assert conv_plan(model, PlanFields(micro_batch=50, zero=0, tensor=1), 32).zero == 0
    with pytest.raises(RefusedError, match="data parallelism alone"):
        conv_plan(model, PlanFields(micro_batch=50, tensor=2), 32)
