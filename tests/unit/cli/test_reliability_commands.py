"""`ffplan operate goodput`, `storage` and `acceptance` as their users run them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.catalog.reliability import JobMix
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.inputs.document import parse_document
from ffplan.studies.operate.utilization import UtilizationRequest, _jobs_of_a_run
from tests.support import ROOT, ffplan, ffplan_once, valid, with_reliability

if TYPE_CHECKING:
    from pathlib import Path

POD = ("superpod-h100-4su", "--model", "llama3-70b")
QUICK = ("goodput", *POD, "--draws", "0")


def report(*arguments: str) -> dict[str, Any]:
    run = ffplan_once(*arguments, "-f", "json")
    assert run.code in (0, 1), run.err
    found = valid(run.out, {"design": "assessment"}.get(arguments[0], arguments[0]))
    assert isinstance(found, dict)
    return found


def test_goodput_says_what_is_lost_and_what_helps() -> None:
    found = report("goodput", *POD)
    own = found["reliability"]
    assert own["gpus"] == 1016
    assert 0.9 < own["ettr"]["p10"] < own["ettr"]["likely"]
    assert 0.85 < own["goodput"]["p10"] < own["goodput"]["likely"] < 1
    assert sum(row["share"] for row in own["hazards"]) == pytest.approx(1)
    assert sum(row["interruptions_per_day"] for row in own["hazards"]) == pytest.approx(
        24 / own["mtbf_hours"]["likely"]
    )
    best = {row["rule"]: row["goodput"] for row in own["intervals"]}
    assert best["best"] >= max(best.values()) - 1e-12
    assert [row["tokens"] for row in own["levers"]] == sorted((row["tokens"] for row in own["levers"]), reverse=True)
    assert own["levers"][0]["lever"] == "standby"
    assert own["levers"][0]["worth_year"] == own["levers"][0]["net_year"] > 0 == own["levers"][0]["price"]
    assert own["tokens_s_kept"] == pytest.approx(own["tokens_s"] * own["goodput"]["likely"])
    sizes = found["sizes"]
    assert [row["gpus"] for row in sizes] == sorted(row["gpus"] for row in sizes)
    assert {row["beyond"] for row in sizes if row["gpus"] > 1016} == {True}
    assert sizes[-1]["gpus"] == 100_000
    assert next(row for row in sizes if row["gpus"] == 1016)["goodput"] == own["goodput"]


def test_goodput_is_the_effective_time_of_a_run_unless_the_design_states_one(tmp_path: Path) -> None:
    kept = report("goodput", *POD)["reliability"]["goodput"]["likely"]
    run = report("cost", *POD, "--tokens", "2T", "--draws", "0")["run"]
    assert run["effective"] == pytest.approx(kept, rel=1e-12)
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    stated = tmp_path / "stated.yaml"
    stated.write_text(text + "\nownership: {effective: 90 %}\n")
    other = report("cost", str(stated), *POD[1:], "--tokens", "2T", "--draws", "0")["run"]
    assert other["effective"] == 0.9
    ratio = run["cost_per_million_tokens"]["likely"] / other["cost_per_million_tokens"]["likely"]
    assert ratio == pytest.approx(0.9 / kept)


def test_a_rack_that_fails_whole_is_counted_where_its_rate_is_stated(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "gb200-nvl72-16.yaml").read_text()
    stated = tmp_path / "stated.yaml"
    stated.write_text(with_reliability(text, "domain_failures: {switch-tray: 0.5, backplane: 0.1}"))
    job = ("--model", "llama3-70b", "--draws", "0")
    bare = report("goodput", "gb200-nvl72-16", *job)
    own, plain = report("goodput", str(stated), *job)["reliability"], bare["reliability"]
    assert (own["domain"]["nodes"], own["domain"]["accelerators"], own["domain"]["domains"]) == (18, 72, 16)
    assert [row["per_year"] for row in plain["domain"]["parts"]] == [None, None]
    assert [row["per_year"] for row in own["domain"]["parts"]] == [0.5, 0.1]
    assert [row["repair_high_s"] for row in own["domain"]["parts"]] == [4 * 3600, 24 * 3600]
    year = 365 * 86_400
    assert own["domain"]["in_repair"] == pytest.approx(16 * (0.5 * 9000 + 0.1 * 57_600) / year)
    extra = own["interruptions_per_day"]["likely"] - plain["interruptions_per_day"]["likely"]
    assert extra == pytest.approx(16 * 0.6 / 365)
    assert own["goodput"]["likely"] < plain["goodput"]["likely"]
    assert any("not counted" in words for words in bare["assumptions"])
    assert any("counted twice in part" in words for words in report("goodput", str(stated), *job)["assumptions"])
    rack = report("goodput", str(stated), *job, "--spares", "18")["reliability"]["domain"]
    assert (rack["spares"], rack["swap_s"]) == (1, None)
    assert own["domain"]["swap_s"] == 9000.0
    assert rack["lacking"] < own["domain"]["lacking"]


@pytest.mark.parametrize(
    ("design", "section", "words"),
    [
        ("gb200-nvl72-16", "domain_failures: {switch-try: 0.5}", "did you mean `switch-tray`"),
        ("superpod-h100-4su", "domain_failures: {switch-tray: 0.5}", "one node or less"),
        ("gb200-nvl72-16", "domain_failures: {switch-tray: -1}", "at least 0"),
    ],
)
def test_failures_of_domains_that_are_refused(design: str, section: str, words: str, tmp_path: Path) -> None:
    stated = tmp_path / "stated.yaml"
    stated.write_text(with_reliability((ROOT / "designs" / f"{design}.yaml").read_text(), section))
    run = ffplan("operate goodput", str(stated), "--model", "llama3-70b")
    assert run.code == 2
    assert words in " ".join(run.err.split())
    assert "stated.yaml:" in run.err


def test_a_change_has_the_price_of_its_parts_beside_its_worth() -> None:
    """3 spare servers of 265,000 USD, 7.5 % off, with 3 % freight and 2 % installation; a year as `cost` has it."""
    own = report(*QUICK, "--spares", "0")["reliability"]
    levers = {row["lever"]: row for row in own["levers"]}
    spares = levers["spares"]
    cost = report("cost", POD[0], "--draws", "0")
    shares = {row["input"]: row["likely"] for row in cost["uncertainty"]["inputs"]}
    each = 265_000 * (1 - shares["discount"]) * (1 + shares["freight"] + shares["installation"])
    assert spares["price"] == pytest.approx(own["spares_for_99"] * each)
    assert 0.25 < spares["price_year"] / spares["price"] < 0.45  # four years, with capital and support
    assert spares["net_year"] == pytest.approx(spares["worth_year"] - spares["price_year"])
    second = levers["second-port"]
    lines = {line["kind"]: line for line in cost["bom"]["lines"]}
    links, leaf = lines["endpoint-links"]["total"], lines["switches"]["unit_price"]
    fabric = links + 32 * leaf  # 32 leaf switches
    assert second["price"] == pytest.approx(fabric * each / 265_000)
    for name in ("monitor", "reschedule", "links", "in-memory"):
        assert levers[name]["price"] is levers[name]["net_year"] is None
        assert levers[name]["unpriced"]
    rented = report("goodput", "tpu-v6e-pod", "--model", "llama3-8b", "--draws", "0")["reliability"]
    port = next(row for row in rented["levers"] if row["lever"] == "second-port")
    assert (port["price"], port["unpriced"]) == (None, "the fleet is rented")


def test_the_limit_of_goodput_holds_the_likely_value_and_warns_of_the_median(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    path = tmp_path / "limited.yaml"

    def judged(limit: float) -> list[tuple[str, str]]:
        path.write_text(f"{text}\nworkload: {{model: llama3-70b, batch: 1024}}\nlimits: {{goodput: {limit:.6f}}}\n")
        run = ffplan("check", str(path), "-f", "json")
        found = json.loads(run.out)["findings"]
        return [(row["severity"], row["message"]) for row in found if row["rule"] == "limit-goodput"]

    path.write_text(f"{text}\nworkload: {{model: llama3-70b, batch: 1024}}\n")
    own = report("goodput", str(path))["reliability"]["goodput"]
    assert own["p50"] < own["likely"]
    assert not judged(own["p50"] - 1e-4)
    (between,) = judged((own["p50"] + own["likely"]) / 2)
    assert between[0] == "warning"
    assert f"median {100 * own['p50']:.1f} %" in between[1]
    (above,) = judged(own["likely"] + 1e-4)
    assert above[0] == "error"
    assert f"P10 to P90 {100 * own['p10']:.1f} %" in above[1]


def test_a_design_may_state_its_stragglers(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    stated = tmp_path / "stated.yaml"
    stated.write_text(with_reliability(text, "stragglers: 5 %"))
    usual = report(*QUICK)["reliability"]
    found = report("goodput", str(stated), *POD[1:], "-g", "64", "--draws", "0")["reliability"]
    small = report(*QUICK, "-g", "64")["reliability"]
    assert (usual["lost"]["stragglers"], small["lost"]["stragglers"], found["lost"]["stragglers"]) == (0.0114, 0, 0.05)
    assert found["goodput"]["likely"] == pytest.approx(small["goodput"]["likely"] * 0.95)
    assert found["stragglers"] == dict.fromkeys(("likely", "p10", "p50", "p90"), 0.05)
    assert found["ettr"]["likely"] == pytest.approx(small["ettr"]["likely"])


def test_a_job_on_two_planes_slows_while_a_path_is_lost(tmp_path: Path) -> None:
    """One number from `train` and `goodput`; the repair that a design states stands in for the recalled one."""
    asked = ("-m", "llama3-70b", "-g", "2048", "--draws", "0")
    found = report("goodput", "hpn-dual-plane", *asked)
    job = found["reliability"]
    rows = {row["hazard"]: row for row in job["hazards"]}
    lost = sum(rows[name]["units"] * rows[name]["per_unit_year"] for name in ("link", "leaf-switch")) / (365 * 24)
    assert 0.5 < job["path_lost"] < 1
    assert job["lost"]["lost_paths"] == pytest.approx((1 - job["path_lost"]) * (1 - math.exp(-lost)))
    assert rows["link"]["survives"]
    assert any("recalled; no source publishes it" in line for line in found["assumptions"])
    text = (ROOT / "designs" / "hpn-dual-plane.yaml").read_text(encoding="utf-8")
    file = tmp_path / "days.yaml"
    file.write_text(with_reliability(text, "path_repair: 48 h"), encoding="utf-8")
    stated = report("goodput", str(file), *asked)
    longer = stated["reliability"]["lost"]["lost_paths"]
    assert longer == pytest.approx((1 - job["path_lost"]) * (1 - math.exp(-48 * lost)))
    assert any("A lost path is back after 2 days, as the design states." in line for line in stated["assumptions"])


def test_a_stated_repair_of_paths_counts_without_one_of_the_profile(tmp_path: Path) -> None:
    profile = (ROOT / "catalogs" / "reliability" / "reliability-2026.yaml").read_text(encoding="utf-8")
    own = tmp_path / "own" / "reliability"
    own.mkdir(parents=True)
    bare = "".join(line for line in profile.splitlines(keepends=True) if "path_repair" not in line)
    (own / "reliability-2026.yaml").write_text(bare, encoding="utf-8")
    text = (ROOT / "designs" / "hpn-dual-plane.yaml").read_text(encoding="utf-8")
    (file := tmp_path / "days.yaml").write_text(with_reliability(text, "path_repair: 48 h"), encoding="utf-8")
    asked = ("-m", "llama3-70b", "-g", "2048", "--draws", "0")
    known = report("goodput", str(file), *asked)["reliability"]["lost"]["lost_paths"]
    found = report("goodput", str(file), *asked, "--catalog", str(tmp_path / "own"))
    assert found["reliability"]["lost"]["lost_paths"] == known > 0
    none = report("goodput", "hpn-dual-plane", *asked, "--catalog", str(tmp_path / "own"))
    assert none["reliability"]["lost"]["lost_paths"] == 0
    assert any("is not counted" in line and "path_repair" in line for line in none["assumptions"])


def test_a_repair_of_paths_on_one_plane_is_refused(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text(encoding="utf-8")
    (file := tmp_path / "one.yaml").write_text(with_reliability(text, "path_repair: 48 h"), encoding="utf-8")
    run = ffplan("operate goodput", str(file), *POD[1:], "--draws", "0")
    assert run.code == 2
    assert "every NIC of the design has one port" in run.err


def test_what_a_lost_port_leaves_of_a_step() -> None:
    """Two planes: a NIC at half its rate; on one plane there is nothing to lose that a job survives."""
    plan = ("-m", "llama3-70b", "--batch", "2048", "--tp", "8", "-g")
    two = report("train", "hpn-dual-plane", *plan, "1024")["rows"][0]
    one = report("train", "superpod-h100-4su", *plan, "512")["rows"][0]
    assert 0.5 < two["path_lost"] < 1
    assert one["path_lost"] is None
    assert report("goodput", *POD, "-g", "512", "--draws", "0")["reliability"]["path_lost"] is None


def test_design_and_goodput_have_one_mtbf() -> None:
    own = report(*QUICK)["reliability"]
    short = report("design", "superpod-h100-4su")["reliability"]
    assert short["mtbf_hours"] == pytest.approx(own["mtbf_hours"]["likely"])
    assert short["nodes_in_repair"] == pytest.approx(own["nodes_in_repair"])
    assert (short["spares"], short["spares_for_99"]) == (own["spares"], own["spares_for_99"])


def test_ranges_are_left_out_where_nothing_is_drawn() -> None:
    certain, drawn = (ffplan("operate goodput", *POD, "--draws", count, "--full").out for count in ("0", "50"))
    assert ("P50" in certain, "P50" in drawn) == (False, True)
    sizes = [next(line for line in text.splitlines() if "accelerators  MTBF" in line) for text in (certain, drawn)]
    assert [line.split()[-1] for line in sizes] == ["%", "P90"]


def test_options_change_the_recovery() -> None:
    plain = report(*QUICK)["reliability"]
    standby = report(*QUICK, "--restart", "standby")["reliability"]
    hourly = report(*QUICK, "--interval", "1 h", "--checkpoints", "synchronous")["reliability"]
    assert standby["goodput"]["likely"] > plain["goodput"]["likely"] > hourly["goodput"]["likely"]
    assert hourly["intervals"][0] == {**hourly["intervals"][0], "rule": "given", "interval_s": 3600.0}
    none = report(*QUICK, "--spares", "0")["reliability"]
    assert none["spares"] == 0
    assert none["lost"]["missing_nodes"] > plain["lost"]["missing_nodes"]


def test_a_simulation_agrees_and_names_parts() -> None:
    short = ("--simulate", "--runs", "6", "--days", "60", "-f", "json")
    run = ffplan("operate goodput", "fire-flyer-2-nvlink", "-m", "llama-13b", *short)
    found = json.loads(run.out)["simulation"]
    assert found["agrees"]
    assert found["goodput_low"] < found["goodput"] < found["goodput_high"]
    assert found["interruptions"] == pytest.approx(found["interruptions_expected"], rel=0.1)
    parts = {row["part"] for row in found["timeline"] if row["hazard"] == "leaf switch"}
    links = [row for row in found["timeline"] if row["hazard"] == "link between switches"]
    assert all("leaf" in name for name in parts)
    assert all(0 < row["rate_left"] <= 1 for row in links)


def test_checkpoints_in_memory_are_simulated_and_agree() -> None:
    short = ("--checkpoints", "in-memory", "--simulate", "--runs", "16", "--days", "180", "--draws", "0", "-f", "json")
    found = json.loads(ffplan("operate goodput", "fire-flyer-2-nvlink", "-m", "llama-13b", *short).out)
    simulated = found["simulation"]
    assert simulated["goodput_low"] < found["reliability"]["goodput"]["likely"] < simulated["goodput_high"]
    assert simulated["agrees"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fire-flyer-2",), "no job: name --model"),
        (("fire-flyer-2", "-m", "llama-13b", "-g", "20000"), "one job can span 10,000"),
        (("fire-flyer-2", "-m", "llama-13b", "--interval", "soon"), "--interval"),
        (("fire-flyer-2", "-m", "llama-13b", "--restart", "standbye"), "did you mean `standby`"),
        (("fire-flyer-2", "-m", "llama-13b", "--days", "9"), "with --simulate only"),
    ],
)
def test_what_goodput_refuses(arguments: tuple[str, ...], words: str) -> None:
    run = ffplan("operate goodput", *arguments)
    assert (run.code, run.out) == (2, "")
    assert words in run.err


def test_storage_of_the_paper_s_cluster() -> None:
    found = report("storage", "fire-flyer-2", "-m", "llama-13b", "-g", "512")
    own = found["storage"]
    assert own["read_gbyte_s"] == pytest.approx(found["line_gbyte_s"] * 0.889)
    assert own["write_gbyte_s"] == pytest.approx(own["read_gbyte_s"] / 2)
    assert found["zone_read_gbyte_s"] == pytest.approx(own["read_gbyte_s"] / 2)
    assert own["usable_bytes"] == own["raw_bytes"] / 2
    assert found["client_gbyte_s"] > 10 * 2**30 / 1e9
    assert found["client_write_gbyte_s"] == pytest.approx(10 * 2**30 / 1e9)  # section VII-A: over 10 GiB/s a node
    assert found["burst"]["save_s"] < 10  # "a few seconds"
    assert found["burst"]["nic_share"] == pytest.approx(10 * 2**30 / 25e9)
    assert found["burst"]["beside_allreduce_s"] == pytest.approx(found["burst"]["save_s"])  # less than half of a NIC
    assert found["burst"]["allreduce_left"] == pytest.approx(1 - found["burst"]["nic_share"])
    assert found["burst"]["bytes"] == pytest.approx(14 * 13.0e9, rel=0.01)
    assert report("design", "fire-flyer-2")["storage"] == own
    assert [row["met"] for row in found["tiers"]] == [True, True, True]
    free = [row["free_gbyte_s"] for row in found["incast"]]
    assert min(row["limited_gbyte_s"] for row in found["incast"][1:]) > max(free[1:])


JOB = ("-m", "llama-13b", "-g", "512", "--images", "1e6")


@pytest.mark.deep
def test_images_metadata_and_checkpoints_that_are_kept(tmp_path: Path) -> None:
    """A million images a second of 110 kB are 110 GB/s; 512 ranks write a file each; ten checkpoints are kept."""
    found = report("storage", "fire-flyer-2", *JOB)
    images, burst, own = found["images"], found["burst"], found["storage"]
    assert images["gbyte_s"] == pytest.approx(110)
    assert images["share"] == pytest.approx(110 / own["read_gbyte_s"])
    assert images["most_s"] == pytest.approx(own["read_gbyte_s"] * 1e9 / 110_000)
    assert images["most_accelerator_s"] == pytest.approx(images["most_s"] / 10_000)
    assert burst["opens_s"] == pytest.approx(512 / burst["save_s"])
    assert (burst["kept_wanted"], burst["kept_bytes"]) == (10, pytest.approx(10 * burst["bytes"]))
    assert burst["kept_share"] == pytest.approx(10 / burst["kept"])
    assert found["metadata"]["opens_s"] == pytest.approx(1e6 + burst["opens_s"])
    assert found["metadata"]["needed"] is None
    assert any("is not published" in words for words in found["assumptions"])
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    stated = tmp_path / "stated.yaml"
    section = "metadata_opens: 300000, checkpoints_kept: 1000000, image_bytes: 220000"
    work = "workload: {model: llama-13b, batch: 1024, gpus: 512}\n"
    stated.write_text(with_reliability(text, section) + work)
    other = report("storage", str(stated), *JOB)
    assert other["metadata"]["needed"] == 4
    assert other["images"]["gbyte_s"] == pytest.approx(220)
    assert other["burst"]["kept_share"] > 1
    assert "times what it holds" in " ".join(other["headline"])
    run = ffplan("check", str(stated), "-f", "json")
    rules = {row["rule"]: row["message"] for row in json.loads(run.out)["findings"]}
    assert "1,000,000 are kept" in rules["storage-below-checkpoint"]
    bare = report("storage", "fire-flyer-2")
    assert (bare["burst"], bare["images"]["asked_s"], bare["metadata"]["opens_s"]) == (None, None, 0)


def test_a_convolutional_network_reads_its_images() -> None:
    """512 accelerators of ResNet-50: images a second of `train` times 110 kB, through 64 NICs of 25 GB/s at 88.9 %."""
    network = ("fire-flyer-2", "-m", "resnet-50", "-g", "512")
    found = report("storage", *network)
    images, burst = found["images"], found["burst"]
    job = images["job"]
    micro = job["micro_batch"]
    timed = report("train", *network, "--micro-batch", str(micro))["rows"][0]
    assert ffplan("train", *network, "--micro-batch", str(2 * micro)).code == 1  # the largest that fits
    assert job["images_s"] == images["asked_s"] == pytest.approx(timed["tokens_s"])
    assert (job["batch"], job["step_s"]) == (512 * micro, pytest.approx(timed["step_s"]))
    assert job["step_bytes"] == job["batch"] * 110_000
    assert job["gbyte_s"] == images["gbyte_s"] == pytest.approx(timed["tokens_s"] * 110e3 / 1e9)
    assert job["node_gbyte_s"] == pytest.approx(job["gbyte_s"] / 64)
    assert (job["reach_gbyte_s"], job["binds"]) == (pytest.approx(64 * 25 * 0.889), "NICs of the nodes")
    assert (job["reach_share"], job["fed"]) == (pytest.approx(job["gbyte_s"] / job["reach_gbyte_s"]), 1.0)
    assert (images["image_bytes_low"], images["image_bytes_high"]) == (50_000, 600_000)
    assert "ImageNet" in images["source"]
    assert burst["bytes"] == pytest.approx(8 * 25.557e6, rel=1e-4)  # FP32 weights and momentum, one copy of all
    assert (burst["writers"], burst["save_s"]) == (1, pytest.approx(burst["bytes"] / (10 * 2**30)))
    assert burst["load_s"] == pytest.approx(64 * burst["bytes"] / (job["reach_gbyte_s"] * 1e9))
    assert found["metadata"]["opens_s"] == pytest.approx(job["images_s"] + 1 / burst["save_s"])
    assert found["reads"] is None  # of text
    whole = report("storage", "fire-flyer-2", "-m", "resnet-50", "--images", "5e7")["images"]
    assert whole["asked_s"] == 5e7
    assert whole["job"]["binds"] == "NICs of the servers"


def test_the_goodput_of_a_convolutional_network() -> None:
    """Its state is in every rank: 8 bytes a parameter, one writer, all nodes read; the rate is in images."""
    network = ("fire-flyer-2", "-m", "resnet-50", "-g", "512")
    found, burst = report("goodput", *network)["reliability"], report("storage", *network)["burst"]
    checkpoint = found["checkpoint"]
    assert checkpoint["bytes"] == burst["bytes"] == pytest.approx(8 * 25.557e6, rel=1e-4)
    assert (checkpoint["save_s"], checkpoint["load_s"]) == (burst["save_s"], burst["load_s"])
    assert checkpoint["node_gbyte_s"] == pytest.approx(10 * 2**30 / 1e9)
    assert found["interval_s"] == burst["interval_s"]
    timed = report("train", *network, "--micro-batch", "512")["rows"][0]
    assert found["unit"] == "images"
    assert found["tokens_s"] == pytest.approx(timed["tokens_s"])
    assert found["tokens_s_kept"] == pytest.approx(timed["tokens_s"] * found["goodput"]["likely"])
    larger = report("goodput", "fire-flyer-2", "-m", "llama3-70b", "-g", "512")["reliability"]
    assert found["goodput"]["likely"] > larger["goodput"]["likely"]  # a checkpoint of it is far larger
    text = ffplan("operate goodput", *network, "--draws", "0", "--full").out
    assert "images/s" in text
    assert "tokens" not in text
    assert "one node writes a checkpoint" in " ".join(text.split())
    sizes = report("goodput", *network)["sizes"]
    assert next(row for row in sizes if row["gpus"] == 512)["goodput"]["likely"] == found["goodput"]["likely"]
    assert not [row for row in report("goodput", *network)["inputs"] if row["input"] == "checkpoint_bytes"]


def test_a_convolutional_network_is_simulated() -> None:
    done = ffplan("operate goodput fire-flyer-2 -m vgg16 -g 256 --simulate --runs 3 --days 60 -f json")
    assert done.code == 0, done.err
    simulated = json.loads(done.out)["simulation"]
    assert simulated["goodput"] == pytest.approx(simulated["expected"], abs=0.01)
    assert simulated["interruptions"] == pytest.approx(simulated["interruptions_expected"], rel=0.2)


@pytest.mark.deep
def test_files_of_a_checkpoint_are_opened_before_its_transfer(tmp_path: Path) -> None:
    """512 files, by two servers of 1,000 a second: 0.256 s; without a stated rate only their number is known."""
    job = ("-m", "llama-13b", "-g", "512")
    plain = report("storage", "fire-flyer-2", *job)
    assert (plain["metadata"]["files"], plain["metadata"]["open_s"], plain["burst"]["files"]) == (512, None, 512)
    assert "a checkpoint's 512 are opened at once" in " ".join(
        ffplan("operate storage fire-flyer-2 --full", *job).out.split()
    )
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    storage = "  - {role: storage,"
    assert storage in text
    manager = "  - {role: management, server: fire-flyer-2-node, count: 2}\n"
    stated = tmp_path / "stated.yaml"
    managed = text.replace("count: 1250", "count: 1240").replace(storage, f"{manager}{storage}")
    stated.write_text(with_reliability(managed, "metadata_opens: 1000"))
    found = report("storage", str(stated), *job)["metadata"]
    assert (found["planned"], found["files"], found["open_s"]) == (2, 512, pytest.approx(0.256))
    said = ffplan("operate storage --full", str(stated), *job).out
    assert "512 files of a checkpoint open in" in " ".join(said.split())
    one = report("storage", "fire-flyer-2", "-m", "resnet-50", "-g", "512")
    assert one["metadata"]["files"] == 1


def test_images_that_storage_cannot_feed_slow_the_steps(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "mi355x-pod.yaml").read_text()
    stated = tmp_path / "stated.yaml"
    stated.write_text(with_reliability(text, "image_bytes: 600000, metadata_opens: 1000000"))
    little = tmp_path / "little.yaml"
    little.write_text(with_reliability(text, "image_bytes: {likely: 60000, low: 50000, high: 600000}"))
    small, large = (report("storage", str(name), "-m", "resnet-50") for name in (little, stated))
    plain, job = small["images"]["job"], large["images"]["job"]
    assert plain["fed"] == 1.0
    assert job["gbyte_s"] == pytest.approx(plain["gbyte_s"] * 10)
    assert job["fed"] == pytest.approx(job["reach_gbyte_s"] / job["gbyte_s"])
    assert any("wait for their images" in words for words in large["headline"])
    bound = 60 / plain["reach_share"]
    assert any(f"Images above {bound:.3g} kB" in words for words in small["headline"])
    assert large["metadata"]["needed"] == -(-large["metadata"]["opens_s"] // 1e6)
    assert any("of the design" in words for words in large["assumptions"])


@pytest.mark.parametrize("name", ["image_bytes", "metadata_opens", "checkpoints_kept"])
def test_files_of_nothing_are_refused(name: str, tmp_path: Path) -> None:
    stated = tmp_path / "stated.yaml"
    stated.write_text(with_reliability((ROOT / "designs" / "mi355x-pod.yaml").read_text(), f"{name}: 0"))
    run = ffplan("operate storage", str(stated))
    assert (run.code, run.out) == (2, "")
    assert "must be more than 0" in run.err
    assert "stated.yaml:" in run.err


def test_storage_on_its_own_network_takes_nothing_of_allreduce() -> None:
    found = report("storage", "h100-1k-four-networks", "-m", "llama3-70b")
    assert not found["shared"]
    assert found["storage"]["planned"]
    assert (found["burst"]["beside_allreduce_s"], found["burst"]["allreduce_left"]) == (None, None)


def test_storage_that_stands_for_what_a_design_does_not_plan() -> None:
    run = ffplan("operate storage", "superpod-h100-4su", "--full")
    assert run.code == 0
    assert "plans no storage" in " ".join(run.out.split())
    assert not report("storage", "superpod-h100-4su")["storage"]["planned"]


def test_the_sheet_can_be_filled_in(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    assert ffplan("fabric accept", "superpod-h100-4su", "-f", "csv", "-o", str(sheet)).code == 0
    lines = sheet.read_text().splitlines()
    header = lines[0].split(",")
    at = next(number for number, line in enumerate(lines) if line.startswith("gemm-bf16,"))
    cells = lines[at].split(",")
    for gpu, rate in enumerate((790.0, 791.5, 789.0, 792.0, 788.5, 500.0)):
        filled = list(cells)
        for name, value in (("host", "node01"), ("part", f"GPU {gpu}"), ("measured", str(rate))):
            filled[header.index(name)] = value
        lines.append(",".join(filled))
    sheet.write_text("\n".join(lines) + "\n")
    run = ffplan("fabric accept", *POD, "--measured", str(sheet), "-f", "json")
    assert run.code == 1
    found = json.loads(run.out)
    assert [row["verdict"] for row in found["judged"]] == ["fail", "pass", "pass", "pass", "pass", "pass"]
    (slow,) = found["slow"]
    assert (slow["part"], slow["value"]) == ("GPU 5", 500.0)
    assert slow["median"] == pytest.approx(789.5)
    assert slow["step"] > 0.1
    assert "BF16 GEMM" not in found["missing"]


def test_what_acceptance_refuses(tmp_path: Path) -> None:
    log = tmp_path / "a.txt"
    log.write_text("nothing\n")
    for arguments, words in (
        (("--tolerance", "100 %"), "below 100 %"),
        (("--save", "c.txt"), "with --measured only"),
        (("--date", "2026-11-22"), "with --save only"),
        (("--measured", str(log), "--save", str(tmp_path / "c.txt")), "needs --date"),
        (("--measured", str(log)), "not output of a supported program"),
        (("--measured", str(tmp_path / "none")), "cannot be read"),
    ):
        run = ffplan("fabric accept", "superpod-h100-4su", *arguments)
        assert run.code == 2
        assert words in run.err


def test_a_simulation_names_switches_of_a_large_fabric() -> None:
    """30,720 endpoints on two planes: a leaf slows the job through the ports left, of which `faults` says nothing."""
    words = ("--model", "llama3-8b", "--draws", "0", "--simulate", "--runs", "1", "--days", "1000")
    found = report("goodput", "hpn-dual-plane", *words, "--seed", "1")["simulation"]["timeline"]
    leaves = [row for row in found if row["hazard"] == "leaf switch"]
    spines = [row for row in found if row["hazard"] == "spine or core switch"]
    links = [row for row in found if row["hazard"] == "link between switches"]
    assert leaves
    assert spines
    assert {(row["rate_left"], row["down_s"]) for row in leaves} == {(None, 0.0)}
    assert all("leaf-" in row["part"] for row in leaves)
    assert {row["rate_left"] for row in (*spines, *links)} == {1.0}
    assert all("spine-" in row["part"] for row in spines)


JOBS = ("utilization", "fire-flyer-2", "--days", "0.5", "--runs", "3")


def test_utilization_says_how_wide_intervals_of_few_runs_are() -> None:
    short = ("utilization", "superpod-h100-4su", "--days", "0.1", "--policy", "fifo")
    said = {runs: " ".join(report(*short, "--runs", runs)["assumptions"]) for runs in ("1", "2", "6")}
    assert "A single run has no interval; `--runs 6` takes 2.57, and about 6 times as long." in said["1"]
    assert "are of 2 runs: 12.7 standard errors; `--runs 6` takes 2.57, and about 3 times as long." in said["2"]
    assert "standard errors" not in said["6"]


@pytest.mark.deep
def test_utilization_with_time_sharing_and_zones() -> None:
    found = report(*JOBS, "--policy", "time-sharing,fifo")
    rows = {(row["policy"], row["zones"]): row for row in found["utilization"]}
    shared, plain = rows["time-sharing", 2], rows["fifo", 2]
    assert shared["utilisation"]["mean"] > plain["utilisation"]["mean"]
    assert shared["wait_s"]["mean"] < plain["wait_s"]["mean"]
    assert rows["fifo", 1]["utilisation"]["mean"] >= plain["utilisation"]["mean"]
    for row in rows.values():
        assert row["utilisation"]["mean"] <= row["occupied"]["mean"] + 1e-9 <= 1 + 1e-9
        assert row["occupied"]["mean"] + row["fragmentation"]["mean"] <= 1 + 1e-9
        assert 0 <= row["utilisation"]["low"] <= row["utilisation"]["mean"] <= row["utilisation"]["high"] <= 1
        assert (row["zone_cost"] is None) == (row["zones"] == 1)
    held = {
        key: row["occupied"]["mean"] / (row["occupied"]["mean"] + row["fragmentation"]["mean"])
        for key, row in rows.items()
    }
    # the Fire-Flyer paper claims 99 % of its time-sharing, without a trace
    assert held["time-sharing", 1] == pytest.approx(0.99, abs=0.006)
    assert held["time-sharing", 2] == pytest.approx(0.985, abs=0.006)
    assert held["fifo", 1] == pytest.approx(0.96, abs=0.01)
    assert held["fifo", 2] == pytest.approx(0.93, abs=0.01)
    said = f"Jobs hold {100 * held['time-sharing', 2]:.1f} % of the accelerators that are not idle for want of jobs."
    assert said in found["headline"]
    cost = shared["zone_cost"]
    assert cost["mean"] == pytest.approx(
        rows["time-sharing", 1]["utilisation"]["mean"] - shared["utilisation"]["mean"], abs=1e-12
    )
    width = cost["high"] - cost["low"]
    assert width < shared["utilisation"]["high"] - shared["utilisation"]["low"]  # of the same jobs
    assert found["offered"] == 1.1
    assert "At such a load the queue grows from day to day: waits depend on the 0.5 days." in found["assumptions"]


def test_jobs_that_memory_cannot_hold() -> None:
    run = ffplan("operate jobs", "site-h100-100k", "--days", "3650")
    assert run.code == 2
    assert "--days 3650 is 1,4" in run.err
    days = float(run.err.partition("`--days ")[2].partition("`")[0])
    catalog = Catalog()
    mix = catalog.entry("kalos").part
    assert isinstance(mix, JobMix)
    design = resolve(parse_document((ROOT / "designs/site-h100-100k.yaml").read_bytes(), "site-h100-100k"), catalog)
    asked = UtilizationRequest(
        mix=mix,
        table=None,
        name="kalos",
        policies=("fifo",),
        load=1.1,
        days=days,
        drain=False,
        runs=1,
        seed=0,
        quantum_s=7_200.0,
        save_s=10.0,
        load_s=60.0,
    )
    assert 19_900_000 < _jobs_of_a_run(design, asked) <= 20_000_000


def test_a_csv_that_nothing_holds_up_keeps_at_work_what_it_asks_for(tmp_path: Path) -> None:
    """A long job does not thin the load of the others out after its end."""
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("arrival_s,gpus,run_s\n0,512,864000\n3600,8,600\n86400,256,7200\n")
    found = report("utilization", "superpod-h100-4su", "--jobs", str(jobs), "--policy", "fifo,time-sharing")
    assert found["days"] == 10.0
    assert found["offered"] == pytest.approx((512 * 864_000 + 8 * 600 + 256 * 7200) / (1016 * 864_000))
    for row in found["utilization"]:
        assert row["utilisation"]["mean"] == pytest.approx(found["offered"])
        assert row["wait_s"]["mean"] == 0


SLOW_STORAGE = """name: slow-storage
nodes:
  - {role: compute, server: hgx-h100-8nic, count: 128}
  - {role: storage, server: nvme-16x15tb-2x200g, count: 2}
fabric: {family: fat-tree, switch: qm9700, link: {endpoint: 400g-aoc, inter_switch: 400g-dr4}, tiers: 2}
communication: {libraries: [nccl], message_size: 1 GiB}
workload: {model: llama3.1-405b}
site: {pue: 1.3, currency: USD}
cost: {price_book: usd-2026}
reliability: {profile: reliability-2026, checkpoints: in-memory, checkpoint_interval: 30 s}
"""


def test_a_job_that_waits_lacks_a_node_as_long_as_it_waits(tmp_path: Path) -> None:
    """Erlang's loss, which the job's lost time has too: nodes do not fail while it waits."""
    design = tmp_path / "wait.yaml"
    fields = "checkpoint_interval: 30 s, fleet: {likely: 8, low: 7, high: 9}, spare_nodes: 2"
    chances = {}
    for policy in ("wait", "shrink"):
        text = SLOW_STORAGE.replace("checkpoint_interval: 30 s", f"{fields}, short_of_nodes: {policy}")
        design.write_text(text)
        found = report("goodput", str(design), "--draws", "0")["reliability"]
        chances[policy] = found["short_chance"]
        if policy == "wait":
            assert found["short_chance"] == pytest.approx(found["lost"]["missing_nodes"], rel=1e-9)
    assert 0.3 < chances["wait"] < chances["shrink"]


def test_load_is_of_the_nodes_that_jobs_share(tmp_path: Path) -> None:
    """Nodes of another kind neither run the jobs nor thin their load: as many jobs as nodes keep all at work."""
    design = tmp_path / "two.yaml"
    text = (ROOT / "designs/superpod-h100-4su.yaml").read_text()
    row = "  - {role: compute, server: hgx-h100-8nic, count: 127, rack_units: 8, per_rack: 4}\n"
    assert row in text
    design.write_text(text.replace(row, row + "  - {role: compute, server: dgx-a100-320gb, count: 20, per_rack: 4}\n"))
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("arrival_s,gpus,run_s\n" + "0,8,86400\n" * 127)
    found = report("utilization", str(design), "--jobs", str(jobs), "--policy", "fifo")
    assert found["offered"] == pytest.approx(1.0)
    assert found["utilization"][0]["utilisation"]["mean"] == pytest.approx(1.0)


@pytest.mark.parametrize("interval", ["10 s", "30 s", "20 min"])
def test_storage_writes_no_more_checkpoints_than_it_has_time_for(interval: str, tmp_path: Path) -> None:
    """Of checkpoints in the memory of nodes every n-th goes to storage, as soon as the one before is there."""
    design = tmp_path / "slow.yaml"
    design.write_text(SLOW_STORAGE.replace("30 s", interval))
    found = report("storage", str(design))
    burst = found["burst"]
    most = found["copies"] * burst["bytes"] * 86_400 / burst["save_s"]
    assert 0.5 * most * burst["save_s"] / max(1200, burst["save_s"]) < burst["written_per_day"] <= most
    assert burst["mean_nic_share"] < burst["nic_share"]
    goodput = report("goodput", str(design), "--draws", "0")
    assert burst["storage_every"] == (goodput["reliability"]["checkpoint"]["storage_every"] or 1)


def test_jobs_of_a_csv(tmp_path: Path) -> None:
    """Two gangs of all nodes, an hour each, and one that comes between: the queue is first in, first out."""
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("arrival_s,gpus,run_s\n0,1016,3600\n10,1016,3600\n20,8,600\n")
    given = ("utilization", "superpod-h100-4su", "--jobs", str(jobs), "--policy", "fifo")
    found = report(*given)
    (row,) = found["utilization"]
    assert found["warm_days"] == 0
    assert [item["mean_s"] for item in row["waits"]] == pytest.approx([7180.0, 1795.0])
    assert row["utilisation"]["low"] is None
    assert row["waiting"] == 0
    seconds = 10 + 3600  # the second gang's end, if it had not waited
    work = 2 * 1016 * 3600 + 8 * 600
    assert found["days"] == pytest.approx(seconds / 86_400)
    assert found["offered"] == pytest.approx(work / (1016 * seconds))
    assert row["utilisation"]["mean"] == pytest.approx(1.0)
    for text, words in (
        ("arrival_s,gpus\n0,8\n", "no column `run_s`"),
        ("arrival_s,gpus,run_s\n0,2000,60\n", "a job of 2000; one can hold 1,016"),
        ("arrival_s,gpus,run_s\n0,x,60\n", "not a job"),
        ("arrival_s,gpus,run_s\n0,8,0\n", "not a job"),
        ("arrival_s,gpus,run_s\n", "no job"),
    ):
        jobs.write_text(text)
        run = ffplan("operate jobs", "superpod-h100-4su", "--jobs", str(jobs))
        assert run.code == 2
        assert words in run.err
    run = ffplan("operate jobs", "superpod-h100-4su", "--jobs", "kalo")
    assert "did you mean `kalos`" in run.err
