"""Logs of a few lines: what is taken from them, what is doubted and what is refused, at each border of a rule."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from ffplan.base.errors import InputError
from ffplan.interop.logs.links import _read_smi
from ffplan.interop.logs.measured import _number_of, _stem
from ffplan.interop.logs.nccl_operations import _bus_factor, _operation_in_name
from ffplan.interop.logs.nccl_tests import _merged, _other
from ffplan.interop.logs.read import cases_text, read_log
from ffplan.interop.workloads import read_jobs
from ffplan.results.acceptance import Measured

HEAD = "# size count type redop root time algbw busbw #wrong\n"


def ranks(*hosts: str) -> str:
    """Return the list of ranks, one a host."""
    return "".join(
        f"#  Rank {n:2} Group  0 Pid {n} on {host} device {n} [0x0{n}] H100\n" for n, host in enumerate(hosts)
    )


def row(
    size: int, count: int, busbw: float, algbw: float, time: float = 100.0, *, kind: str = "float", wrong: str = "0"
) -> str:
    """Return a row with one half."""
    return f"{size} {count} {kind} sum -1 {time} {algbw} {busbw} {wrong}\n"


def nccl(text: str, file: str = "all_reduce_perf.txt", hosts: tuple[str, ...] = ("a", "a")) -> list[Measured]:
    """Return what a log of two ranks measured."""
    return read_log(ranks(*hosts) + HEAD + text, file)


def test_bus_bandwidth_over_that_of_the_algorithm() -> None:
    """nccl-tests, doc/PERFORMANCE.md, at two and at eight ranks."""
    whole, pieces, other = (1.0, 1.75), (0.5, 0.875), (1.0, 1.0)
    for name, wanted in {
        **{"allreduce": whole},
        **dict.fromkeys(("all-gather", "reduce-scatter", "all-to-all", "gather", "scatter"), pieces),
        **dict.fromkeys(("broadcast", "reduce", "sendrecv"), other),
    }.items():
        assert (_bus_factor(name, 2), _bus_factor(name, 8)) == wanted


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("logs/all_reduce_perf.txt", "allreduce"),
        ("ALL-GATHER.log", "all-gather"),
        ("run-reduce_scatter-8.log", "reduce-scatter"),
        ("reduce.txt", "reduce"),
        ("reduce/readme.txt", None),
        ("hypercube_perf.txt", None),
        ("unscattered.txt", None),
        ("alltoall_8nodes.out", "all-to-all"),
    ],
)
def test_operations_in_names_of_files(file: str, found: str | None) -> None:
    assert _operation_in_name(file) == found


def test_runs_of_more_than_single_calls() -> None:
    assert _other("agg iters: 1 graph: 0") == ""
    assert _other("agg iters: 2 graph: 0") == "calls were aggregated"
    assert _other("agg iters: 1 graph: 1") == "calls ran in a CUDA graph"
    assert _other("nothing") == ""


def test_a_row_names_its_host_or_the_first_of_several() -> None:
    """Two ranks of an allreduce: the bus bandwidth is that of the algorithm."""
    (one,) = nccl(row(1024, 256, 10.0, 10.0))
    assert (one.check, one.host, one.nodes, one.gpus, one.size_bytes, one.line, one.doubt) == (
        *("allreduce", "a", 1, 2, 1024.0),
        *(4, ""),
    )
    (two,) = nccl(row(1024, 256, 10.0, 10.0, wrong="N/A"), hosts=("b", "a"))
    assert (two.host, two.nodes, two.doubt) == ("b and a", 2, "")
    (wrong,) = nccl(row(1024, 256, 10.0, 10.0, wrong="1"))
    assert wrong.doubt == "wrong results"
    (small,) = nccl(row(512, 128, 0.0, 0.0, time=100.0))
    assert small.value == pytest.approx(512 / 100e-6 / 1e9)  # what is printed as 0.00 comes from size and time
    (cut,) = nccl(row(1024, 256, 10.0, 10.0), hosts=("a",))
    assert (cut.gpus, cut.nodes) == (2, 0)  # a list that is cut: the rates count the ranks
    with pytest.raises(InputError, match="lists fewer than two ranks"):
        nccl(row(1024, 256, 20.0, 10.0), hosts=("a",))
    with pytest.raises(InputError, match="built without MPI"):
        nccl(row(1024, 256, 0.0, 10.0), hosts=("a",))


@pytest.mark.parametrize(
    ("size", "count", "kind", "fine"),
    [
        (1024, 256, "float", True),
        (2048, 256, "float", True),  # a count is of one piece for each of two ranks
        (1032, 256, "float", True),  # an element a rank may be left over
        (1033, 256, "float", False),
        (1016, 256, "float", True),
        (1015, 256, "float", False),
        (512, 256, "half", True),
        (1024, 256, "odd", True),  # of an unknown type nothing can be said
        (999, 256, "odd", True),
    ],
)
def test_sizes_and_counts_agree(size: int, count: int, kind: str, fine: bool) -> None:
    if fine:
        assert nccl(row(size, count, 10.0, 10.0, kind=kind))[0].size_bytes == size
    else:
        with pytest.raises(InputError, match=f"{size} bytes are not {count} elements of {kind}, nor of 2 ranks"):
            nccl(row(size, count, 10.0, 10.0, kind=kind))


def test_a_bus_bandwidth_is_that_of_its_operation() -> None:
    """Half of the rate on two ranks of an all-gather; 5 % and the last digit of both are let pass."""
    assert nccl(row(1024, 256, 50.0, 100.0), "all_gather.txt")[0].value == 50.0
    assert nccl(row(1024, 256, 52.6, 100.0), "all_gather.txt")[0].value == 52.6
    assert nccl(row(1024, 256, 47.5, 100.0), "all_gather.txt")[0].value == 47.5
    for busbw in (52.7, 47.4):
        with pytest.raises(InputError, match=r"all_gather.txt:4:1: error: busbw"):
            nccl(row(1024, 256, busbw, 100.0), "all_gather.txt")


def test_lines_that_are_no_rows_are_passed_over() -> None:
    """A number alone, a date, and a row of text; then the next test of the same log with its own ranks."""
    text = "17\n2026-11-22 10:00:00 begin\n" + row(1024, 256, 10.0, 10.0)
    text += "# Collective test starting: all_gather_perf\n" + ranks("c", "d", "e", "f")
    text += row(4096, 256, 7.5, 10.0).replace("sum", "none")
    first, second = nccl(text)
    assert (first.check, first.gpus, first.line) == ("allreduce", 2, 6)
    assert (second.check, second.gpus, second.nodes, second.line) == ("all-gather", 4, 4, 12)
    with pytest.raises(InputError, match="the log has no result rows"):
        nccl("")


def result(**changed: Any) -> str:
    """Return a JSON log of nccl-tests with one result."""
    half = {"time": 100.0, "alg_bw": 10.0, "bus_bw": 10.0, "nwrong": 0}
    item = {
        "size": 1024,
        "count": 256,
        "type": "float",
        "redop": "sum",
        "root": -1,
        "out_of_place": half,
        "in_place": half,
    }
    loaded = {"devices": [{"hostname": "a"}, {"hostname": "b"}], "results": [{**item, **changed}]}
    return json.dumps(loaded)


def test_results_in_json() -> None:
    other = {"time": 50.0, "alg_bw": 20.0, "bus_bw": 20.0, "nwrong": "N/A"}
    (found,) = read_log(result(in_place=other), "all_reduce.json")
    assert (found.value, found.nodes, found.doubt) == (10.0, 2, "")
    (found,) = read_log(result(out_of_place=None, in_place=other), "all_reduce.json")
    assert (found.value, found.doubt) == (20.0, "")
    (found,) = read_log(result(out_of_place={**other, "nwrong": 2}), "all_reduce.json")
    assert found.doubt == "wrong results"
    single = json.loads(result())
    for key, words in (("devices", "lists fewer than two devices"), ("results", "has no `results`")):
        with pytest.raises(InputError, match=words):
            read_log(json.dumps({**single, key: single[key][:1] if key == "devices" else []}), "all_reduce.json")
    named = json.dumps({**single, "args": ["./build/all_reduce_perf", "-b", "8"]})
    assert read_log(named, "x.json")[0].check == "allreduce"


def measured(**changed: Any) -> Measured:
    base = {"check": "allreduce", "value": 10.0, "host": "a", "part": "", "file": "f", "line": 1}
    return Measured(**{**base, "gpus": 8, "nodes": 1, "size_bytes": 64.0, **changed})


def test_rows_of_one_size_are_one_and_keep_a_doubt() -> None:
    rows = [
        measured(),
        measured(value=20.0, doubt="odd"),
        measured(host="b"),
        measured(gpus=4),
        measured(size_bytes=8.0),
    ]
    found = _merged([*rows, measured(check="reduce")])
    assert [item.value for item in found] == [15.0, 10.0, 10.0, 10.0, 10.0]
    assert [item.doubt for item in found] == ["odd", "", "", "", ""]


def test_cases_are_medians_over_nodes_by_operation_ranks_and_size() -> None:
    rows = [measured(value=value) for value in (10.0, 30.0, 11.0)]
    rows += [measured(size_bytes=8.0, value=1.0), measured(value=99.0, doubt="odd"), measured(gpus=4, value=5.0)]
    rows += [measured(check="reduce", gpus=0), measured(check="all-gather", value=7.0)]
    loaded = yaml.safe_load(cases_text(tuple(rows), "s", "ours", "2026-11-22") or "")
    assert (loaded["id"], loaded["source"]["date"]) == ("ours", "2026-11-22")
    assert [
        (item["id"], item["operation"], item["gpus"], item["sizes"], item["values"]) for item in loaded["collectives"]
    ] == [
        ("allreduce-4", "allreduce", [4], ["64 B"], [[5]]),
        ("allreduce-8", "allreduce", [8], ["8 B", "64 B"], [[1, 11]]),
        ("all-gather-8", "all-gather", [8], ["64 B"], [[7]]),
    ]
    assert cases_text((measured(doubt="odd"), measured(gpus=0)), "s", "ours", "2026-11-22") is None


def gpu(bus: str, **tags: str) -> str:
    return f'<gpu id="{bus}">' + "".join(f"<{tag}>{text}</{tag}>" for tag, text in tags.items()) + "</gpu>\n"


def test_links_of_gpus() -> None:
    """The least of three ceilings; what is not known gives no row, and nothing of the GPU before."""
    text = "<nvidia_smi_log>\n" + gpu(
        "00000000:18:00.0", max_link_gen="5", max_device_link_gen="4", max_host_link_gen="3", current_link_width="16x"
    )
    text += gpu("00000001:2A:00.0", max_link_gen="N/A", max_host_link_gen="5", current_link_width="N/A")
    found = _read_smi(text + "</nvidia_smi_log>", "rack/node9.xml")
    assert [(item.check, item.value, item.host, item.part, item.line) for item in found] == [
        ("pcie-width", 16.0, "node9", "GPU 18:00.0", 2),
        ("pcie-generation", 3.0, "node9", "GPU 18:00.0", 2),
        ("pcie-generation", 5.0, "node9", "GPU 00000001:2A:00.0", 3),
    ]
    deep = "<nvidia_smi_log>" + "<a>" * 39 + "</a>" * 39 + "\n" + gpu("0", max_link_gen="5") + "</nvidia_smi_log>"
    assert len(_read_smi(deep, "x.xml")) == 1
    for wrong, words in (
        (deep.replace("<a><a>", "<a><a><a>").replace("</a></a>", "</a></a></a>"), "elements nest too deeply"),
        ("<nvidia_smi_log></nvidia_smi_log>", "x.xml:1:1: error: no GPU with a PCIe link"),
        ("<nvidia_smi_log>\n</gpu>", "x.xml:2:3: error: not valid XML"),
    ):
        with pytest.raises(InputError) as caught:
            _read_smi(wrong, "x.xml")
        assert words in str(caught.value)


def link(one: str, two: str, state: str = "ACT", speed: str = "100", width: int = 4) -> str:
    return f"{{ {one} }} {{ {two} }} PHY={width}x LOG={state} SPD={speed}\n"


def test_links_of_a_list_of_ibdiagnet() -> None:
    """NDR: 4 x 100 Gb/s are 50 GB/s. Ports are hexadecimal; what is up but not active carries nothing."""
    leaf, spine = "SW Ports:41 NodeGUID:0xAA PN:1f", "SW Ports:41 NodeGUID:0xbb PN:02"
    text = "\n" + link(leaf, spine) + link(leaf, spine, "INI") + link("CA Ports:01 PN:01", leaf, "active", "50", 2)
    first, started, second = read_log(text, "ibdiagnet2.lst")
    assert (started.check, started.value, started.line) == ("switch-link", 0.0, 3)
    assert (first.check, first.value, first.host, first.part, first.line) == ("switch-link", 50.0, "AA", "port 31", 2)
    assert (second.check, second.value, second.host, second.part, second.line) == (
        *("nic-link", 12.5, "unknown"),
        *("port 1", 4),
    )
    with pytest.raises(InputError, match=r"a.lst:1:1: error: no lane runs at `SPD=2\.5\.5`"):
        read_log(link(leaf, spine, speed="2.5.5"), "a.lst")


def tables(ports: str, nodes: str = "0x1,1,n1 mlx5_0\n0x2,2,leaf-1\n") -> str:
    head = "START_NODES\nNodeGUID,NodeType,NodeDesc\n" + nodes + "END_NODES\n"
    return head + "START_PORTS\nNodeGuid,PortNum,LinkWidthActv,LinkSpeedActv,PortState\n" + ports + "END_PORTS\n"


def test_ports_of_the_tables_of_ibdiagnet() -> None:
    text = tables("0x1,1,2,2048,4\n0x1,2,2,2048,2\n0x2,7,1,1024,N/A\n0x9,3,2,512,4\n0x2,8,N/A,N/A,4\n")
    found = [(item.check, item.value, item.host, item.part, item.line) for item in read_log(text, "x.db_csv")]
    assert found == [
        ("nic-link", 50.0, "n1 mlx5_0", "port 1", 8),
        ("nic-link", 0.0, "n1 mlx5_0", "port 2", 9),
        ("switch-port", 6.25, "leaf-1", "port 7", 10),
        ("nic-link", 12.5, "0x9", "port 3", 11),
    ]
    for ports, words in (
        ("0x1,1,3,2048,4\n", "x.db_csv:8:1: error: no link has LinkWidthActv 3 and LinkSpeedActv 2048"),
        ("0x1,1,2,3,4\n", "no link has LinkWidthActv 2 and LinkSpeedActv 3"),
        ("0x1,1,2\n", "x.db_csv:8:1: error: a row of 3 columns under a heading of 5"),
        ("0x1,1,2,2048,1\n", "x.db_csv:1:1: error: no active port"),
    ):
        with pytest.raises(InputError) as caught:
            read_log(tables(ports), "x.db_csv")
        assert words in str(caught.value)


def fio(runtime: int, *, direct: str | None = "1", common: dict[str, str] | None = None) -> str:
    side = {"io_bytes": 10, "bw_bytes": 3 * 10**9, "runtime": runtime}
    job = {"jobname": "a", "error": 0, "read": side, "job options": {"direct": direct} if direct else {}}
    return json.dumps({"fio version": "fio-3.38", "jobs": [job], "global options": common or {}})


def test_runs_of_storage_that_are_doubted() -> None:
    """Thirty seconds are long enough; options of all jobs count where a job has none of its own."""
    assert read_log(fio(30_000), "n.json")[0].doubt == ""
    assert read_log(fio(29_999), "n.json")[0].doubt == "shorter than 30 s"
    assert read_log(fio(60_000, direct=None, common={"direct": "1"}), "n.json")[0].doubt == ""
    assert read_log(fio(60_000, direct="0", common={"direct": "1"}), "n.json")[0].doubt.startswith("without direct=1")
    (found,) = read_log(fio(60_000), "rack/n7.json")
    assert (found.check, found.value, found.host, found.nodes) == ("storage-read", 3.0, "n7", 1)


def test_rates_of_ior() -> None:
    """A gibibyte a second, of one node and of four; of an unknown number it is doubted."""
    body = "access    bw(MiB/s)  IOPS\nwrite 1024 1 2 3 4 5 6\nread 2048 1 2 3 4 5 6\n"
    body += "read - 1 2 3 4 5 6\nread 1 2 3 4 5 6\n"
    write, read = read_log("nodes : 4\n" + body, "ior.txt")
    assert (write.check, write.host, write.nodes, write.line, write.doubt) == ("storage-write", "4 nodes", 4, 3, "")
    assert write.value == pytest.approx(1.073741824)
    assert read.check == "storage-read"
    assert read.value == pytest.approx(2.147483648)
    assert read_log("nodes : 1\n" + body, "n3.txt")[0].host == "n3"
    unsaid = read_log(body, "n3.txt")[0]
    assert (unsaid.host, unsaid.nodes, unsaid.doubt) == ("n3", 0, "the log does not say how many nodes took part")


@pytest.mark.parametrize(
    ("file", "name"),
    [("a/b/node1.out", "node1"), ("node1", "node1"), ("C:\\logs\\n2.x.txt", "n2"), (".hidden", ".hidden")],
)
def test_a_log_is_of_the_node_that_its_name_has(file: str, name: str) -> None:
    assert _stem(file) == name


def test_numbers_of_logs() -> None:
    assert [_number_of(text, "f", 3, "rate") for text in ("0", "1.5", "9e17")] == [0.0, 1.5, 9e17]
    for text in ("-0.1", "1e18", "nan", "inf", "x"):
        with pytest.raises(InputError, match=rf"^f:3:1: error: `{text}` is not a rate"):
            _number_of(text, "f", 3, "rate")


def test_jobs_are_sorted_and_counted_from_the_first() -> None:
    text = "run_s,gpus,arrival_s\n30,8,700\n.5,2.0,5e2\n"
    arrivals, runs, sizes = read_jobs("\ufeff" + text, "jobs.csv", 8)
    assert (arrivals.tolist(), runs.tolist(), sizes.tolist()) == ([0.0, 200.0], [0.5, 30.0], [2, 8])
    for rows, words in (
        ("0,9,1\n", "jobs.csv:2:1: error: a job of 9; one can hold 8 of this design"),
        ("0,1\n", "jobs.csv:2:1: error: not a job"),
        ("0,1,1_0\n", "not a job"),
        ("1e12,1,1\n", "not a job"),
        ("0,1,1e12\n", "not a job"),
        ("", "jobs.csv:1:1: error: no job"),
    ):
        with pytest.raises(InputError) as caught:
            read_jobs("arrival_s,gpus,run_s\n" + rows, "jobs.csv", 8)
        assert words in str(caught.value)
    with pytest.raises(InputError, match=r"jobs.csv:1:1: error: no column `gpus`"):
        read_jobs("arrival_s,run_s\n0,1\n", "jobs.csv", 8)


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_jobs_are_read_with_the_signs_of_an_acceptance_sheet(sign: str) -> None:
    """A spreadsheet with decimal commas parts its cells by semicolons; titles may stand above the heading."""
    half = "30,5" if sign == ";" else "30.5"
    lines = [sign.join(row) for row in (("arrival_s", "gpus ", "run_s"), ("5", "2", half), ("9", "1", "4"))]
    for above in ("", "queue of May\n\n"):
        arrivals, runs, sizes = read_jobs(above + "\n".join(lines) + "\n", "jobs.csv", 8)
        assert (arrivals.tolist(), runs.tolist(), sizes.tolist()) == ([0.0, 4.0], [30.5, 4.0], [2, 1])
    late = "\n\n".join([*lines, sign.join(("9", "9", "4"))])  # the row is where an editor shows it, empty lines counted
    with pytest.raises(InputError, match=r"^jobs.csv:7:1: error: a job of 9; "):
        read_jobs(late, "jobs.csv", 8)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("0,1,1e12", "`run_s` is 1e+12; it is above 0, and below 1e+12"),
        ("0,1,0", "`run_s` is 0; it is above 0"),
        ("1e12,1,5", "`arrival_s` is 1e+12; it is 0 or more, and below 1e+12"),
        ("-1,1,5", "`arrival_s` is -1; it is 0 or more"),
        ("0,1.5,5", "`gpus` is 1.5; it is a whole number from 1 on"),
        ("0,0,5", "`gpus` is 0; it is a whole number"),
        ("0,1,5,8", "more cells than the heading has"),
    ],
)
def test_a_refused_job_says_which_bound_it_passes(row: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_jobs(f"arrival_s,gpus,run_s\n1,1,1\n{row}\n", "jobs.csv", 8)
    assert "jobs.csv:3:1: error: " in str(caught.value)
    assert words in str(caught.value)


def test_a_column_that_is_listed_twice_is_refused() -> None:
    """Neither of two values is taken for the other, in jobs and in acceptance sheets alike."""
    with pytest.raises(InputError, match=r"^jobs.csv:2:1: error: the column `gpus` is listed twice"):
        read_jobs("jobs\narrival_s,gpus,run_s, gpus\n0,1,5,8\n", "jobs.csv", 8)
    with pytest.raises(InputError, match=r"^sheet.csv:1:1: error: the column `measured` is listed twice"):
        read_log("check;measured;measured\nstream;200;300\n", "sheet.csv")


CELLS = ("{}", " {} ", '"{}"', ' "{}"', '"{}" ', '" {} "', "\u00a0{}", '\u00a0"{}"')
"""A name of a column as spreadsheets and hands write it."""


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("cell", CELLS)
def test_a_heading_reads_the_same_however_its_names_are_written(cell: str, mark: str, sign: str) -> None:
    for place in range(3):
        jobs, sheet = ["arrival_s", "gpus", "run_s"], ["check", "measured", "host"]
        jobs[place], sheet[place] = cell.format(jobs[place]), cell.format(sheet[place])
        arrivals, runs, sizes = read_jobs(f"{mark}{sign.join(jobs)}\n{sign.join('025')}\n", "jobs.csv", 8)
        assert (arrivals.tolist(), runs.tolist(), sizes.tolist()) == ([0.0], [5.0], [2])
        (row,) = read_log(f'{mark}{sign.join(sheet)}\nstream{sign} "200"{sign}n1\n', "sheet.csv")
        assert (row.check, row.value, row.host) == ("stream", 200.0, "n1")


@pytest.mark.parametrize("heading", ['"{0},{1},{2}"', '{0},"{1}\nx",{2}', '{0},"{1},{2}', "{0},{1}x,{2}"])
def test_a_heading_without_its_names_is_refused_in_words(heading: str) -> None:
    with pytest.raises(InputError, match=r"^jobs.csv:1:1: error: no (column|line names)"):
        read_jobs(heading.format("arrival_s", "gpus", "run_s") + "\n0,2,5\n", "jobs.csv", 8)
    with pytest.raises(InputError, match="not output of a supported program"):
        read_log(heading.format("check", "measured", "host") + "\nstream,200,n1\n", "sheet.csv")


def test_copies_of_a_node_by_gpu() -> None:
    """Between GPUs the least of a row counts; a row without a number gives none."""
    cases = [
        {
            "name": "device_to_device_memcpy_write_ce",
            "bandwidth_matrix": [["N/A", "300", "200"], ["N/A", "N/A", "N/A"]],
        },
        {"name": "all_to_host_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["40"], ["41"]]},
    ]
    found = read_log(json.dumps({"nvbandwidth": {"testcases": cases}}), "n1.json")
    assert [(item.check, item.value, item.part) for item in found] == [
        ("nvlink-copy", 200.0, "GPU 0"),
        ("copy-to-host-shared", 40.0, "GPU 0"),
        ("copy-to-host-shared", 41.0, "GPU 0"),
    ]


def test_of_several_reports_of_a_run_the_last_counts() -> None:
    first = fio(30_000).replace("3000000000", "1000000000").replace('"io_bytes": 10', '"io_bytes": 5')
    text = f"{first}\n{fio(60_000)}"
    assert [row.value for row in read_log(text, "n.json")] == [3.0]
    assert read_log(fio(60_000) + "\n{ broken", "n.json")[0].value == 3.0
    with pytest.raises(InputError, match="not output of a supported program"):
        read_log("hello {", "n.txt")
