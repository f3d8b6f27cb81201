"""Bands of fitted constants, nearest accelerators, advantages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.files import data_folder
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.studies.compare.compare import compare
from ffplan.studies.train.nearest_accelerator import (
    DENSE,
    ESTIMATED,
    _nearest_calibrated,
    _same_line,
    distance,
    gemm_fraction,
    power_ratio,
    same_chip,
    same_energy,
    with_nearest_constants,
)
from tests.support import assess_file, document, ffplan

if TYPE_CHECKING:
    from pathlib import Path


JOB = "train superpod-h100-4su --model llama3-8b --gpus 64 --batch 128 --tp 2 -f json"
H100 = data_folder("catalogs") / "accelerators" / "nvidia" / "h100-sxm-80gb.yaml"


def fitted_line(name: str) -> str:
    """Return the line of the shipped H100 with a fitted constant."""
    return next(line for line in H100.read_text().splitlines() if line.startswith(f"  {name}: {{value: "))


def report(folder: Path | None = None) -> dict[str, Any]:
    run = ffplan(JOB + (f" --catalog {folder}" if folder else ""))
    assert run.code == 0, run.err
    loaded: dict[str, Any] = json.loads(run.out)
    return loaded


def overlay(folder: Path, *changes: tuple[str, str]) -> Path:
    """Return a folder with the shipped H100, changed."""
    text = H100.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / H100.name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "change",
    [
        (fitted_line("matrix"), "  matrix: {value: 75 %, source: recalled}"),
        (fitted_line("memory"), "  memory: {value: 40 %, source: recalled}"),
        ("memory_bandwidth: {value: 3350 GB/s", "memory_bandwidth: {value: 5000 GB/s"),  # another chip
    ],
)
def test_constants_that_somebody_wrote_earn_no_band(tmp_path: Path, change: tuple[str, str]) -> None:
    """Others have what a chip of another process has, and the line says why."""
    shipped, own = report(), report(overlay(tmp_path, change))
    assert shipped["error_band"] == DENSE.band
    assert own["error_band"] == ESTIMATED.band
    assert "the catalogue has no fit of this part's own constants" in own["error_basis"]


def test_a_part_that_repeats_a_fit_keeps_its_band(tmp_path: Path) -> None:
    assert report(overlay(tmp_path, ("name: ", "name: My ")))["error_band"] == report()["error_band"]


@pytest.mark.parametrize(("kind", "field"), [("accelerator", "training"), ("stack", "constants")])
def test_a_template_writes_no_fitted_constants(kind: str, field: str) -> None:
    """They are explained behind `#`, whatever part the examples are of."""
    like = {"accelerator": "h100-sxm-80gb", "stack": "nemo-2025"}[kind]
    for more in ("", f" --like {like}"):
        run = ffplan(f"catalog new {kind}{more}")
        assert run.code == 0
        assert f"\n# {field}:" in run.out
        assert field not in document(run.out).data


def part(name: str) -> Accelerator:
    found = Catalog().entry(name).part
    assert isinstance(found, Accelerator)
    return found


def test_gemms_of_an_uncalibrated_part_follow_the_best_that_was_measured_on_it() -> None:
    """MI300X: best 668.4 of 1,307.4; H200: 794.5 of 989.4. A layer that keeps 70 % of 989.4 there keeps 44.6 % here."""
    expected = 0.7 * (668.4 / 1307.4) / (794.5 / 989.4)
    assert gemm_fraction(part("mi300x"), part("h200-sxm"), "16", 0.7) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(0.4457, abs=1e-4)


def test_no_part_exceeds_its_best_gemm() -> None:
    """Of a relative that was measured at nothing, or near its own best."""
    assert gemm_fraction(part("mi300x"), part("a100-sxm-80gb"), "16", 0.77) == pytest.approx(668.4 / 1307.4, rel=1e-12)
    assert gemm_fraction(part("mi300x"), part("h200-sxm"), "16", 0.9) == pytest.approx(668.4 / 1307.4, rel=1e-12)


def test_a_precision_without_a_measured_gemm_follows_sixteen_bits() -> None:
    """MI300X has none at FP8; Gaudi 3 has 1,289.5 of 1,678, B200 3,432.5 of 4,500."""
    bf16 = gemm_fraction(part("mi300x"), part("h200-sxm"), "16", 0.7)
    assert gemm_fraction(part("mi300x"), part("h200-sxm"), "fp8", 0.7) == bf16
    fp8 = gemm_fraction(part("gaudi3"), part("b200"), "fp8", 0.5)
    assert fp8 == pytest.approx(0.5 * (1289.5 / 1678) / (3432.5 / 4500), rel=1e-12)


def test_a_part_on_which_nothing_was_measured_keeps_the_fraction() -> None:
    assert gemm_fraction(part("h20"), part("h200-sxm"), "16", 0.7) == 0.7


def test_gemms_of_one_chip_follow_its_power() -> None:
    """GB300: 1,400 W and 2,500 TFLOP/s; B200: 1,000 and 2,250. 47 % there is 59 % here; at FP8 the peaks are twice."""
    assert power_ratio(part("gb300-gpu"), part("b200"), "16") == pytest.approx(1.4 * 2250 / 2500)
    assert gemm_fraction(part("gb300-gpu"), part("b200"), "16", 0.47) == pytest.approx(0.47 * 1.4 * 0.9)
    assert gemm_fraction(part("gb300-gpu"), part("b200"), "fp8", 0.44) == pytest.approx(0.44 * 1.4 * 4500 / 5000)
    assert gemm_fraction(part("h100-nvl"), part("h100-sxm-80gb"), "16", 0.7) == pytest.approx(0.4 * 989.4 / 835)


def test_power_does_not_lift_a_chip_beyond_its_best_gemm() -> None:
    """B200's best is 1,745 of 2,250, GB300's 1,984 of 2,500; without one of its own the relative's holds, 1,822."""
    assert gemm_fraction(part("b200"), part("b100"), "16", 0.7) == pytest.approx(1745 / 2250)
    assert gemm_fraction(part("gb300-gpu"), part("gb200-gpu"), "16", 0.7) == pytest.approx(1984 / 2500)
    unknown = part("gb300-gpu").model_copy(update={"gemm": {}})
    assert gemm_fraction(unknown, part("gb200-gpu"), "16", 0.7) == pytest.approx(1822 / 2500)


def test_chips_of_one_process_spend_alike() -> None:
    """H100: 989.4 TFLOP/s at 700 W; B200: 2,250 at 1,000; both of the N5 family. A100 is of another, and unbound."""
    assert same_energy(part("h100-sxm-80gb"), part("b200"))
    assert power_ratio(part("b200"), part("h100-sxm-80gb"), "16") == pytest.approx(1000 / 700 * 989.4 / 2250, rel=1e-3)
    bound, other = part("h100-sxm-80gb"), part("a100-sxm-80gb")
    assert not same_energy(bound, other)
    for changed in ({"process": "tsmc-n7"}, {"vendor": "AMD"}, {"chip": None}):
        assert not same_energy(part("b200"), bound.model_copy(update=changed))


def test_constants_of_chips_of_one_process_have_one_energy() -> None:
    """H100, GB200 and B200 give 1.07 TFLOP/J at 16 bits, drawn together; A100 0.6. What each predicts alone is in
    `make bands`.
    """
    rates = {}
    for name in ("h100-sxm-80gb", "gb200-gpu", "b200", "a100-sxm-80gb"):
        found = part(name)
        assert found.training is not None
        assert found.power is not None
        rates[name] = found.training.matrix.value * found.peak["bf16"].value / found.power.value
    assert [rates[name] for name in ("h100-sxm-80gb", "gb200-gpu", "b200")] == pytest.approx([1.07] * 3, rel=0.03)
    assert rates["a100-sxm-80gb"] == pytest.approx(0.6, abs=0.01)


def test_power_says_nothing_of_other_chips() -> None:
    assert same_chip(part("gb200-gpu"), part("b200"))
    assert not same_chip(part("a100-pcie-40gb"), part("a100-sxm-40gb"))
    assert power_ratio(part("h20"), part("h200-sxm"), "16") is None
    assert power_ratio(part("gh200-96gb"), part("h200-sxm"), "16") is None
    assert power_ratio(part("b200"), part("b100"), "fp8") is not None
    assert power_ratio(part("h100-nvl"), part("h100-sxm-80gb"), "fp4") is None


def test_the_nearest_relative_is_of_the_same_chip() -> None:
    """H100 PCIe is nearer to A100 by peak and bandwidth than to any SXM card; its chip comes first."""
    for name in ("h100-pcie", "h100-nvl", "gb300-gpu"):
        near = _nearest_calibrated(part(name), Catalog())
        assert near is not None
        assert near.chip == part(name).chip


def test_a_part_of_one_line_comes_before_one_of_nearer_rates() -> None:
    """H20 has rates between those of A100 and H100, nearer to A100, and the kernels of Hopper; L40S has no links."""
    assert _same_line(part("h20"), part("h100-sxm-80gb"))
    assert not _same_line(part("h20"), part("a100-sxm-80gb"))
    assert not _same_line(part("l40s"), part("h100-sxm-80gb"))
    assert distance(part("h20"), part("a100-sxm-80gb")) < distance(part("h20"), part("h100-sxm-80gb"))
    near = _nearest_calibrated(part("h20"), Catalog())
    assert near is not None
    assert near.id == "h100-sxm-80gb"


@pytest.mark.parametrize("name", ["mi300x", "mi325x", "mi355x", "gaudi3", "gh200-96gb"])
def test_the_constants_that_a_part_gets(name: str) -> None:
    """All of the relative but the fractions of GEMMs, which stay at most the best measured one."""
    own, (made, source) = part(name), with_nearest_constants(part(name), Catalog())
    near = _nearest_calibrated(own, Catalog())
    assert near is not None
    assert near.training is not None
    assert made.training is not None
    assert source == near.id
    assert made.training.memory == near.training.memory
    assert made.training.matrix.value == gemm_fraction(own, near, "16", near.training.matrix.value)
    assert made.training.matrix.value <= own.gemm["bf16"].value / own.peak["bf16"].value
    assert made.training.matrix_fp8 is not None
    assert made.training.matrix_tf32 is not None


NO_JOB = "None of these is the speed of a job"


def words(*names: str) -> list[str]:
    designs = tuple(assess_file(name) for name in names)
    return list(compare(designs, names, 0).verdicts)


def test_two_designs_of_one_size_are_compared_as_wholes() -> None:
    said = words("fire-flyer-2", "dgx-a100-10k")
    assert said[0] == (
        "fire-flyer-2 has the advantage over dgx-a100-10k in price of the planned parts (50 % less: 11,606 paper-unit "
        "against 23,000 paper-unit), switches (91 % fewer: 122 against 1,320) and planned IT power "
        "(44 % less: 3,276 kW against 5,824 kW)."
    )
    assert said[1].startswith(
        "dgx-a100-10k has the advantage over fire-flyer-2 in bisection (125 times as much: 125,000 GB/s against 1,000 "
        "GB/s) and allreduce of 186 MiB over all accelerators (10.1 times as fast: 56.2 GB/s with nccl against "
        "5.56 GB/s with hfreduce)."
    )
    assert said[2:] == [said[-1]]
    assert said[-1].startswith(
        f"{NO_JOB}, and their accelerators differ (NVIDIA A100 PCIe 40 GB and NVIDIA A100 SXM 40 GB): `--model ID"
    )


def test_the_baseline_only_turns_the_order() -> None:
    one, two = words("fire-flyer-2", "dgx-a100-10k"), words("dgx-a100-10k", "fire-flyer-2")
    assert sorted(one)[1:] == sorted(two)[1:]


def test_two_designs_of_different_sizes_are_compared_by_accelerator() -> None:
    said = words("superpod-h100-4su", "spectrum-x-4096")
    assert said[0] == (
        "superpod-h100-4su and spectrum-x-4096 have 1,016 and 4,096 accelerators: what follows is for one accelerator "
        "of each."
    )
    switches = next(line for line in said if "switches per 1,000" in line)
    assert switches.startswith("spectrum-x-4096 has the advantage over superpod-h100-4su in ")
    assert f"31.2 against {48 / 1016 * 1000:.1f}" in switches
    assert "(3 % faster: 163 GB/s with nccl against 159 GB/s with nccl)" in said[1]
    assert (
        "superpod-h100-4su and spectrum-x-4096 are alike in price of the planned parts, planned IT power and bisection."
        in said
    )


def test_what_cannot_be_compared_is_named() -> None:
    said = words("fire-flyer-2", "superpod-h100-4su")
    assert (
        "fire-flyer-2 and superpod-h100-4su cannot be compared in price of the planned parts and allreduce of 186 MiB "
        "and 1 GiB over all accelerators."
    ) in said


@pytest.mark.parametrize("form", ["table", "html", "markdown"])
def test_every_report_begins_with_the_verdict_and_draws_none_from_gemm(form: str) -> None:
    text = " ".join(ffplan(f"compare fire-flyer-2 dgx-a100-10k --full -f {form}").out.split())
    assert "has the advantage over dgx-a100-10k in price of the planned parts" in text
    assert text.index(NO_JOB) < text.index("Compute node")
    verdict = text[: text.index("Compute node")]
    assert "GEMM" not in verdict.partition("<body>")[2] if form == "html" else "GEMM" not in verdict
    assert "of the performance" not in text


def test_with_a_job_the_verdict_is_the_jobs() -> None:
    text = ffplan("compare fire-flyer-2 dgx-a100-10k --model megatron-1.7b --batch 512 --gpus 64").out
    assert "a token of dgx-a100-10k is" in " ".join(text.split())
    assert NO_JOB not in text
