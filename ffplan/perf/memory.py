"""Device memory of training: states of the model and activations; every formula takes floats and arrays.

Sources:
    [1] Korthikanti et al., arXiv 2205.05198, section 4 and table 2 (activations), section 4.2.3 (pipeline), section 5.
    [2] Rajbhandari et al., "ZeRO", SC'20, arXiv 1910.02054, section 3.1 and figure 1 (states).
"""

from __future__ import annotations

from typing import Any

WEIGHT, GRADIENT, OPTIMIZER = 2.0, 2.0, 12.0
"""Bytes of a parameter under mixed-precision Adam: weight, gradient, and master weight with two moments [byte]."""


def state_bytes(
    parameters: Any, data_ranks: Any, stage: int, *, gradient: float = GRADIENT, optimizer: float = OPTIMIZER
) -> Any:
    """Return the bytes of weights, gradients and optimiser on a device.

    Args:
        parameters: parameters that the device would hold without sharding N [1].
        data_ranks: ranks that share them under ZeRO d [1].
        stage: ZeRO 0 to 3, or FSDP as 3.
        gradient: bytes of a gradient [byte]: 2, or 4 where the main gradient is kept in single precision.
        optimizer: bytes of the optimiser's states [byte].

    Returns:
        Memory [byte].

    Equation:
        (2 + g + o) N at stage 0; o / d at 1; (g + o) / d at 2; all over d at 3

    Source:
        [2]: 16 N, 4 N + 12 N / d, 2 N + 14 N / d, 16 N / d.
    """
    weight = WEIGHT / (data_ranks if stage > 2 else 1)
    held = gradient / (data_ranks if stage > 1 else 1)
    states = optimizer / (data_ranks if stage > 0 else 1)
    return parameters * (weight + held + states)


def layer_activation_bytes(
    sequence: Any,
    micro_batch: Any,
    hidden: Any,
    heads: Any,
    tensor_ranks: Any,
    *,
    sequence_parallel: bool,
    recompute: str,
) -> Any:
    """Return the bytes of activations that one GPT layer keeps for the backward pass of one micro-batch, at 16 bits.

    Args:
        sequence: length s [1].
        micro_batch: sequences b [1].
        hidden: width h [1].
        heads: attention heads a [1].
        tensor_ranks: tensor-parallel ranks t [1].
        sequence_parallel: what tensor parallelism leaves whole is split along the sequence.
        recompute: none, selective (the scores of attention again) or full (only the layer's input is kept).

    Returns:
        Memory [byte].

    Equation:
        s b h (10 + 24 / t + 5 a s / (h t)); with sequence parallelism s b h / t (34 + 5 a s / h); selective drops
        5 a s / h; full keeps 2 s b h

    Source:
        [1] table 2.
    """
    base = sequence * micro_batch * hidden
    if recompute == "full":
        return 2.0 * base
    scores = 5.0 * heads * sequence / hidden if recompute == "none" else 0.0
    if sequence_parallel:
        return base / tensor_ranks * (34.0 + scores)
    return base * (10.0 + (24.0 + scores) / tensor_ranks)


def stage_layers(layers: Any, stages: Any, chunks: Any = 1) -> Any:
    """Return the layers whose activations the first stage of a pipeline keeps at once.

    Args:
        layers: layers of the model L [1].
        stages: pipeline stages p [1].
        chunks: chunks of each stage v, for interleaving [1].

    Returns:
        Layers [1].

    Equation:
        L (1 + (p - 1) / (p v)) with v > 1; L with plain 1F1B: p micro-batches of L / p layers

    Source:
        [1] section 4.2.3.
    """
    interleaved = (chunks > 1) * 1.0
    return layers * (1.0 + interleaved * (stages - 1) / (stages * chunks))
