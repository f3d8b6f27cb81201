"""Bytes of weights and of keys and values, against published figures and by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.models import Model, Transformer, Window
from ffplan.catalog.store import Catalog
from ffplan.serving.memory import (
    _cache_room,
    _paged_tokens,
    _touched_experts,
    cache_bytes,
    cache_share,
    cached_tokens,
    dense_bytes,
    expert_bytes,
    model_weights,
    weight_memory,
)
from ffplan.serving.plan import WIDTHS, _Deployment

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.serving.step import Served


def shape_of(name: str) -> Transformer:
    model = Catalog().entry(name).part
    assert isinstance(model, Model)
    assert model.transformer is not None
    return model.transformer


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("codellama-7b", 524_288),
        ("codellama-34b", 196_608),
        ("gpt-j-6b", 458_752),
        ("mistral-7b", 131_072),
        ("mixtral-8x7b", 131_072),
        ("llama3.1-70b", 327_680),
        ("llama3.1-405b", 516_096),
        ("falcon-180b", 163_840),
        ("qwen3-32b", 262_144),
        ("qwen3-235b-a22b", 192_512),
        ("qwen3-30b-a3b", 98_304),
        ("deepseek-r1", 70_272),
    ],
)
def test_a_token_takes_the_bytes_of_its_model(model: str, expected: int) -> None:
    # two of heads x width x layers at 16 bit; of latent attention 576 elements a layer
    assert cache_bytes(shape_of(model), 2.0) == expected


def test_hydragen_s_batches_fill_the_memory_that_the_review_names() -> None:
    token = cache_bytes(shape_of("codellama-7b"), 2.0)
    assert 256 * (1024 + 128) * token == pytest.approx(155e9, rel=0.003)
    assert 512 * (1024 + 128) * token == pytest.approx(309e9, rel=0.001)
    # with one prefix for all 2,048
    assert (1024 + 2048 * 128) * token == pytest.approx(138e9, rel=0.001)
    weights = model_weights(shape_of("codellama-7b"))
    assert weight_memory(weights, _Deployment()) == pytest.approx(13.5e9, rel=0.003)
    # eight cards of 40 GB hold batch 256, and no batch of 512
    cards = 8 * 40 * 2.0**30 * 0.9 - 13.5e9
    assert 256 * 1152 * token < cards < 512 * 1152 * token


def test_weights_add_up_to_the_published_parameters() -> None:
    for name, published in (("llama3.1-70b", 70.55e9), ("deepseek-r1", 671e9), ("gpt-oss-120b", 116.8e9)):
        weights = model_weights(shape_of(name))
        experts = weights.routed * weights.expert * weights.expert_layers
        total = weights.attention + weights.dense + experts + weights.router + weights.head + weights.embedding
        assert total == pytest.approx(published, rel=0.001), name


def test_experts_touched_by_a_batch() -> None:
    # DeepSeek-V3: 64 % of 256 at 32 tokens, 98 % at 128
    assert _touched_experts(256, 8, 32) / 256 == pytest.approx(0.64, abs=0.005)
    assert _touched_experts(256, 8, 128) / 256 == pytest.approx(0.98, abs=0.005)
    assert _touched_experts(8, 2, 1) == pytest.approx(2)


def test_scales_of_quantised_weights() -> None:
    assert WIDTHS["int4"] == pytest.approx(0.53125)
    assert WIDTHS["mxfp4"] == pytest.approx(0.53125)
    assert WIDTHS["fp4"] == pytest.approx(0.5625)


def test_tensor_parallelism_splits_dense_weights_and_copies_the_router(served: Callable[..., Served]) -> None:
    whole, split = served(tensor=1), served(tensor=4)
    assert dense_bytes(split.weights, split.deployment) == pytest.approx(
        dense_bytes(whole.weights, whole.deployment) / 4
    )
    experts = served("qwen3-30b-a3b", tensor=2)
    router = experts.weights.router * 2
    one = dense_bytes(experts.weights, served("qwen3-30b-a3b", tensor=1).deployment)
    assert dense_bytes(experts.weights, experts.deployment) == pytest.approx((one - router) / 2 + router)


def test_attention_groups_share_experts(served: Callable[..., Served]) -> None:
    # 8 groups of 16 sequences touch the experts of 128, an eighth of them on each accelerator
    shared = served("deepseek-r1", tensor=1, data=8, expert=8)
    alone = served("deepseek-r1", tensor=8)
    assert expert_bytes(shared.weights, shared.deployment, 16) == pytest.approx(
        expert_bytes(alone.weights, alone.deployment, 128)
    )


def test_ranks_beyond_the_heads_hold_copies() -> None:
    shape = shape_of("llama3.1-70b")
    assert [cache_share(shape, ways) for ways in (1, 4, 8, 16)] == [1, 0.25, 0.125, 0.125]
    assert cache_share(shape_of("deepseek-r1"), 8) == 1


def test_layers_with_a_window_keep_its_tokens() -> None:
    shape = shape_of("gpt-oss-120b")
    assert shape.window == Window(layers=18, tokens=128)
    assert cached_tokens(shape, 8192) == pytest.approx((8192 + 128) / 2)
    assert cached_tokens(shape, 100) == 100
    assert cached_tokens(shape_of("llama3.1-8b"), 8192) == 8192


def test_room_and_pages() -> None:
    assert _cache_room(80e9, 0.9, 60e9, 4e9) == pytest.approx(8e9)
    assert _cache_room(80e9, 0.9, 75e9, 4e9) == 0
    assert _paged_tokens(100, 17) == 108
