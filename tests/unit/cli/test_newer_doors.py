"""What hostile files, names and signals may do to sweeps, audits, imports and logs, and do not.

Texts that took the square of their length, or for ever, run into the time limit of `tests.support.ffplan`.
"""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import ROOT, ffplan

POD = str(ROOT / "designs" / "l40s-8-roce.yaml")
SWEEP = ("sweep", POD, "--vary", "site.pue=1.1,1.2")
LONG = "n" * 300
"""Longer than any file system allows a name to be."""


def refused(command: str, *words: str, code: int = 2) -> str:
    """Run a command that is refused; return what it says."""
    done = ffplan(command, *words)
    assert (done.code, done.out) == (code, ""), done.err
    assert "bug of ours" not in done.err
    assert "Warning" not in done.err
    return done.err


# Sweeps


@pytest.mark.parametrize("made", ["link", "pipe"])
@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_the_note_of_a_sweep_is_no_link_and_no_pipe(tmp_path: Path, made: str, more: list[str]) -> None:
    victim, points = tmp_path / "victim.yaml", tmp_path / "p.csv"
    victim.write_text("precious: 1\n")
    points.write_text("")
    note = tmp_path / "p.csv.resume"
    if made == "link":
        note.symlink_to(victim)
    else:
        os.mkfifo(note)
    assert "was not written by ffplan; remove it" in refused(*SWEEP, "--points", str(points), *more)
    assert victim.read_text() == "precious: 1\n"


def test_parts_of_others_stay(tmp_path: Path) -> None:
    folder = tmp_path / "p.parquet"
    folder.mkdir()
    (folder / "part-00000.parquet").write_text("mine")
    assert "has files in it" in refused(*SWEEP, "--points", str(folder))
    assert (folder / "part-00000.parquet").read_text() == "mine"


def test_points_and_report_are_two_files(tmp_path: Path) -> None:
    file = str(tmp_path / "p.csv")
    assert "name two files" in refused(*SWEEP, "--points", file, "-o", file)


def test_points_are_replaced_once_there_are_others(tmp_path: Path) -> None:
    """An axis that no part bears is refused at the first chunk; what was there stays."""
    file = tmp_path / "p.csv"
    file.write_text("mine\n")
    refused(f"sweep {POD} --vary nodes[0].server=no-such --metric no.such", "--points", str(file))
    assert file.read_text() == "mine\n"


@pytest.mark.parametrize(
    "values", ["1..2#1e999", "1e999..1e999:1", "1e-300..1e300*2", "1..1e999*2", "1..1e999#3", "1..1e308#3"]
)
def test_ranges_of_numbers_beyond_numbers(values: str) -> None:
    assert "is too large or too small" in refused("sweep", POD, "--vary", f"site.pue={values}")


def test_digits_are_digits() -> None:
    done = ffplan("sweep", POD, "--vary", "site.pue=1..٣")
    assert (done.code, "`1..٣`, a text; a number is wanted" in done.err) == (2, True)


def test_cells_of_points_are_no_formulas(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    varied = 'description==1+1,-x+1,\u202eevil,=HYPERLINK("http://e";"x")'
    assert ffplan("sweep", POD, "--vary", varied, "--points", str(file)).code == 0
    cells = [row[0] for row in csv.reader(file.read_text(encoding="utf-8").splitlines())][1:]
    assert len(cells) == 4
    assert not any(cell.startswith(("=", "-", "@", "\u202e")) for cell in cells)


def test_charts_of_one_series_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    assert ffplan(*SWEEP, "-f", "html", "-o", str(page)).code == 0
    assert '="NaN' not in page.read_text(encoding="utf-8")


def workers_of(parent: int) -> list[int]:
    """Return the processes that a process has started, and their own."""
    found, todo = [], [parent]
    while todo:
        children = Path(f"/proc/{todo[0]}/task/{todo.pop(0)}/children")
        own = [int(child) for child in children.read_text().split()] if children.exists() else []
        found += own
        todo += own
    return found


def alive(process: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize(("sent", "code"), [("INT", 130), ("TERM", 143), ("KILL", -9)])
def test_workers_end_with_their_parent(tmp_path: Path, sent: str, code: int) -> None:
    asked = ["sweep", POD, "--vary", "site.pue=1..5#300000", "--vary", "nodes[0].count=8..64", "-j", "2"]
    command = [sys.executable, "-m", "ffplan", *asked, "--points", str(tmp_path / "p.csv")]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it, children too
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    signal.signal(signal.SIGINT, before)
    until = time.monotonic() + 60
    while len(workers := workers_of(process.pid)) < 2 or not (tmp_path / "p.csv").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(getattr(signal, f"SIG{sent}"))
    try:
        assert process.wait(60) == code
    finally:
        process.kill()
        process.wait()
    until = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(alive, workers))
    if sent != "KILL":
        assert not list(tmp_path.glob(".ffplan-*"))


# Folders and names of files


def test_a_folder_with_pipes_and_devices(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(Path(POD).read_text())
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / ".#good.yaml").symlink_to("someone@host.123")
    done = ffplan("check", str(tmp_path), "-f", "json")
    assert json.loads(done.out)["designs"] == [str(tmp_path / "good.yaml")]


@pytest.mark.parametrize(
    "words",
    [
        (*SWEEP, "--points", f"{LONG}.csv"),
        (*SWEEP, "--points", f"{LONG}.parquet"),
        ("fabric audit", POD, LONG),
        ("diff", POD, LONG),
        ("init", "--from", "l40s-8-roce", "--folder", LONG),
        ("init", "-a", "h100-sxm-80gb", "-g", "16", "--folder", LONG),
        ("train", POD, "--model", "llama3-8b", "--save", LONG),
    ],
    ids=lambda words: " ".join(words).replace(LONG, "LONG").replace(POD, "POD"),
)
def test_names_that_are_too_long(words: tuple[str, ...]) -> None:
    refused(*words)


@pytest.mark.parametrize("name", ["x\nevil: injected", "a: {b", "Ünder"])
def test_copies_have_names_of_designs(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.yaml"
    file.write_text(Path(POD).read_text())
    assert "is not a valid name of a design; give --name" in refused(
        "init", "--from", str(file), "--folder", str(tmp_path)
    )


def test_names_end_where_they_end(tmp_path: Path) -> None:
    assert "is invalid" in refused("init --from l40s-8-roce", "--name", "abc\n", "--folder", str(tmp_path))
    refused("catalog new", "switch", "--id", "abc\n")


def test_what_init_says_has_no_escapes(tmp_path: Path) -> None:
    folder = tmp_path / "o\x1b]0;PWN\x07"
    folder.mkdir()
    done = ffplan("init --from l40s-8-roce --name copy", "--folder", str(folder))
    assert (done.code, "\x1b" in done.out, "\\x1b" in done.out) == (0, False, True)


@pytest.mark.parametrize("day", ["2026-13-45", "2026-02-30"])
def test_ids_like_impossible_days(day: str) -> None:
    done = ffplan("catalog new", "switch", "--id", day)
    assert (done.code, f'id: "{day}"' in done.out) == (0, True)


@pytest.mark.parametrize("pattern", ["*a" * 12 + "b", "**/" * 12 + "b", "**" * 8 + "b"])
def test_patterns_of_waivers_take_no_time(tmp_path: Path, pattern: str) -> None:
    file = tmp_path / f"{'a' * 120}.yaml"
    file.write_text(Path(POD).read_text())
    policy = tmp_path / "ffplan.toml"
    policy.write_text(f'[[waivers]]\nrule = "catalog-grade"\nreason = "y"\nfiles = ["{pattern}"]\n')
    assert ffplan("check", str(file), "--policy", str(policy)).code in (0, 1)


# Fabrics as built


def audited(folder: Path, text: str, *more: str) -> str:
    """Return what the audit of a file says that it refuses."""
    file = folder / "built.txt"
    file.write_text(text, encoding="utf-8", newline="")
    return refused("fabric audit", POD, str(file), *more)


LST = "{{ CA Ports:1 NodeGUID:1 {{a}} PN:{port} }} {{ SW Ports:28 NodeGUID:2 {{b}} PN:1 }} PHY={lanes}x SPD=25"
DB = "START_NODES\nNodeDesc,NumPorts,NodeType,NodeGUID\na,64,2,1\nb,64,2,2\nEND_NODES\n"
DB += "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n{row}\nEND_LINKS\n"
NDT = "StartDevice,StartPort,EndDevice,EndPort\n"


@pytest.mark.parametrize(
    "text",
    [
        LST.format(port="F" * 16, lanes=4),
        LST.format(port="FFFFFFFF", lanes=4),
        LST.format(port="1", lanes="9" * 9000),
        DB.format(row="1,999999999,2,1"),
        DB.format(row="1,1,2," + "a" * 140_000),
        'graph G {\n"a":"swp1" -- "b":"swp9999s99"\n}\n',
        'graph G {\n"a":"swp9999s99" -- "b":"swp1"\n}\n',
        'graph G {\n"a":"swp1" -- "b":"Ethernet1/9999/99"\n}\n',
        NDT + "a,P1," + "b" * 140_000 + ",P1\n",
        NDT + "a,P999999999,b,P1\n",
    ],
    ids=range(10),
)
def test_numbers_and_cells_beyond_bounds(tmp_path: Path, text: str) -> None:
    assert re.match(r".*built\.txt:\d+:1: error: ", audited(tmp_path, text))


def test_a_number_of_a_report_is_bounded(tmp_path: Path) -> None:
    report = "SW 1 1 0x0b 4x NDR - CA 2 {} 0x0a ( 'a' - 'n1 mlx5_0' )\n"
    said = audited(tmp_path, report.format("1") + report.format("9" * 5000))
    assert len(said) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "graph G {\n" + "[" * 600_000 + "-- \n}",
        " " * 600_000 + "==(",
        "{CA-Ports:1 x" * 150_000,
        "{ CA Ports:1 {x} NodeGUID:1 PN:1 } " + "{CA-Ports:1 x" * 150_000,
        'Switch 40 "S-1" # "a"\n[1]' + " " * 600_000 + "x",
        ('Switch 40 "S-1" # "a"\n' + "[1]" + " " * 3_900 + "x\n") * 15,
        (" " * 3_900 + "1 1[ ] ==(\n") * 15,
        ("SW 1 1 0x1 4x HDR '" + " " * 3_900 + "x\n") * 15,
        ("{CA-Ports:1 x" * 300 + "\n") * 15,
        "graph G {\n" + ("[" * 3_900 + "--\n") * 15 + "}",
    ],
    ids=range(10),
)
def test_no_text_takes_the_square_of_its_length(tmp_path: Path, text: str) -> None:
    audited(tmp_path, text)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("~a{99999999999},c", "is not a regular expression"),
        ("~" + "(" * 3000 + ",c", "at most 200"),
        ("~[[a]b,c", "is not a regular expression"),
        ("~(a+)+$,c", "can take for ever"),
        ("~(a|a)*$,c", "can take for ever"),
        ("~.*.*.*.*.*x,c", "can take for ever"),
        ("a\rb,c", "is not a pair of names"),
        ("a" * 140_000 + ",c", "not valid CSV"),
    ],
    ids=range(8),
)
def test_maps_of_names(tmp_path: Path, row: str, words: str) -> None:
    lines = tmp_path / "map.csv"
    lines.write_text(row + "\n", newline="")
    text = 'Switch 4 "S-1" # "' + "a" * 45 + '!"\n[1] "H-1"[1]\nCa 1 "H-1" # "x"\n[1] "S-1"[1]\n'
    assert words in audited(tmp_path, text, "--map", str(lines))


def test_simple_expressions_lead_names_back(tmp_path: Path) -> None:
    from ffplan.interop.asbuilt.names import _mapped, read_map

    rules = read_map("~rack([0-9]+)-node([0-9]+),compute-\\1\n", "map.csv")
    assert _mapped("rack7-node12", rules, "map.csv") == "compute-7"
    assert _mapped("rack7-node12" * 40, rules, "map.csv") is None


# Logs and jobs


@pytest.mark.parametrize(
    "text",
    ["\n" * 600_000 + "x", "{CA " * 300_000, "# nThread 1\na" + " " * 600_000 + "b\n", "#  Rank 1" + "on " * 300_000],
    ids=range(4),
)
def test_logs_take_no_time(tmp_path: Path, text: str) -> None:
    file = tmp_path / "log.txt"
    file.write_text(text)
    done = ffplan("fabric accept", POD, "--measured", str(file))
    assert done.code in (1, 2)
    assert "bug of ours" not in done.err


@pytest.mark.parametrize("day", ["2026-13-45", "2026-02-30", "٢٠٢٦-٠١", "2026-1"])
def test_days_of_cases(tmp_path: Path, day: str) -> None:
    log = tmp_path / "log.txt"
    log.write_text("\n")
    refused(f"acceptance {POD} --date {day}", "--measured", str(log), "--save", str(tmp_path / "x.cases"))
    assert not (tmp_path / "x.cases").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arrival_s,gpus,run_s\n" + "a" * 140_000 + ",8,5\n", "not valid CSV"),
        (
            "a" * 140_000 + ",arrival_s,gpus,run_s\n",
            "no column `arrival_s`",
        ),  # a heading is sought among 20,000 letters
        ("arrival_s,gpus,run_s\n0,١,5\n", "not a job"),
        ("arrival_s,gpus,run_s\n0,1_0,5\n", "not a job"),
        ("arrival_s,gpus,run_s\n0,1,nan\n", "not a job"),
    ],
    ids=range(5),
)
def test_jobs_of_a_file(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(text)
    assert words in refused("operate jobs", "superpod-h100-4su", "--jobs", str(file))


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.txt", "jobs", "jobs.tsv"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("beside", [True, False])
def test_a_file_of_jobs_has_any_name(
    tmp_path: Path, name: str, encoding: str, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its name; Windows writes UTF-16. A mix of the catalogue has the first claim to a bare name."""
    (tmp_path / name).write_text("arrival_s,gpus,run_s\n0,8,3600\n10,16,7200\n", encoding=encoding)
    (tmp_path / "kalos").write_text("no jobs")
    monkeypatch.chdir(tmp_path)
    given = name if beside else str(tmp_path / name)
    run = ffplan("operate jobs", "superpod-h100-4su", "--jobs", given, "-f", "json")
    assert (run.code, run.err) == (0, "")
    assert json.loads(run.out)["days"] == pytest.approx(7210 / 86_400)
    assert ffplan("operate jobs", "superpod-h100-4su", "--days", "0.1", "--runs", "1").code == 0
    assert "cannot be read" in refused("operate jobs", "superpod-h100-4su", "--jobs", f"{tmp_path}/none.txt")


def test_long_jobs_that_never_wait_cost_nothing(tmp_path: Path) -> None:
    """Times in nanoseconds by mistake: two jobs, and as many looks at an empty queue as there are quanta."""
    file = tmp_path / "jobs.csv"
    file.write_text("arrival_s,gpus,run_s\n1e11,1,1e11\n0,1,1e-300\n")
    assert ffplan("operate jobs", "superpod-h100-4su", "--jobs", str(file)).code == 0


# The rest


@pytest.mark.parametrize(
    "path", ["communication[²].algbw_gbyte_s", "nodes[²]", "findings.²", f"nodes[{'9' * 5000}]", "nodes[99999999]"]
)
def test_figures_that_are_none(path: str) -> None:
    assert "is no figure of this design" in refused("explain", POD, path)


def test_rows_for_netbox_are_no_formulas(tmp_path: Path) -> None:
    source = next((ROOT / "catalogs").rglob("hgx-h100-8nic.yaml")).read_text()
    (tmp_path / "hgx-h100-8nic.yaml").write_text(
        re.sub(r"^vendor: .*$", 'vendor: "=cmd|1!A0\\\\e\\\\u202e"', source, flags=re.MULTILINE)
    )
    devices = ("--to", "netbox", "--table", "devices")
    done = ffplan("fabric export", "superpod-h100-4su", *devices, "--catalog", str(tmp_path))
    assert done.code == 0
    assert ",'=cmd|1!A0\\x1b\\u202e," in done.out
    assert not re.search("[\x1b\u202e]", done.out)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--to", "netbox-devices"), "--to: no `netbox-devices`; write `--to netbox --table devices`"),
        (("--to", "nautobot-cables"), "--to: no `nautobot-cables`; write `--to nautobot --table cables`"),
        (("--to", "netbox"), "--to netbox needs --table: devices, interfaces, cables"),
        (("--to", "svg", "--table", "devices"), "--table goes with --to netbox and --to nautobot"),
        (("--to", "netbox", "--table", "cables", "--zone", "1"), "netbox takes the whole fabric"),
    ],
)
def test_tables_of_inventories_are_named(options: tuple[str, ...], words: str) -> None:
    assert words in refused("fabric export", "fire-flyer-2", *options)
