"""Logs of perftest, OSU, oneCCL, DCGM, MLPerf Storage and `topo -m`: figures worked out by hand, and what they lack."""

# ruff: noqa: E501 - lines as programs print them

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.interop.logs.measured import CollectiveHints
from ffplan.interop.logs.read import read_log
from tests.support import examples, ffplan
from tests.unit.interop.test_pasted import DIAG, MLPERF, ONECCL, OSU, OSU_BW, PERFTEST, PREFIXES, TOPO_M

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.results.acceptance import Measured

DESIGN = "superpod-h100-4su"
READ_BOTH = """                    RDMA_Read Bidirectional BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_3
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 65536      5000             90611.05            90600.00\t\t   1.449600
"""
DOCUMENT = """{
test_info: {
test: RDMA_Write_BW_Test,
Dual_port: OFF,
Device: "mlx5_1",
},
results: {
MsgSize: 65536,
n_iterations: 5000,
BW_peak: 392.31,
BW_average: 391.90,
MsgRate: 0.747490,
}
}
"""
LATENCY = """                    RDMA_Write Latency Test
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.02           4.10         1.04     \t       1.05     \t0.10   \t\t1.20    \t\t4.10
"""
SUMMARY = {
    "num_hosts": 2,
    "metric": {"train_au_meet_expectation": "fail", "train_io_mean_MB_per_second": 1000.0},
}


def told(rows: list[Measured]) -> list[tuple[str, str, float]]:
    return [(row.check, row.part, round(row.value, 4)) for row in rows]


def judged(text: str, file: Path, options: str = "") -> list[tuple[str, str, str]]:
    """Return check, verdict and reason of each value, through the door that users take."""
    file.write_text(text)
    run = ffplan(f"fabric accept {DESIGN} {options} -f json --measured", str(file))
    assert run.code in (0, 1), run.err
    return [(row["measured"]["check"], row["verdict"], row["why"]) for row in json.loads(run.out)["judged"]]


@pytest.mark.parametrize(
    ("text", "part", "rate"),
    [
        (READ_BOTH, "mlx5_3", 90600 * 2**20 / 1e9 / 2),
        (READ_BOTH.replace("MiB/sec", "MB/sec"), "mlx5_3", 90600 * 2**20 / 1e9 / 2),
        (READ_BOTH.replace("Dual-port       : OFF", "Dual-port       : ON"), "mlx5_3", 90600 * 2**20 / 1e9 / 4),
        (READ_BOTH.replace("Bidirectional ", ""), "mlx5_3", 90600 * 2**20 / 1e9),
        (" ".join(PERFTEST.partition(" #bytes")[1:]).replace(".", ","), "", 391.9 / 8),
        (DOCUMENT, "mlx5_1", 0.74749 * 65536 / 1e3),
        (
            json.dumps({"results": {"MsgSize": 65536, "BW_average": 46718.1, "MsgRate": 0.74749}}),
            "",
            0.74749 * 65536 / 1e3,
        ),
    ],
    ids=["both ways", "older unit", "both ports", "one way", "no head, commas", "json", "quoted json"],
)
def test_rates_of_perftest(text: str, part: str, rate: float) -> None:
    """MB are 2^20 bytes; both directions and ports are summed; JSON has no unit, but messages a second and their size."""
    (row,) = read_log(text, "node01.txt")
    assert (row.check, row.part, row.host) == ("nic-transfer", part, "node01")
    assert row.value == pytest.approx(rate, rel=1e-6)


def test_several_runs_of_perftest_in_one_file(tmp_path: Path) -> None:
    """Each by its own title and device; latencies beside them have no check."""
    rows = read_log(PERFTEST + LATENCY + READ_BOTH, "a.txt")
    assert told(rows) == [("nic-transfer", "mlx5_0", 48.9875), ("nic-transfer", "mlx5_3", 47.5005)]
    slow = PERFTEST.replace("391.90", "191.90").replace("391.20", "191.20")
    ((check, verdict, why),) = judged(slow, tmp_path / "a.txt")
    assert (check, verdict) == ("nic-transfer", "fail")
    assert "50 % below" in why
    assert judged(PERFTEST.replace("391.90", "499.0"), tmp_path / "a.txt")[0][1] == "doubt"  # of 400 Gb/s
    small = PERFTEST[: PERFTEST.index(" 65536 ")]
    assert judged(small, tmp_path / "a.txt")[0][1:] == (
        "doubt",
        "100 % below the expected: messages below 64 KiB, which fill no link",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LATENCY, "latencies, for which the sheet has no check"),
        (PERFTEST.replace("[Gb/sec]", "[pkt/sec]"), "no unit that perftest prints"),
        (PERFTEST[: PERFTEST.index(" 2    ")], "no row with a rate"),
        (OSU_BW.partition("\n")[2], "nothing says that the two ranks"),
        (OSU_BW.replace("node01,node02", "node01,node01"), "nothing says that the two ranks"),
        (
            OSU_BW.replace("Bandwidth (MB/s)", "Latency (us)").replace("Bi-Directional Bandwidth", "Latency"),
            "a latency between two",
        ),
        (OSU.replace("-np 16", ""), "how many ranks took part"),
        (OSU.replace("-CUDA", "").replace("-d cuda", ""), "memory of hosts"),
        (OSU.partition("# Size")[1] + OSU.partition("# Size")[2], "which collective"),
        (ONECCL.replace("sycl", "host"), "buffers of hosts"),
        (ONECCL.partition("#bytes")[1] + ONECCL.partition("#bytes")[2], "which collective"),
        (
            DIAG.replace("Pass - All", "Skip - All").replace("Fail - GPU: 3", "Skip - All").replace("bandwidth", "-"),
            "no test ran",
        ),
        ("[METRIC] Eval Throughput (MB/second): 1.0 (0.1)\n", "no rate of reads"),
        (TOPO_M.replace("NV18\t X \tSYS", "NV18\t X"), "row of GPU1"),
        (TOPO_M.partition("\n")[2].partition("NIC0")[0], "row of GPU0"),
    ],
)
def test_what_a_log_lacks_is_named_with_the_remedy(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read_log(text, "a.txt")
    assert len(str(refused.value).splitlines()) > 1


@pytest.mark.parametrize(
    ("program", "title", "operation", "busbw"),
    [
        ("allgather", "Allgather", "all-gather", 16 * 15 / 16),
        ("alltoall", "All-to-All Personalized Exchange", "all-to-all", 16 * 15 / 16),
        ("reduce_scatter", "Reduce_scatter", "reduce-scatter", 16 * 15 / 16),
        ("bcast", "Broadcast", "broadcast", 1.0),
        ("allreduce", "Allreduce", "allreduce", 2 * 15 / 16),
    ],
)
def test_a_collective_of_osu_by_its_time(program: str, title: str, operation: str, busbw: float) -> None:
    """1 GiB in 4,571.22 us, times 16 where it is what each rank sends to each."""
    text = OSU.replace("osu_allreduce", f"osu_{program}").replace("Allreduce", title)
    for log in (text, text.replace(f"# OSU MPI-CUDA {title} Latency Test v7.3\n", "")):
        row = read_log(log, "a.txt")[-1]
        assert (row.check, row.gpus) == (operation, 16)
        assert row.size_bytes == 2.0**30 * (16 if operation in ("all-gather", "all-to-all", "reduce-scatter") else 1)
        assert row.value == pytest.approx(2**30 / 4571.22 / 1e3 * busbw)


def test_ranks_of_osu_by_the_command_or_by_the_user(tmp_path: Path) -> None:
    for command in ("srun -n 8 osu", "srun -N 2 --ntasks-per-node=4 osu", "mpiexec -n 8 osu", "srun --ntasks=8 osu"):
        log = OSU.replace("mpirun -np 16 -H hosta:8,hostb:8 ./osu", command)
        assert {row.gpus for row in read_log(log, "a.txt")} == {8}
    bare = OSU.partition("\n")[2]
    assert {row.gpus for row in read_log(bare, "a.txt", CollectiveHints(ranks=32))} == {32}
    rows = judged(bare, tmp_path / "a.txt", "--ranks 16")
    assert [row[1] for row in rows] == ["pass", "pass"]
    ((_, verdict, why),) = judged(
        OSU.replace("4571.22", "9571.22").replace("1048576                87.53\n", ""), tmp_path / "a"
    )
    assert verdict == "doubt"
    assert "MPI has its own algorithms" in why
    nccl = OSU.replace("OSU MPI-CUDA", "OSU NCCL-CUDA").replace("4571.22", "9571.22")
    assert judged(nccl, tmp_path / "a")[0][1] == "fail"


def test_a_wrong_result_of_osu_fails(tmp_path: Path) -> None:
    wrong = OSU.replace("Avg Latency(us)", "Avg Latency(us)  Validation").replace("4571.22", "4571.22   Fail")
    assert ("allreduce", "fail", "wrong results") in judged(wrong, tmp_path / "a.txt")


def test_oneccl_by_its_mean_time(tmp_path: Path) -> None:
    assert judged(ONECCL, tmp_path / "a.txt") == [("allreduce", "pass", "")]
    (slow,) = judged(ONECCL.replace("4571.22", "9571.22"), tmp_path / "a.txt")
    assert slow[:2] == ("allreduce", "doubt")
    assert "oneCCL is another library" in slow[2]
    gather = ONECCL.replace("allreduce", "allgatherv").replace("1073741824", "  67108864")
    (row,) = read_log(gather, "a.txt")
    assert (row.check, row.size_bytes) == ("all-gather", 2.0**30)
    assert row.value == pytest.approx(2**30 / 4571.22 / 1e3 * 15 / 16)


DIAG4 = """|-----  Hardware  ----------+------------------------------------------------|
| memory                    | Fail                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Fail                                     |
|                           | GPU2: Fail                                     |
"""
RESULT: dict[str, object] = {
    "entity_group": "GPU",
    "entity_id": 0,
    "status": "Pass",
    "info": ["GPU 0 GPU to Host bandwidth:  55.26 GB/s"],
}
BAD: dict[str, object] = {
    "entity_group": "GPU",
    "entity_id": 1,
    "status": "Fail",
    "warnings": [{"warning": "GPU 1 has a slow link"}],
}
OLD: dict[str, object] = {"gpu_ids": "0,1", "status": "WARN", "warnings": "it is hot", "info": ""}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            DIAG4,
            [
                ("dcgm-errors", "memory", 0.0),
                ("dcgm-errors", "GPU 1 memory", 1.0),
                ("dcgm-errors", "GPU 2 memory", 1.0),
            ],
        ),
        (
            json.dumps(
                {"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "pcie", "results": [RESULT, BAD]}]}]}}
            ),
            [("dcgm-errors", "pcie", 0.0), ("copy-to-host", "GPU 0", 55.26), ("dcgm-errors", "GPU 1 pcie", 1.0)],
        ),
        (
            json.dumps(
                {"DCGM GPU Diagnostic": {"test_categories": [{"tests": [{"name": "SM Stress", "results": [OLD]}]}]}},
                indent=1,
            ),
            [("dcgm-errors", "GPU 0 SM Stress", 0.0), ("dcgm-errors", "GPU 1 SM Stress", 0.0)],
        ),
    ],
    ids=["version 4", "json", "json of version 3"],
)
def test_diagnoses_of_dcgm(text: str, rows: list[tuple[str, str, float]]) -> None:
    assert told(read_log(text, "a.txt")) == rows


def test_a_failed_test_of_dcgm_is_a_finding(tmp_path: Path) -> None:
    rows = judged(DIAG, tmp_path / "a.txt")
    assert ("dcgm-errors", "fail", "GPU 3 Detected 2 uncorrectable memory errors.") in rows
    assert [row[1] for row in rows if row[0].startswith("copy")] == ["pass", "pass"]


def test_mlperf_storage_says_how_much_was_asked_for(tmp_path: Path) -> None:
    """An accelerator that waited for data shows what storage serves at most; a busy one does not."""
    (row,) = read_log(json.dumps(SUMMARY), "a.json")
    assert (row.check, row.nodes, row.shortfall) == ("storage-read", 2, "")
    assert row.value == pytest.approx(1.048576)
    met = SUMMARY | {"metric": {"train_au_meet_expectation": "success", "train_io_mean_MB_per_second": 1000.0}}
    ((_, verdict, why),) = judged(json.dumps(met, indent=1), tmp_path / "a.json")
    assert verdict == "doubt"
    assert "asked for no more" in why
    assert judged(json.dumps(SUMMARY), tmp_path / "a.json")[0][1] == "fail"
    old = {"host_cpu_count": [96, 96], "potential_caching": [0, 1], "metric": SUMMARY["metric"]}
    (row,) = read_log(json.dumps(old), "a.json")
    assert (row.nodes, "page cache" in row.doubt) == (2, True)
    assert "how many nodes" in read_log(MLPERF, "a.txt")[0].doubt
    both = read_log(json.dumps(SUMMARY) + "\n" + json.dumps(met), "a.json")
    assert [row.line for row in both] == [1, 2]


def whole(relation: str = "PIX", links: str = "NV18") -> str:
    """Return the matrix of a node of eight accelerators, each beside a NIC."""
    names = [f"{kind}{number}" for kind in ("GPU", "NIC") for number in range(8)]

    def cell(row: str, column: str) -> str:
        if row == column:
            return " X "
        if row[:3] == column[:3] == "GPU":
            return links
        return relation if row[3:] == column[3:] and row[:3] != column[:3] else "SYS"

    rows = ["\t".join([row, *(cell(row, column) for column in names), "0-47", "0"]) for row in names]
    return "\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\n" + "\n".join(rows) + "\n"


def test_a_matrix_against_the_server_of_the_design(tmp_path: Path) -> None:
    """Eight accelerators of 18 links, each at a PCIe switch with a NIC."""
    file = tmp_path / "a.txt"
    assert {row[1] for row in judged(whole(), file)} == {"pass"}
    assert {row[0] for row in judged(whole(), file)} == {"accelerators", "nvlinks", "near-nics"}
    broken = whole().replace("NV18", "NV16", 1)
    assert [row for row in judged(broken, file) if row[1] != "pass"] == [("nvlinks", "fail", "less than planned")]
    assert ("near-nics", "fail", "100 % below the expected") in judged(whole("NODE"), file)
    assert [row[2] for row in judged(whole("PHB"), file) if row[0] == "near-nics"] == [
        "no PCIe switch is shown: virtual machines hide them"
    ]
    two = [row for row in read_log(TOPO_M + TOPO_M, "a.txt") if row.check == "accelerators"]
    assert [row.value for row in two] == [2.0, 2.0]
    nodes = "".join(f"{host}: {line}\n" for line in whole().splitlines() for host in ("node01", "node02"))
    assert {row.host for row in read_log(nodes, "a.txt")} == {"node01", "node02"}


LOGS = (PERFTEST, READ_BOTH, DOCUMENT, OSU, OSU_BW, ONECCL, DIAG, DIAG4, MLPERF, TOPO_M, json.dumps(SUMMARY, indent=1))


@examples(120)
@given(st.data())
def test_a_cut_log_never_gives_other_figures(data: st.DataObject) -> None:
    """Of a sweep that was cut the largest rate so far, which is one of the rows."""
    log = data.draw(st.sampled_from(LOGS))
    text = PREFIXES[data.draw(st.sampled_from(sorted(PREFIXES)))](log)
    start = data.draw(st.integers(0, len(text)))
    cut = text[start : data.draw(st.integers(start, len(text)))]
    try:
        rows = read_log(cut, "cut.txt", CollectiveHints("allreduce", 16))
    except InputError:
        return
    assert rows
    rates = {round(row.value, 4) for row in read_log(log, "cut.txt")}
    if log in (PERFTEST, OSU_BW):
        rates |= {0.064 / 8, 391.2 / 8, 0.002 / 2}
    for row in rows:
        ratios = (1, 2) if "both directions" in row.doubt else (1,)
        close = [row.value == pytest.approx(rate * ratio, abs=2e-4) for rate in rates for ratio in ratios]
        assert any(close) or row.check in ("accelerators", "near-nics", "dcgm-errors"), row
