"""What is possible in a part and yet suspicious: the same for `ffplan check PARTS` and `ffplan catalog audit`."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, Severity, UsageError, nearest
from ffplan.base.formatting import number, short
from ffplan.base.record import record
from ffplan.catalog.contradictions import CLOCK, GENERATIONS, lane_gbyte_s
from ffplan.catalog.evidence import PriceFigure
from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator, Cpu, Nic, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook, RentBook
from ffplan.catalog.references import keyed_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date
    from typing import TypeVar

    from ffplan.catalog.parts import Part
    from ffplan.catalog.read import Entry
    from ffplan.catalog.store import Catalog

    Path = tuple[str | int, ...]
    P = TypeVar("P", bound=Part)

OUT_OF_RANGE, CONTRADICTED, NO_PART = "out-of-range", "contradicted", "no-part"
"""Kinds of remarks, as the audit lists them."""
RULES = {OUT_OF_RANGE: "catalog-suspicious", CONTRADICTED: "catalog-contradiction", NO_PART: "unused-figure"}
"""Rule of `ffplan check` by kind."""
PEAK_TOLERANCE = 0.05
"""Difference from 1 or 2 of the ratio of two peaks from which it is named [1]."""
MOST_NARROWER = 5.0
"""Ratio of a narrower format's peak above which it is no chip's choice [1]: Rubin has 4.4 of FP8 over BF16."""
FLOP_A_BYTE = (10.0, 2000.0)
"""Dense 16-bit peak over memory bandwidth of accelerators [FLOP/byte]: the catalogue has 37 (H20) to 560 (TPU v6e)."""
FLOP_A_WATT = (0.05, 20.0)
"""Dense 16-bit peak over power of accelerators [TFLOP/s/W]: the catalogue has 0.3 (H20) to 2.5 (MI350X)."""
READ_S = (0.002, 0.5)
"""Time to read an accelerator's memory once [s]: the catalogue has 0.012 (Rubin) to 0.055 (Arc Pro B70)."""
LEAST_PCIE = 0.5
"""Least share of a PCIe link that its practical rate is [1]; the catalogue has 0.8 or more."""
LEAST_EFFICIENCY = 0.5
"""Least share of a NIC's line rate that payload reaches [1]; the catalogue has 0.8 or more."""
FASTER = 2.0
"""Rate of a NIC or a switch port over the fastest of other parts above which it is named [1]."""
SPLITS = (1, 2, 4, 8)
"""Ports that one port is split into: QSFP has four lanes a direction, OSFP eight [1]."""
DIMENSIONS = 0.15
"""Published parameters may differ from those of the dimensions by this share: sizes are rounded, and encoders of images
are counted or not [1]."""
MOST_PARAMETERS = 1e14
"""Parameters from which a model is named [1]; the largest published have 2e12."""
PRICE_FACTOR = 10.0
"""Price over that of the extended book, either way, from which it is named [1]."""
SIMILAR = 0.9
"""Likeness of two names from which one is taken for the other misspelt [1]."""


@record
class Remark:
    """A figure of a part that needs a second look."""

    kind: str
    """`out-of-range`, `contradicted` or `no-part`."""
    path: Path
    """Its field."""
    what: str
    """Its fault."""
    remedy: str
    """The way to correct it."""
    severity: Severity = Severity.WARNING
    """Its weight in a check."""
    key: bool = False
    """Whether the field's name is at fault rather than its value."""

    @property
    def rule(self) -> str:
        """Rule of `ffplan check`."""
        return RULES[self.kind]


def _odd(path: Path, what: str, remedy: str = "check its unit and its source; correct it, or accept it") -> Remark:
    return Remark(kind=OUT_OF_RANGE, path=path, what=what, remedy=remedy)


def _entry(catalog: Catalog, name: str | None) -> Entry | None:
    """Return a part; None if it is missing or wrong, which another finding says."""
    try:
        return catalog.entry(name) if name is not None else None
    except (KeyError, InputError, UsageError):
        return None


def _named(catalog: Catalog, model: type[P], name: str | None) -> P | None:
    """Return a part of a kind; None if there is none."""
    entry = _entry(catalog, name)
    return entry.part if entry is not None and isinstance(entry.part, model) else None


def _others(catalog: Catalog, kind: str, name: str) -> Iterator[Part]:
    """Yield all other parts of a kind that can be read."""
    aside = catalog.fresh()
    for other in aside.ids_of(kind):
        if other != name and (entry := _entry(aside, other)) is not None:
            yield entry.part


def _within(path: Path, value: float, bounds: tuple[float, float], words: str) -> Iterator[Remark]:
    if not bounds[0] <= value <= bounds[1]:
        usual = f"{number(bounds[0])} to {number(bounds[1])}"
        yield _odd(path, f"{words.format(short(value) if value >= 0.01 else f'{value:.2g}')}; usual are {usual}")


def _peaks(part: Accelerator) -> Iterator[Remark]:
    """Yield dense peaks that do not double, or stay, from a precision to the next narrower one."""
    sixteen = "bf16" if "bf16" in part.peak else "fp16"
    for wider, two in ((sixteen, "fp8"), ("fp8", "fp4")):
        wide, narrow = part.peak.get(wider), part.peak.get(two)  # type: ignore[call-overload]
        if wide is None or narrow is None:
            continue
        ratio = narrow.value / wide.value
        if min(abs(ratio - 2), abs(ratio - 1)) > PEAK_TOLERANCE:
            yield Remark(
                kind=OUT_OF_RANGE,
                path=("peak", two),
                what=f"{number(ratio, 3)} times the peak in {wider}",
                remedy="a narrower format usually runs at twice the rate; give dense peaks, without sparsity",
                severity=Severity.INFO if 1 <= ratio <= MOST_NARROWER else Severity.WARNING,
            )


def _accelerator(part: Accelerator, catalog: Catalog) -> Iterator[Remark]:
    yield from _peaks(part)
    for precision, rate in part.gemm.items():
        peak = part.peak.get(precision)
        if peak is not None and peak.value < rate.value <= peak.value * CLOCK:
            text = f"measured at {number(rate.value / peak.value, 3)} times the peak in {precision}"
            yield _odd(("gemm", precision), text, "possible above the boost clock that the datasheet's peak is for")
    sixteen = part.peak.get("bf16") or part.peak.get("fp16")
    if sixteen is not None:
        over = 1e3 * sixteen.value / part.memory_bandwidth.value
        yield from _within(("memory_bandwidth",), over, FLOP_A_BYTE, "{} FLOP of the peak for each byte of memory")
        if part.power is not None:
            over = sixteen.value / part.power.value
            yield from _within(("power",), over, FLOP_A_WATT, "{} TFLOP/s of the peak for each watt")
    seconds = part.memory.value / part.memory_bandwidth.value / 1e9
    yield from _within(("memory",), seconds, READ_S, "its memory is read in {} s")
    if part.nvlink is not None and part.pcie is not None and part.nvlink.value < part.pcie.bandwidth.value:
        text = f"{number(part.nvlink.value)} GB/s between accelerators, {number(part.pcie.bandwidth.value)} over PCIe"
        yield _odd(
            ("nvlink",), text, "write GB/s of all links together, one direction; vendors print Gb/s or both ways"
        )
    if part.pcie is not None and part.pcie.generation.value <= GENERATIONS:
        carried = part.pcie.lanes.value * lane_gbyte_s(part.pcie.generation.value)
        if part.pcie.bandwidth.value < LEAST_PCIE * carried:
            text = f"{number(part.pcie.bandwidth.value)} GB/s over a link that carries {number(carried)}"
            yield _odd(
                ("pcie", "bandwidth"), text, "write the practical rate of the whole link, one direction, in GB/s"
            )
    yield from _misspelt(part, catalog)


def _misspelt(part: Accelerator, catalog: Catalog) -> Iterator[Remark]:
    """Yield a chip or process that no other accelerator has, and that is nearly another's: it shares its rates."""
    for field in ("chip", "process"):
        name = getattr(part, field)
        if name is None:
            continue
        known = {
            stated for other in _others(catalog, "accelerator", part.id) if (stated := getattr(other, field, None))
        }
        near = nearest(name, known)
        if name in known or near is None or _digits(name) != _digits(near):
            continue
        if SequenceMatcher(None, name, near).ratio() >= SIMILAR:
            text = f"no other accelerator has the {field} `{name}`"
            yield _odd((field,), text, f"did you mean `{near}`? Accelerators of one {field} share measured rates")


def _digits(name: str) -> str:
    return "".join(letter for letter in name if letter.isdigit())


def _server(part: Server | StorageServer, catalog: Catalog) -> Iterator[Remark]:
    for position, socket in enumerate(part.sockets):
        cpu, place = _named(catalog, Cpu, socket.cpu), ("sockets", position, "memory")
        if cpu is None:
            continue
        for field, most, unit in (("channels", cpu.memory_channels, "channels"), ("rate", cpu.memory_rate, "MT/s")):
            value = getattr(socket.memory, field).value
            if value > most.value:  # an error of every design that uses it
                yield Remark(
                    kind=CONTRADICTED,
                    path=(*place, field),
                    what=f"{number(value)} {unit} of memory on `{cpu.id}`, which has {number(most.value)}",
                    remedy="correct one of the two",
                    severity=Severity.ERROR,
                )
    accelerator = _named(catalog, Accelerator, part.accelerator) if isinstance(part, Server) else None
    if accelerator is None or not isinstance(part, Server):
        return
    if accelerator.power is not None and part.power.maximum is not None:
        inside = len(part.accelerators) * accelerator.power.value
        if inside > part.power.maximum.value:
            text = f"{number(part.power.maximum.value)} W for accelerators of {number(inside)} W"
            yield _odd(("power", "maximum"), text)
    link = part.accelerator_pcie
    if link is not None and accelerator.pcie is not None and link.value > accelerator.pcie.bandwidth.value:
        own = number(accelerator.pcie.bandwidth.value)
        text = f"{number(link.value)} GB/s to each accelerator, and the link of `{accelerator.id}` has {own} GB/s"
        yield _odd(("accelerator_pcie",), text, "leave it out unless the server's links are slower")


def _port(part: Nic | Switch, catalog: Catalog) -> Iterator[Remark]:
    rates = [other.rate.value for other in _others(catalog, part.kind, part.id) if isinstance(other, Nic | Switch)]
    if rates and part.rate.value > FASTER * max(rates):
        text = (
            f"{number(part.rate.value)} GB/s a port, {number(part.rate.value / max(rates), 3)} times the fastest other"
        )
        yield _odd(("rate",), text, "write the rate of one port, one direction: 800 Gb/s are 100 GB/s")
    if isinstance(part, Nic) and part.line_efficiency.value < LEAST_EFFICIENCY:
        text = f"payload reaches {number(100 * part.line_efficiency.value, 3)} % of the line rate"
        yield _odd(("line_efficiency",), text)
    if isinstance(part, Switch) and part.splits is not None and part.splits.value not in SPLITS:
        text = f"a port splits into {part.splits.value}"
        yield _odd(("splits",), text, "ports split into 2, 4 or 8: their modules have that many lanes")


def _model(part: Model) -> Iterator[Remark]:
    if part.transformer is None:
        return
    from ffplan.training.model_flops import parameters

    shape = part.transformer
    embedding = shape.vocabulary * shape.hidden * (1 if shape.tied else 2)
    total = float(parameters(shape))
    active = float(parameters(shape, active=True))
    if total > MOST_PARAMETERS:
        yield _odd(("transformer", "layers"), f"the dimensions give {total:.3g} parameters")
    for field, figure, counted in (("parameters", part.parameters, total), ("active", part.active, active)):
        if figure is None:
            continue
        low = (counted - (embedding if field == "active" else 0.0)) * (1 - DIMENSIONS)  # some count no embeddings
        if not low <= figure.value <= counted * (1 + DIMENSIONS):
            words = "active parameters" if field == "active" else "parameters"
            yield Remark(
                kind=CONTRADICTED,
                path=(field,),
                what=f"{figure.value / 1e9:.4g} bn {words}, while the dimensions give {counted / 1e9:.4g} bn",
                remedy=f"correct the dimensions, or leave `{field}` out: results count by the dimensions",
                severity=Severity.ERROR,
            )


def _prices(part: PriceBook | RentBook, catalog: Catalog) -> Iterator[Remark]:
    if isinstance(part, PriceBook):
        figures: dict[Path, PriceFigure] = {("items", name): price for name, price in part.items.items()}
        yield from _price_factors(part, catalog)
    else:
        figures = {("offers", name, "price"): offer.price for name, offer in part.offers.items()}
    for path, price in figures.items():
        if price.value == 0:
            yield _odd(path, "a price of 0", "write what it costs; a part without a known price stands in `unpriced`")


def _price_factors(book: PriceBook, catalog: Catalog) -> Iterator[Remark]:
    """Yield the prices far from the extended book's."""
    entry = _entry(catalog, book.id) if book.extends is not None else None
    base = entry.base.part if entry is not None and entry.base is not None else None
    for name, price in book.items.items():
        before = base.items.get(name) if isinstance(base, PriceBook) else None
        if before is None or not before.value or not price.value:
            continue
        if not 1 / PRICE_FACTOR <= price.value / before.value <= PRICE_FACTOR:
            yield _odd(("items", name), f"{number(price.value)} here, {number(before.value)} in `{book.extends}`")


def unused_figures(part: Part, catalog: Catalog) -> Iterator[Remark]:
    """Yield every figure for a part that does not exist, or is of a kind that never has it: it is never used."""
    for path, name, kinds in keyed_parts(part):
        kind = catalog.kind_of(name)
        if kind in kinds or (kind == "" and name in catalog.ids()):
            continue
        known = [one for wanted in kinds for one in catalog.ids_of(wanted)]
        near = nearest(name, known)
        what = f"no part `{name}` in the catalogue" if kind == "" else f"`{name}` is of kind `{kind}`"
        hint = f"did you mean `{near}`?" if near else f"name a part of kind {' or '.join(kinds)}"
        text = f"{what}: the figure is unused"
        yield Remark(kind=NO_PART, path=path, what=text, remedy=hint, key=path[-1] == name)


def _dates(part: Part, today: date) -> Iterator[Remark]:
    stated: list[tuple[Path, str | None]] = []
    for key, source in part.sources.items():
        stated += [(("sources", key, "date"), source.date), (("sources", key, "read"), source.read)]
    stated += [(("date",), getattr(part, "date", None))]
    stated += [((*path, "date"), figure.date) for path, figure in part.figures() if isinstance(figure, PriceFigure)]
    day = today.isoformat()
    for path, text in stated:
        if text is not None and text > day[: len(text)]:
            remedy = "write the day of the source, or when it was read"
            yield _odd(path, f"of {text}, which is after today, {day}", remedy)


def remarks(part: Part, catalog: Catalog, today: date) -> Iterator[Remark]:
    """Yield the figures of a part that are possible and suspicious.

    Args:
        catalog: the parts that it names, and others of its kind.
        today: the day after which no source can be.
    """
    if isinstance(part, Accelerator):
        yield from _accelerator(part, catalog)
    elif isinstance(part, Server | StorageServer):
        yield from _server(part, catalog)
    elif isinstance(part, Nic | Switch):
        yield from _port(part, catalog)
    elif isinstance(part, Model):
        yield from _model(part)
    elif isinstance(part, PriceBook | RentBook):
        yield from _prices(part, catalog)
    yield from unused_figures(part, catalog)
    yield from _dates(part, today)
