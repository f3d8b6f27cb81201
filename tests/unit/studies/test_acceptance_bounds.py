"""What bounds a measured value from above, what a slow part costs a step, and the summary of ibdiagnet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.interop.logs.read import read_log
from ffplan.node.resources import pcie_line_rate
from ffplan.studies.basis.job_layout import node_of
from ffplan.studies.operate.acceptance_verdicts import _collective_bound, _node_bounds
from ffplan.studies.operate.goodput_job import goodput_job
from tests.support import DESIGNS, design_of, ffplan

if TYPE_CHECKING:
    from pathlib import Path

SUMMARY = """-I- ibdiagnet version 2.13.0
---------------------------------------------
Summary
-I- Stage                     Warnings   Errors     Comment
-I- Discovery                 0          0
-I- Lids Check                0          0
-I- Port Counters             12         3          See log
-I- Routing                   2          0

-I- You can find detailed errors/warnings in: /var/tmp/ibdiagnet2/ibdiagnet2.log
"""


def test_line_rates_of_pcie() -> None:
    assert pcie_line_rate(4, 16) == pytest.approx(31.508, abs=1e-3)
    assert pcie_line_rate(5, 16) == pytest.approx(63.015, abs=1e-3)
    assert pcie_line_rate(2, 8) == 4.0


def test_what_no_collective_exceeds_by_hand() -> None:
    """HGX H100: 450 GB/s a GPU by NVLink, 8 NICs of 50 GB/s a node."""
    host = node_of(design_of("superpod-h100-4su"))
    found = {
        (name, gpus): bound.most
        for name in ("allreduce", "all-gather", "all-to-all")
        for gpus in (8, 16)
        if (bound := _collective_bound(name, gpus, host))
    }
    assert found == {
        ("allreduce", 8): 2 * 7 / 8 * 450,
        ("allreduce", 16): 2 * 15 / 16 * 400,  # NICs bind; a switch that reduces carries the message once
        ("all-gather", 8): 450.0,
        ("all-gather", 16): 450.0,  # 15 / 8 of 400 is more than NVLink has
        ("all-to-all", 8): 450.0,
        ("all-to-all", 16): 400 / 8 * 15 / 8,
    }
    assert _collective_bound("allreduce", 1, host) is None


@pytest.mark.deep
def test_nothing_that_a_sheet_expects_exceeds_its_bound() -> None:
    for name in DESIGNS:
        run = ffplan("fabric accept", name, "-f", "json")
        if run.code:
            continue
        for row in json.loads(run.out)["sheet"]:
            assert row["most"] is None or row["expected"] <= row["most"] * (1 + 1e-9), (name, row)


def test_a_value_above_its_peak_or_line_rate_is_in_doubt(tmp_path: Path) -> None:
    bounds = _node_bounds(design_of("superpod-h100-4su"))
    sheet = tmp_path / "sheet.csv"
    rows = ["check,host,part,gpus,size_bytes,measured"]
    rows += [f"gemm-bf16,node1,GPU 0,0,0,{bounds['gemm-bf16'].most + 2}", "gemm-bf16,node1,GPU 1,0,0,790"]
    rows += ["nic-link,node1,port 1,0,0,100", "nic-link,node1,port 2,0,0,50", "nic-link,node1,port 3,0,0,25"]
    rows += ["storage-read,node1,,0,0,40", "memory,node1,,0,0,700", "all-gather,node1,,8,1073741824,500"]
    sheet.write_text("\n".join(rows) + "\n")
    found = json.loads(ffplan("fabric accept", "superpod-h100-4su", "--measured", str(sheet), "-f", "json").out)[
        "judged"
    ]
    verdicts = {(row["measured"]["check"], row["measured"]["part"]): (row["verdict"], row["why"]) for row in found}
    assert verdicts["gemm-bf16", "GPU 1"][0] == verdicts["nic-link", "port 2"][0] == "pass"
    assert verdicts["nic-link", "port 3"] == ("fail", "less than planned")
    for check, part, words in (
        ("gemm-bf16", "GPU 0", "above 989.4, the peak of `h100-sxm-80gb`"),
        ("nic-link", "port 1", "more than planned"),
        ("storage-read", "", "above 25, what the NICs of its nodes carry"),
        ("memory", "", "above 614.4, the rate of its memory channels"),
        ("all-gather", "", "above 450, the rate of NVLink"),
    ):
        verdict, why = verdicts[check, part]
        assert (verdict, why) == ("doubt", f"{words}: a bad measurement, or another part")


def test_the_summary_of_ibdiagnet(tmp_path: Path) -> None:
    rows = read_log(SUMMARY, "fabric.log")
    assert [(row.check, row.part, row.value, row.doubt, row.line) for row in rows] == [
        ("ibdiagnet-errors", "Discovery", 0.0, "", 5),
        ("ibdiagnet-errors", "Lids Check", 0.0, "", 6),
        ("ibdiagnet-errors", "Port Counters", 3.0, "12 warnings", 7),
        ("ibdiagnet-errors", "Routing", 0.0, "2 warnings", 8),
    ]
    skipped = SUMMARY.replace(
        "-I- Lids Check                0          0", "-W- Lids Check                NA         NA"
    )
    assert [(row.part, row.value, row.doubt) for row in read_log(skipped, "fabric.log")][1:3] == [
        ("Lids Check", 0.0, "no error count, only `NA`"),
        ("Port Counters", 3.0, "12 warnings"),  # what stands behind it is read too
    ]
    with pytest.raises(InputError, match="no stage"):
        read_log("-I- Stage  Warnings  Errors  Comment\n", "fabric.log")
    log = tmp_path / "ibdiagnet2.log"
    log.write_text(SUMMARY)
    run = ffplan("fabric accept", "superpod-h100-4su", "--measured", str(log), "-f", "json")
    assert run.code == 1
    report = json.loads(run.out)
    assert any("recalled form" in words for words in report["assumptions"])
    found = report["judged"]
    assert [(row["measured"]["part"], row["verdict"], row["why"]) for row in found] == [
        ("Port Counters", "fail", "3 errors"),
        ("Routing", "doubt", "2 warnings"),
        ("Discovery", "pass", ""),
        ("Lids Check", "pass", ""),
    ]
    ethernet = json.loads(ffplan("fabric accept", "spectrum-x-4096", "--measured", str(log), "-f", "json").out)[
        "judged"
    ]
    assert {row["verdict"] for row in ethernet} == {"not judged"}


@pytest.mark.parametrize(
    ("model", "check", "gpus", "parts"),
    [
        ("deepseek-v3", "all-to-all", 16, ("experts",)),
        ("llama3-70b", "nic-link", 0, ("gradients", "parameters", "sends")),
        ("vgg16", "nic-link", 0, ("gradients", "parameters", "sends")),
        ("resnet-50", "gemm-bf16", 0, ("products", "attention", "recompute", "output")),
    ],
)
def test_what_a_slow_nic_or_exchange_costs_a_step(
    model: str, check: str, gpus: int, parts: tuple[str, ...], tmp_path: Path
) -> None:
    """A part at half its rate takes as long again; what other work hides of it is not counted."""
    sheet = tmp_path / "sheet.csv"
    size = 1073741824 if gpus else 0
    rows = [f"{check},node{at},,{gpus},{size},{20.0 if at == 5 else 40.0 + at / 100}" for at in range(6)]
    sheet.write_text("\n".join(["check,host,part,gpus,size_bytes,measured", *rows]) + "\n")
    job = ("superpod-h100-4su", "--model", model)
    (slow,) = json.loads(ffplan("fabric accept", *job, "--measured", str(sheet), "-f", "json").out)["slow"]
    asked = goodput_job(design_of("superpod-h100-4su"), Catalog(), model, None)
    assert asked is not None
    assert asked.report is not None
    share = sum(part.share for part in asked.report.rows[0].parts if part.name in parts)
    assert slow["host"] == "node5"
    assert share > 0
    assert slow["step"] == pytest.approx(share * (slow["median"] / 20.0 - 1))
    one = json.loads(ffplan("fabric accept", *job, *("-g", "8"), "--measured", str(sheet), *("-f", "json")).out)["slow"]
    if check == "nic-link":
        assert one[0]["step"] is None  # a job of one node uses no NICs
