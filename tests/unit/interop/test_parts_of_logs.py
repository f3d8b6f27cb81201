"""Logs of several nodes, runs or documents: each part is judged, and what cannot be read is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.logs.read import read_log
from tests.support import ffplan

if TYPE_CHECKING:
    from ffplan.results.acceptance import Measured, Unread


def read_parts(text: str, file: str) -> tuple[list[Measured], list[Unread]]:
    unread: list[Unread] = []
    return read_log(text, file, unread=unread), unread


SEVERAL = {"lines": "{}\n{}", "list": "[{}, {}]", "one line": "{}{}"}


def nvbandwidth(rate: str, status: str = "Passed") -> str:
    case = {"name": "host_to_device_memcpy_ce", "status": status, "bandwidth_matrix": [[rate, rate]]}
    return json.dumps({"nvbandwidth": {"testcases": [case]}})


def collective(rate: float) -> str:
    half = {"time": 4194.3, "alg_bw": rate, "bus_bw": rate, "nwrong": 0}
    result = {"size": 2**30, "count": 2**28, "type": "float", "redop": "sum", "out_of_place": half}
    devices = [{"rank": rank, "hostname": "a", "device": rank} for rank in range(2)]
    return json.dumps({"args": ["./all_reduce_perf"], "devices": devices, "results": [result]})


def fio(side: str, rate: int, runtime: int = 60_000, done: int = 10**12) -> str:
    part = {"io_bytes": done, "bw_bytes": rate, "runtime": runtime}
    job = {"jobname": "j", "error": 0, "job options": {"direct": "1"}, side: part}
    return json.dumps({"fio version": "fio-3.36", "jobs": [job]})


def dcgm(status: str) -> str:
    test = {"name": "pcie", "results": [{"entity_group": "GPU", "entity_id": 0, "status": status}]}
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Integration", "tests": [test]}]}})


@pytest.mark.parametrize("form", SEVERAL)
@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        (nvbandwidth("20"), nvbandwidth("55"), [20.0, 20.0, 55.0, 55.0]),
        (collective(250.0), collective(480.0), [250.0, 480.0]),
        (fio("read", 10**9), fio("write", 8 * 10**9), [1.0, 8.0]),
        (fio("read", 10**9), fio("read", 8 * 10**9), [1.0, 8.0]),
        (fio("read", 8 * 10**9, 30_000), fio("read", 10**9, 60_000, 10**11), [8.0, 1.0]),
        (dcgm("Fail"), dcgm("Pass"), [1.0, 0.0]),
        (dcgm("Pass"), dcgm("Fail"), [0.0, 1.0]),
    ],
)
def test_every_document_of_a_file_counts(form: str, first: str, second: str, values: list[float]) -> None:
    text = SEVERAL[form].replace("{}", first, 1)
    text = text[: len(first)] + text[len(first) :].replace("{}", second) if form != "list" else f"[{first}, {second}]"
    assert [row.value for row in read_log(text, "n.json")] == values


def test_reports_of_a_running_fio_are_one_run() -> None:
    reports = [fio("read", rate, 1_000 * at, at * 10**9) for at, rate in ((10, 1), (20, 2), (30, 3 * 10**9))]
    assert [row.value for row in read_log("\n".join(reports), "n.json")] == [3.0]
    assert [row.value for row in read_log("\n".join(reports * 2), "n.json")] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (nvbandwidth("20", "Error"), "the test `host_to_device_memcpy_ce` ended with `Error`"),
        (nvbandwidth("20")[:60], "not valid JSON"),
    ],
)
def test_a_document_that_failed_or_was_cut_is_named(broken: str, why: str) -> None:
    for text in (f"{broken}\n{nvbandwidth('55')}", f"{nvbandwidth('55')}\n{broken}"):
        values, unread = read_parts(text, "n.json")
        assert [row.value for row in values] == [55.0, 55.0]
        assert [part.why[: len(why)] for part in unread] == [why]


TRIAD = "Function    Best Rate MB/s  Avg time     Min time     Max time\nTriad:  {}  0.1  0.1  0.1\n"
FORMS: dict[str, Any] = {
    "pdsh": lambda host, text: "".join(f"{host}: {line}\n" for line in text.splitlines()),
    "dshbak": lambda host, text: f"{'-' * 16}\n{host}\n{'-' * 16}\n{text}",
    "ansible": lambda host, text: f"{host} | CHANGED | rc=0 >>\n{text}",
    "loop": lambda host, text: f"== {host} ==\n{text}",
    "tail": lambda host, text: f"==> {host} <==\n{text}",
}


@pytest.mark.parametrize("form", FORMS)
def test_each_node_of_a_log_has_its_name_and_one_that_failed_is_said(form: str) -> None:
    parts = {"node01": TRIAD.format("480000.0"), "node02": TRIAD.format("200000.0")}
    parts["node03"] = "bash: stream: command not found\n"
    text = "".join(FORMS[form](host, part) for host, part in parts.items())
    values, unread = read_parts(text, "a.log")
    assert [(row.host, row.value) for row in values] == [("node01", 480.0), ("node02", 200.0)]
    (part,) = unread
    assert (part.host, part.why) == ("node03", "no measurement: `bash: stream: command not found`")
    assert text.splitlines()[part.line - 1].endswith("command not found")


@pytest.mark.parametrize("form", FORMS)
def test_a_node_whose_output_is_cut_is_said(form: str) -> None:
    parts = {"node01": nvbandwidth("55"), "node02": nvbandwidth("20")[:60], "node03": nvbandwidth("20", "Error")}
    text = "".join(FORMS[form](host, f"{part}\n") for host, part in parts.items())
    values, unread = read_parts(text, "a.log")
    assert {(row.host, row.value) for row in values} == {("node01", 55.0)}
    assert [part.host for part in unread] == ["node02", "node03"]


def test_a_ranks_notes_are_no_loss_but_its_complaint_is() -> None:
    notes = "0: note\n" + FORMS["pdsh"]("1", TRIAD.format("480000.0")) + FORMS["pdsh"]("2", TRIAD.format("470000.0"))
    assert [part.host for part in read_parts(notes, "a.log")[1]] == []
    text = notes + "3: slurmstepd: error: task 3 was killed\n"
    assert [part.host for part in read_parts(text, "a.log")[1]] == ["a 3"]


def test_hosts_of_equal_output_are_apart() -> None:
    text = FORMS["dshbak"]("node[01-03]", TRIAD.format("480000.0")) + FORMS["dshbak"]("node04", TRIAD.format("1.0"))
    assert [row.host for row in read_log(text, "a.log")] == ["node01", "node02", "node03", "node04"]


def test_what_is_not_read_fails_the_command(tmp_path: Any) -> None:
    log = tmp_path / "a.log"
    log.write_text(FORMS["pdsh"]("node01", TRIAD.format("480000.0")) + "node02: bash: stream: command not found\n")
    run = ffplan("fabric accept", "superpod-h100-4su", "--measured", str(log), "-f", "json")
    report = json.loads(run.out)
    assert run.code == 1
    assert [row["verdict"] for row in report["judged"]] == ["pass"]
    assert [(part["host"], part["line"]) for part in report["unread"]] == [("node02", 3)]
    assert "Not read: node02" in " ".join(report["headline"])


def ibstat(states: list[str], form: str = "ibstat") -> str:
    port = "CA 'mlx5_{at}'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: {state}\n\t\tRate: 400\n"
    port += "\t\tLink layer: InfiniBand\n"
    if form == "ibstatus":
        port = "Infiniband device 'mlx5_{at}' port 1 status:\n\tstate:\t4: {state}\n\trate:\t400 Gb/sec\n"
        port += "\tlink_layer:\tInfiniBand\n"
    return "".join(port.format(at=at, state=state) for at, state in enumerate(states))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tool", ["ibstat", "ibstatus"])
def test_ports_of_several_nodes_keep_their_nodes(form: str, tool: str) -> None:
    parts = {f"node{at:02}": ["Active", "Down" if at == 2 else "Active"] for at in range(1, 4)}
    text = "".join(FORMS[form](host, ibstat(states, tool)) for host, states in parts.items())
    rows = read_log(text, "a.txt")
    assert [(row.host, row.value) for row in rows] == [
        (host, 0.0 if state == "Down" else 50.0) for host, states in parts.items() for state in states
    ]


@pytest.mark.parametrize(("heads", "hosts"), [(("", ""), ("a 1", "a 2")), (("n1\n", "n2:\n"), ("n1", "n2"))])
def test_a_device_that_comes_again_is_of_the_next_node(heads: tuple[str, str], hosts: tuple[str, str]) -> None:
    text = "".join(head + ibstat(["Active", "Active"]) for head in heads)
    assert [row.host for row in read_log(text, "a.txt")] == [hosts[0], hosts[0], hosts[1], hosts[1]]


def test_a_port_without_all_its_lines_is_named() -> None:
    text = ibstat(["Active"] * 3)
    for cut in ("\t\tLink layer", "\t\tRate", "\t\tState", "\tPort 1:"):
        values, unread = read_parts(text[: text.rindex(cut)], "a.txt")
        assert len(values) == 2
        assert [part.why.partition(" has")[0] for part in unread] == ["mlx5_2" + " port 1" * (cut != "\tPort 1:")]


END = "{{ {kind} Ports:41 NodeGUID:{guid} {{{name}}} LID:1 PN:01 }}"


@pytest.mark.parametrize(("state", "value"), [("ACT", 50.0), ("INI", 0.0), ("ARM", 0.0), ("DWN", 0.0)])
def test_a_link_that_is_up_but_not_active_counts(state: str, value: float) -> None:
    ends = [END.format(kind="CA", guid=1, name="n1"), END.format(kind="SW", guid=2, name="leaf")]
    (row,) = read_log(f"{ends[0]} {ends[1]} PHY=4x LOG={state} SPD=100\n", "a.lst")
    assert (row.check, row.host, row.value) == ("nic-link", "n1", value)


@pytest.mark.parametrize(("state", "value"), [("4", 12.5), ("2", 0.0), ("3", 0.0)])
@pytest.mark.parametrize("side", ["both", "switch"])
def test_a_port_that_no_subnet_manager_made_active_counts(state: str, value: float, side: str) -> None:
    ports = {"0x1": "4" if side == "switch" else state, "0x2": state}
    table = "NodeGuid,PortNum,PortState,LinkWidthActv,LinkSpeedActv\n"
    text = (
        'START_NODES\nNodeDesc,NodeType,NodeGUID\n"n1",1,0x1\n"leaf",2,0x2\n"n2",1,0x3\nEND_NODES\n'
        "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n0x1,1,0x2,1\n0x3,1,0x2,2\nEND_LINKS\n"
        f"START_PORTS\n{table}" + "".join(f"{guid},1,{own},2,32\n" for guid, own in ports.items())
    )
    rows = read_log(f"{text}0x3,1,4,2,32\nEND_PORTS\n", "a.db_csv")
    assert [(row.host, row.value) for row in rows] == [("n1", value), ("n2", 12.5)]


def run_of_nccl(hosts: tuple[str, ...], rate: float, tail: str = "# Out of bounds values : 0 OK\n") -> str:
    ranks = "".join(f"#  Rank  {at} Group  0 Pid  1 on  {host} device  0 [00] H100\n" for at, host in enumerate(hosts))
    factor = 2 * (len(hosts) - 1) / len(hosts)
    row = f" 1073741824  268435456  float  sum  -1  {1073741824 / rate / 1e3:.2f}  {rate:.2f}  {rate * factor:.2f}  0\n"
    head = "#  size  count  type  redop  root  time  algbw  busbw\n"
    return f"# nThread 1 nGpus 1\n# all_reduce_perf\n{ranks}{head}{row}{tail}"


def test_runs_of_other_nodes_are_not_averaged() -> None:
    pairs = run_of_nccl(("a", "b"), 380.0) + run_of_nccl(("a", "c"), 480.0) + run_of_nccl(("b", "a"), 400.0)
    rows = read_log(pairs, "all_reduce.log")
    assert [(row.host, row.value) for row in rows] == [("a and b", 390.0), ("a and c", 480.0)]
    many = tuple(f"host-with-a-long-name-{at * at}" for at in range(8))
    text = run_of_nccl(many, 100.0) + run_of_nccl((*many[:-1], "z"), 200.0) + run_of_nccl(("n1", "n2", "n3"), 3.0)
    assert [row.host for row in read_log(text, "all_reduce.log")] == [
        f"8 nodes from {many[0]} to {many[-1]}",
        f"8 nodes from {many[0]} to z",
        "3 nodes, n[1-3]",
    ]


IOR = """IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Options:
nodes               : {nodes}

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
{rows}
Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev
write 1.0 1.0 1.0 1.0 1.0 1.0 1.0 1.0
Finished            : Mon
"""
IOR_ROW = "{}     {}    51200      0.0195      1048576    1024.00    0.01       20.00      0.01       20.02      0"


def test_every_run_of_ior_counts_with_its_own_nodes() -> None:
    text = IOR.format(nodes=2, rows=IOR_ROW.format("write", 2000)) + IOR.format(nodes=4, rows=IOR_ROW.format("read", 1))
    rows = read_log(text + IOR.format(nodes=1, rows=IOR_ROW.format("read", 3)), "f.txt")
    assert [(row.check, row.nodes, row.host, row.line) for row in rows] == [
        ("storage-write", 2, "2 nodes", 7),
        ("storage-read", 4, "4 nodes", 18),
        ("storage-read", 1, "f", 29),
    ]


def test_a_run_of_ior_without_rows_is_named() -> None:
    text = IOR.format(nodes=2, rows=IOR_ROW.format("write", 2000))
    for lost, why in (
        (IOR.format(nodes=4, rows=""), "a run of IOR without a row of reads or writes"),
        (IOR.format(nodes=4, rows="ERROR: open64() failed, (aiori-POSIX.c:487)"), "the run failed: ERROR: open64()"),
    ):
        values, unread = read_parts(text + lost, "f.txt")
        assert len(values) == 1
        assert [(part.host, part.why[: len(why)]) for part in unread] == [("4 nodes", why)]


SHEET = [
    ["check", "label", "gpus", "size_bytes", "host", "part", "measured"],
    ["memory", "host memory", "0", "0.0", "n1", "", "480.5"],
    ["allreduce", "allreduce busbw", "16", "1073741824.0", "", "", "430.0"],
    ["storage-read", "storage read", "0", "0.0", "", "", ""],
]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("title", ["", "Acceptance sheet\n", "Acceptance sheet;;;\n\n\n", "Acceptance\u2028of racks\n"])
@pytest.mark.parametrize("comma", [False, True])
def test_a_sheet_as_spreadsheets_save_it(sign: str, title: str, comma: bool) -> None:
    cells = [[cell.replace(".", ",") if comma and sign != "," else cell for cell in row] for row in SHEET]
    text = title + "".join(f"{sign.join(row)}\n" for row in cells)
    first = title.count("\n") + 2
    assert [(row.check, row.value, row.host, row.size_bytes, row.line) for row in read_log(text, "a.csv")] == [
        ("memory", 480.5, "n1", 0.0, first),
        ("allreduce", 430.0, "unnamed", 2.0**30, first + 1),
    ]


def test_a_number_of_a_sheet_that_may_be_two_is_refused() -> None:
    for sign, value in ((",", "480,5"), ("\t", "1,234")):
        text = "".join(f"{sign.join(row)}\n" for row in [SHEET[0], [*SHEET[1][:-1], value]])
        with pytest.raises(InputError, match=r"a\.csv:2:1: error: (more cells than|`1,234` is not a number)"):
            read_log(text, "a.csv")


PERFTEST = """                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
"""


@pytest.mark.parametrize(
    ("rates", "value"),
    [
        ([(65536, 391.9), (65536, 20.9)], 20.9),
        ([(65536, 20.9), (65536, 391.9)], 20.9),
        ([(65536, 391.9), (8388608, 150.9)], 391.9),
        ([(65536, 391.9), (8388608, 395.0), (65536, 380.0), (8388608, 390.0)], 390.0),
    ],
)
def test_a_size_that_comes_again_counts_at_its_slowest(rates: list[tuple[int, float]], value: float) -> None:
    rows = "".join(
        f" {size}      5000             0.00             {rate:.2f}             0.7\n" for size, rate in rates
    )
    (row,) = read_log(PERFTEST + rows, "a.log")
    assert row.value == pytest.approx(value / 8)


def lost(text: str, file: str = "all_reduce.log") -> list[str]:
    return [part.why for part in read_parts(text, file)[1]]


def test_a_row_of_nccl_tests_that_is_cut_is_named() -> None:
    whole = run_of_nccl(("a", "b"), 100.0, tail="")
    row = " 2147483648  536870912  float  sum  -1  10737.42  200.00  200.00  0"
    assert lost(whole) == lost(whole + row) == lost(f"{whole}{row}\n# Avg bus bandwidth : 150\n") == []
    for end in (" 21474836480 ", "  sum", "  10737.42", "  200.00", "  200.00  200.00"):
        cut = end if end.startswith(" 2") and end.endswith(" ") else row[: row.index(end) + len(end)]
        assert lost(whole + cut) == ["the last row is cut"], cut
        assert read_parts(whole + cut, "all_reduce.log")[1][0].line == whole.count("\n") + 1
    assert lost(run_of_nccl(("a", "b"), 100.0) + whole.partition(" 1073741824")[0]) == ["a run without rows on a and b"]


@pytest.mark.parametrize(
    "words",
    [
        "hostb: Test NCCL failure common.cu:958 'unhandled system error'",
        " .. hostb pid 1010: Test failure common.cu:844",
        "hostb:1010:1050 [2] NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
        "mpirun noticed that process rank 3 with PID 1 on node b exited on signal 9 (Killed).",
        "slurmstepd: error: *** STEP 1.0 ON b CANCELLED AT 2026-11-01T10:00:00 DUE TO TIME LIMIT ***",
    ],
)
def test_a_run_of_nccl_tests_that_broke_off_is_named(words: str) -> None:
    whole = run_of_nccl(("a", "b"), 100.0, tail="")
    assert lost(f"{whole}{words}\n{words}\n") == [f"the run failed: {words.strip()}"]
    assert len(lost(f"{whole}{words}\n{run_of_nccl(('a', 'c'), 100.0, tail='')}{words}\n")) == 2


def test_a_row_of_perftest_that_is_cut_and_a_table_without_rows_are_named() -> None:
    row = " 65536      5000             0.00             391.90             0.747490\n"
    assert lost(PERFTEST + row) == []
    assert lost(PERFTEST + row + " 131072      5000   ") == ["the row is cut"]
    assert lost(PERFTEST + row + row[:-4]) == ["the row is cut"]
    assert lost(PERFTEST + "Failed status 12\n" + PERFTEST + row) == ["a table without rows"]


DIAG = """Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
| NVML Library              | Pass                                           |
+-----  Integration  -------+------------------------------------------------+
| PCIe                      | Pass - All                                     |
+---------------------------+------------------------------------------------+
"""


def test_a_diagnosis_that_failed_or_was_cut_is_named() -> None:
    assert lost(DIAG) == []
    assert lost(f"Error: Diagnostic could not be run\n{DIAG}") == ["the diagnosis failed: Diagnostic could not be run"]
    assert lost(DIAG[:-9]) == lost(DIAG[: DIAG.rindex("Pass - All") + 4]) == ["the table is cut"]
    assert lost(f"{dcgm('Pass')}\n{dcgm('Fail')[:60]}")[0].startswith("not valid JSON")
    (failed,) = lost(dcgm("Pass")[:-1] + ', "runtime_error": "no NVVS"}')
    assert failed == "the diagnosis failed: no NVVS"


def test_a_test_of_a_diagnosis_that_did_not_run_is_in_doubt() -> None:
    rows = read_log(DIAG.replace("Pass - All", "Skip - All"), "a.txt")
    assert [(row.part, row.doubt) for row in rows] == [("NVML Library", ""), ("PCIe", "the test did not run: skip")]
    rows = read_log(f"{dcgm('Pass')}\n{dcgm('Skip')}", "a.json")
    assert [row.doubt for row in rows] == ["", "the test did not run: skip"]


NVBANDWIDTH = """Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.63     55.64

SUM host_to_device_memcpy_ce 111.27

"""


def test_copies_that_are_cut_are_named() -> None:
    other = NVBANDWIDTH.replace("host_to_device", "device_to_host")
    pairs = other.replace("device_to_host", "device_to_device_read").replace(" 0     55.63", " 0       N/A")
    pairs = (
        pairs.replace("55.64\n", "55.64\n 1     55.63       N/A\n")
        .replace("device_read", "device")
        .replace("CPU", "GPU")
    )
    pairs = pairs.replace("memcpy_ce", "memcpy_read_ce")
    assert lost(NVBANDWIDTH + other + pairs) == lost(NVBANDWIDTH + other[: other.index("SUM")]) == []
    for cut in (" 0     55", "     55.64"):
        assert lost(NVBANDWIDTH + other[: other.index(cut)]) == [
            "the matrix of `device_to_host_memcpy_ce` is missing or cut"
        ]
    assert lost(NVBANDWIDTH + pairs[: pairs.index(" 1     55")]) == [
        "the matrix of `device_to_device_memcpy_read_ce` is missing or cut"
    ]


def test_notes_of_ranks_beside_two_collectives_are_no_loss() -> None:
    parts = {0: run_of_nccl(("a", "b"), 100.0), 1: "NCCL INFO NET/Plugin: libnccl-net.so not found\n"}
    parts |= {8: run_of_nccl(("c", "d"), 200.0), 9: "NCCL INFO Using network IB\n"}
    text = "".join(FORMS["pdsh"](rank, part) for rank, part in parts.items())
    assert [row.host for row in read_log(text, "all_reduce.log")] == ["a and b", "c and d"]
    assert lost(text) == []
    assert lost(f"{text}9: srun: error: node d failed\n") == ["no measurement: `srun: error: node d failed`"]
