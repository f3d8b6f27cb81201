"""Logs as people paste them: with what launchers, loggers, chats and terminals put in front of every line."""

# ruff: noqa: E501 - lines as programs print them

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.base.pasted import _as_pasted, _unfenced
from ffplan.interop.logs.read import read_log
from ffplan.interop.served.read import read_results
from ffplan.interop.slurm_files import read_slurm
from tests.support import examples, ffplan
from tests.unit.interop.test_served import VLLM
from tests.unit.interop.test_slurm_files import BLOCKS, TREE, YAML

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ffplan.results.acceptance import Measured, Unread

DESIGN = "superpod-h100-4su"
HEAD = "# nThread 1 nGpus 1 minBytes 8 maxBytes 17179869184 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 graph: 0\n"
RANKS = "".join(
    f"#  Rank {n:2} Group  0 Pid {1000 + n:6} on host{'ab'[n // 8]} device {n % 8:2} [0000:1{n % 8}:00] NVIDIA H100 80GB HBM3\n"
    for n in range(16)
)
COLUMNS = (
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
)
ROWS = (
    "  1073741824     268435456     float     sum      -1     4571  234.90  440.44      0     4575  234.70  440.06      0\n"
    "  4294967296    1073741824     float     sum      -1    17301  248.25  465.47      0    17310  248.12  465.22      0\n"
)
TAIL = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 452.797\n#\n"
LOG = HEAD + "#\n# Using devices\n" + RANKS + "NCCL version 2.26.2+cuda12.8\n#\n" + COLUMNS + ROWS + TAIL
"""Sixteen ranks of an allreduce: 440.44 and 465.47 GB/s at 1 and 4 GiB, 2 x 15/16 of the algorithm's rate."""
COMMAND = "mpirun --allow-run-as-root -np 16 -H hosta:8,hostb:8 ./build/all_reduce_perf -b 8 -e 4G -f 2 -g 1\n"


def told(rows: list[Measured]) -> list[tuple[str, int, float, float]]:
    """Return what rows say: operation, ranks, size and bus bandwidth."""
    return [(row.check, row.gpus, row.size_bytes, row.value) for row in rows]


WHOLE = [("allreduce", 16, 2.0**30, 440.44), ("allreduce", 16, 2.0**32, 465.47)]


def each(before: str, behind: str = "") -> Callable[[str], str]:
    """Return what puts a text around every line; `N` in it is the number of the line."""
    return lambda text: "".join(
        f"{before.replace('N', str(number))}{line}{behind}\n" for number, line in enumerate(text.splitlines(), 1)
    )


def by_rank(form: str) -> Callable[[str], str]:
    """Return what puts a tag of a rank in front of every line; two ranks write, and one of them nothing but notes."""
    return lambda text: "".join(
        f"{form.format(0)}{line}\n"
        + (f"{form.format(9)}hostb:9:9 [1] NCCL INFO comm {number}\n" if number % 3 == 0 else "")
        for number, line in enumerate(text.splitlines())
    )


PREFIXES: dict[str, Callable[[str], str]] = {
    "as written": lambda text: text,
    "mpirun --tag-output": by_rank("[1,{}]<stdout>:"),
    "mpirun 5 --output tag": by_rank("[mpirun-node01-4711@1,{}]<stdout>: "),
    "mpirun --timestamp-output": each("Wed Jun 11 10:00:01 2025[1,0]<stdout>:"),
    "mpirun --timestamp-output alone": each("Wed Jun 11 10:00:01 2025<stdout>:"),
    "mpirun -l of Hydra": by_rank("[{}] "),
    "srun -l": by_rank("{}: "),
    "srun -l of many": by_rank("{:>3}: "),
    "torchrun": by_rank("[rank{}]: "),
    "kubectl --timestamps": each("2025-06-11T10:00:01.123456N9Z "),
    "kubectl --prefix": each("[pod/nccl-test-launcher-x7k2p/launcher] "),
    "kubectl --prefix --timestamps": each("[pod/nccl-test-launcher-x7k2p/launcher] 2025-06-11T10:00:01.123456789Z "),
    "CRI": each("2025-06-11T10:00:01.123456789+02:00 stdout F "),
    "journalctl": each("Jun 11 10:00:01 node01 mpirun[4711]: "),
    "journalctl -o short-iso": each("2025-06-11T10:00:01+0200 node01 nccl-test.sh[4711]: "),
    "syslog, one digit of the day": each("Jun  1 10:00:01 node01 slurmstepd[4711]: "),
    "ts": each("Jun 11 10:00:01 "),
    "ts -i": each("[10:00:01.123456] "),
    "GitLab": each("2025-06-11T10:00:01.123456Z 01O "),
    "ts %.s": each("1749636001.12345N "),
    "[ts %s]": each("[1749636001] "),
    "numbers of lines behind blanks": each("  N "),
    "docker compose": each("nccl-test-1  | "),
    "pdsh": each("hosta: "),
    "Ray": each("(train_fn pid=4711, ip=10.0.0.1) "),
    "logging of Python": each("2025-06-11 10:00:01,123 - INFO - "),
    "logging of Python, plain": each("INFO:root:"),
    "grep -n": each("N:"),
    "cat -n": each("    N\t"),
    "Slack": each("> "),
    "mail, twice": each("> > "),
    "HTML of a chat": each("&gt; "),
    "Markdown": lambda text: f"We see this on two nodes:\n\n```\n{text}```\n\nIs 465 GB/s fine?\n",
    "Markdown with a language": lambda text: f"```console\n{text}```\n",
    "Markdown, quoted": lambda text: each("> ")(f"```\n{text}```\n"),
    "colours": each("\x1b[32m", "\x1b[0m"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "mixed line ends": lambda text: "".join(
        line + ("\r\n", "\n", "\r")[number % 3] for number, line in enumerate(text.splitlines())
    ),
    "byte-order mark": lambda text: "\ufeff" + text,
    "an unknown logger": each("stern-pod launcher › "),
    "comma decimals": lambda text: text.replace(ROWS, ROWS.replace(".", ",")),
    "tabs of a spreadsheet": lambda text: "\n".join("\t".join(line.split()) for line in text.splitlines()),
    "notes of NCCL in front": lambda text: (
        "hosta:5425:5439 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] via NET/IB/0\n" * 99 + text
    ),
    "notes of NCCL inside a row": lambda text: text.replace(
        "-1     4571",
        "-1hosta:5425:5439 [0] NCCL INFO Connected all rings\nhosta:5425:5439 [0] NCCL INFO 24 channels\n 4571",
    ),
    "notes of NCCL between the halves": lambda text: text.replace(
        "0    17310", "0 \nhosta:5425:5439 [0] NCCL INFO Connected all trees\n   17310"
    ),
}


@pytest.mark.parametrize("form", PREFIXES)
def test_a_log_as_it_is_pasted(form: str) -> None:
    for text in (LOG, COMMAND + LOG):
        rows = read_log(PREFIXES[form](text), "pasted.txt")
        assert told(rows) == WHOLE
        assert {row.doubt for row in rows} == {""}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_the_command_takes_every_encoding(encoding: str, tmp_path: Path) -> None:
    """Through the door that users take; PowerShell writes UTF-16, with a mark or without."""
    file = tmp_path / "log.txt"
    file.write_bytes(PREFIXES["kubectl --timestamps"](COMMAND + LOG).encode(encoding))
    run = ffplan(f"fabric accept {DESIGN} --measured", str(file), "-f", "json")
    assert run.code == 0, run.err
    judged = json.loads(run.out)["judged"]
    assert [(row["verdict"], row["measured"]["value"]) for row in judged] == [("pass", 440.44), ("pass", 465.47)]


@examples(60)
@given(st.lists(st.sampled_from(sorted(PREFIXES)), max_size=3))
def test_prefixes_stand_one_behind_the_other(forms: list[str]) -> None:
    text = COMMAND + LOG
    for form in forms:
        text = PREFIXES[form](text)
    assert told(read_log(text, "pasted.txt")) == WHOLE


@examples(80)
@given(st.data())
def test_a_cut_log_gives_its_whole_rows_or_an_error(data: st.DataObject) -> None:
    """Wherever it is cut, in front or behind: rows so far, with the figures that they have; never other figures."""
    text = PREFIXES[data.draw(st.sampled_from(sorted(PREFIXES)))](COMMAND + LOG)
    start = data.draw(st.integers(0, len(text)))
    cut = text[start : data.draw(st.integers(start, len(text)))]
    try:
        rows = told(read_log(cut, "cut.txt"))
    except InputError:
        pass
    else:
        assert rows
        assert set(rows) <= set(WHOLE)


def test_without_its_head_the_rates_count_the_ranks() -> None:
    """Busbw over algbw is 1.875 = 2 x 15/16; the columns are those of an allreduce."""
    rows = read_log(ROWS + TAIL, "tail.txt")
    assert told(rows) == WHOLE
    assert {(row.nodes, row.host, row.accelerators) for row in rows} == {(0, "tail", ())}


def test_without_its_tail_a_log_has_the_rows_so_far() -> None:
    for end in ("", "  8589934592    21474", "  8589934592    2147483648     float     sum      -1    34500  248.9"):
        assert told(read_log(HEAD + RANKS + COLUMNS + ROWS + end, "head.txt")) == WHOLE


def test_old_columns() -> None:
    """Before 2.11: no root, `error` for `#wrong`; before 2.0: `res`, and times in milliseconds."""
    old = (
        HEAD
        + RANKS
        + "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "  1073741824     268435456   float     sum     4571  234.90  440.44  2e-07     4575  234.70  440.06  2e-07\n"
    )
    assert told(read_log(old + TAIL, "a.txt")) == WHOLE[:1]
    assert read_log(old + TAIL, "a.txt")[0].doubt == ""  # a float's rounding is no wrong result
    assert read_log(old + "# Out of bounds values : 3 FAILED\n", "a.txt")[0].doubt == "wrong results"
    first = RANKS.replace("Group  0 Pid", "Pid") + (
        "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
        "  1073741824     268435456   float     sum    4.571  234.90  440.44    2e-07    4.575  234.70  440.06    2e-07\n"
    )
    assert told(read_log(first, "a.txt")) == WHOLE[:1]
    gather = (
        "$ ./build/all_gather_perf -g 8\n"
        + RANKS
        + "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "  1073741824      16777216   float     2300  466.84  437.66  0e+00     2300  466.84  437.66  0e+00\n"
    )
    assert told(read_log(gather, "a.txt")) == [("all-gather", 16, 2.0**30, 437.66)]


def one_test(operation: str, ratio: float, redop: str = "none", root: int = -1, inside: str = "0") -> str:
    """Return a log of one test of 16 ranks at 1 GiB and 200 GB/s by the algorithm."""
    busbw = f"{200 * ratio:.2f}"
    row = f"  1073741824      16777216     float {redop:>7} {root:>7}     5369  200.00 {busbw:>7}      0     5369  200.00 {busbw:>7} {inside:>6}\n"
    command = f"+ srun --mpi=pmix /opt/{operation}_perf -b 1G -e 1G\n" if operation else ""
    return command + HEAD + RANKS + COLUMNS + row + TAIL


PIECES = 15 / 16
KINDS = {
    "all_reduce": ("allreduce", 2 * PIECES, "sum", -1, "0"),
    "all_gather": ("all-gather", PIECES, "none", -1, "0"),
    "reduce_scatter": ("reduce-scatter", PIECES, "sum", -1, "0"),
    "alltoall": ("all-to-all", PIECES, "none", -1, "N/A"),
    "broadcast": ("broadcast", 1.0, "none", 0, "0"),
    "reduce": ("reduce", 1.0, "sum", 0, "0"),
    "sendrecv": ("sendrecv", 1.0, "none", -1, "N/A"),
}


@pytest.mark.parametrize("program", KINDS)
def test_columns_tell_the_operation(program: str) -> None:
    """Reduction, root, ratio of the rates, and what is checked in place: all-to-all alone is not."""
    operation, *columns = KINDS[program]
    (row,) = read_log(one_test("", *columns), "log.txt")  # type: ignore[arg-type]
    assert row.check == operation
    assert row.value == pytest.approx(200 * KINDS[program][1], abs=0.005)


def test_several_tests_stand_in_one_file() -> None:
    """Each with its own operation, by its own command, by a script ahead of all, or by its columns."""
    own = "".join(one_test(program, *columns) for program, (_, *columns) in KINDS.items())  # type: ignore[arg-type]
    bare = "".join(one_test("", *columns) for _, *columns in KINDS.values())  # type: ignore[arg-type]
    script = "".join(f"mpirun -np 16 ./{program}_perf -b 1G\n" for program in KINDS)
    for text in (own, bare, script + bare, PREFIXES["srun -l"](script + bare)):
        assert [row.check for row in read_log(text, "all.txt")] == [operation for operation, *_ in KINDS.values()]
    both = own + one_test("hypercube", 1.0)
    assert read_log(both, "all.txt")[-1].doubt == "an operation that is not modelled"


CELLS = [line.split() for line in ROWS.splitlines()]
LISTED = RANKS.splitlines(keepends=True)


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"| {' | '.join(cells)} |\n" for cells in CELLS) + TAIL,
        "size,count,type,redop,root,time,algbw,busbw,#wrong\n" + "".join(f"{','.join(cells[:9])}\n" for cells in CELLS),
        "#;busbw\n" + "".join(f"{';'.join(cells)}\n".replace(".", ",") for cells in CELLS),
        LOG.replace("".join(LISTED[3:]), "...\n"),
        LOG.replace("".join(LISTED[8:]), "[truncated]\n"),
        LOG.replace("".join(LISTED[1:]), ""),
        LOG.replace("".join(LISTED[13:]), ""),
        LOG.replace("nThread 1 nGpus 1", "nThread: 1 nGpus: 1 nRanks: 1"),
        f"# Collective test starting: all_reduce_perf\n{LOG}# Collective test concluded: all_reduce_perf\n",
    ],
    ids=[
        "Markdown",
        "CSV",
        "CSV of a spreadsheet",
        "ranks left out",
        "node left out",
        "one rank",
        "cut ranks",
        "rccl",
        "2.17",
    ],
)
def test_the_figures_of_a_log_in_other_hands(text: str) -> None:
    """Tables of people, and lists of ranks that they cut, where the rates count the ranks."""
    assert told(read_log(text, "pasted.txt")) == WHOLE


def test_a_list_of_ranks_that_is_cut_and_rates_that_count_none() -> None:
    """Sendrecv has the same rates on any ranks: with a node left out nothing counts them, with the last rank it does."""
    sends = one_test("sendrecv", 1.0, "sum")
    with pytest.raises(InputError, match="the log leaves ranks out") as refused:
        read_log(sends.replace("".join(LISTED[8:]), "...\n"), "a.txt")
    assert "--ranks" in str(refused.value)
    with pytest.raises(InputError, match="the log leaves ranks out"):
        read_log(sends.replace("".join(LISTED[14:]), ""), "a.txt")  # 8 ranks on a node, 6 on the other
    assert told(read_log(sends.replace("".join(LISTED[3:12]), "...\n"), "a.txt")) == [("sendrecv", 16, 2.0**30, 200.0)]


def test_tests_of_version_2_17_say_where_they_end() -> None:
    """Gather and scatter look alike; the line that ends the one does not name the other."""
    both = "".join(
        f"# Collective test starting: {name}_perf\n{one_test('', PIECES, 'none', 0)}# Collective test concluded: {name}_perf\n"
        for name in ("gather", "scatter")
    )
    assert [row.check for row in read_log(both, "a.txt")] == ["gather", "scatter"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (one_test("all_gather", PIECES, "sum"), "names all-gather, which does not print redop sum"),
        (one_test("reduce", 1.0, "none", 0), "names reduce, which does not print redop none"),
        (one_test("broadcast", 1.0), "names broadcast, which does not print redop none and root -1"),
        (one_test("all_reduce", 0.0, "sum").replace("".join(LISTED[1:]), "") * 2, "built without MPI"),
    ],
)
def test_a_log_that_contradicts_itself_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_log(text, "a.txt")


def test_what_puts_a_log_in_doubt() -> None:
    for text, doubt in (
        (LOG.replace("    time   algbw", " cputime   algbw"), "times of the CPU"),
        (LOG.replace("nThread 1", "nThread: 1").replace("graph: 0", "graph: 1"), "CUDA graph"),
    ):
        assert {doubt in row.doubt for row in read_log(text, "a.txt")} == {True}


@pytest.mark.parametrize("label", ["{}: ", "[1,{}]<stdout>:", "[rank{}]: ", "node{}: "])
def test_processes_whose_lines_are_mixed(label: str) -> None:
    """Each prints a log of its own, one some lines behind the other; values stay with the process that measured them."""

    def mixed(*texts: str) -> str:
        rows = zip_longest(*(text.splitlines() for text in texts), fillvalue="")
        return "".join(f"{label.format(number)}{line}\n" for row in rows for number, line in enumerate(row))

    one = one_test("all_reduce", 1.75, "sum").replace("".join(LISTED[8:]), "").replace("16777216", "268435456")
    two = one.replace("hosta", "hostb").replace("200.00  350.00", "100.00  175.00")
    rows = read_log(mixed(one, two), "logs/sweep.txt")
    assert [(row.host, row.gpus, row.value) for row in rows] == [("hosta", 8, 350.0), ("hostb", 8, 175.0)]
    name = label.format(1)[:-2] if "node" in label else "sweep 1"
    copies = read_log(mixed(NVBANDWIDTH, "\n" * 5 + NVBANDWIDTH.replace("55.63", "35.63")), "logs/sweep.txt")
    assert next((row.check, row.value) for row in copies if row.host == name) == ("copy-to-device", 35.63)
    assert len(copies) == 2 * len(OTHERS["nvbandwidth"][1])
    assert {row.line for row in copies if row.value == 35.63} == {
        2 * (NVBANDWIDTH.splitlines().index(" 0     55.63     55.64") + 6)
    }
    with pytest.raises(InputError, match="the lines of several runs are mixed"):
        read_log(mixed(one, two).replace(label.format(0), "").replace(label.format(1), ""), "a.txt")


def test_a_log_of_sendrecv_prints_a_reduction() -> None:
    """Nobody checks sendrecv in place, which tells it from an allreduce of two ranks."""
    assert read_log(one_test("", 1.0, "sum", -1, "N/A"), "a.txt")[0].check == "sendrecv"
    two = HEAD + "".join(LISTED[:2]) + COLUMNS
    row = "  1073741824     268435456     float     sum      -1     5369  200.00  200.00      0     5369  200.00  200.00 {:>6}\n"
    assert read_log(two + row.format("N/A"), "a.txt")[0].check == "sendrecv"
    assert read_log(two + row.format("0"), "a.txt")[0].check == "allreduce"


def test_where_columns_fit_several_operations_the_user_says_which(tmp_path: Path) -> None:
    """Gather and scatter print the same; so does an all-gather that checked nothing."""
    file = tmp_path / "log.txt"
    file.write_text(one_test("", PIECES, "none", 0))
    run = ffplan(f"fabric accept {DESIGN} --measured", str(file))
    assert run.code == 2
    assert "nothing says which operation was measured: the columns fit gather and scatter" in run.err
    assert "--op gather" in run.err
    file.write_text(one_test("", PIECES, "none", -1, "N/A").replace("      0     5369", "    N/A     5369"))
    assert ffplan(f"fabric accept {DESIGN} --measured", str(file)).code == 2
    for name in ("all-gather", "all_gather", "all_gather_perf"):
        run = ffplan(f"fabric accept {DESIGN} --op {name} -f json --measured", str(file))
        assert json.loads(run.out)["judged"][0]["measured"]["check"] == "all-gather"
    assert "unknown operation" in ffplan(f"fabric accept {DESIGN} --op hypercube --measured", str(file)).err
    assert "with --measured only" in ffplan(f"fabric accept {DESIGN} --op allreduce").err


def test_ranks_that_rates_leave_open_are_asked_for(tmp_path: Path) -> None:
    """Of 1,024 ranks the ratio is 1.998, and printed digits fit many numbers."""
    row = "  1073741824     268435456     float     sum      -1     4571  234.90  469.34      0\n"
    file = tmp_path / "log.txt"
    file.write_text(row)
    run = ffplan(f"fabric accept {DESIGN} --measured", str(file))
    assert run.code == 2
    assert "its rates fit 953 to 1,100" in run.err
    run = ffplan(f"fabric accept {DESIGN} --ranks 1016 -f json --measured", str(file))
    assert json.loads(run.out)["judged"][0]["measured"]["gpus"] == 1016


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Avg bus bandwidth    : 452.797\n", "the mean over all sizes alone"),
        (HEAD + RANKS + COLUMNS, "the log has no result rows"),
        (HEAD + RANKS + COLUMNS + "node01:4:4 [0] transport.cc:12 NCCL WARN Cuda failure\n", "no result rows"),
    ],
)
def test_a_log_without_rows_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_log(text, "log.txt")


def test_a_table_of_one_rank_beside_others_keeps_its_blanks() -> None:
    """Lines keep their columns where every line has the prefix; a listing's ports are no ranks."""
    table = "a   b\n-   -\nx\n  2 y\n"
    assert _as_pasted(each("0: ")(table)) == table
    ports = '[1]\t"S-1"[2]\n[2]\t"S-2"[2]\n[3]\t"S-3"[2]\n'
    assert _as_pasted(ports) == ports
    assert _unfenced("a\nb\n```\nc\n") == ("a\nb\n\n\n", 1)  # a paste whose opening mark was lost


NVBANDWIDTH = """nvbandwidth Version: v0.8
Device 0: NVIDIA H100 80GB HBM3 (00000000:18:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.63     55.64

SUM host_to_device_memcpy_ce 111.27

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1         2
 0       N/A    368.91    360.10
 1    368.93       N/A    367.00
 2    368.00    368.50       N/A

Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    772.58    772.26
"""
FIO = """fio --name=read --rw=read --bs=1M --direct=1 --numjobs=8 --runtime=60 --group_reporting
read: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, ioengine=libaio, iodepth=32
fio-3.28
  read: IOPS=5000, BW=5000MiB/s (5243MB/s)(293GiB/60001msec)

Run status group 0 (all jobs):
   READ: bw=5000MiB/s (5243MB/s), 5000MiB/s-5000MiB/s (5243MB/s-5243MB/s), io=293GiB (315GB), run=60001-60001msec
"""
OLD_FIO = """Run status group 0 (all jobs):
  WRITE: io=30720MB, aggrb=1024000KB/s, minb=1024000KB/s, maxb=1024000KB/s, mint=30720msec, maxt=30720msec
"""
MLC = """Intel(R) Memory Latency Checker - v3.11
Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
ALL Reads        :\t455233.2
3:1 Reads-Writes :\t421000.1
Stream-triad like:\t412345.6
"""
IBSTAT = """CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tPort 1:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 10
\t\tLink layer: InfiniBand
CA 'mlx5_2'
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 25
\t\tLink layer: Ethernet
"""
SMI = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<gpu id="00000000:18:00.0">
\t\t<pci><pci_gpu_link_info>
\t\t\t<pcie_gen><max_link_gen>5</max_link_gen></pcie_gen>
\t\t\t<link_widths><current_link_width>16x</current_link_width></link_widths>
\t\t</pci_gpu_link_info></pci>
\t</gpu>
</nvidia_smi_log>
"""
STREAM = """Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:          402000.1     0.085440     0.085427     0.085456
Triad:         412345.6     0.085440     0.085427     0.085456
"""
IOR = """nodes               : 1
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
read      5000.00    5000       0.003       16777216   1024.00    0.001      52.4       0.001      52.4       0
"""
IBSTATUS = """Infiniband device 'mlx5_0' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0c42:a103:0000:b95a
\tbase lid:\t 0x1
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 200 Gb/sec (4X HDR)
\tlink_layer:\t InfiniBand
"""
TOPO_M = """\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tPIX\t0-47,96-143\t0\t\tN/A
GPU1\tNV18\t X \tSYS\t48-95\t1\t\tN/A
NIC0\tPIX\tSYS\t X

Legend:

  X    = Self
"""
PERFTEST = """ib_write_bw -d mlx5_0 -a -q 4 --report_gbits node02
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 4		Transport type : IB
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 local address: LID 0x0a QPN 0x0129 PSN 0x8e9b2d RKey 0x17f7d2 VAddr 0x007f25cd54d000
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 2          5000             0.066               0.064  		     4.012345
 65536      5000             392.31             391.90 		     0.747490
 8388608    5000             391.30             391.20 		     0.005829
---------------------------------------------------------------------------------------
"""
OSU = """+ mpirun -np 16 -H hosta:8,hostb:8 ./osu_allreduce -d cuda -m 1M:1G

# OSU MPI-CUDA Allreduce Latency Test v7.3
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1048576                87.53
1073741824           4571.22
"""
OSU_BW = """+ mpirun -np 2 -H node01,node02 ./osu_bibw -d cuda D D
# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.3
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1                       2.00
4194304             96123.45
"""
ONECCL = """options:
  processes:      16
  backend:        sycl
#------------------------------------------------------------
# Benchmarking: allreduce
# #processes: 16
#------------------------------------------------------------

        #bytes    #repetitions      t_min[usec]      t_max[usec]      t_avg[usec]     stddev[%]
    1073741824               16          4500.34          4600.11          4571.22          1.51
# All done
"""
DIAG = """Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.3.5                                          |
+-----  Integration  -------+------------------------------------------------+
| PCIe                      | Pass - All                                     |
| Info                      | GPU 0 GPU to Host bandwidth:  55.26 GB/s, GPU  |
|                           | 0 Host to GPU bandwidth:  54.02 GB/s, GPU 0    |
|                           | bidirectional bandwidth: 83.86 GB/s            |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Fail - GPU: 3                                  |
| Warning                   | GPU 3 Detected 2 uncorrectable memory errors.  |
+-----  Stress  ------------+------------------------------------------------+
| Targeted Stress           | Skip - All                                     |
+---------------------------+------------------------------------------------+
"""
MLPERF = """[METRIC] Number of Simulated Accelerators: 8
[METRIC] Training Accelerator Utilization [AU] (%): 96.5000 (0.1000)
[METRIC] Training I/O Throughput (MB/second): 4000.0000 (10.1000)
[METRIC] train_au_meet_expectation: success
"""
OTHERS = {
    "nvbandwidth": (
        NVBANDWIDTH,
        [
            ("copy-to-device", "GPU 0", 55.63),
            ("copy-to-device", "GPU 1", 55.64),
            ("nvlink-copy", "GPU 0", 360.1),
            ("nvlink-copy", "GPU 1", 367.0),
            ("nvlink-copy", "GPU 2", 368.0),
        ],
    ),
    "fio": (FIO, [("storage-read", "", 5.243)]),
    "old fio": (OLD_FIO, [("storage-write", "", 1.048576)]),
    "STREAM": (STREAM, [("memory", "", 412.3456)]),
    "STREAM with commas": (STREAM.replace(".", ","), [("memory", "", 412.3456)]),
    "IOR": (IOR, [("storage-read", "", 5.24288)]),
    "IOR with commas": (IOR.replace("5000.00", "5000,00"), [("storage-read", "", 5.24288)]),
    "nvidia-smi": (SMI, [("pcie-width", "GPU 18:00.0", 16.0), ("pcie-generation", "GPU 18:00.0", 5.0)]),
    "mlc": (MLC, [("memory", "", 412.3456)]),
    "ibstat": (
        IBSTAT,
        [("nic-link", "mlx5_0 port 1", 50.0), ("nic-link", "mlx5_1 port 1", 0.0), ("nic-link", "mlx5_2 port 1", 3.125)],
    ),
    "ibstatus": (IBSTATUS, [("nic-link", "mlx5_0 port 1", 25.0)]),
    "perftest": (PERFTEST, [("nic-transfer", "mlx5_0", 48.9875)]),
    "OSU": (OSU, [("allreduce", "", 22.461785), ("allreduce", "", 440.422014)]),
    "OSU between two": (OSU_BW, [("nic-transfer", "", 48.061725)]),
    "oneCCL": (ONECCL, [("allreduce", "", 440.422014)]),
    "DCGM": (
        DIAG,
        [
            ("dcgm-errors", "PCIe", 0.0),
            ("copy-to-host", "GPU 0", 55.26),
            ("copy-to-device", "GPU 0", 54.02),
            ("dcgm-errors", "GPU 3 GPU Memory", 1.0),
            ("dcgm-errors", "Targeted Stress", 0.0),
        ],
    ),
    "MLPerf Storage": (MLPERF, [("storage-read", "", 4.194304)]),
    "nvidia-smi topo -m": (
        TOPO_M,
        [("accelerators", "", 2.0), ("nvlinks", "GPU 0", 18.0), ("nvlinks", "GPU 1", 18.0), ("near-nics", "", 1.0)],
    ),
}


@pytest.mark.parametrize("program", OTHERS)
@pytest.mark.parametrize(
    "form", ["as written", "kubectl --timestamps", "srun -l", "Slack", "Markdown", "mixed line ends", "docker compose"]
)
def test_other_programs_as_they_are_pasted(program: str, form: str) -> None:
    text, figures = OTHERS[program]
    rows = read_log(PREFIXES[form](text), "logs/node07.txt")
    assert [(row.check, row.part, round(row.value, 6)) for row in rows] == figures
    assert {row.host for row in rows} == {"node07"}


FRONTS: dict[str, Callable[[str], str]] = {
    "gh run view": each("bench / h100\tRun nvbandwidth\t2025-06-11T10:00:01.1234567Z "),
    "a pod in brackets": each("[bench-worker-0] "),
    "loguru": each("2025-06-11 10:00:01.123 | DEBUG    | bench:run:12 - "),
    "glog": each("I0611 10:00:01.123456  4711 bench.cc:12] "),
    "diff": each("+"),
    "a list of Markdown": lambda text: f"1. run\n   ```\n{each('   ')(text)}   ```\n2. fine?\n",
    "blanks of a chat": lambda text: text.replace("  ", "\xa0 "),
    "no width": lambda text: text.replace("\n", "\u200b\n"),
    "split terminal": lambda text: "".join(line.expandtabs().ljust(150) + "\u2502\n" for line in text.splitlines()),
}


@pytest.mark.parametrize("program", OTHERS)
@pytest.mark.parametrize("front", FRONTS)
def test_what_all_lines_begin_with_is_no_part_of_them(program: str, front: str) -> None:
    text, figures = OTHERS[program]
    rows = read_log(FRONTS[front](text), "logs/node07.txt")
    assert [(row.check, row.part, round(row.value, 6)) for row in rows] == figures


def test_a_memory_benchmark_that_failed_is_doubted() -> None:
    assert read_log(STREAM + "Failed Validation on array a[], AvgRelAbsErr > epsilon\n", "a.txt")[0].doubt


def test_a_matrix_whose_test_was_cut_off_is_of_no_test() -> None:
    start, end = (NVBANDWIDTH.index(text) for text in ("memcpy CE CPU", "memcpy CE GPU"))
    with pytest.raises(InputError, match="no copy test"):
        read_log(NVBANDWIDTH[:start] + NVBANDWIDTH[end:], "a.txt")
    cut = NVBANDWIDTH[: NVBANDWIDTH.index("Running device")] + NVBANDWIDTH[NVBANDWIDTH.index(" 0       N/A") :]
    assert {row.check for row in read_log(cut, "a.txt")} == {"copy-to-device"}


def test_every_port_of_ibstat_is_read_with_its_protocol() -> None:
    found = [(row.part, row.value, row.layer, row.line) for row in read_log(IBSTAT, "a.txt")]
    assert found == [
        ("mlx5_0 port 1", 50.0, "infiniband", 7),
        ("mlx5_1 port 1", 0.0, "infiniband", 11),
        ("mlx5_2 port 1", 3.125, "ethernet", 19),
    ]
    two = IBSTAT.replace("State: Down", "State: Active").replace("Rate: 10\n", "")
    assert [row.part for row in read_log(two, "a.txt")] == ["mlx5_0 port 1", "mlx5_2 port 1"]  # no rate, no value


def test_a_db_csv_without_its_nodes_is_refused() -> None:
    """Nothing says which end of a link is the switch."""
    text = "START_PORTS\nNodeGuid,PortNum,LinkWidthActv,LinkSpeedActv\n0xb,1,2,2048\nEND_PORTS\n"
    with pytest.raises(InputError, match="NODES is missing"):
        read_log(text, "a.db_csv")


def test_a_number_that_is_cut_is_none() -> None:
    with pytest.raises(InputError, match="Stream-triad"):
        read_log(MLC[: MLC.index("12345.6")], "a.txt")


def test_what_a_text_of_fio_leaves_open_is_doubted() -> None:
    assert read_log(FIO, "a.txt")[0].doubt == ""
    assert "direct=1" in read_log(FIO.replace("--direct=1", ""), "a.txt")[0].doubt
    assert read_log(FIO.replace("run=60001-60001", "run=9001-9001"), "a.txt")[0].doubt == "shorter than 30 s"


ROCM = "======================= ROCm System Management Interface =======================\n=== Weight between two GPUs ===\n"
NOWHERE = {
    "dcgmproftester": "Worker 0:0[1004]: TensorEngineActive: generated ???, dcgm 0.000 (399843.0 gflops)\n",
    "`rocm-smi`": ROCM,
    "`rocm-smi` in its middle": "       GPU0         GPU1\nGPU0   0            XGMI\nGPU1   XGMI         0\n",
    "lstopo": "Machine (2015GB total)\n  Package L#0\n    NUMANode L#0 (P#0 1007GB)\n",
    "lstopo in its middle": "  Package L#0\n    NUMANode L#0 (P#0 1007GB)\n",
    "lstopo as XML": '<?xml version="1.0"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n  <object type="Machine"/>\n</topology>\n',
    "`mlxlink`": "Operational Info\n----------------\nState                           : Active\n",
    "`lspci`": "18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n" * 2,
    "`mst status` in its middle": "DEVICE_TYPE             MST                           PCI       RDMA\nConnectX7(rev:0)        /dev/mst/mt4129_pciconf0      18:00.0   mlx5_0\n",
    "the Intel MPI Benchmarks": "# Benchmarking Allreduce\n# #processes = 2\n#bytes #repetitions  t_min[usec]  t_max[usec]\n",
    "samples of CUDA": "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, NVIDIA H100, pciBusID: 18\n",
    "`mst status`": "MST modules:\n------------\n    MST PCI module is not loaded\n",
    "NCCL itself (NCCL_DEBUG)": "node01:1:9 [0] NCCL INFO Channel 00/24 :    0   1   2   3\nnode01:1:9 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\n",
}
ELSEWHERE = {
    "`nvidia-smi topo -m`": TOPO_M,
    "`nvidia-smi topo -m` without its head": TOPO_M.partition("\n")[2].partition("Legend")[0],
    "`nvidia-smi topo -m` as a table": "|      | GPU0 | GPU1 | CPU Affinity |\n|------|\n| GPU0 | X    | NV18 | 0-47         |\n",
    "perftest (ib_write_bw)": PERFTEST,
    "the OSU benchmarks": OSU,
    "the OSU benchmarks in their middle": "# Size      Bandwidth (MB/s)\n1                       2.00\n",
    "the benchmark of oneCCL": "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] stddev[%]\n4 16 10.0 11.0 10.5 1.0\n",
    "DCGM": DIAG,
    "DCGM in its middle": "|-----  Integration  -------+----------------|\n| PCIe                      | Pass - All     |\n",
    "MLPerf Storage": '{"metric": {"train_au_mean_percentage": 96.5, "train_io_mean_MB_per_second": 11234.5}}\n',
}
"""Logs of measured values, where a fabric or the inside of a server is read."""


@pytest.mark.parametrize("program", NOWHERE | ELSEWHERE)
def test_what_goes_nowhere_is_named(program: str, tmp_path: Path) -> None:
    """One line says what the text is, another what to give in its place, for what is being read."""
    file = tmp_path / "pasted.txt"
    for form in ("as written", "srun -l", "Slack", "CRLF"):
        file.write_text(PREFIXES[form]((NOWHERE | ELSEWHERE)[program]))
        for command, remedy in (
            (
                f"fabric accept {DESIGN} --measured",
                "nccl-tests|nvidia-smi -q -x|ibstat|rccl-tests|fio or IOR|nvbandwidth",
            ),
            ("fabric import nccl", "NCCL_TOPO_DUMP_FILE"),
            ("fabric import ibnetdiscover", "ibnetdiscover"),
            (f"fabric audit {DESIGN}", "ibnetdiscover|lldpcli"),
        )[program in ELSEWHERE :]:
            run = ffplan(command, str(file))
            assert run.code == 2, (command, run.out)
            name = re.split(" in (?:its|their) middle| without its| as a| as XML", program)[0]
            assert f"this is output of {name}" in run.err or "lstopo" in name in run.err, (command, form)
            assert any(words in run.err for words in remedy.split("|"))


AROUND = ("kubectl", "journalctl", "syslog", "ts", "docker", "pdsh", "Ray", "grep", "cat", "Slack", "mail", "Markdown")
"""First words of the forms that leave the lines of a file as they are."""


@pytest.mark.parametrize("form", [*(form for form in PREFIXES if form.startswith(AROUND)), "colours", "CRLF"])
def test_topologies_and_results_as_they_are_pasted(form: str) -> None:
    """Slurm's files and results of serving benchmarks are what they are without the text around them."""
    for text in (TREE, BLOCKS, YAML):
        assert read_slurm(PREFIXES[form](text).encode(), "t").topologies == read_slurm(text.encode(), "t").topologies
    result = json.dumps(VLLM, indent=2) + "\n"
    (run,), (plain,) = read_results(PREFIXES[form](result), "r.json"), read_results(result, "r.json")
    assert run == replace(plain, line=run.line)


@pytest.mark.parametrize("form", PREFIXES)
def test_nothing_of_a_whole_log_counts_as_lost(form: str) -> None:
    for text in (LOG, *(text for text, _ in OTHERS.values())):
        unread: list[Unread] = []
        with suppress(InputError):
            read_log(PREFIXES[form](text), "all_reduce.txt", unread=unread)
        assert unread == []
