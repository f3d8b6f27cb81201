"""Rails per switch in a rail-only fabric."""

from __future__ import annotations

from ffplan.base.array_math import Number, choose


def shared_rails(rails: int, ports: Number, room: int) -> Number:
    """Return the rails per switch of a one-tier rail-only fabric.

    Args:
        rails: rails R, the NICs of a node [1].
        ports: endpoint ports P of all rails together [1], any shape.
        room: ports k of a switch for endpoints [1].

    Returns:
        Rails of a switch [1]; 1 if not even one rail fits.

    Equation:
        s = max { s : s divides R, s * P / R <= k }, at least 1

    Source:
        Wang et al., "Rail-only", arXiv 2307.12169: 256 rails of 128 GPUs take half a switch of 256 ports each. All
        switches hold as many rails, so that they are wired alike; hence s divides R.
    """
    shared: Number = 1
    for count in (divisor for divisor in range(2, rails + 1) if rails % divisor == 0):
        shared = choose(count * ports <= room * rails, count, shared)
    return shared
