"""Incast: several servers send to one client, with or without granted requests.

Sources:
    [1] An et al., Fire-Flyer AI-HPC, arXiv 2408.14158, section VI-B3.
    [2] Karol, Hluchyj and Morgan, Input versus output queueing on a space-division packet switch, 1987.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Number

SLOTS = 3000
"""Simulated time slots of head-of-line blocking [1]."""
WARM = 500
"""Slots of warm-up before the queues settle [1]."""


def blocked_rate(senders: int, seed: int = 0) -> float:
    """Return the share of line rate that servers reach with first-in-first-out queues to random clients.

    Args:
        senders: servers, and equally many clients, on a lossless network [1].
        seed: seed of the destinations.

    Returns:
        Rate over line rate [1]; 1 for one sender.

    Equation:
        simulated slots: the head of every queue requests a random client, each client grants one request

    Source:
        [2]: 0.75 of two, 0.6553 of four, 2 - sqrt(2) = 0.586 of many.
    """
    random = np.random.Generator(np.random.PCG64([seed, senders]))
    heads = random.integers(0, senders, senders)
    served = 0
    for slot in range(SLOTS):
        # `unique` keeps the first of equal clients: a random order makes that a fair draw
        order = random.permutation(senders)
        _, first = np.unique(heads[order], return_index=True)
        won = order[first]
        served += len(won) if slot >= WARM else 0
        # the other heads keep their client and block their queue
        heads[won] = random.integers(0, senders, len(won))
    return served / (senders * (SLOTS - WARM))


def incast(senders: Floats, *, client: float, sender: float, window: int, transfer_s: float, grant_s: float) -> Number:
    """Return the rate that a client receives if it grants requests to send [GB/s].

    Args:
        senders: servers with data for it [1].
        client: rate of the client's NICs [GB/s].
        sender: rate of a server's NICs [GB/s].
        window: transfers granted by the client at once [1].
        transfer_s: time of one transfer alone at the client's rate [s].
        grant_s: from a transfer's end to the next grant's first byte [s].

    Equation:
        min(k s, c min(1, k t / (t + g))), k = min(senders, window)

    Source:
        [1]: the limit costs latency and keeps the rate; a window hides the grant where k t >= t + g.
    """
    open_ = np.minimum(senders, window)
    # while one waits for its grant, the others of the window send
    hidden = np.minimum(1.0, open_ * transfer_s / (transfer_s + grant_s))
    rate: Number = np.minimum(open_ * sender, client * hidden)
    return rate
