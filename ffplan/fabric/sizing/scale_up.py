"""Closed forms of scale-up networks: switches, meshes and tori between accelerators, without a fabric.

Sources:
    [1] NVIDIA, GB200 NVL72: 72 GPUs with 18 links each on 18 switch chips.
    [2] AMD, CDNA 3 platforms: eight accelerators, a link between every two.
    [3] Jouppi et al., "TPU v4", ISCA 2023: tori of two and three axes, two links for each axis.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


def switch_links(accelerators: Number, ports: Number) -> Number:
    """Return the links of a domain whose accelerators hang on switches.

    Args:
        accelerators: accelerators of the domain N [1].
        ports: links of an accelerator p [1].

    Equation:
        links = N p

    Source:
        [1]: 72 x 18 = 1,296 links on 18 chips of 72 ports.
    """
    return accelerators * ports


def mesh_links(accelerators: Number) -> Number:
    """Return the links of a mesh, one between every two accelerators [1].

    Args:
        accelerators: accelerators of the mesh N [1].

    Equation:
        links = N (N - 1) / 2

    Source:
        [2]: 28 between eight accelerators.
    """
    return accelerators * (accelerators - 1) // 2


def torus_links(axes: tuple[int, ...]) -> int:
    """Return the links of a torus [1].

    Args:
        axes: accelerators along each axis [1].

    Equation:
        links = sum over axes of N, or of N / 2 along an axis of two, whose neighbours share one link; N = prod(axes)

    Source:
        [3]: each accelerator has two neighbours on each axis.
    """
    total = prod(axes)
    return sum(total if length > 2 else total // 2 for length in axes)


def switch_bisection(accelerators: Number, rate: Number) -> Number:
    """Return the bandwidth across the worst even split of a domain on switches.

    Args:
        accelerators: accelerators of the domain N [1].
        rate: rate of an accelerator r, one direction [GB/s].

    Returns:
        Bandwidth in one direction [GB/s].

    Equation:
        B = N r / 2

    Source:
        [1]: every switch chip has a port for every accelerator, so that none oversubscribes another.
    """
    return accelerators * rate / 2


def mesh_bisection(accelerators: Number, rate: Number) -> Number:
    """Return the bandwidth across the worst even split of a mesh.

    Args:
        accelerators: accelerators of the mesh N [1].
        rate: rate of an accelerator r over all its links, one direction [GB/s].

    Returns:
        Bandwidth in one direction [GB/s].

    Equation:
        B = floor(N / 2) ceil(N / 2) r / (N - 1)

    Source:
        Derived from [2]: each of one half has a link to each of the other, of r / (N - 1).
    """
    half = accelerators // 2
    return half * (accelerators - half) * rate / (accelerators - 1)


def torus_bisection(axes: tuple[int, ...], rate: Number) -> Number:
    """Return the bandwidth across the worst even split of a torus.

    Args:
        axes: accelerators along each axis [1].
        rate: rate of an accelerator r over all its links, one direction [GB/s].

    Returns:
        Bandwidth in one direction [GB/s].

    Equation:
        B = (N / L) r / A for the longest axis of L, of A axes

    Source:
        Derived from [3]: a cut across an axis passes N / L rings, each at two links of r / (2 A). A pod of 16 x 16 TPU
        v5e at 200 GB/s has 1.6 TB/s, as its documentation has it.
    """
    return prod(axes) / max(axes) * rate / len(axes)
