"""Time of a training step of a dense transformer: matrix products, memory, launches, collectives, pipeline.

Every function takes floats and arrays. A stage of the pipeline computes or waits for its host to launch, whichever
takes longer; collectives of tensor parallelism come from the collectives' model, as does the reduction of gradients.

Sources:
    [1] Narayanan et al., arXiv 2104.04473 (schedules, communication of tensor and pipeline parallelism).
    [2] Korthikanti et al., arXiv 2205.05198 (what a layer reads and keeps).
"""

from __future__ import annotations

from typing import Any

from ffplan.elementwise import ceil_div, maximum

TILE = 128
"""Rows and columns of the tile that one multiprocessor computes at a time."""
HALF = 2.0
"""Bytes of a number at 16 bits [byte]."""


def matrix_time(rows: Any, columns: Any, inner: Any, flops: Any, units: Any, kernel: Any) -> Any:
    """Return the time of a matrix product.

    Args:
        rows: rows of the result, the tokens of a micro-batch M [1].
        columns: columns of the result N [1].
        inner: inner dimension K [1].
        flops: rate of large products [FLOP/s].
        units: multiprocessors u [1].
        kernel: time beyond the operations [s].

    Returns:
        Time [s].

    Equation:
        2 M N K / rate x ceil(T / u) u / T + kernel, with T = ceil(M / 128) ceil(N / 128) tiles

    Source:
        Wave quantisation: NVIDIA, Matrix Multiplication Background User's Guide; 128 x 128 is its usual tile.
    """
    tiles = ceil_div(rows, TILE) * ceil_div(columns, TILE)
    waves = ceil_div(tiles, units) * units / tiles
    return 2.0 * rows * columns * inner / flops * waves + kernel


def layer_forward(
    micro: Any, sequence: Any, hidden: Any, heads: Any, ffn: Any, ways: Any, flops: Any, gbyte_s: Any, units: Any,
    kernel: Any,
) -> Any:  # fmt: skip
    """Return the time in which a GPU computes one GPT layer forward.

    Args:
        micro: sequences of a micro-batch b [1].
        sequence: length s [1].
        hidden: width h [1].
        heads: attention heads a [1].
        ffn: inner width of the feed-forward network f [1].
        ways: tensor parallelism t [1].
        flops: rate of large matrix products [FLOP/s].
        gbyte_s: rate of element-wise operations [GB/s].
        units: multiprocessors [1].
        kernel: time of a product beyond its operations [s].

    Returns:
        Time [s].

    Equation:
        four products (h x 3h/t, h/t x h, h x f/t, f/t x h) + 4 b s^2 h / t / rate
        + (11 b a s^2 / t + 1.3 s b h (10 + 24 / t)) / memory

    Source:
        [1] for the products. Unfused attention reads and writes its scores, of 2 bytes, 5.5 times (scale, mask,
        softmax, dropout, product); the rest reads and writes 1.3 times what [2] says a layer keeps.
    """
    tokens = micro * sequence
    shapes = ((3 * hidden / ways, hidden), (hidden, hidden / ways), (ffn / ways, hidden), (hidden, ffn / ways))
    products = sum(matrix_time(tokens, n, k, flops, units, kernel) for n, k in shapes)
    scores = 4.0 * micro * sequence * sequence * hidden / ways / flops
    moved = 11.0 * micro * heads * sequence * sequence / ways + 1.3 * tokens * hidden * (10 + 24 / ways)
    return products + scores + moved / (gbyte_s * 1e9)


def output_time(tokens: Any, vocabulary: Any, hidden: Any, flops: Any, gbyte_s: Any, units: Any, kernel: Any) -> Any:
    """Return the time of the output layer over the vocabulary with its loss, forward and backward.

    Args:
        tokens: tokens of a micro-batch M [1].
        vocabulary: entries of the vocabulary on this rank V / t [1].
        hidden: width h [1].
        flops: rate of large matrix products [FLOP/s].
        gbyte_s: rate of element-wise operations [GB/s].
        units: multiprocessors [1].
        kernel: time of a product beyond its operations [s].

    Returns:
        Time [s].

    Equation:
        3 products M x V / t x h + 14 M V / t bytes / memory

    Source:
        [1] for the products. The scores are written and read at 16 and at 32 bits: 2 + 4 bytes for the loss, 4 + 4 for
        its gradient.
    """
    products = 3 * matrix_time(tokens, vocabulary, hidden, flops, units, kernel)
    return products + 14.0 * tokens * vocabulary / (gbyte_s * 1e9)


def stage_time(layers: Any, layer: Any, output: Any, launch: Any, launch_step: Any) -> Any:
    """Return the time of one micro-batch on one stage, forward and backward.

    Args:
        layers: layers of the stage [1].
        layer: time of a layer, computing and communicating [s].
        output: time of the output layer over the vocabulary [s].
        launch: time in which the host launches a layer [s].
        launch_step: time in which it launches the rest [s].

    Returns:
        Time [s].

    Equation:
        max(layers x layer + output, layers x launch + rest)

    Source:
        Launches and kernels run side by side; the longer counts. The last stage has the output layer, and the pipeline
        goes at its pace.
    """
    return maximum(layers * layer + output, layers * launch + launch_step)


def step_time(stage: Any, send: Any, micro_batches: Any, stages: Any, chunks: Any, gradients: Any) -> Any:
    """Return the time of a step under 1F1B, plain or interleaved.

    Args:
        stage: time of a micro-batch on a stage [s].
        send: time in which it passes activations and gradients on [s].
        micro_batches: micro-batches of a rank m [1].
        stages: pipeline stages p [1].
        chunks: chunks of a stage v [1].
        gradients: time of the reduction of gradients, which nothing hides [s].

    Returns:
        Time [s].

    Equation:
        (m + (p - 1) / v) (stage + send) + gradients

    Source:
        [1] section 2.2.
    """
    return (micro_batches + (stages - 1) / chunks) * (stage + send) + gradients
