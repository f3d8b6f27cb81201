"""Figures of the catalogue, and folders laid over it."""

from __future__ import annotations

import os
from math import log
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.calibration.joint import FP8, FP8_SPREAD
from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator, Cpu, Server, Switch
from ffplan.catalog.store import Catalog
from ffplan.node.host import memory_bandwidth
from tests.support import document, ffplan, overlay_part

if TYPE_CHECKING:
    from pathlib import Path


CATALOG = Catalog()
MIB_PER_GIB = 1024


def accelerator(name: str) -> Accelerator:
    part = CATALOG.entry(name).part
    assert isinstance(part, Accelerator)
    return part


@pytest.mark.parametrize("name", ["h100-sxm-80gb", "b200", "gb200-gpu"])
def test_products_at_8_bits_are_near_those_at_16(name: str) -> None:
    """The fit draws them to 0.93 of the fraction at 16 bits, within two standard deviations of 10 %."""
    rates = accelerator(name).training
    assert rates is not None
    assert rates.matrix_fp8 is not None
    assert abs(log(rates.matrix_fp8.value / (FP8 * rates.matrix.value))) < 2 * FP8_SPREAD


def test_mi355x_has_the_peaks_of_its_own_clock() -> None:
    """MI355X at 2,400 MHz; 2,306.9 TFLOP/s are those of MI350X at 2,200 MHz."""
    per_cycle = 512 * 2 * 1024
    assert 2200e6 * per_cycle / 1e12 == pytest.approx(2306.9, abs=0.05)
    peak = {precision: figure.value for precision, figure in accelerator("mi355x").peak.items()}
    bf16 = 2400e6 * per_cycle / 1e12
    assert peak["bf16"] == pytest.approx(bf16, abs=0.05)
    assert peak["fp8"] == pytest.approx(2 * bf16, abs=0.05)
    assert peak["fp4"] == pytest.approx(4 * bf16, rel=1e-4)
    assert peak["fp16"] == peak["bf16"]


@pytest.mark.parametrize(("name", "links", "each"), [("tpu-v4", 6, 50), ("tpu-v5e", 4, 50)])
def test_links_of_a_torus_are_summed_in_one_direction(name: str, links: int, each: float) -> None:
    """The scaling book has 45 GB/s each way per link: the low end."""
    rate = accelerator(name).nvlink
    assert rate is not None
    assert rate.value == links * each
    assert rate.low == links * 45


@pytest.mark.parametrize(("name", "mebibytes"), [("b300", 275_040), ("mi355x", 294_912)])
def test_memory_is_what_a_device_prints(name: str, mebibytes: int) -> None:
    gibibytes = accelerator(name).memory.value / 2**30
    assert gibibytes == pytest.approx(mebibytes / MIB_PER_GIB, abs=0.05)


def test_a_device_query_is_the_low_end_of_memory_bandwidth() -> None:
    bandwidth = accelerator("b200").memory_bandwidth
    assert bandwidth.value == 8000
    assert bandwidth.low == pytest.approx(7680 * 3996e6 * 2 / 8 / 1e9, abs=1)


def test_memory_of_grace_counts_channels_of_64_bits() -> None:
    """32 channels of 16 bits carry what 8 of 64 bits carry: 546 GB/s, of which 460 are measured."""
    cpu = CATALOG.entry("grace").part
    assert isinstance(cpu, Cpu)
    channels, rate = cpu.memory_channels.value, cpu.memory_rate.value
    assert memory_bandwidth(channels, rate, 1.0) == pytest.approx(32 * 2 * 8532 / 1000)
    assert memory_bandwidth(channels, rate, cpu.memory_efficiency.value) == pytest.approx(460, rel=0.005)


@pytest.mark.parametrize(
    ("name", "kilowatts"), [("hgx-b200-8nic", 14.3), ("hgx-h200-8nic", 10.2), ("gb200-nvl72-tray", 132 / 18)]
)
def test_rated_power(name: str, kilowatts: float) -> None:
    server = CATALOG.entry(name).part
    assert isinstance(server, Server)
    assert server.power.maximum is not None
    assert server.power.maximum.value == pytest.approx(kilowatts * 1e3, rel=1e-4)


def test_both_figures_stand_where_two_sources_differ() -> None:
    switch = CATALOG.entry("roce-128x400g").part
    assert isinstance(switch, Switch)
    assert switch.power_max is not None
    assert (switch.power_max.low, switch.power_max.value) == (2080, 2167)
    assert (accelerator("mi250x").power.value, accelerator("mi250x").power.high) == (500, 560)
    assert (accelerator("b300").power.low, accelerator("b300").power.value) == (1000, 1100)


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    """A folder with one good part among what is none."""
    folder = tmp_path / "parts"
    folder.mkdir()
    overlay_part(folder, "llama2-70b", ("id: llama2-70b", "id: my-llama"))
    (folder / "llama2-70b.yaml").rename(folder / "my-llama.yaml")
    (folder / ".#my-llama.yaml").symlink_to("someone@host.1234:56")  # as Emacs marks a file that is open
    (folder / ".hidden.yaml").write_text("{")
    (folder / "folder.yaml").mkdir()
    (folder / "folder.yaml" / "inner.txt").write_text("x")
    os.mkfifo(folder / "pipe.yaml")
    return folder


def test_a_messy_folder_lists_its_parts(messy: Path) -> None:
    done = ffplan("catalog", "list", "models", "--catalog", str(messy))
    assert done.code == 0, done.err
    assert "my-llama" in done.out
    done = ffplan("catalog", "show", "my-lama", "--catalog", str(messy))
    assert done.code == 2
    assert "did you mean `my-llama`" in done.err


def test_a_link_to_nowhere_is_heard_of(messy: Path) -> None:
    (messy / "gone.yaml").symlink_to(messy / "nowhere")
    with pytest.raises(InputError) as caught:
        Catalog((str(messy),))
    assert "gone.yaml:1:1" in str(caught.value)
    assert "[file-unreadable]" in str(caught.value)


def test_pipes_and_folders_are_no_parts(messy: Path) -> None:
    catalog = Catalog((str(messy),))
    for name in ("pipe", "folder", ".hidden", ".#my-llama"):
        with pytest.raises(KeyError):
            catalog.entry(name)


def test_every_file_is_read_once(messy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ffplan.inputs.document import read_bytes

    seen: list[str] = []

    def watched(path: Path, file: str) -> bytes:
        seen.append(str(path))
        return read_bytes(path, file)

    monkeypatch.setattr("ffplan.catalog.store.read_bytes", watched)
    catalog = Catalog((str(messy),))
    for _ in range(2):
        catalog.ids_of("model")
        catalog.entry("my-llama")
        catalog.get(Model, "my-llama", document("model: my-llama\n"), ("model",))
    assert seen.count(str(messy / "my-llama.yaml")) == 1
    assert len(seen) == len(set(seen))


def test_a_library_keeps_the_method_of_its_name(tmp_path: Path) -> None:
    overlay_part(tmp_path, "nccl", ("method: nccl", "method: hfreduce"))
    done = ffplan(
        *("train", "dgx-a100-10k", "--model", "llama2-70b", "--tp", "8", "--gpus", "64", "--batch", "64"),
        *("--catalog", str(tmp_path)),
    )
    assert done.code == 2
    assert "[catalog-library]" in done.err
    assert "the library `nccl` has the method `hfreduce`" in done.err
