"""What a layer costs, worked by hand: tiles, operations, bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.training.accelerator_rates import AcceleratorRates
from ffplan.training.axes import ParallelPlans
from ffplan.training.gemm import (
    _accumulation_bytes,
    _around_attention,
    _feed_forward,
    _matrix_time,
    both_ways,
    gemm_time,
)
from ffplan.training.layer import _dense_layer, _expert_rows, _output_layer, attention_time, expert_layer
from ffplan.training.memory_traffic import _activation_numbers, _eager_bytes, _routed_bytes, _score_bytes, moved_bytes
from tests.support import shape_named

FAST = 1e40


def speeds(**more: float) -> AcceleratorRates:
    """Rates at which nothing takes time, but what is given."""
    base = AcceleratorRates(
        products=FAST,
        attention=FAST,
        plain=FAST,
        memory=FAST,
        stream=FAST,
        units=1.0,
        kernel=0.0,
        launch=0.0,
        launch_parallel=0.0,
        launch_step=0.0,
        peak=1e15,
    )
    return replace(base, **more)  # type: ignore[arg-type]


def plans(**more: object) -> ParallelPlans:
    base = ParallelPlans(gpus=8.0, batch=8.0, micro=1.0, tensor=1.0, pipeline=1.0, data=8.0, expert_tensor=1.0)
    return replace(base, **more)  # type: ignore[arg-type]


def test_tiles_of_a_matrix_product() -> None:
    """1,024 x 1,024: 64 tiles on 108 multiprocessors leave 44 idle; 2,048 x 13,824 are 16 x 108 tiles: 16 waves."""
    at = speeds(products=1e12, units=108)
    assert _matrix_time(1024, 1024, 1000, at) == pytest.approx(2 * 1024**2 * 1000 / 1e12 * 108 / 64)
    assert _matrix_time(2048, 13824, 10, at) == pytest.approx(2 * 2048 * 13824 * 10 / 1e12)
    assert _matrix_time(2048, 13824, 10, at, rate=2e12) == pytest.approx(2048 * 13824 * 10 / 1e12)
    assert _matrix_time(1, 128, 10, at) == _matrix_time(128, 128 * 108, 10, at)


def test_more_rows_never_take_less() -> None:
    at = speeds(products=1e12, units=132)
    times = [_matrix_time(rows, 8192, 8192, at) for rows in range(1, 2000, 7)]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("how", "gradient", "count", "zero", "moved"),
    [
        ("fused", 4.0, 8.0, 1.0, 8.0),  # the GEMM reads 4 and writes 4
        ("fused", 2.0, 8.0, 1.0, 4.0),
        ("added", 4.0, 1.0, 1.0, 8.0),  # writes 2; a copy reads 2 and writes 4
        ("added", 4.0, 2.0, 1.0, 10.0),  # the second writes 2; a kernel reads 2 and 4 and writes 4
        ("added", 4.0, 8.0, 1.0, 11.5),
        ("added", 2.0, 8.0, 0.0, 7.75),
        ("added", 4.0, 8.0, 2.0, 8.0),
        ("added", 2.0, 8.0, 3.0, 6.0),
        ("cast", 4.0, 8.0, 1.0, 20.0),  # writes 2; a cast reads 2 and writes 4; a sum reads 8 and writes 4
        ("cast", 4.0, 1.0, 0.0, 20.0),
    ],
)
def test_bytes_of_adding_up_gradients(how: str, gradient: float, count: float, zero: float, moved: float) -> None:
    made = plans(gpus=1.0, data=1.0, batch=count, gradient_bytes=gradient, zero=zero)
    assert float(np.asarray(_accumulation_bytes(how, made))) == moved


def test_the_gemm_of_weights_takes_longer_by_what_adding_moves() -> None:
    """512 x 1,024 weights: 12 bytes more of each stream at 1 TB/s."""
    item, at = plans(gpus=1.0, data=1.0, gradient_bytes=4.0), speeds(products=1e12, stream=1e12)
    plain, slow = (both_ways(256, 512, 1024, replace(at, accumulation=how), item) for how in ("fused", "cast"))
    assert slow[0] == plain[0]
    assert slow[1] - plain[1] == pytest.approx(12 * 512 * 1024 / 1e12)


def test_products_that_run_together() -> None:
    """Four experts of 100 rows: each fills a tile of 128 rows, 4 x 8 tiles on 32 multiprocessors are one wave."""
    at = speeds(products=1e12, units=32)
    assert _matrix_time(100, 1024, 10, at, 4) == pytest.approx(2 * 4 * 128 * 1024 * 10 / 1e12)


def test_a_gemm_reads_while_it_computes_and_writes_afterwards() -> None:
    """2 x 1,024^2 x 1,000 operations in 2.1 ms; operands are read in 1 ms, or in 3; a result is written in 0.5."""
    at = speeds(products=1e12, stream=1e9)
    operations = 2 * 1024**2 * 1000 / 1e12
    assert gemm_time(1024, 1024, 1000, at, read=1e6, written=5e5) == pytest.approx(operations + 5e-4)
    assert gemm_time(1024, 1024, 1000, at, read=3e6, written=5e5) == pytest.approx(3e-3 + 5e-4)
    assert gemm_time(1024, 1024, 1000, at, read=0, written=0, count=3, rate=2e12) == pytest.approx(1.5 * operations)


def test_backward_takes_two_products() -> None:
    """256 x 512 over 1,024 forward; 256 x 1,024 over 512 and 512 x 1,024 over 256 backward: as many each."""
    ahead, behind = both_ways(256, 512, 1024, speeds(products=1e12), plans())
    assert ahead == pytest.approx(2 * 256 * 512 * 1024 / 1e12)
    assert behind == pytest.approx(2 * ahead)


def test_few_rows_wait_for_the_weights() -> None:
    """One row: 2 bytes of each weight forward and for inputs, 8 where gradients of 4 bytes are added up."""
    at, four = speeds(stream=1e12), plans(gradient_bytes=4.0)
    ahead, behind = both_ways(1, 4096, 4096, at, four)
    ends = 2 * 2 * 4096
    assert ahead == pytest.approx((2 * 4096**2 + ends) / 1e12)
    assert behind == pytest.approx(((2 + 8) * 4096**2 + 2 * ends) / 1e12)


def test_results_are_written_after_the_operations() -> None:
    """openxla/xla, H100: 4,096 x 4,096 by a depth of 256 takes 21.5 us, by 4,096 takes 176; 11 us are the result.

    DeepGEMM, H800 at FP8: 4,096 x 7,168 by 2,048 reaches 1,168 TFLOP/s where 4,096 x 7,168 by 16,384 has 1,426.
    """
    at = speeds(products=835e12, units=132, stream=3e12)
    for depth, measured in ((256, 399), (512, 552), (1024, 685), (2048, 736), (4096, 780)):
        flops = 2 * 4096 * 4096 * depth
        found = flops / both_ways(4096, 4096, depth, at, plans())[0] / 1e12
        assert found == pytest.approx(measured, rel=0.07)
    fp8 = speeds(products=1500e12, units=132, stream=3e12)
    for depth, columns, measured in ((2048, 7168, 1168), (16384, 7168, 1426), (1536, 24576, 1125), (512, 32768, 751)):
        flops = 2 * 4096 * columns * depth
        found = flops / both_ways(4096, columns, depth, fp8, plans(precision="fp8"))[0] / 1e12
        assert found == pytest.approx(measured, rel=0.08)


def test_products_around_attention() -> None:
    """Llama 3 8B on two ranks: 4,096 x (4,096 + 2 x 1,024) / 2 and back; DeepSeek-V3 with its latents."""
    assert _around_attention(shape_named("llama3-8b"), 2) == ((3072, 4096, False), (4096, 2048, False))
    found = _around_attention(shape_named("deepseek-v3"), 2)
    into = ((1536, 7168, True), (12288, 1536, False), (576, 7168, True), (16384, 512, False))
    assert found == (*into, (7168, 8192, False))


def test_products_of_the_feed_forward_network() -> None:
    assert _feed_forward(shape_named("llama3-8b"), 14336, 2) == ((14336, 4096), (4096, 7168))
    assert _feed_forward(shape_named("gpt3-175b"), 49152, 8) == ((6144, 12288), (12288, 6144))


def test_attention() -> None:
    """4 b s^2 h operations, half of them under a causal mask; 11 bytes of each unfused score."""
    shape = shape_named("gpt3-175b")
    whole = 4 * 2 * 2048**2 * 12288
    found = attention_time(shape, plans(micro=2.0), speeds(attention=1e15))
    assert found == pytest.approx((whole / 2e15, 2.5 * whole / 2e15, 0))
    assert attention_time(shape, plans(micro=2.0, causal_skip=False), speeds(attention=1e15))[0] == pytest.approx(
        whole / 1e15
    )
    unfused = plans(micro=2.0, tensor=8.0, fused_attention=False)
    found = attention_time(shape, unfused, speeds(plain=1e15, memory=1e12))
    assert found == pytest.approx((whole / 8e15, whole / 4e15, 11 * 2 * 96 * 2048**2 / 8e12))
    assert attention_time(shape, replace(unfused, context=2.0), speeds(plain=1e15))[0] == pytest.approx(whole / 16e15)


def test_unfused_scores() -> None:
    """Written, softmax, dropout with its mask; on their own also scaled and masked."""
    assert (_score_bytes(plans()), _score_bytes(plans(), back=True)) == (11, 13)
    assert (_score_bytes(plans(eager=True)), _score_bytes(plans(eager=True), back=True)) == (19, 21)
    assert _score_bytes(plans(precision="tf32")) == 21


def test_bytes_moved() -> None:
    """GPT at 16 bits: 2 (10 + 3 + 3 + 1 + 1 + 8) h forward, 2 (12 + 4 + 4 + 2 + 2 + 12) h backward."""
    shape = shape_named("gpt3-175b")
    h = 12288
    assert moved_bytes(shape, 4 * h, plans()) == pytest.approx(52 * h)
    assert moved_bytes(shape, 4 * h, plans(), back=True) == pytest.approx(72 * h)
    assert moved_bytes(shape, 4 * h, plans(tensor=2.0)) == pytest.approx((20 + 16) * h)
    assert moved_bytes(shape, 4 * h, plans(tensor=2.0, sequence_parallel=1.0)) == pytest.approx(26 * h)
    assert moved_bytes(shape, 4 * h, plans(precision="fp8")) == pytest.approx((52 + 4) * h)
    assert moved_bytes(shape, 4 * h, plans(precision="fp8"), back=True) == pytest.approx((72 + 4 * (2 + 3)) * h)
    assert moved_bytes(shape, 4 * h, plans(precision="tf32")) == pytest.approx(104 * h)


def test_bytes_of_single_operations() -> None:
    """GPT at 16 bits: norms 8 h, dropouts 10, additions 12, attention 8, GELU 144; backward 20 + 10 + 4 + 12 + 16,
    14 for gradients of biases and 224. Llama 3 8B: norms at 32 bits, rotary positions, a gate.
    """
    shape = shape_named("megatron-1.7b")
    h, one = shape.hidden, plans(eager=True)
    assert _eager_bytes(shape, 4 * h, one) == pytest.approx(182 * h)
    assert _eager_bytes(shape, 4 * h, one, back=True) == pytest.approx(300 * h)
    assert moved_bytes(shape, 4 * h, one) == _eager_bytes(shape, 4 * h, one)
    assert _activation_numbers(shape, one) == (18, 28)
    llama = shape_named("llama3-8b")
    around, attended, f = 4096 + 1024, 4096 + 1024 + 1024 + 4096, 14336
    forward = 84 * 4096 + 20 * around + 2 * attended + 10 * f
    assert _eager_bytes(llama, f, one) == pytest.approx(forward)
    backward = (2 * (12 + 68 + 12) + 12 + 18) * 4096 + 20 * around + 4 * attended + 18 * f
    assert _eager_bytes(llama, f, one, back=True) == pytest.approx(backward)
    wide = plans(eager=True, precision="tf32")
    assert _eager_bytes(llama, f, wide) == pytest.approx((56 + 24) * 4096 + 8 * around + 4 * attended + 20 * f)
    split = plans(eager=True, tensor=2.0, sequence_parallel=1.0)
    assert _eager_bytes(llama, f, split) == pytest.approx(forward / 2)
    at, scores = speeds(memory=1e12, stream=2e12), 8192 * 128256
    assert _output_layer(llama, plans(), at).moved == pytest.approx(14 * scores / 1e12)
    assert _output_layer(llama, one, at).moved == pytest.approx(36 * scores / 2e12)
    assert _output_layer(llama, wide, at).moved == pytest.approx(24 * scores / 2e12)


def test_single_operations_stream() -> None:
    """One kernel for every operation reaches the rate of streams; fewer kernels that of element-wise kernels."""
    shape, at = shape_named("megatron-1.7b"), speeds(memory=1e12, stream=2e12)
    for eager, rate in ((False, 1e12), (True, 2e12)):
        plan = plans(eager=eager)
        layer = _dense_layer(shape, plan, at)
        for moved, back in ((layer.moved, False), (layer.back, True)):
            expected = plan.tokens(shape.sequence) * moved_bytes(shape, shape.ffn, plan, back=back) / rate
            assert moved == pytest.approx(expected)


def test_single_operations_as_pytorch_dispatches_them() -> None:
    """A block of Llama 3 8B without attention, counted with PyTorch's dispatcher on a CPU: 1,240,656 bytes a token
    backward.
    """
    llama, one = shape_named("llama3-8b"), plans(eager=True)
    attention = 2 * 2 * (4096 + 1024 + 1024 + 4096)
    assert _eager_bytes(llama, 14336, one, back=True) - attention == pytest.approx(1_240_656, rel=0.01)


def test_a_dense_layer() -> None:
    """Twelve h^2 weights, two operations each; four kernels."""
    shape = shape_named("gpt3-175b")
    found = _dense_layer(shape, plans(), speeds(products=1e15, kernel=1e-5))
    assert found.products == pytest.approx(2 * 2048 * 12 * 12288**2 / 1e15)
    assert found.products_back == pytest.approx(2 * found.products)
    assert found.kernels == pytest.approx(4e-5)
    assert _dense_layer(shape, plans(context=2.0), speeds(products=1e15)).products == pytest.approx(found.products / 2)


def test_a_layer_with_experts() -> None:
    """DeepSeek-V3 over 64 ranks: 4,096 x 8 routed tokens for 4 experts, 8,192 each, 64 full tiles of rows."""
    shape = shape_named("deepseek-v3")
    wide = plans(expert=64.0, gpus=64.0, data=64.0)
    assert _expert_rows(shape, wide) == 4096 * 8
    assert _expert_rows(shape, plans(tensor=2.0, expert_tensor=1.0)) == 4096 * 4
    found = expert_layer(shape, wide, speeds(products=1e15))
    attention = sum(columns * inner for columns, inner, _ in _around_attention(shape, 1))
    weights = attention + 64 * 7168  # the latent's 576 columns fill half of their fifth tile
    weights += 7168 * 256 + 3 * 7168 * 2048 * (8 + 1)
    assert found.products == pytest.approx(2 * 4096 * weights / 1e15)
    kernels = expert_layer(shape, wide, speeds(kernel=1e-5)).kernels
    assert kernels == pytest.approx((5 + 1 + 2 + 2 + 9) * 1e-5)
    assert _expert_rows(shape, plans(imbalance=1.5)) == 1.5 * 4096 * 8


def test_bytes_of_sorting_tokens_for_experts() -> None:
    """DeepSeek-V3, h 7,168, gated experts of 2,048: R routed tokens, T at home.

    All-to-all: home writes copies (R + T), arrival sorts (2 R) and sorts back (2 R), home sums (R + T). Delivered by
    rank, only arrival sorts. One rank with all experts copies and sums.
    """
    shape, h, f, t, r = shape_named("deepseek-v3"), 7168, 2048, 4096, 4096 * 8
    spread = plans(expert=64.0, gpus=64.0, data=64.0)
    assert _routed_bytes(shape, spread, r, dispatcher="alltoall") == pytest.approx(
        2 * ((6 * r + 2 * t) * h + 3 * r * f)
    )
    assert _routed_bytes(shape, spread, r, dispatcher="deepep") == pytest.approx(2 * (4 * r * h + 3 * r * f))
    assert _routed_bytes(shape, spread, r, dispatcher="deepep", back=True) == pytest.approx(2 * (4 * r * h + 5 * r * f))
    for name in ("alltoall", "allgather", "deepep"):
        one = _routed_bytes(shape, plans(), r, dispatcher=name)
        assert one == pytest.approx(2 * ((2 * r + 2 * t) * h + 3 * r * f))
    halved = _routed_bytes(shape, replace(spread, tensor=2.0, expert_tensor=2.0), r, dispatcher="alltoall")
    assert halved == pytest.approx(2 * ((6 * r + t) * h + 1.5 * r * f))
    gathered = _routed_bytes(shape, spread, r, dispatcher="allgather")
    assert gathered == pytest.approx(2 * ((2 * r + 2 * 64 * t) * h + 3 * r * f))
    split = replace(spread, tensor=2.0, expert_tensor=2.0)
    back = _routed_bytes(shape, split, r, dispatcher="allgather", back=True)
    assert back == pytest.approx(2 * ((2 * r + 2 * 64 * t) * h + 5 * r * f / 2))


def test_bytes_of_casting_operands_of_experts() -> None:
    """At FP8 a number is read at 16 bits and written twice: tokens and activations; backward gradients of both.

    Tokens at 16 bits are copied into rows that are filled up to 16, and out again: read and written twice.
    """
    shape, h, f, t, r = shape_named("deepseek-v3"), 7168, 2048, 4096, 4096 * 8
    spread = plans(expert=64.0, gpus=64.0, data=64.0)
    eight = replace(spread, precision="fp8")

    def more(found: ParallelPlans, *, back: bool) -> float:
        at_16 = replace(found, precision="bf16")
        both = [float(_routed_bytes(shape, item, r, dispatcher="deepep", back=back)) for item in (found, at_16)]
        return both[0] - both[1]

    assert more(eight, back=False) == pytest.approx(4 * r * (h + f) + 2 * 4 * r * h)
    assert more(eight, back=True) == pytest.approx(4 * r * (h + 2 * f) + 2 * 4 * r * h)
    assert more(replace(eight, dispatch_bytes=1.0), back=False) == pytest.approx(4 * (t * h + r * f))


def test_a_layer_with_experts_moves_what_its_dispatcher_sorts() -> None:
    """The stack's dispatcher counts where the plan names none; all-to-all moves 2 (2 R + 2 T) h bytes more each way."""
    shape, h, more = shape_named("deepseek-v3"), 7168, 2 * (2 * 4096 * 8 + 2 * 4096)
    spread, at = plans(expert=64.0, gpus=64.0, data=64.0), speeds(memory=1e12)
    plain, once = (expert_layer(shape, spread, replace(at, dispatcher=name)) for name in ("alltoall", "hybrid"))
    assert plain.moved - once.moved == pytest.approx(more * h / 1e12)
    assert plain.back - once.back == pytest.approx(more * h / 1e12)
    named = expert_layer(shape, replace(spread, dispatcher="deepep"), replace(at, dispatcher="alltoall"))
    assert named.moved == once.moved


def test_the_output_layer() -> None:
    """Three products over the vocabulary, and 14 bytes for each score."""
    shape = shape_named("gpt3-175b")
    found = _output_layer(shape, plans(), speeds(plain=1e15))
    assert found.products == pytest.approx(6 * 2048 * 51200 * 12288 / 1e15)
    assert _output_layer(shape, plans(), speeds(memory=1e12)).moved == pytest.approx(14 * 2048 * 51200 / 1e12)
