"""Without a job, a comparison says in words which design has the advantage in what, and that none of it is a job."""

from __future__ import annotations

import pytest

from ffplan.studies.compare.compare import compare
from tests.support import assess_file, ffplan

NO_JOB = "None of these is the speed of a job"


def words(*names: str) -> list[str]:
    designs = tuple(assess_file(name) for name in names)
    return list(compare(designs, names, 0).verdicts)


def test_two_designs_of_one_size_are_compared_as_wholes() -> None:
    said = words("fire-flyer-2", "dgx-a100-10k")
    assert said[0] == (
        "fire-flyer-2 has the advantage over dgx-a100-10k in purchase (50 % less: 11,606 paper-unit against 23,000 "
        "paper-unit), switches (91 % fewer: 122 against 1,320) and IT power (44 % less: 3,276 kW against 5,824 kW)."
    )
    assert said[1].startswith(
        "dgx-a100-10k has the advantage over fire-flyer-2 in bisection (125 times as much: 125,000 GB/s against 1,000 "
        "GB/s) and allreduce of 186 MiB over all accelerators (9.55 times as fast: 53.1 GB/s with nccl against "
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
    assert "superpod-h100-4su and spectrum-x-4096 are alike in purchase, IT power and bisection." in said


def test_what_cannot_be_compared_is_named() -> None:
    said = words("fire-flyer-2", "superpod-h100-4su")
    assert (
        "fire-flyer-2 and superpod-h100-4su cannot be compared in purchase and allreduce of 186 MiB and 1 GiB over all "
        "accelerators."
    ) in said


@pytest.mark.parametrize("form", ["table", "html", "markdown"])
def test_every_report_begins_with_the_verdict_and_draws_none_from_gemm(form: str) -> None:
    text = " ".join(ffplan(f"compare fire-flyer-2 dgx-a100-10k -f {form}").out.split())
    assert "has the advantage over dgx-a100-10k in purchase" in text
    assert text.index(NO_JOB) < text.index("Compute node")
    verdict = text[: text.index("Compute node")]
    assert "GEMM" not in verdict.partition("<body>")[2] if form == "html" else "GEMM" not in verdict
    assert "of the performance" not in text


def test_with_a_job_the_verdict_is_the_jobs() -> None:
    text = ffplan("compare fire-flyer-2 dgx-a100-10k --model megatron-1.7b --batch 512 --gpus 64").out
    assert "a token of dgx-a100-10k is" in " ".join(text.split())
    assert NO_JOB not in text
