"""Logs of other programs, in the forms that they print."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ffplan.base.errors import InputError
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.interop.logs.read import cases_text, read_log
from ffplan.validation.cases import CaseFile

RANKS = "".join(
    f"#  Rank  {n} Group  0 Pid  1 on   node0{n // 4} device  {n % 4} [0000:18:00] H100\n" for n in range(8)
)
HEAD = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
ROW = "     8388608       2097152     float     sum      -1    105.3   79.66  139.41      0    104.9   79.97  139.94      0\n"


def test_nccl_tests_counts_ranks_and_nodes_and_takes_the_first_half() -> None:
    text = "# Collective test starting: all_reduce_perf\n" + RANKS + HEAD + ROW + "# Out of bounds values : 0 OK\n"
    (found,) = read_log(text, "run.txt")
    assert (found.check, found.gpus, found.nodes, found.size_bytes) == ("allreduce", 8, 2, 8388608)
    assert (found.value, found.host, found.line) == (139.41, "node00 and node01", 11)


def test_the_operation_comes_from_the_file_s_name_where_the_log_has_none() -> None:
    (found,) = read_log(RANKS + HEAD + ROW, "logs/all_reduce_perf-8.log")
    assert found.check == "allreduce"
    (found,) = read_log(RANKS + HEAD + ROW, "reduce-scatter.log")
    assert found.check == "allreduce"  # by the columns: the name of a file is no reason to refuse it
    with pytest.raises(InputError, match="not algbw 79"):
        read_log("$ ./reduce_scatter_perf -g 8\n" + RANKS + HEAD + ROW, "all_reduce.log")


def test_a_file_s_name_has_an_operation_as_whole_words() -> None:
    root = ROW.replace("139.41", " 79.66").replace("139.94", " 79.97").replace("sum      -1", "sum       0")
    assert read_log(RANKS + HEAD + root, "reduce_perf.txt")[0].check == "reduce"
    pieces = ROW.replace("139.41", " 69.70").replace("139.94", " 69.97").replace("sum      -1", "none      0")
    assert [read_log(RANKS + HEAD + pieces, f"8-{name}.txt")[0].check for name in ("gather", "scatter")] == [
        "gather",
        "scatter",
    ]
    with pytest.raises(InputError, match="no operation that is modelled has such columns"):
        read_log(RANKS + HEAD + ROW.replace("139.41", " 99.00"), "reduced.txt")


def test_cycles_and_types_of_one_size_are_averaged_and_wrong_results_doubted() -> None:
    other = ROW.replace("79.66  139.41      0", "80.66  141.16      3")
    (found,) = read_log(RANKS + HEAD + ROW + "# Testing 2 cycle.\n" + other, "all_reduce.txt")
    assert found.value == pytest.approx((139.41 + 141.16) / 2)
    assert found.doubt == "wrong results"


def test_rccl_prints_one_half_statistics_and_stamps() -> None:
    half = "     8388608       2097152     float     sum      -1    105.3   79.66  139.41    N/A\n"
    stamped = ROW.rstrip() + "  2026-11-22 10:11:12\n"
    wide = (
        "     8388608       2097152     float     sum      -1    105.3   79.66  139.41      0  100.1  110.2  109.9  0.02"
        "    104.9   79.97  139.94      0  100.1  110.2  109.9  0.02\n"
    )
    for row in (half, stamped, wide):
        text = "rccl-tests: Version develop\n" + RANKS + HEAD + row
        (found,) = read_log(text, "all_reduce_perf.out")
        assert found.value == 139.41


def test_nccl_tests_json_keeps_neither_environment_nor_arguments() -> None:
    loaded: dict[str, Any] = {
        "version": "2.17",
        "args": ["./build/all_gather_perf", "--secret", "hunter2"],
        "env": {"TOKEN": "hunter2"},
        "devices": [{"rank": n, "hostname": "node01"} for n in range(4)],
        "results": [
            {
                "size": 4194304,
                "count": 262144,
                "type": "float",
                "redop": "none",
                "root": -1,
                "out_of_place": None,
                "in_place": {"time": 100.0, "alg_bw": 41.94, "bus_bw": 31.46, "nwrong": 0},
            }
        ],
    }
    (found,) = read_log(json.dumps(loaded), "out.json")
    assert (found.check, found.gpus, found.value) == ("all-gather", 4, 31.46)
    assert "hunter2" not in repr(found)


def test_nvbandwidth_cells_are_strings_and_waived_tests_have_none() -> None:
    cases: list[dict[str, Any]] = [
        {"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["55.59", "41.61"]]},
        {
            "name": "device_to_device_memcpy_read_ce",
            "status": "Passed",
            "bandwidth_matrix": [["N/A", "390.1"], ["388.2", "N/A"]],
        },
        {"name": "all_to_host_memcpy_ce", "status": "Waived"},
        {"name": "host_device_latency_sm", "status": "Passed", "bandwidth_matrix": [["700"]]},
    ]
    cases.append({"name": "device_to_host_memcpy_ce", "bandwidth_matrix": [["N/A", "20.0", "55.0"]]})
    found = read_log("warning\n" + json.dumps({"nvbandwidth": {"testcases": cases}}), "logs/node07.json")
    assert [(item.check, item.value, item.host, item.part) for item in found] == [
        ("copy-to-device", 55.59, "node07", "GPU 0"),
        ("copy-to-device", 41.61, "node07", "GPU 1"),
        ("nvlink-copy", 390.1, "node07", "GPU 0"),
        ("nvlink-copy", 388.2, "node07", "GPU 1"),
        ("copy-to-host", 20.0, "node07", "GPU 1"),
        ("copy-to-host", 55.0, "node07", "GPU 2"),
    ]
    cases[0]["status"] = "Error"
    with pytest.raises(InputError, match="ended with `Error`"):
        read_log(json.dumps({"nvbandwidth": {"testcases": cases}}), "a.json")


@pytest.mark.parametrize("own", ["0.00", "0.0", "1500.25", "N/A"])
def test_what_stands_for_a_gpu_to_itself_is_no_copy_between_gpus(own: str) -> None:
    rows = [[own, "390.1"], ["388.2", own]]
    cases = [{"name": "device_to_device_memcpy_read_ce", "status": "Passed", "bandwidth_matrix": rows}]
    text = "".join(f"{number}  {'   '.join(row)}\n" for number, row in enumerate(rows))
    head = "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n    0    1\n"
    for written in (json.dumps({"nvbandwidth": {"testcases": cases}}), head + text):
        assert [(item.part, item.value) for item in read_log(written, "n1")] == [("GPU 0", 390.1), ("GPU 1", 388.2)]


def test_stream_prints_megabytes() -> None:
    text = (
        "Function    Best Rate MB/s  Avg time     Min time     Max time\nTriad:          312345.6     0.1  0.1  0.1\n"
    )
    (found,) = read_log(text, "node3.out")
    assert (found.check, found.host, found.line) == ("memory", "node3", 2)
    assert found.value == pytest.approx(312.3456)


def fio(**job: Any) -> str:
    base = {"jobname": "a", "groupid": 0, "error": 0, "job options": {"rw": "write", "direct": "1"}}
    return json.dumps({"fio version": "fio-3.38", "jobs": [{**base, **job}, {**base, **job}]})


def test_fio_adds_jobs_and_doubts_short_or_cached_runs() -> None:
    side = {"io_bytes": 10**12, "bw_bytes": 5 * 10**9, "bw": 4882812, "runtime": 60000}
    (found,) = read_log("fio: a warning\n" + fio(write=side), "n1.json")
    assert (found.check, found.value, found.doubt) == ("storage-write", 10.0, "")
    assert read_log(fio(write={**side, "runtime": 900}), "n1.json")[0].doubt == "shorter than 30 s"
    cached = fio(write=side).replace('"direct": "1"', '"direct": "0"')
    assert "page cache" in read_log(cached, "n1.json")[0].doubt
    old = {"io_bytes": 10**12, "bw": 1000, "runtime": 60000}
    assert read_log(fio(read=old), "n1.json")[0].value == pytest.approx(2 * 1000 * 1024 / 1e9)


def test_fio_s_clients_are_not_counted_twice() -> None:
    side = {"io_bytes": 10**12, "bw_bytes": 10**9, "runtime": 60000}
    one = {"jobname": "a", "error": 0, "job options": {"direct": "1"}, "read": side}
    clients = [{**one, "hostname": "n1"}, {**one, "hostname": "n2"}, {**one, "jobname": "All clients"}]
    found = read_log(json.dumps({"fio version": "fio-3.38", "client_stats": clients}), "x.json")
    assert [(item.host, item.value) for item in found] == [("n1", 1.0), ("n2", 1.0)]


def test_ior_is_in_mebibytes_and_of_all_nodes() -> None:
    text = (
        "IOR-4.0.0\nOptions:\nnodes               : 4\ntasks               : 32\n"
        "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
        "------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----\n"
        "write     51200.1    51200      0.0195      1048576    1024.00    0.01       20.00      0.01       20.02      0\n"
        "remove    -          -          -           -          -          -          -          -          0.1        0\n"
        "Summary of all tests:\n"
        "write 51200.10 51200.10 51200.10 0.00 51200 51200 51200 0 20.02 0 32 8 1 0\n"
        "Max Write: 51200.10 MiB/sec (53687.20 MB/sec)\n"
    )
    (found,) = read_log(text, "ior.txt")
    assert (found.check, found.nodes, found.line) == ("storage-write", 4, 7)
    assert found.value == pytest.approx(53.6872, abs=1e-4)


SMI = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><driver_version>570.86</driver_version><attached_gpus>2</attached_gpus>
<gpu id="00000000:18:00.0"><pci><pci_gpu_link_info>
<pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>1</current_link_gen><max_host_link_gen>4</max_host_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
</pci_gpu_link_info></pci></gpu></nvidia_smi_log>
"""


def test_an_idle_gpu_s_generation_says_nothing_its_width_does() -> None:
    found = read_log(SMI, "node9.xml")
    assert [(item.check, item.value, item.part, item.line) for item in found] == [
        ("pcie-width", 8.0, "GPU 18:00.0", 4),
        ("pcie-generation", 4.0, "GPU 18:00.0", 4),
    ]


def test_ibdiagnet_s_ports_are_hexadecimal_and_its_csv_named() -> None:
    line = (
        "{ CA Ports:02 SystemGUID:1 NodeGUID:0002c903 PortGUID:3 VenID:000002c9 DevID:1003 Rev:0 LID:0005 PN:01 } "
        "{ SW Ports:24 SystemGUID:1 NodeGUID:0002c904 PortGUID:3 LID:0002 PN:14 } PHY=4x LOG=ACT SPD=25\n"
    )
    (found,) = read_log(line, "ibdiagnet2.lst")
    assert (found.check, found.value, found.host, found.part) == ("nic-link", 12.5, "0002c903", "port 1")
    text = (
        "# generated by IBDIAG\nSTART_NODES\nNodeDesc,NumPorts,NodeType,NodeGUID\n"
        '"node01 mlx5_0",1,1,0x1\n"leaf-01",64,2,0x2\nEND_NODES\n'
        "START_PORTS\nNodeGuid,PortNum,LinkWidthActv,LinkSpeedActv,PortState\n"
        "0x1,1,2,2048,4\n0x2,7,2,1024,4\n0x2,8,N/A,N/A,1\nEND_PORTS\n"
    )
    rows = read_log(text, "ibdiagnet2.db_csv")
    assert [(item.check, item.value, item.host, item.part) for item in rows] == [
        ("nic-link", 50.0, "node01 mlx5_0", "port 1"),
        ("switch-port", 25.0, "leaf-01", "port 7"),
    ]


def test_a_switch_s_port_to_a_nic_is_the_nic_s_link() -> None:
    text = (
        "START_NODES\nNodeDesc,NodeType,NodeGUID\nhost,1,0x1\nleaf,2,0x2\nspine,2,0x3\nEND_NODES\n"
        "START_PORTS\nNodeGuid,PortNum,LinkWidthActv,LinkSpeedActv\n"
        "0x1,1,2,2048\n0x2,1,2,2048\n0x2,9,2,1024\n0x3,5,2,1024\nEND_PORTS\n"
        "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n0x1,1,0x2,1\n0x2,9,0x3,5\nEND_LINKS\n"
    )
    found = [(item.check, item.host, item.value) for item in read_log(text, "a.db_csv")]
    assert found == [("nic-link", "host", 50.0), ("switch-link", "leaf", 25.0), ("switch-link", "spine", 25.0)]


SIDES = (
    "START_NODES\nNodeDesc,NodeType,NodeGUID\nhost,1,0x1\nleaf,2,0x2\nspine,2,0x3\nEND_NODES\n"
    "START_PORTS\nNodeGuid,PortNum,LinkWidthActv,LinkSpeedActv\n"
    "0x1,1,{nic}\n0x2,1,{leaf}\n0x2,9,{up}\n0x3,5,{spine}\nEND_PORTS\n"
    "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n0x1,1,0x2,1\n0x2,9,0x3,5\nEND_LINKS\n"
)
WELL = {"nic": "2,2048", "leaf": "2,2048", "up": "2,2048", "spine": "2,2048"}


@pytest.mark.parametrize(
    ("side", "code", "nic", "between"),
    [
        ("nic", "1,2048", 12.5, 50.0),
        ("leaf", "1,2048", 12.5, 50.0),  # a switch port at 1x beside a NIC that says 4x
        ("leaf", "2,1024", 25.0, 50.0),
        ("up", "16,2048", 50.0, 25.0),
        ("spine", "16,2048", 50.0, 25.0),
    ],
)
def test_a_link_runs_at_the_lesser_width_and_speed_of_its_ends(
    side: str, code: str, nic: float, between: float
) -> None:
    rows = read_log(SIDES.format(**{**WELL, side: code}), "a.db_csv")
    assert [(row.check, row.host, row.part, row.value) for row in rows] == [
        ("nic-link", "host", "port 1", nic),
        ("switch-link", "leaf", "port 9", between),
        ("switch-link", "spine", "port 5", between),
    ]


def test_a_switch_s_port_stands_for_a_nic_without_a_row() -> None:
    text = SIDES.format(**{**WELL, "leaf": "1,1024"}).replace("0x1,1,2,2048\n", "")
    first = read_log(text, "a.db_csv")[0]
    assert (first.check, first.host, first.part, first.value, first.line) == ("nic-link", "host", "port 1", 6.25, 9)
    wide = read_log(SIDES.format(**{**WELL, "nic": "2,1024", "leaf": "1,2048"}), "a.db_csv")[0]
    assert wide.value == 6.25  # one lane by the switch, HDR by the NIC


def test_the_adapter_s_side_of_a_link_is_named() -> None:
    line = (
        "{ SW Ports:24 NodeGUID:aaaa0001 LID:0002 PN:14 } { CA Ports:02 NodeGUID:bbbb0002 LID:0005 PN:01 } "
        "PHY=4x LOG=ACT SPD=50\n"
    )
    (found,) = read_log(line, "ibdiagnet2.lst")
    assert (found.check, found.host, found.part, found.value) == ("nic-link", "bbbb0002", "port 1", 25.0)


def test_newer_ibdiagnet_names_the_ends_of_a_link() -> None:
    line = (
        "{ CA Ports:01 NodeGUID:0xbbbb0002 VenID:000002c9 DevID:1021 Rev:0 {node01 mlx5_0} LID:0005 PN:01 } "
        "{ SW Ports:41 NodeGUID:0xaaaa0001 Rev:0 {MF0;leaf-01:MQM9700/U1} LID:0002 PN:14 } PHY=4x LOG=ACT SPD=100\n"
    )
    (found,) = read_log(f"# links\n{line}", "ibdiagnet2.lst")
    assert (found.check, found.host, found.part, found.value) == ("nic-link", "node01 mlx5_0", "port 1", 50.0)
    assert found.line == 2


@pytest.mark.parametrize(
    "text",
    [
        '{"nvbandwidth": {"testcases": 5}}',
        '{"nvbandwidth": {"testcases": [{"name": ["a"]}]}}',
        '{"nvbandwidth": {"testcases": [{"name": "all_to_host_memcpy_ce", "bandwidth_matrix": 5}]}}',
        '{"fio version": "3", "jobs": 5}',
        '{"fio version": "3", "jobs": [{"read": "x"}]}',
        '{"fio version": "3", "jobs": [{"read": {"bw": "fast", "io_bytes": 1}}]}',
        '{"fio version": "3", "global options": ["a"], "jobs": [{"read": {"bw": 1, "io_bytes": 1}}]}',
        '{"results": 5, "devices": 5}',
        "check,measured\nmemory," + "9" * 200_000 + "\n",
        "START_PORTS\nNodeGuid,LinkWidthActv,LinkSpeedActv\n0x1,\u00b2,2048\nEND_PORTS\n",
        "START_PORTS\nNodeGuid,LinkWidthActv,LinkSpeedActv\n0x1,2," + "9" * 5000 + "\nEND_PORTS\n",
    ],
)
def test_logs_of_the_wrong_shape_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_log(text, "all_reduce.json")


def test_runs_that_measure_something_else_are_doubted_or_refused() -> None:
    head = "# nThread 1 nGpus 8 agg iters: 10 validation: 1 graph: 0\n"
    assert read_log(head + RANKS + HEAD + ROW, "all_reduce.txt")[0].doubt == "calls were aggregated"
    head = head.replace("10", "1").replace("graph: 0", "graph: 20")
    assert read_log(head + RANKS + HEAD + ROW, "all_reduce.txt")[0].doubt == "calls ran in a CUDA graph"
    with pytest.raises(InputError, match="not modelled"):
        read_log("mpirun -np 8 alltoallv_perf -b 8M\n" + RANKS + HEAD + ROW, "log.txt")
    stream = "Implementation: CUDA\nFunction    MBytes/sec\nTriad       3050000.0  0.1\n"
    with pytest.raises(InputError, match="memory of a GPU"):
        read_log(stream, "a.txt")


def test_groups_of_fio_are_apart() -> None:
    side = {"io_bytes": 10**12, "bw_bytes": 10**10, "runtime": 60000}
    one = {"jobname": "a", "error": 0, "job options": {"direct": "1"}, "read": side}
    text = json.dumps({"fio version": "3", "jobs": [{**one, "groupid": 0}, {**one, "groupid": 1}]})
    assert [item.value for item in read_log(text, "n.json")] == [10.0, 10.0]


def test_a_filled_sheet_is_read_back() -> None:
    text = "check,label,gpus,size_bytes,expected,least,host,part,measured\n"
    text += "gemm-bf16,BF16 GEMM,0,0.0,671,604,node01,GPU 3,655.5\nmemory,,0,0.0,1,1,,,\n"
    assert len(read_log(text.replace("\n", "\r\n"), "sheet.csv")) == 1
    (found,) = read_log(text, "sheet.csv")
    assert (found.check, found.value, found.host, found.part) == ("gemm-bf16", 655.5, "node01", "GPU 3")


def test_measured_collectives_become_a_file_of_cases(tmp_path: Any) -> None:
    rows = read_log(RANKS + HEAD + ROW, "all_reduce.txt")
    text = cases_text(tuple(rows), "hgx-h100-8nic", "ours", "2026-11-22")
    assert text is not None
    path = tmp_path / "ours.yaml"
    path.write_text(text)
    loaded = validate(CaseFile, read_document(path))
    (sweep,) = loaded.collectives
    assert (sweep.operation, sweep.gpus, sweep.values) == ("allreduce", (8,), ((139.41,),))
    assert cases_text((), "hgx-h100-8nic", "ours", "2026-11-22") is None


def test_a_log_of_several_programs_is_refused_in_either_order() -> None:
    """The values of one of them would be lost in silence."""
    stream = "Function    Best Rate MB/s  Avg time\nTriad:  300000.0  0.1  0.1  0.1\n"
    for text in (RANKS + HEAD + ROW + stream, stream + RANKS + HEAD + ROW):
        with pytest.raises(InputError, match="the log mixes output of nccl-tests and STREAM"):
            read_log(text, "all_reduce_perf.txt")
    for head in ("check,measured", '"host","check" ,"measured"\r'):
        with pytest.raises(InputError, match="no row has a `measured` value"):
            read_log(head + "\n", "sheet.csv")


def test_fio_in_two_formats_and_behind_a_command_line() -> None:
    """`--output-format=json,normal` prints both; a shell's braces are none of the document."""
    side = {"io_bytes": 10, "bw_bytes": 4 * 10**9, "runtime": 60_000}
    text = "   READ: bw=3815MiB/s (4000MB/s), 3815MiB/s-3815MiB/s (4000MB/s-4000MB/s), io=1GiB (1GB), run=60001-60001msec\n"
    plain = read_log(fio(read=side), "n1.json")
    assert plain[0].doubt == ""
    assert read_log(f"{fio(read=side)}\nRun status group 0 (all jobs):\n{text}", "n1.json") == plain
    behind = read_log("fio --filename=/mnt/{a,b} --output-format=json\n" + fio(read=side), "n1.json")
    assert [(row.check, row.value) for row in behind] == [("storage-read", 8.0)]


@pytest.mark.parametrize(
    ("options", "total", "bound"),
    [
        ({"rw": "read", "bs": "1M"}, 0, ""),
        ({"rw": "randread", "bs": "1M"}, 0, "random access"),
        ({"rw": "read", "bs": "4k"}, 0, "blocks of 4k"),
        ({"rw": "read", "bs": "1M,4k"}, 0, ""),
        ({"rw": "read", "bs": "4KiB,1M"}, 0, "blocks of 4KiB"),
        ({"readwrite": "read", "blocksize": "65536"}, 0, "blocks of 65536"),
        ({}, 10**9, "blocks of 4096"),
        ({}, 4 * 10**6, ""),
    ],
)
def test_rates_of_operations_are_no_failure_of_bandwidth(options: dict[str, str], total: int, bound: str) -> None:
    side = {"io_bytes": 4096 * 10**9, "bw_bytes": 2 * 10**9, "runtime": 60_000, "total_ios": total}
    (row,) = read_log(fio(read=side, **{"job options": options}), "n1.json")
    assert row.shortfall.startswith(bound)
    assert bool(row.shortfall) == bool(bound)
    if options.get("bs", "").count(",") == 0 and options.get("rw"):
        text = f"a: (g=0): rw={options['rw']}, bs=(R) {options['bs']}-{options['bs']}, ioengine=libaio direct=1\n"
        group = "   READ: bw=1907MiB/s (2000MB/s), 1-2 (3-4), io=1GiB (1GB), run=60001-60001msec\n"
        assert read_log(text + group, "n1.txt")[0].shortfall == row.shortfall


@pytest.mark.parametrize(("clients", "nodes"), [("32 (8 per node)", 4), ("33 (8 per node)", 5), ("1 (1 per node)", 1)])
def test_nodes_of_old_versions_of_ior(clients: str, nodes: int) -> None:
    head = "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
    row = "write     51200      67108864   1024.00    0.010000   40.95      0.010000   40.96      0\n"
    (found,) = read_log(f"IOR-3.0.1\n\tclients            = {clients}\n\n{head}{row}", "n.txt")
    assert (found.nodes, found.doubt) == (nodes, "")


@pytest.mark.parametrize("title", ["# OSU MPI-CUDA Multiple Bandwidth / Message Rate Test v7.4\n", ""])
def test_rates_of_several_pairs_are_named(title: str) -> None:
    with pytest.raises(InputError, match=r"the sum over several pairs of ranks \(osu_mbw_mr\)"):
        read_log(title + "# Size                  MB/s        Messages/s\n4194304  385000.00  91791.15\n", "a.txt")
