"""Step time of convolutional networks under data parallelism: gradients are reduced beside the backward pass.

Sources:
    [1] An et al., arXiv 2408.14158, section V-A: gradients are reduced while the backward pass still runs.
    [2] Li et al., "PyTorch Distributed", VLDB 2020, arXiv 2006.15704 (buckets, last layers first).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.elementwise import maximum
from ffplan.perf.shapes import convolution_flops, convolution_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.models import Convolution


def image_flops(layers: Sequence[Convolution]) -> float:
    """Return the operations of one image, forward and backward.

    Args:
        layers: the network.

    Returns:
        Operations [FLOP].

    Equation:
        3 x forward, less the gradient of the first layer's input

    Source:
        Backpropagation: as many operations for inputs as for weights; nobody needs those of the image.
    """
    forward = sum(convolution_flops(layer) for layer in layers)
    return float(3 * forward - convolution_flops(layers[0]))


def gradient_bytes(layers: Sequence[Convolution], each: float = 4.0) -> float:
    """Return the bytes of all gradients.

    Args:
        layers: the network.
        each: bytes of a gradient [byte].

    Returns:
        Size [byte].

    Equation:
        parameters x bytes

    Source:
        Definition.
    """
    return each * float(sum(convolution_parameters(layer) for layer in layers))


def image_step_time(forward: Any, backward: Any, reduction: Any, first: Any) -> Any:
    """Return the time of a step.

    Args:
        forward: time of the forward pass [s].
        backward: time of the backward pass [s].
        reduction: time of reducing all gradients [s].
        first: part of the backward pass before the first gradients are there [1].

    Returns:
        Time [s].

    Equation:
        forward + max(backward, first backward + reduction)

    Source:
        [2]. The last layers' gradients come first; of VGG16 they are nine tenths of all.
    """
    return forward + maximum(backward, first * backward + reduction)
