"""Servers bought with fewer NICs than in their catalogue file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.catalog.evidence import PowerFigure
    from ffplan.catalog.parts import Nic, Server, StorageServer


def _spread_slots(slots: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the slots that keep their NIC, spread evenly in file order from the first.

    Args:
        slots: positions of the candidate NICs.
        count: how many stay [1].

    Equation:
        slot floor(i n / k) of n for NIC i of k

    Source:
        Definition.
    """
    return tuple(slots[place * len(slots) // count] for place in range(count))


def _less(figure: PowerFigure | None, watts: float) -> PowerFigure | None:
    """Reduce a power by the removed parts' power; its low and high ends move along."""
    if figure is None:
        return None
    # the range moves with the value, down to 0
    ends = {name: max(end - watts, 0.0) for name in ("low", "high") if (end := getattr(figure, name)) is not None}
    return figure.model_copy(update={"value": max(figure.value - watts, 0.0), **ends})


def _without_nics(
    server: Server | StorageServer, nics: tuple[Nic, ...], left_out: tuple[int, ...]
) -> tuple[Server | StorageServer, tuple[Nic, ...]]:
    """Return a server and its NICs without some slots, its powers reduced by their draw.

    Args:
        nics: its NICs, one per slot.
        left_out: positions of the removed slots.
    """
    drawn = [nics[slot].power for slot in left_out]
    watts = sum(figure.value for figure in drawn if figure is not None)
    power = server.power.model_copy(
        update={name: _less(getattr(server.power, name), watts) for name in ("idle", "training", "maximum")}
    )
    kept = [slot for slot in range(len(nics)) if slot not in left_out]
    reduced = server.model_copy(update={"nics": tuple(server.nics[slot] for slot in kept), "power": power})
    return reduced, tuple(nics[slot] for slot in kept)
