"""Convolutional networks under data parallelism: a layer's time and bytes, buckets of gradients, the queue they form.

Every layer is a GEMM: pixels of all images x channels out over channels in and kernel. Functions take
floats and arrays of images.

Sources:
    [1] An et al., arXiv 2408.14158, section V-A: gradients are reduced while the backward pass still runs.
    [2] Li et al., "PyTorch Distributed", VLDB 2020, arXiv 2006.15704 (buckets of whole tensors, last layers first).
    [3] Chetlur et al., "cuDNN", arXiv 1410.0759 (convolutions as GEMMs whose inputs are read once).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div, maximum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.models import Convolution
    from ffplan.training.accelerator_rates import AcceleratorRates

SGD_BYTES, CAST_BYTES = 16.0, 6.0
"""Bytes that SGD with momentum moves for a parameter beyond its gradient, weight and momentum read and written; and
that a copy of 16 bits takes for every pass."""
INDEX = 8.0
"""Bytes of the position that a pooling keeps for each number."""
TALL, WIDE = 128, 64
"""Rows and columns of a tile."""
NORM, RECTIFY, ADD, BIAS = (3.0, 5.0), (2.0, 3.0), (3.0, 3.0), (2.0, 1.0)
"""Numbers that a batch norm, a rectifier, an addition and a bias move for each number out, forward and backward. A norm
reads twice and writes once; backward it reads gradient and input twice. A rectifier's backward pass reads gradient and
result. A bias is added in place behind cuDNN's convolution; its gradient is a sum over the gradient of the output."""


def _convolution_parameters(layer: Convolution) -> int:
    """Return the parameters of convolutions of one kind.

    Returns:
        Parameters of all of them [1].

    Equation:
        count x (in x out x kernel^2 + bias + 2 for a norm, for each channel out)

    Source:
        Definition.
    """
    small = layer.outputs * ((1 if layer.bias else 0) + (2 if layer.norm else 0))
    return layer.count * (layer.inputs * layer.outputs * layer.kernel**2 + small)


def _convolution_flops(layer: Convolution) -> int:
    """Return the operations of convolutions of one kind for one image, forward.

    Returns:
        Operations of all of them [FLOP].

    Equation:
        2 x count x in x out x kernel^2 x size^2

    Source:
        Definition: a multiply-add counts two.
    """
    return 2 * layer.count * layer.inputs * layer.outputs * layer.kernel**2 * layer.size**2


def image_flops(layers: Sequence[Convolution]) -> float:
    """Return the operations of one image, forward and backward [FLOP].

    Equation:
        3 x forward, less the gradient of the first layer's input

    Source:
        Backpropagation: equal operations for inputs and for weights; the image needs no gradient.
    """
    forward = sum(_convolution_flops(layer) for layer in layers)
    # the layers of one kind count together: only the first of them meets the image
    return float(3 * forward - _convolution_flops(layers[0]) / layers[0].count)


def gradient_bytes(layers: Sequence[Convolution], width: float = 4.0) -> float:
    """Return the bytes of all gradients [byte].

    Args:
        width: bytes of a gradient [byte].

    Equation:
        parameters x bytes

    Source:
        Definition.
    """
    return width * float(sum(_convolution_parameters(layer) for layer in layers))


def _convolution_times(
    layer: Convolution, images: Number, rates: AcceleratorRates, width: float
) -> tuple[Number, Number, Number]:
    """Return the times of convolutions of one kind: forward, backward for inputs, and for weights.

    Args:
        layer: the convolutions: C channels in, N out, kernel k, size s.
        images: images of a pass b [1].
        width: bytes of a number w [byte].

    Returns:
        Times of one of them [s].

    Equation:
        M x N over C k^2, M x C over N k^2 and N x C k^2 over M with M = b s^2, rows and columns filled up to tiles of
        128 x 64; each no less than w (M (C + N) + C N k^2) bytes take

    Source:
        [3]: with few tiles, the inner dimension is split over multiprocessors; an input counts as large as
        the output, which strides make wrong.
    """
    rows, square = images * layer.size**2, layer.kernel**2
    weights = square * layer.inputs * layer.outputs
    least = width * (rows * (layer.inputs + layer.outputs) + weights) / rates.stream

    def product(height: Number, columns: Number, inner: Number) -> Number:
        # tiles alone, no waves: with few tiles the inner dimension is split over multiprocessors
        filled = TALL * ceil_div(height, TALL) * WIDE * ceil_div(columns, WIDE)
        return maximum(2.0 * filled * inner / rates.products, least)

    ahead = product(rows, layer.outputs, square * layer.inputs)
    inputs = product(rows, layer.inputs, square * layer.outputs)
    # gradients of weights sum over all positions of all images
    return ahead, inputs, product(layer.outputs, square * layer.inputs, rows)


def _behind_bytes(layer: Convolution, width: float) -> tuple[float, float]:
    """Return the bytes that the operations after a convolution move for each output number, forward and backward
    [byte].

    Args:
        layer: the convolution: with rectifier, batch norm, addition, bias, a pooling of p x p, or without.
        width: bytes of a number w [byte].

    Equation:
        w times: rectifier 2 and 3; norm 3 and 5; addition 3 and 3; bias 2 and 1, within the product of fully connected
        layers; pooling w + (w + 8) / p^2 each way

    Source:
        Counting the reads and writes of each; no operation is fused. A pooling keeps 8 bytes for each position.
    """
    present = ((layer.relu, RECTIFY), (layer.norm, NORM), (layer.add, ADD), (layer.bias and layer.size > 1, BIAS))
    ahead, behind = (width * sum(here * numbers[way] for here, numbers in present) for way in range(2))
    pooled = (layer.pool > 1) / layer.count * (width + (width + INDEX) / layer.pool**2)  # behind the last of its kind
    return ahead + pooled, behind + pooled


def _conv_kept_bytes(layers: Sequence[Convolution], width: float) -> float:
    """Return the bytes that a network keeps of an image for the backward pass [byte].

    Args:
        width: bytes of a number w [byte].

    Equation:
        w (image + sum of count x outputs x size^2), twice with a norm, and w + 8 for each number that poolings leave

    Source:
        Every convolution keeps its input, a norm its own, a pooling positions of 8 bytes; rectifiers work in place. The
        image counts at the size of the first output.
    """
    total = width * layers[0].inputs * layers[0].size ** 2
    for layer in layers:
        out = layer.outputs * layer.size**2
        total += width * layer.count * out * (2 if layer.norm else 1)
        total += (layer.pool > 1) * (width + INDEX) * out / layer.pool**2
    return total


def _buckets(layers: Sequence[Convolution], width: float, least: float) -> list[tuple[float, int]]:
    """Return the reduction buckets of gradients, in the order of filling.

    Args:
        width: bytes of a gradient [byte].
        least: size from which a bucket is full [byte].

    Returns:
        Bytes of each bucket, and the layers behind whose backward pass it is full, counted one by one from the first
        layer of the network.

    Equation:
        from the last layer on, whole layers until `least` is reached

    Source:
        [2], section 3.2.3, takes 25 MiB by default; that PyTorch's first bucket is full from 1 MiB on
        is left out.
    """
    filled: list[tuple[float, int]] = []
    held, position = 0.0, sum(layer.count for layer in layers)
    for layer in reversed(layers):
        for _ in range(layer.count):
            position -= 1
            # one by one: a bucket may fill within layers of one kind
            held += width * _convolution_parameters(layer) / layer.count
            if held >= least or position == 0:
                filled.append((held, position))
                held = 0.0
    return filled


def _queue_end(ready: Sequence[Number], times: Sequence[Number]) -> Number:
    """Return the end of the last of several collectives in sequence [s].

    Args:
        ready: when each can begin, in order [s].
        times: how long each takes [s].

    Equation:
        end = max(end before, ready) + time

    Source:
        [2]: buckets are reduced in order on one queue.
    """
    end: Number = 0.0
    for begin, time in zip(ready, times, strict=True):
        end = maximum(end, begin) + time
    return end
