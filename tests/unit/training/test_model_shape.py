"""Parameters and operations of models, against published counts."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.catalog.models import Model, Transformer
from ffplan.catalog.store import Catalog
from ffplan.training.conv_layers import _convolution_flops, _convolution_parameters
from ffplan.training.model_flops import (
    _attention_flops,
    _copied_weights,
    _layer_matrix_weights,
    _layer_weights,
    _moe_fraction,
    attention_out,
    attention_weights,
    attention_widths,
    feed_forward_weights,
    moe_layers,
    parameters,
    sequence_flops,
    shape_of,
)


def model(name: str) -> Model:
    part = Catalog().entry(name).part
    assert isinstance(part, Model)
    return part


def transformer(name: str) -> Transformer:
    found = model(name).transformer
    assert found is not None
    return found


def test_a_rank_holds_a_head_of_keys_and_values_at_least() -> None:
    """Llama 3 70B: 8 heads of 128 for keys and values; 32 ranks hold 32 of them, 2 x 8192 x 128 x 24 weights more."""
    shape = transformer("llama3-70b")
    assert [attention_widths(shape, t).key for t in (1, 8, 32)] == [1024, 1024, 4096]
    assert [_copied_weights(shape, t) for t in (1, 8, 32)] == [0, 0, 2 * 8192 * 128 * 24]
    assert _copied_weights(transformer("deepseek-v3"), 32) == 0


NAMES = Catalog().ids_of("model")
APART = {
    "gemma2-9b": 1e-4,  # two more norms a layer, which the dimensions leave out
    "gemma3-1b": 1e-4,
    "qwen2.5-7b": 1e-4,  # biases of queries, keys and values
    "gpt-j-6b": 1e-4,  # attention without biases
    "gpt3-350m": 0.017,  # the paper's own rounding of 355.9 mn
    "llama3-405b": 0.003,  # names that round 405.9, 315.7 and 15.6 bn down
    "grok1-314b": 0.006,
    "nemotron4-15b": 0.045,
}
"""Models whose published number differs in its first four digits, and by how much [1]."""


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_published(name: str) -> None:
    """They agree in as many digits as are published, up to four."""
    found = model(name)
    published = found.parameters.value
    shape = found.transformer
    counted = float(parameters(shape) if shape else sum(_convolution_parameters(layer) for layer in found.convolutions))
    digits = min(4, len(str(int(published)).rstrip("0"))) - 1
    same = f"{counted:.{digits}e}" == f"{published:.{digits}e}"
    assert same != (name in APART), (counted, published)
    assert same or counted == pytest.approx(published, rel=APART[name])
    if shape and found.active:
        assert parameters(shape, active=True) == pytest.approx(found.active.value, rel=0.02)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("gpt3-175b", 2.2046e15),
        ("llama3-8b", 4.744e14),
        ("llama3-70b", 3.944e15),
        ("llama3-405b", 2.151e16),
        ("nemotron4-15b", 3.850e14),
        ("nemotron4-340b", 8.621e15),
    ],
)
def test_operations_of_a_sequence(name: str, published: float) -> None:
    """NVIDIA/dgxc-benchmarking, with attention not halved."""
    shape = transformer(name)
    assert sequence_flops(shape, shape.sequence) == pytest.approx(published, rel=3e-4)


def test_grok_differs_from_its_recipe() -> None:
    """The recipe prints 4.27e15; its own dimensions give 3.8 % more."""
    shape = transformer("grok1-314b")
    assert sequence_flops(shape, 8192) / 4.27e15 == pytest.approx(1.038, abs=2e-3)


def test_conventions() -> None:
    """Megatron: 96 B s L h^2 (1 + s/6h + V/16Lh) with recomputation, 72 ... (1 + s/6h + V/12Lh) without."""
    shape = transformer("megatron-145.6b")
    layers, hidden, s, vocabulary = shape.layers, shape.hidden, 2048, shape.vocabulary
    full = 96 * s * layers * hidden**2 * (1 + s / (6 * hidden) + vocabulary / (16 * layers * hidden))
    plain = 72 * s * layers * hidden**2 * (1 + s / (6 * hidden) + vocabulary / (12 * layers * hidden))
    selective = 72 * s * layers * hidden**2 * (1 + s / (3 * hidden) * 2 / 3 + vocabulary / (12 * layers * hidden))
    assert sequence_flops(shape, s, recompute="full") == pytest.approx(full)
    assert sequence_flops(shape, s) == pytest.approx(plain)
    assert sequence_flops(shape, s, recompute="selective") == pytest.approx(selective)
    half = sequence_flops(shape, s) - sequence_flops(shape, s, causal=True)
    assert half == pytest.approx(3 * layers * _attention_flops(shape, s, causal=True))
    assert sequence_flops(shape, s) - sequence_flops(shape, s, head=False) == 6 * s * hidden * vocabulary


def test_layers_by_hand() -> None:
    shape = transformer("llama3-8b")
    assert (attention_widths(shape).query, attention_widths(shape).key) == (4096, 1024)
    assert attention_weights(shape) == 2 * 4096 * 4096 + 2 * 4096 * 1024
    assert feed_forward_weights(shape, 14336) == 3 * 4096 * 14336
    assert _layer_matrix_weights(shape) == attention_weights(shape) + feed_forward_weights(shape, 14336)
    assert _layer_weights(shape) == _layer_matrix_weights(shape) + 2 * 4096


def test_latent_attention_and_experts_by_hand() -> None:
    """DeepSeek-V3: 7168 x 1536 + 1536 x 24576 + 7168 x 576 + 512 x 32768 + 16384 x 7168."""
    shape = transformer("deepseek-v3")
    assert attention_weights(shape) == 7168 * 1536 + 1536 * 24576 + 7168 * 576 + 512 * 32768 + 16384 * 7168
    inner = 3 * 7168 * 2048
    assert _layer_weights(shape, dense=False) - _layer_weights(shape, active=True, dense=False) == 248 * inner


def test_convolutions() -> None:
    """15.47 GFLOP forward for VGG16 as multiply-adds, 4.1 for ResNet-50 v1.5."""
    totals = [sum(_convolution_flops(layer) for layer in model(name).convolutions) for name in ("vgg16", "resnet-50")]
    assert totals[0] / 2e9 == pytest.approx(15.47, rel=2e-3)
    assert totals[1] / 2e9 == pytest.approx(4.09, rel=1e-2)


def test_dimensions_may_be_replaced() -> None:
    """A wider model keeps the ratio of its feed-forward network and gets heads of another width."""
    base = model("megatron-1.7b").transformer
    assert base is not None
    wide = shape_of(base, hidden=4608, heads=36, layers=np.array([12, 24]))
    assert (wide.ffn, wide.head_width, wide.key_value_heads) == (4 * 4608, 128, 36)
    sizes = np.asarray(parameters(wide)).tolist()
    assert sizes == sorted(sizes)


def test_layers_with_experts() -> None:
    """DeepSeek-V3: 58 of 61; Llama 4 Maverick: every second. Later stages have them throughout, the first has fewer."""
    deep, llama = transformer("deepseek-v3"), transformer("llama4-maverick")
    assert (moe_layers(deep), moe_layers(llama)) == (58, 24)
    assert _moe_fraction(deep, 1, 61) == pytest.approx(58 / 61)
    assert _moe_fraction(deep, 16, 4) == 1.0
    assert _moe_fraction(deep, 16, 4, 0) == pytest.approx(1 / 4)
    assert [float(_moe_fraction(deep, 31, 2, 2 * stage)) for stage in range(3)] == [0, 0.5, 1]
    assert (_moe_fraction(llama, 2, 24), _moe_fraction(llama, 48, 1)) == (0.5, 1)
    assert _moe_fraction(transformer("gpt3-175b"), 4, 24) == 0.0
    assert attention_out(deep) == 128 * 128
