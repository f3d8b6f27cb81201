"""Files of a catalogue with measured figures: what stands in them, and what stays as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.calibration.fit import FitError
from ffplan.calibration.kernel_times import _measured_attention
from ffplan.calibration.measured_errors import _default_rates
from ffplan.calibration.measured_fit import MeasuredRequest, MeasuredResult, fit_recording
from ffplan.calibration.overlay import (
    MEASURED,
    _attention_file,
    _figure_line,
    _MeasuredSource,
    _merged_tables,
    _stack_lines,
    _with_lines,
    _with_sources,
)
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import AttentionRates, AttentionTable, SoftwareStack
from ffplan.catalog.store import Catalog
from ffplan.inputs.validate import validate
from tests.support import document, overlay_part
from tests.unit.calibration.recordings import KNOWN, LINK, accelerator, made_up, reached, transcribed

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.measuring.recording import Recording

pytest.importorskip("scipy")
MADE_UP = made_up(noise=0.005)


def asked(name: str = "h100-sxm-80gb", only: str | None = None, stack: str | None = None) -> MeasuredRequest:
    return MeasuredRequest(accelerator=name, only=tuple(only.split(",")) if only else None, stack=stack)


def fitted(request: MeasuredRequest, recording: Recording = MADE_UP, *overlays: str, **more: object) -> MeasuredResult:
    changed = recording.model_copy(update=more)
    return fit_recording(Catalog(overlays), changed, document("a: 1", "run.json"), request)


def part(text: str) -> Accelerator:
    return validate(Accelerator, document(text))


def test_what_training_steps_reach_stays_unless_asked_for() -> None:
    """matrix and memory stay; streams, the time of a kernel, attention and PCIe are measured, with their evidence."""
    made = fitted(asked())
    assert set(made.files) == {"h100-sxm-80gb", "attention-h100"}
    found, before = part(made.files["h100-sxm-80gb"]), accelerator()
    assert found.training is not None
    assert before.training is not None
    assert found.pcie is not None
    for name in ("matrix", "matrix_fp8", "memory", "overlap", "units"):
        assert getattr(found.training, name) == getattr(before.training, name), name
    assert found.training.stream is not None
    assert found.training.stream.value == pytest.approx(KNOWN["stream"], rel=0.01)
    assert found.training.kernel.value == pytest.approx(11e-6, rel=0.02)
    assert found.pcie.bandwidth.value == pytest.approx(LINK["to-device"] / 1e9, rel=0.01)
    assert found.pcie.bandwidth.range[1] == pytest.approx(LINK["from-device"] / 1e9, rel=0.01)
    assert (found.training.set, found.training.kernels) == (before.training.set, before.training.kernels)
    assert (found.peak, found.collectives, found.nvlink) == (before.peak, before.collectives, before.nvlink)
    for figure in (found.training.stream, found.training.kernel, found.pcie.bandwidth):
        assert figure.source == MEASURED
        assert figure.range[0] <= figure.value <= figure.range[1]
        assert figure.low is not None
    assert (found.sources[MEASURED].grade, found.sources[MEASURED].date) == (
        "estimate",
        "2026-11",
    )  # they were made up


def test_what_is_asked_for_is_written() -> None:
    made = fitted(asked(only="matrix,matrix_fp8,memory"), origin="measured")
    assert set(made.files) == {"h100-sxm-80gb"}
    found = part(made.files["h100-sxm-80gb"])
    assert found.training is not None
    assert found.training.matrix_fp8 is not None
    assert found.training.matrix.value == pytest.approx(KNOWN["matrix"], rel=0.01)
    assert found.training.matrix_fp8.value == pytest.approx(KNOWN["matrix_fp8"], rel=0.01)
    assert found.training.memory.value == pytest.approx(KNOWN["memory"], rel=0.01)
    assert found.training.kernel.value == 12e-6
    assert (found.sources[MEASURED].grade, found.sources[MEASURED].status) == ("measured", "V")
    assert found.training.matrix.status == "D"
    assert [item.name for item in made.report.constants if item.written] == ["matrix", "matrix_fp8", "memory"]


def test_a_stack_takes_the_rate_of_its_element_wise_kernels() -> None:
    """In place of its own on this accelerator; another stack gets a set of its own, and one without constants too."""
    made = fitted(asked(stack="nemo-2025"))
    assert set(made.files) == {"h100-sxm-80gb", "attention-h100", "nemo-2025"}
    found = validate(SoftwareStack, document(made.files["nemo-2025"]))
    before = Catalog().entry("nemo-2025").part
    assert isinstance(before, SoftwareStack)
    rates = found.constants["h100-sxm"]
    assert rates.memory is not None
    assert rates.memory.value == pytest.approx(KNOWN["memory"], rel=0.01)
    assert found.constants["blackwell"] == before.constants["blackwell"]
    accelerated = part(made.files["h100-sxm-80gb"]).training
    assert accelerated is not None
    shipped = Catalog().entry("h100-sxm-80gb").part
    assert isinstance(shipped, Accelerator)
    assert shipped.training is not None
    assert accelerated.memory.value == shipped.training.memory.value
    other = fitted(asked(stack="megatron-2021", only="memory")).files
    assert set(other) == {"megatron-2021"}
    own = set(validate(SoftwareStack, document(other["megatron-2021"])).constants)
    assert own == {"a100-sxm", "h100-sxm"}
    first = fitted(asked(stack="deepspeed-2021", only="memory")).files["deepspeed-2021"]
    assert set(validate(SoftwareStack, document(first)).constants) == {"h100-sxm"}


def test_measured_attention_takes_the_place_of_its_kernels_alone() -> None:
    made = validate(AttentionRates, document(fitted(asked(only="attention")).files["attention-h100"]))
    before = Catalog().entry("attention-h100").part
    assert isinstance(before, AttentionRates)
    own = [table for table in made.tables if table.longest.source == MEASURED]
    assert {table.kernel for table in own} == {"fa2", "cudnn"}
    assert len(own) == 2 * 3 * 2
    for table in own:
        last = (600.0 if table.kernel == "cudnn" else 350.0) * (1.0 if table.measured == "forward" else 0.8)
        assert table.lengths == (512, 1024, 2048, 4096, 8192, 16384)
        for length, rate in zip(table.lengths, table.tflops, strict=True):
            assert rate == pytest.approx(last * length / (length + 512), rel=0.01)
    kept = [table for table in before.tables if table.kernel in ("fa1", "fa3", "triton")]
    assert [table for table in made.tables if table.kernel in ("fa1", "fa3", "triton")] == kept
    assert (before.usual, made.usual, made.peak.value) == ("cudnn-9.19", "cudnn", 989.4)
    again = validate(AttentionRates, document(_attention_file(made)))
    assert again.tables == made.tables


def test_a_part_of_another_peak_gets_a_table_of_its_own() -> None:
    """Tables are read as fractions of their peak: rates of another chip would be none of these."""
    assert set(fitted(asked("a100-pcie-40gb", only="attention"), transcribed("a100-pcie-simumax")).files) == {
        "attention-a100"
    }
    shipped = Catalog().entry("attention-h100").part
    assert isinstance(shipped, AttentionRates)
    lower = shipped.model_copy(update={"peak": shipped.peak.model_copy(update={"value": 900.0})})
    source = _MeasuredSource("t", "2026", measured=True)
    own = _measured_attention(MADE_UP, accelerator(), lower, _default_rates(accelerator(), 132), source)
    assert own.part is not None
    assert (own.part.id, own.part.peak.value) == ("attention-h100-sxm-80gb", 989.4)
    assert {item.kernel for item in own.part.tables} == {"fa2", "cudnn"}
    assert set(own.part.sources) == {MEASURED, "epoch"}


def test_an_accelerator_without_constants_gets_all_of_them() -> None:
    gemms = tuple(row for row in MADE_UP.gemms if row.dtype == "bf16")
    made = fitted(asked("mi300x"), MADE_UP, gemms=gemms)
    found = part(made.files["mi300x"])
    assert found.training is not None
    assert (found.training.set, found.training.units.value) == ("mi300x-own", 132)
    assert found.training.kernels == "attention-mi300x"
    assert set(made.files) == {"mi300x", "attention-mi300x"}
    with pytest.raises(FitError, match=r"has no constants of training yet, and the recording lacks memory, kernel"):
        fitted(asked("mi300x"), MADE_UP, gemms=gemms, memory=(), attention=())


def test_kernels_without_a_causal_backward_pass_are_left_out() -> None:
    """A training step needs both passes. FlashAttention 2 alone has them here; on H100 the catalogue has cuDNN's."""
    rows = tuple(row for row in MADE_UP.attention if row.kernel == "fa2" or row.measured == "forward")
    made = fitted(asked("mi300x"), MADE_UP, attention=rows)
    tables = validate(AttentionRates, document(made.files["attention-mi300x"])).tables
    assert {table.kernel for table in tables} == {"fa2"}
    assert any("Attention by cudnn is not written" in words for words in made.report.remarks)
    forward = tuple(row for row in rows if row.kernel == "cudnn")
    assert fitted(asked("mi300x", only="attention"), MADE_UP, attention=forward).files == {}
    known = fitted(asked(only="attention"), MADE_UP, attention=forward).files["attention-h100"]
    assert sum(item.longest.source == MEASURED for item in validate(AttentionRates, document(known)).tables) == 3


def test_doubts_are_named() -> None:
    assert fitted(asked(), MADE_UP, origin="measured").report.doubts == ()
    assert fitted(asked()).report.doubts == ("the times were made up",)
    short = fitted(asked(only="matrix,stream"), MADE_UP, origin="measured", load="short").report.doubts
    assert short == ("matrix: measured on short kernels, which need not show the power limit of long work",)
    units = MADE_UP.device.model_copy(update={"multiprocessors": 114})
    wrong = fitted(asked(), MADE_UP, origin="measured", device=units).report.doubts
    assert wrong == ("the device has 114 multiprocessors, the catalogue 132",)
    wild = fitted(asked("b200", only="matrix"), transcribed("b200-simumax")).report.doubts
    assert wild == ("gemm bf16 is missed by 21% on average, more than 15%",)


def test_remarks_say_what_is_missing() -> None:
    made = fitted(asked(), transcribed("h100-xla-cudnn"), complete=False)
    text = " ".join(made.report.remarks)
    assert "stream is not measured: the most that the fit allows; the catalogue's 90 % is kept." in text
    assert "23 GEMMs have fewer tiles than multiprocessors" in text
    assert "interrupted" in text
    eight = tuple(row for row in MADE_UP.gemms if row.dtype == "fp8")
    strange = fitted(asked("a100-sxm-80gb"), MADE_UP, gemms=eight, attention=()).report.remarks
    assert any("has no peak for fp8" in words for words in strange)


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ({"type": "cpu"}, "times of a CPU show that the program runs"),
        ({"pci_id": "10de:20b2"}, "not `h100-sxm-80gb` [measured-recording]\n    give its own --accelerator"),
        ({"pci_id": "ffff:ffff"}, "no accelerator of this PCI id is known"),
    ],
)
def test_another_device_is_refused(device: dict[str, str], words: str) -> None:
    with pytest.raises(InputError) as caught:
        fitted(asked(), MADE_UP, device=MADE_UP.device.model_copy(update=device))
    assert words in str(caught.value)
    assert fitted(asked(), MADE_UP, device=MADE_UP.device.model_copy(update={"pci_id": "10de:2330"})).files


def test_rates_above_the_peak_are_refused_one_by_one() -> None:
    """A rate of more than 989.4 TFLOP/s at 16 bits, of a GEMM and of attention, each with its place."""
    gemms = (MADE_UP.gemms[0].model_copy(update={"median_us": 0.5}), *MADE_UP.gemms[1:])
    attention = tuple(row.model_copy(update={"median_us": row.median_us / 2}) for row in MADE_UP.attention)
    with pytest.raises(InputError) as caught:
        fitted(asked(), MADE_UP, gemms=gemms, attention=attention)
    text = str(caught.value)
    assert "1,074 TFLOP/s is more than the dense peak of `h100-sxm-80gb`, 989" in text
    fast = [row for row in attention if 2 * reached(row) > 989.4]
    assert len(fast) == 9
    assert len(caught.value.findings) == 1 + len(fast)


def test_an_empty_recording_is_refused() -> None:
    with pytest.raises(InputError, match="holds no measured kernel"):
        fitted(asked(), MADE_UP, gemms=(), attention=(), memory=(), copies=())


def test_a_file_in_another_style_is_left_to_its_owner(tmp_path: Path) -> None:
    """A flow mapping on one line cannot be edited line by line."""
    overlay_part(
        tmp_path,
        "h100-sxm-80gb",
        ("  generation: {value: 5, source: p2p, grade: datasheet}\n", ""),
        ("  lanes: {value: 16, source: p2p, grade: datasheet}\n", ""),
        ("  bandwidth: {value: 55.4 GB/s", "# "),
        (
            "pcie:\n",
            "pcie: {generation: {value: 5, source: p2p}, lanes: {value: 16, source: p2p}, "
            "bandwidth: {value: 55 GB/s, source: p2p}}\n",
        ),
    )
    with pytest.raises(FitError, match="add these lines by hand") as caught:
        fitted(asked(only="pcie"), MADE_UP, str(tmp_path))
    assert "  bandwidth: {value: 5" in str(caught.value)


def test_lines_of_a_section_are_replaced_or_added() -> None:
    text = "sources:\n  a: {}\ntraining:\n  set: x\n  matrix:\n    value: 1\n    source: a\n# end\npower: 1\n"
    made = _with_lines(text, "training", {"matrix": "  matrix: {value: 2}", "stream": "  stream: {value: 3}"})
    assert made == (
        "sources:\n  a: {}\ntraining:\n  set: x\n  matrix: {value: 2}\n# end\n  stream: {value: 3}\npower: 1\n"
    )
    assert _with_lines("a: 1\n", "pcie", {"bandwidth": "  bandwidth: 2"}) == "a: 1\npcie:\n  bandwidth: 2\n"


def test_a_source_is_replaced_by_a_newer_one() -> None:
    source = _MeasuredSource('a "b"', "2026", measured=True)
    first = _with_sources("sources:\n  a: {}\n", [source.line], [MEASURED])
    again = _with_sources(first, [_MeasuredSource("c", "2027", measured=False).line], [MEASURED])
    assert (
        first
        == f'sources:\n  {MEASURED}: {{title: "a \\"b\\"", date: "2026", grade: measured, status: V}}\n  a: {{}}\n'
    )
    assert again == f'sources:\n  {MEASURED}: {{title: "c", date: "2027", grade: estimate, status: D}}\n  a: {{}}\n'


def test_figures_have_their_range_and_note() -> None:
    line = _figure_line("stream", ("88 %", "87 %", "89 %"), "two\nlines")
    assert line == f'  stream: {{value: 88 %, low: 87 %, high: 89 %, source: {MEASURED}, status: D, note: "two lines"}}'
    assert _figure_line("bandwidth", ("1 GB/s",) * 3, derived=False).endswith(f"source: {MEASURED}}}")


def test_constants_of_a_stack() -> None:
    line = "  memory: {value: 1}"
    one = "constants:\n  a:\n    memory: {value: 9}\n    launch: {value: 2}\n  b:\n    memory: {value: 3}\n"
    assert _stack_lines(one, "a", line) == one.replace("{value: 9}", "{value: 1}")
    assert _stack_lines(one, "b", line) == one.replace("{value: 3}", "{value: 1}")
    assert _stack_lines(one, "c", line) == f"{one}  c:\n    memory: {{value: 1}}\n"
    assert _stack_lines("id: x\n", "a", line) == "id: x\nconstants:\n  a:\n    memory: {value: 1}\n"


def table(measured: str, width: int = 64, *, causal: bool = True) -> AttentionTable:
    return AttentionTable.model_validate(
        {
            "kernel": "fa2",
            "head_dim": width,
            "causal": causal,
            "measured": measured,
            "lengths": [512],
            "tflops": [100.0],
            "longest": {"value": "100 TFLOP/s", "source": "s"},
        }
    )


def test_a_measured_pass_replaces_that_pass() -> None:
    before = (table("both"), table("forward"), table("backward"), table("forward", 128), table("forward", causal=False))
    forward, both = table("forward"), table("both")
    assert _merged_tables(before, [forward]) == (before[0], before[2], before[3], before[4], forward)
    assert _merged_tables(before, [both]) == (before[3], before[4], both)
