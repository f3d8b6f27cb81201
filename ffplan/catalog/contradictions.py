"""Figures of one part that cannot both be right, and figures that no such part has: faults when the part is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ffplan.base.formatting import GIB, number
from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator, Nic, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.parts import Part, PcieLink, ServerPower, SocketMemory
    from ffplan.inputs.document import Document

    Path = tuple[str | int, ...]

RULE = "catalog-contradiction"
CLOCK = 1.10
"""Most of a measured rate over the dense peak [1]. A datasheet's peak is at the boost clock, above which a chip may
run: 989.4 TFLOP/s of an H100 SXM are 132 multiprocessors of 4,096 FLOP at 1,830 MHz (NVIDIA H100 white paper, 2022),
and its highest clock is 1,980 MHz (`nvidia-smi -q -d CLOCK`), 8 % more."""
ROUNDED = 1.02
"""Most of a rate over the link that carries it, for figures that are rounded [1]."""
BOTH_WAYS = 2.0
"""Most of the bus bandwidth of a reduction in the switch over a link's rate: each byte crosses the link once, while a
ring's bus bandwidth counts it 2 (n - 1) / n times (NCCL tests, doc/PERFORMANCE.md) [1]."""
LANES = (1, 2, 4, 8, 12, 16, 32)
"""Widths of a PCIe link [1]; PCI Express Base Specification."""
GENERATIONS = 8
"""Last PCIe generation announced [1]."""
FIRST_GTS, SECOND_GTS, THIRD_GTS = 2.5, 5.0, 8.0
"""Rate of a lane of the first three generations [GT/s]; each later one doubles it."""
CODED = 0.8
"""Data over line bits of the first two generations, 8b/10b [1]; later codes take under 2 %."""
MOST_PRICE = 1e12
"""Most that one piece costs, in any currency [1]."""
MEMORY = (GIB, 16 * 1024 * GIB)
"""Least and most memory of an accelerator [byte]."""
MODULE = (GIB / 2, 2 * 1024 * GIB)
"""Least and most capacity of a memory module [byte]."""


def lane_gbyte_s(generation: int) -> float:
    """Return the rate of a PCIe lane, one way [GB/s].

    Args:
        generation: 1 to 8.
    """
    if generation < 3:
        return (FIRST_GTS, SECOND_GTS)[generation - 1] * CODED / 8
    return float(THIRD_GTS * 2 ** (generation - 3) / 8)


class _Fault(NamedTuple):
    path: Path
    message: str
    remedy: str
    rule: str = RULE


def _above(path: Path, figure: Figure | None, most: Figure | None, words: str, share: float = 1.0) -> Iterator[_Fault]:
    """Yield the fault of a figure above its partner.

    Args:
        words: what the figure, and what its partner is, such as `the power at idle|the maximum`.
        share: most of the figure over its partner.
    """
    if figure is None or most is None or figure.value <= most.value * share:
        return
    what, partner = words.split("|")
    unit = f" {figure.unit}" if figure.unit else ""
    yield _Fault(
        path,
        f"{what} of {number(figure.value)}{unit} is above {partner} of {number(most.value)}{unit}",
        f"correct one of the two; {what} is at most {number(most.value * share)}{unit}",
    )


def _pcie(link: PcieLink | None, path: Path) -> Iterator[_Fault]:
    if link is None:
        return
    generation, lanes = link.generation.value, link.lanes.value
    if generation > GENERATIONS:
        text = f"there is no PCIe generation {generation}"
        yield _Fault((*path, "generation"), text, f"write 1 to {GENERATIONS}", "number-range")
    elif lanes not in LANES:
        text = f"there is no PCIe link of {lanes} lanes"
        yield _Fault((*path, "lanes"), text, f"write {', '.join(map(str, LANES[:-1]))} or {LANES[-1]}", "number-range")
    elif link.bandwidth.value > (most := lanes * lane_gbyte_s(generation)) * ROUNDED:
        yield _Fault(
            (*path, "bandwidth"),
            f"{number(link.bandwidth.value)} GB/s is more than the {number(most)} GB/s that {lanes} lanes of "
            f"generation {generation} carry one way",
            f"write the practical rate of the link, below {number(most)} GB/s, or its generation and lanes",
        )


def _accelerator(part: Accelerator) -> Iterator[_Fault]:
    least, most = MEMORY
    if not least <= part.memory.value <= most:
        text = f"an accelerator has no memory of {number(part.memory.value / GIB)} GiB"
        bounds = f"write {number(least / GIB)} to {number(most / GIB)} GiB"
        yield _Fault(("memory",), text, bounds, "number-range")
    for precision, rate in part.gemm.items():
        words = f"the measured rate in {precision}|the peak"
        yield from _above(("gemm", precision), rate, part.peak.get(precision), words, CLOCK)
    yield from _pcie(part.pcie, ("pcie",))
    rates = part.collectives
    if rates is None:
        return
    for field in ("ring", "peer", "send", "alltoall"):
        words = f"the rate of `{field}`|the link `nvlink`"
        yield from _above(("collectives", field), getattr(rates, field), part.nvlink, words, ROUNDED)
    if part.pcie is not None:
        words = "the rate over PCIe|the link `pcie`"
        yield from _above(("collectives", "pcie"), rates.pcie, part.pcie.bandwidth, words, ROUNDED)
    if rates.nvls is not None:
        for field in ("busbw", "most"):
            words = "the bus bandwidth in the switch|twice the link `nvlink`, each"
            place = ("collectives", "nvls", field)
            yield from _above(place, getattr(rates.nvls, field), part.nvlink, words, BOTH_WAYS)
        words = "the bus bandwidth|the largest"
        yield from _above(("collectives", "nvls", "busbw"), rates.nvls.busbw, rates.nvls.most, words)
    if rates.ll is not None:
        for field in ("one_node", "two_nodes", "more_nodes"):
            words = "the ceiling of LL|the link `nvlink`"
            place = ("collectives", "ll", field)
            yield from _above(place, getattr(rates.ll, field), part.nvlink, words, ROUNDED)


def _power(power: ServerPower) -> Iterator[_Fault]:
    fields = (
        ("idle", "the power at idle"),
        ("training", "the power in training"),
        ("other", "the power of everything else"),
    )
    for field, words in fields:
        yield from _above(("power", field), getattr(power, field), power.maximum, f"{words}|the maximum")
    yield from _above(("power", "idle"), power.idle, power.training, "the power at idle|the power in training")


def _memory(memory: SocketMemory, path: Path) -> Iterator[_Fault]:
    if memory.dimms is not None and memory.dimms.value < memory.channels.value:
        yield _Fault(
            (*path, "dimms"),
            f"{memory.dimms.value} memory module(s) in {memory.channels.value} populated channels",
            "write the channels that have a module, and all modules of the socket",
        )
    elif memory.capacity is not None:
        modules = (memory.dimms or memory.channels).value
        size = memory.capacity.value / modules
        if size < MODULE[0] or (memory.dimms is not None and size > MODULE[1]):
            yield _Fault(
                (*path, "capacity"),
                f"{number(memory.capacity.value / GIB)} GiB in {modules} modules are {number(size / GIB)} GiB each",
                f"write the capacity of the socket: modules have {number(MODULE[0] / GIB)} to "
                f"{number(MODULE[1] / GIB)} GiB",
            )


def _server(part: Server | StorageServer) -> Iterator[_Fault]:
    yield from _power(part.power)
    for position, socket in enumerate(part.sockets):
        yield from _memory(socket.memory, ("sockets", position, "memory"))


def _prices(book: PriceBook) -> Iterator[_Fault]:
    for name, price in book.items.items():
        if price.range[1] > MOST_PRICE:
            text = f"a price of {number(price.range[1])} {book.currency} for one piece"
            yield _Fault(("items", name), text, f"write the price of one piece, at most {MOST_PRICE:g}", "number-range")


def _faults(part: Part) -> Iterator[_Fault]:
    if isinstance(part, Accelerator):
        yield from _accelerator(part)
    elif isinstance(part, Server | StorageServer):
        yield from _server(part)
    elif isinstance(part, Switch):
        yield from _above(("power",), part.power, part.power_max, "the typical power|the maximum")
    elif isinstance(part, Nic):
        words = "the share of the line rate under trees|the share that payload reaches"
        yield from _above(("tree_efficiency",), part.tree_efficiency, part.line_efficiency, words)
    elif isinstance(part, Model):
        words = "the number of active parameters|the number of all"
        yield from _above(("active",), part.active, part.parameters, words)
    elif isinstance(part, PriceBook):
        yield from _prices(part)


def contradictions(part: Part, document: Document) -> Iterator[Finding]:
    """Yield a finding for every figure that its partner in the part, or the kind of part, rules out."""
    for fault in _faults(part):
        yield document.finding(fault.rule, fault.path, fault.message, fault.remedy)
