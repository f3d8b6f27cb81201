"""The fabric before the programs that would run it: OpenSM on ibsim, ibnetdiscover, slurmctld, Chromium."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ffplan.fabric.sizing.striping import uneven
from ffplan.interop.exported import subnet
from ffplan.interop.opensm import _bring_up
from ffplan.interop.programs import _find_library, _wait_for, running
from tests.support import ROOT, SMALL, ffplan, vary_design
from tests.unit.fabric.test_striping import tiny

pytestmark = pytest.mark.integration


def need(*programs: str) -> None:
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    for program in programs:
        if shutil.which(program, path=path) is None:
            pytest.skip(f"{program} is not installed")


def verify(design: str, program: str) -> tuple[int, dict[str, Any]]:
    done = ffplan("fabric verify", design, "--with", program, "--format", "json")
    assert done.out, done.err
    return done.code, json.loads(done.out)


def found(report: dict[str, Any], check: str) -> list[str]:
    return [item["found"] for item in report["checks"] if item["check"] == check]


@pytest.mark.parametrize(
    ("design", "hosts", "switches", "tiers"),
    [
        ("fire-flyer-2", ["760", "760"], ["60", "60"], "20 + 40"),
        ("pcie-a100-three-tier", ["1,600"], ["200"], "40 + 80 + 80"),
        ("superpod-h100-4su", ["1,016"], ["48"], "16 + 32"),
    ],
)
def test_opensm_brings_up_every_subnet_as_a_fat_tree(
    design: str, hosts: list[str], switches: list[str], tiers: str
) -> None:
    need("ibsim", "opensm")
    code, report = verify(design, "opensm")
    assert report["passed"], [item for item in report["checks"] if not item["passed"]]
    assert code == 0
    assert found(report, "hosts") == hosts
    assert found(report, "switches") == switches
    assert set(found(report, "switches by tier")) == {tiers}
    assert all(text.endswith("by ftree") for text in found(report, "fat tree"))
    assert len([item for item in report["checks"] if item["check"] == "rate of the ideal"]) == 3 * len(hosts)


@pytest.mark.parametrize(("tiers", "count"), [(1, 20), (2, 2)])
def test_opensm_judges_single_switches_and_chains_by_what_it_can(tiers: int, count: int, tmp_path: Path) -> None:
    """OpenSM names no fat tree there, and cannot: the hosts, switches and paths count."""
    need("ibsim", "opensm")
    design = tmp_path / "small.yaml"
    design.write_text(
        f"name: small\nnodes: [{{role: compute, server: fire-flyer-2-node, count: {count}}}]\n"
        f"fabric: {{family: fat-tree, switch: qm8700, tiers: {tiers}, "
        "link: {endpoint: hdr-dac, inter_switch: hdr-aoc}}\n"
        "site: {pue: 1.2}\n"
    )
    code, report = verify(str(design), "opensm")
    assert code == 0, report["checks"]
    assert (found(report, "hosts"), found(report, "switches")) == ([str(count)], [str(tiers)])
    said = [words for words in report["notes"] if "rejects a tree with one switch per tier" in words]
    assert len(said) == (tiers > 1)
    assert found(report, "fat tree") == ["0 tiers, by minhop"] * (tiers > 1)


def test_leaves_without_a_host_are_no_roots_where_the_roots_are_named() -> None:
    """Left to itself, ftree takes the empty leaf of each zone for a root; the loads under its tables are ours."""
    need("ibsim", "opensm")
    done = ffplan(
        "fabric verify --with opensm --format json", str(SMALL / "apart.yaml"), "--catalog", str(SMALL / "parts")
    )
    report = json.loads(done.out)
    assert done.code == 0, report["checks"]
    assert found(report, "fat tree") == ["3 tiers, by ftree"] * 2
    assert found(report, "switches by tier") == ["4 + 8 + 8"] * 2
    rates = [(item["expected"], item["found"]) for item in report["checks"] if item["check"] == "rate of the ideal"]
    assert rates == [("100 %", "100 %"), ("100 %", "100 %"), ("67 %", "67 %")] * 2
    assert any("root_guid_file" in words for words in report["notes"])


def test_cores_of_several_groups_are_loaded_as_opensm_loads_them(tmp_path: Path) -> None:
    """Pods of three leaves with two spines, four groups of uplinks each: a core takes links of several groups."""
    need("ibsim", "opensm")
    text = (SMALL / "racks.yaml").read_text().replace("count: 16, per_rack: 2", "count: 15, per_rack: 3")
    (tmp_path / "racks.yaml").write_text(text)
    done = ffplan(
        "fabric verify --with opensm --format json --catalog", str(SMALL / "parts"), str(tmp_path / "racks.yaml")
    )
    report = json.loads(done.out)
    assert done.code == 0, report["checks"]
    assert found(report, "fat tree") == ["3 tiers, by ftree"]
    rates = [(item["expected"], item["found"]) for item in report["checks"] if item["check"] == "rate of the ideal"]
    assert rates == [("41 %", "41 %"), ("100 %", "100 %"), ("50 %", "50 %")]


def test_planes_are_subnets_of_their_own(tmp_path: Path) -> None:
    need("ibsim", "opensm")
    code, report = verify(str(vary_design(tmp_path, "fire-flyer-next", ("count: 4096", "count: 96"))), "opensm")
    assert code == 0
    assert [item["subject"] for item in report["checks"] if item["check"] == "subnet comes up"] == [
        f"plane {number}" for number in (1, 2, 3, 4)
    ]
    assert found(report, "hosts") == ["192"] * 4


@pytest.mark.parametrize(
    ("count", "policy", "reason"),
    [
        (12, "minimal", "Different number of upward port groups"),
        (16, "minimal", ""),
        (12, "equal-stripe", ""),
        (24, "equal-stripe", "Different number of"),
    ],
)
def test_opensm_refuses_the_trees_that_we_call_uneven(count: int, policy: str, reason: str) -> None:
    """A lone pod that is not full, cores that several spines share, and a last pod of fewer leaves."""
    need("ibsim", "opensm")
    wired = tiny(count, policy)
    network = wired.fabric.network
    seen = _bring_up(network, wired.names, subnet(network, 0, 0), ("ftree", 60.0))
    assert (seen.engine == "ftree") == (uneven(wired.plan) == "")
    assert seen.reason.startswith(reason)
    assert (seen.reason == "") == (reason == "")


def test_opensm_takes_uneven_striping_where_its_roots_are_named(tmp_path: Path) -> None:
    """Cores by port count alone are not striped evenly: ftree refuses the tree as it is, and says why."""
    need("ibsim", "opensm")
    small = vary_design(
        tmp_path,
        "dgx-a100-10k",
        ("count: 1250", "count: 165"),
        ("core_policy: per-rail-whole-pods", "core_policy: minimal"),
    )
    code, report = verify(str(small), "opensm")
    assert code == 0, report["checks"]
    assert found(report, "fat tree") == ["3 tiers, by ftree"]
    assert found(report, "pairs traced")[0].endswith("in 5 switches")
    (note,) = [words for words in report["notes"] if "does not recognise this tree" in words]
    assert "Different number of" in note
    assert "`root_guid_file` names the core switches" in note


@pytest.mark.parametrize("engine", ["minhop", "dfsssp", "nue"])
def test_opensm_routes_the_zones_joined_by_engines_that_know_no_tiers(engine: str) -> None:
    """All 1,520 hosts of both zones in one subnet, with the links between the zones."""
    need("ibsim", "opensm")
    done = ffplan("fabric verify fire-flyer-2 --with opensm --engine", engine, "--format", "json")
    report = json.loads(done.out)
    assert done.code == 0, [item for item in report["checks"] if item["passed"] is False]
    assert found(report, "hosts") == ["1,520"]
    assert found(report, "switches") == ["122"]
    assert found(report, "routed by") == [engine]
    assert all("of" not in text for text in found(report, "flows that arrive"))


@pytest.mark.parametrize("design", ["fire-flyer-2", "superpod-h100-4su", "dragonfly-a100"])
def test_simgrid_takes_as_long_as_our_routes_say(design: str) -> None:
    """Sixteen ranks over the fabric, under real MPI: within 5 % for acknowledgements, on the same hottest link."""
    need("smpirun", "smpicc", "cc")
    done = ffplan("fabric verify", design, *["--with", "simgrid", "--nodes", "16", "--format", "json"])
    report = json.loads(done.out)
    assert done.code == 0, report["checks"]
    assert report["version"].startswith("3.")
    times = found(report, "time")
    assert len(times) == 7
    assert all(0 <= int(text.partition("(+")[2].split()[0]) <= 6 for text in times)
    assert all(text.endswith("the same") for text in found(report, "hottest link"))


def test_ibnetdiscover_finds_the_fabric_as_designed(tmp_path: Path) -> None:
    need("ibsim", "ibnetdiscover", "stdbuf")
    net = tmp_path / "net"
    assert ffplan("fabric export fire-flyer-2 --to ibsim --zone 1 -o", str(net)).code == 0
    env = {"IBSIM_SOCKNAME": f"ffplan-test-{os.getpid()}"}
    command = ["stdbuf", "-oL", "ibsim", "-s", "-n", "-N", "900", "-S", "70", "-P", "5000", str(net)]
    with running(command, tmp_path, "ibsim.log", env) as job:
        _wait_for(lambda: b"simulator ready" in job.log.read_bytes(), job, 20, "ibsim did not come up")
        preload = {
            **os.environ,
            **env,
            "SIM_HOST": "compute-0001/nic0",
            "LD_PRELOAD": _find_library("libumad2sim.so", "libumad2sim0"),
        }
        program = shutil.which("ibnetdiscover", path=f"{os.environ['PATH']}:/usr/sbin")
        assert program
        done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60, env=preload)
        links = program.replace("ibnetdiscover", "iblinkinfo")
        for options in ([], ["-l"], ["--switches-only"]):
            said = subprocess.run(
                [links, *options], capture_output=True, text=True, check=True, timeout=60, env=preload
            )
            (tmp_path / "links.txt").write_text(said.stdout)
            audited = ffplan("fabric audit", "fire-flyer-2", str(tmp_path / "links.txt"), "--zone", "1")
            assert (audited.code, "1,560 links as designed, 0 findings" in audited.out) == (0, True), options
    built = tmp_path / "built.txt"
    built.write_text(done.stdout)
    same = ffplan("fabric audit", "fire-flyer-2", str(built), "--zone", "1")
    assert (same.code, same.err) == (0, "")
    assert "1,560 links as designed, 0 findings" in same.out
    assert "rates are not compared" not in same.out
    assert "4xHDR" in done.stdout
    assert len(json.loads(ffplan("fabric import", "ibnetdiscover", str(built)).out)["links"]) == 1560


def test_opensm_reads_the_lanes_back(tmp_path: Path) -> None:
    """A real OpenSM takes policy and options; tables read from a port and a switch say two lanes, 90 to 38 units."""
    need("ibsim", "opensm", "smpquery", "stdbuf")
    design, parts = str(SMALL / "joined.yaml"), ("--catalog", str(SMALL / "parts"))
    files = {name: tmp_path / name for name in ("net", "policy", "conf")}
    for target, name in (("ibsim", "net"), ("opensm-qos", "policy")):
        made = ffplan("fabric export", design, "--to", target, *("--zone", "1", "-o", str(files[name])), *parts)
        assert made.code == 0, made.err
    options = ffplan("fabric export", design, *("--to", "opensm-conf", "--share", "0.7"), *parts).out
    files["conf"].write_text(options.replace("/etc/opensm/qos-policy.conf", str(files["policy"])))
    env = {"IBSIM_SOCKNAME": f"ffplan-qos-{os.getpid()}"}
    command = ["stdbuf", "-oL", "ibsim", "-s", "-n", *("-N", "900", "-S", "70", "-P", "5000"), str(files["net"])]
    with running(command, tmp_path, "ibsim.log", env) as job:
        _wait_for(lambda: b"simulator ready" in job.log.read_bytes(), job, 20, "ibsim did not come up")
        library = _find_library("libumad2sim.so", "libumad2sim0")
        client = {**env, "SIM_HOST": "compute-01/nic0", "LD_PRELOAD": library, "OSM_TMP_DIR": str(tmp_path)}
        log = tmp_path / "osm.log"

        def ask(*words: str) -> str:
            program = shutil.which(words[0], path=f"{os.environ['PATH']}:/usr/sbin")
            assert program
            there = {**os.environ, **client, "OSM_CACHE_DIR": str(tmp_path)}
            done = subprocess.run(
                [program, *words[1:]], env=there, capture_output=True, text=True, check=False, timeout=60
            )
            return done.stdout + done.stderr

        ask("opensm", "-o", *("-R", "minhop", "-D", "0x43"), "-f", str(log), "-F", str(files["conf"]))
        said = log.read_text()
        assert "SUBNET UP" in said
        assert f"Loading QoS policy file ({files['policy']})" in said
        assert "ERR" not in said
        levels = ask("smpquery", "sl2vl", "1", "1")
        lanes = ask("smpquery", "vlarb", "1", "1")
    assert re.search(r"out  0: \| 0\| 1\|( 0\|){13}15\|", levels), levels
    assert lanes.lower().count("|0x5a|0x26|") == 2, lanes


@pytest.mark.parametrize("design", ["fire-flyer-2", "dgx-a100-10k", "fire-flyer-next", "superpod-h100-4su"])
def test_slurm_loads_the_topology_and_reads_it_back(design: str) -> None:
    need("slurmctld", "scontrol")
    code, report = verify(design, "slurm")
    assert report["passed"], report["checks"]
    assert code == 0
    assert report["version"]


def living(process: str) -> bool:
    """True where a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_verification_that_is_ended_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    need("ibsim", "opensm")
    process = subprocess.Popen(
        [sys.executable, "-m", "ffplan", "verify", "pcie-a100-three-tier", "--with", "opensm"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    limit = time.monotonic() + 60
    while len(found := children.read_text().split()) < 2 and time.monotonic() < limit:
        time.sleep(0.05)
    assert len(found) == 2, "ibsim and opensm did not come up"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert [child for child in found if living(child)] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("program", "name"), [("slurmctld", "slurm"), ("opensm", "opensm")])
def test_a_folder_for_scratch_files_may_have_a_blank(program: str, name: str, tmp_path: Path) -> None:
    need(program)
    folder = tmp_path / "t mp"
    folder.mkdir()
    done = ffplan("fabric verify", "superpod-h100-4su", "--with", name, "--format", "json", env={"TMPDIR": str(folder)})
    assert done.code == 0, done.err
    assert json.loads(done.out)["passed"]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("program", "name"), [("slurmctld", "slurm"), ("opensm", "opensm")])
def test_a_design_of_one_node_is_verified(program: str, name: str, tmp_path: Path) -> None:
    need(program)
    design = vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 1"))
    code, report = verify(str(design), name)
    assert (code, report["passed"]) == (0, True)


PAGE = """<!doctype html><body>{svg}<pre id="out"></pre><script>
const boxes = [...document.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
const view = document.querySelector('svg').getBoundingClientRect();
const bad = [];
boxes.forEach(([a, p], i) => {{
  if (p.right > view.right || p.bottom > view.bottom) bad.push('outside: ' + a);
  boxes.slice(i + 1).forEach(([b, q]) => {{
    if (p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom) bad.push(a + ' over ' + b);
  }});
}});
const result = boxes.length + ' texts, ' + view.width + ' wide; ' + bad.join('; ');
document.getElementById('out').textContent = 'RESULT ' + result + ' END';
</script></body>"""
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--window-size=1600,900",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.mark.parametrize("design", sorted(path.stem for path in (ROOT / "designs").glob("*.yaml")))
def test_chromium_draws_the_fabric_without_words_over_words(design: str, tmp_path: Path) -> None:
    need("chromium")
    svg = ffplan("fabric export", design, "--to", "svg").out
    page = tmp_path / "page.html"
    page.write_text(PAGE.format(svg=svg))
    done = subprocess.run(
        ["chromium", *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    result = re.search(r"RESULT (\d+) texts, ([\d.]+) wide; (.*?) END</pre>", done.stdout)
    assert result, done.stderr[-500:]
    assert int(result.group(1)) > 3  # one switch is drawn with four words
    assert float(result.group(2)) < 2000
    assert result.group(3) == ""
