"""A part whose figures contradict each other is refused or found; every shipped one passes."""

from __future__ import annotations

import time
from copy import deepcopy
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from ffplan.base.errors import InputError, Severity
from ffplan.catalog.contradictions import contradictions, lane_gbyte_s
from ffplan.catalog.folders import KINDS, model_of
from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator, Cpu, Nic, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook
from ffplan.catalog.read import read_part
from ffplan.catalog.references import dangling, keyed_parts
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import parse_document
from ffplan.inputs.validate import validate
from ffplan.studies.explain.catalog import audit
from ffplan.studies.explain.remarks import remarks
from ffplan.training.model_flops import parameters
from tests.support import ffplan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ffplan.catalog.parts import Part
    from ffplan.inputs.document import Document

CATALOG = Catalog()
TODAY = date(2026, 11, 28)
Move = tuple[tuple[str | int, ...], Any]
"""Path of a figure, and a value beyond its partner."""
ZEUS = """kind: accelerator
id: zeus
name: Zeus
vendor: Olympus
sources: {us: {title: lab sheet, date: "2026-10", grade: datasheet, status: V}}
memory: {value: 288 GiB, source: us}
memory_bandwidth: {value: 10 TB/s, source: us}
peak: {bf16: {value: 3000 TFLOP/s, source: us}, fp8: {value: 6000 TFLOP/s, source: us}}
nvlink: {value: 1200 GB/s, source: us}
pcie:
  generation: {value: 6, source: us}
  lanes: {value: 16, source: us}
  bandwidth: {value: 110 GB/s, source: us}
power: {value: 1000 W, source: us}
"""


def said(document: Document) -> list[str]:
    """Return what a check says of a part: faults, dangling references, and remarks above information."""
    try:
        part = read_part(document).part
    except InputError as error:
        return [finding.message for finding in error.findings]
    faults = [finding.message for finding in dangling(part, document, CATALOG)]
    return faults + [item.what for item in remarks(part, CATALOG, TODAY) if item.severity is not Severity.INFO]


def document_of(text: str) -> Document:
    return parse_document(text.encode(), "part.yaml")


def moved(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Return data of a part with one value replaced; a figure loses its range."""
    changed = deepcopy(data)
    *steps, last = path
    place = changed
    for step in steps:
        place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
    old = place.get(last) if isinstance(place, dict) else place[last]
    source = old.get("source") if isinstance(old, dict) else None
    place[last] = {"value": value, "source": source} if source is not None else value
    return changed


def of_accelerator(part: Accelerator) -> Iterator[Move]:
    for precision, rate in part.gemm.items():
        peak = part.peak.get(precision)
        assert peak is not None
        assert rate.value <= peak.value
        yield ("gemm", precision), f"{peak.value * 1.11} TFLOP/s"
        yield ("gemm", precision), f"{peak.value * 1.01} TFLOP/s"  # possible, and named
    if part.pcie is not None:
        carried = part.pcie.lanes.value * lane_gbyte_s(part.pcie.generation.value)
        yield ("pcie", "bandwidth"), f"{carried * 1.03} GB/s"
        yield ("pcie", "generation"), part.pcie.generation.value - 1
        yield ("pcie", "lanes"), part.pcie.lanes.value + 1
        if part.nvlink is not None:
            yield ("nvlink",), f"{part.pcie.bandwidth.value * 0.9} GB/s"
    rates = part.collectives
    for field in ("ring", "peer", "send", "alltoall"):
        if rates is not None and part.nvlink is not None and getattr(rates, field) is not None:
            yield ("collectives", field), f"{part.nvlink.value * 1.03} GB/s"
    if rates is not None and rates.nvls is not None and part.nvlink is not None:
        yield ("collectives", "nvls", "busbw"), f"{part.nvlink.value * 2.01} GB/s"
    if rates is not None and rates.ll is not None and part.nvlink is not None:
        yield ("collectives", "ll", "one_node"), f"{part.nvlink.value * 1.03} GB/s"
    if rates is not None and rates.pcie is not None and part.pcie is not None:
        yield ("collectives", "pcie"), f"{part.pcie.bandwidth.value * 1.03} GB/s"
    if "bf16" in part.peak and "fp8" in part.peak:
        yield ("peak", "fp8"), f"{part.peak['bf16'].value * 0.9} TFLOP/s"
    yield ("memory",), "1 MiB"
    yield ("memory",), "2 PiB"
    yield ("memory_bandwidth",), f"{part.memory_bandwidth.value / 1000} GB/s"


def of_server(part: Server | StorageServer) -> Iterator[Move]:
    most = part.power.maximum or part.power.training
    for field in ("idle", "training", "other"):
        if getattr(part.power, field) is not None and part.power.maximum is not None:
            yield ("power", field), f"{part.power.maximum.value * 1.01} W"
    if part.power.idle is not None and most is not None:
        yield ("power", "idle"), f"{most.value * 1.01} W"
    for position, socket in enumerate(part.sockets):
        cpu, memory = CATALOG.entry(socket.cpu).part, ("sockets", position, "memory")
        assert isinstance(cpu, Cpu)
        yield (*memory, "channels"), cpu.memory_channels.value + 1
        yield (*memory, "rate"), f"{cpu.memory_rate.value * 1.01} MT/s"
        if socket.memory.dimms is not None:
            yield (*memory, "dimms"), socket.memory.channels.value - 1
        if socket.memory.capacity is not None:
            yield (*memory, "capacity"), "1 GB"
        yield ("sockets", position, "cpu"), f"{socket.cpu}z"
    for position, nic in enumerate(part.nics):
        yield ("nics", position, "part"), f"{nic.part}z"
    if isinstance(part, Server) and part.accelerator is not None:
        yield ("accelerator",), f"{part.accelerator}z"
        accelerator = CATALOG.entry(part.accelerator).part
        assert isinstance(accelerator, Accelerator)
        if accelerator.power is not None and part.power.maximum is not None:
            yield ("power", "maximum"), f"{accelerator.power.value * len(part.accelerators) * 0.99} W"
        if part.accelerator_pcie is not None and accelerator.pcie is not None:
            yield ("accelerator_pcie",), f"{accelerator.pcie.bandwidth.value * 1.01} GB/s"


def moves(part: Part) -> Iterator[Move]:
    """Yield changes that carry one figure of a part beyond its partner, or one id beyond the catalogue."""
    if isinstance(part, Accelerator):
        yield from of_accelerator(part)
    elif isinstance(part, Server | StorageServer):
        yield from of_server(part)
    elif isinstance(part, Switch):
        if part.power is not None and part.power_max is not None:
            yield ("power",), f"{part.power_max.value * 1.01} W"
        if part.splits is not None:
            yield ("splits",), part.splits.value + 1
    elif isinstance(part, Nic):
        if part.tree_efficiency is not None:
            yield ("tree_efficiency",), part.line_efficiency.value * 1.01
        yield ("line_efficiency",), "3 %"
    elif isinstance(part, Model) and part.transformer is not None:
        counted = float(parameters(part.transformer))
        if part.parameters is not None:
            yield ("parameters",), counted * 1.5
            yield ("parameters",), counted / 2
        if part.active is not None and part.parameters is not None:
            yield ("active",), part.parameters.value * 1.01
    elif isinstance(part, PriceBook):
        for name in list(part.items)[:3]:
            yield ("items", name), 0
            yield ("items", name), 3e12
    if part.sources:
        key = next(iter(part.sources))
        yield ("sources", key, "date"), "2026-13"
        yield ("sources", key, "date"), "2025-02-29"
        yield ("sources", key, "date"), "2031-10"


FEW = {
    "accelerator": ["b200", "h100-pcie"],
    "server": ["hgx-h100-8nic", "p4d-24xlarge"],
    "model": ["mixtral-8x7b"],
    "price-book": ["usd-2026"],
}
"""Parts that `make test` takes too; of any other kind the first."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_beyond_its_partner_is_refused_or_found(kind: str) -> None:
    held(kind, FEW.get(kind) or CATALOG.ids_of(kind)[:1])


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_of_any_part_beyond_its_partner_is_refused_or_found(kind: str) -> None:
    held(kind, CATALOG.ids_of(kind))


def held(kind: str, names: list[str]) -> None:
    for name in names:
        entry = CATALOG.entry(name)
        if entry.base is not None:  # it is read with its base alone
            continue
        part = validate(model_of(kind), entry.document, entry.data)
        assert list(contradictions(part, entry.document)) == [], name
        assert said(entry.document) == [], name
        for path, value in moves(entry.part):
            text = yaml.safe_dump(moved(entry.document.data, path, value))
            assert said(document_of(text)), (name, path, value)


def test_a_price_of_another_id_is_found() -> None:
    for kind in KINDS:
        for name in CATALOG.ids_of(kind):
            for path, wanted, _ in keyed_parts(CATALOG.entry(name).part):
                assert CATALOG.locate(wanted) is not None, (name, path)
    book = CATALOG.entry("usd-2026").document
    items = book.data["items"]
    wrong = {
        **book.data,
        "items": {**items, "hgx-h100-8nics": items["hgx-h100-8nic"], "h100-sxm-80gb": items["qm9700"]},
    }
    assert sorted(said(document_of(yaml.safe_dump(wrong)))) == [
        "`h100-sxm-80gb` is of kind `accelerator`: the figure is unused",
        "no part `hgx-h100-8nics` in the catalogue: the figure is unused",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "power: {value: 1000 W",
            "gemm: {bf16: {value: 3500 TFLOP/s, source: us}}\npower: {value: 1000 W",
            "the measured rate in bf16 of 3,500 TFLOP/s is above the peak of 3,000 TFLOP/s",
        ),
        (
            "110 GB/s",
            "1100 GB/s",
            "1,100 GB/s is more than the 128 GB/s that 16 lanes of generation 6 carry one way",
        ),
        (
            "generation: {value: 6",
            "generation: {value: 3",
            "110 GB/s is more than the 16 GB/s that 16 lanes of generation 3 carry one way",
        ),
        ("generation: {value: 6", "generation: {value: 60", "there is no PCIe generation 60"),
        ("lanes: {value: 16", "lanes: {value: 17", "there is no PCIe link of 17 lanes"),
        ("288 GiB", "1 MiB", "an accelerator has no memory of 0.0009766 GiB"),
        (
            "power: {value: 1000 W",
            "collectives: {ring: {value: 1500 GB/s, source: us}}\npower: {value: 1000 W",
            "the rate of `ring` of 1,500 GB/s is above the link `nvlink` of 1,200 GB/s",
        ),
        ("id: zeus", "id: zeus\nlibrary: nccl2", "no library `nccl2` in the catalogue"),
        ("id: zeus", "id: zeus\nchip: blackwel", "no other accelerator has the chip `blackwel`"),
        ('"2026-10"', '"2026-13"', "`2026-13` does not do for `date`"),
        ('"2026-10"', '"2026-02-30"', "the month 2026-02 has no day 30"),
        ('"2026-10"', '"2031-10"', "of 2031-10, which is after today, 2026-11-28"),
        ("110 GB/s", "11 Gb/s", "1.375 GB/s over a link that carries 128"),
        ("6000 TFLOP/s", "600 TFLOP/s", "0.2 times the peak in bf16"),
        ("1200 GB/s", "30 GB/s", "30 GB/s between accelerators, 110 over PCIe"),
        ("1000 W", "1 W", "3,000 TFLOP/s of the peak for each watt; usual are 0.05 to 20"),
    ],
)
def test_what_is_said_of_an_accelerator(old: str, new: str, message: str) -> None:
    assert said(document_of(ZEUS)) == []
    assert old in ZEUS
    assert said(document_of(ZEUS.replace(old, new))) == [message]


def test_a_measured_rate_may_be_at_a_higher_clock_than_the_peak() -> None:
    """A tenth more is possible and named; a new chip, or process, is nobody's misspelt one."""
    (text,) = said(document_of(f"{ZEUS}gemm: {{bf16: {{value: 3200 TFLOP/s, source: us}}}}\n"))
    assert text == "measured at 1.07 times the peak in bf16"
    assert said(document_of(f"{ZEUS}chip: olympus\nprocess: tsmc-n3\n")) == []


def test_lanes_by_hand() -> None:
    """Generation 1 has 250 MB/s a lane, 3 has 8 GT/s, 5 four times that."""
    assert [lane_gbyte_s(generation) for generation in (1, 2, 3, 5)] == [0.25, 0.5, 1.0, 4.0]


def test_the_audit_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "zeus.yaml").write_text(f"{ZEUS}chip: blackwel\n".replace("6000 TFLOP/s", "600 TFLOP/s"))
    found = [
        (item.kind, item.path, item.what) for item in audit(Catalog(tmp_path), TODAY).findings if item.part == "zeus"
    ]
    assert found == [
        (
            "out-of-range",
            "chip",
            "no other accelerator has the chip `blackwel`; did you mean `blackwell`? Accelerators of one chip share "
            "measured rates",
        ),
        ("out-of-range", "peak.fp8", "0.2 times the peak in bf16"),
    ]
    text = ffplan("check", str(tmp_path)).out
    assert "warning: 0.2 times the peak in bf16 [catalog-suspicious]" in text
    assert "warning: no other accelerator has the chip `blackwel` [catalog-suspicious]" in text


def test_a_day_may_be_named_for_the_audit() -> None:
    book = "price-book"
    assert "2026-12-01" not in ffplan("catalog audit", book, "--today", "2099-01-01", "-f", "csv").out
    assert "after today, 2020-01-01" in ffplan("catalog audit", book, "--today", "2020-01-01", "-f", "csv").out
    assert "--today: `soon` is no day" in ffplan("catalog audit", "--today", "soon").err


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Etc/GMT-14"])
def test_today_is_that_of_utc_wherever_a_command_runs(
    tmp_path: Path, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any time one of the zones has another day than UTC; in both, a source of UTC's tomorrow is of the future."""
    day = datetime.now(tz=UTC).date()
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for later, said in ((0, False), (1, True)):
            dated = (day + timedelta(days=later)).isoformat()
            (tmp_path / "zeus.yaml").write_text(ZEUS.replace('date: "2026-10"', f'date: "{dated}"'))
            checked = ffplan("check", str(tmp_path / "zeus.yaml")).out
            audited = ffplan("catalog audit accelerator", "--catalog", str(tmp_path), "-f", "csv").out
            assert [f"after today, {day}" in text for text in (checked, audited)] == [said, said], dated
    finally:
        monkeypatch.undo()
        time.tzset()
