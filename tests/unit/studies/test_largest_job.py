"""The largest job of a design: of one kind of node, in one zone without links to the others; its spares and fabric."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

H100 = "{role: compute, server: hgx-h100-8nic, count: %d}"
MIXED = f"  - {H100 % 250}\n  - {{role: compute, server: dgx-a100-640gb, count: 130}}\n"
STORAGE = "  - {role: storage, server: fire-flyer-3fs-node, count: 8}\n"


def design(folder: Path, nodes: str, tiers: int = 2, more: str = "") -> str:
    path = folder / "made.yaml"
    path.write_text(
        f"name: made\nnodes:\n{nodes}fabric:\n  family: fat-tree\n  switch: qm9700\n"
        f"  link: {{endpoint: 400g-dac, inter_switch: 400g-dr4}}\n  tiers: {tiers}\n{more}"
        "communication:\n  libraries: [nccl]\n  message_size: 1 GiB\nsite: {pue: 1.3}\n"
    )
    return str(path)


def run(command: str, *words: str) -> Any:
    found = ffplan(command, *words, "-f", "json")
    assert found.code == 0, found.err
    return json.loads(found.out)


def goodput(file: str, model: str, *words: str) -> Any:
    return run("operate goodput", file, "-m", model, "--draws", "0", *words)


def text(command: str, *words: str) -> str:
    found = ffplan(command, *words)
    assert found.code == 0, found.err
    return " ".join(found.out.split())


def test_nodes_of_a_zone_without_links_are_no_spares(tmp_path: Path) -> None:
    """64 nodes in two zones: a job spans 32, and the spare that is bought is its only one."""
    file = design(tmp_path, f"  - {H100 % 64}\n{STORAGE}", more="  zones: 2\n")
    found = goodput(file, "llama3.1-70b")
    job = found["reliability"]
    assert (job["nodes"], job["spares"]) == (32, 1)
    assert job["short_chance"] == pytest.approx(1 - (1 + job["nodes_in_repair"]) * math.exp(-job["nodes_in_repair"]))
    half = goodput(file, "llama3.1-70b", "-g", "128")["reliability"]
    assert (half["nodes"], half["spares"]) == (16, 17)
    assert next(row["gpus"] for row in found["sizes"] if row["beyond"]) == 512
    assert not any(row["beyond"] for row in found["sizes"] if row["gpus"] <= 256)
    # 256 endpoints of the 528 on the fabric, which has the counts of both zones
    counts = run("design", file)["fabric"]
    units = {row["hazard"]: row["units"] for row in job["hazards"]}
    assert units["leaf-switch"] == -(-counts["switches"]["leaf"] * 256 // counts["endpoints"])


def test_design_speaks_of_the_job_that_a_zone_holds(tmp_path: Path) -> None:
    """Five nodes in two zones: one job spans 24 accelerators, whose software fails (24 / 1,024)^1.036 as often."""
    file = design(tmp_path, f"  - {H100 % 5}\n", more="  zones: 2\n")
    short = run("design", file)["reliability"]
    job = goodput(file, "llama3-8b")["reliability"]
    assert short["gpus"] == job["gpus"] == 24
    assert short["mtbf_hours"] == pytest.approx(job["mtbf_hours"]["likely"])
    assert short["mtbf_hours"] / 24 == pytest.approx(29.8, abs=0.05)
    software = next(row for row in job["hazards"] if row["hazard"] == "software")
    assert software["per_unit_year"] == pytest.approx(425.8 * (24 / 1024) ** 1.036, rel=2e-3)
    assert "a job on 24 stops every 29.8 days" in text("design", file)
    whole = design(tmp_path, f"  - {H100 % 5}\n")
    assert "a job on all stops every" in text("design", whole)


def test_a_job_has_the_leaves_of_its_own_kind_of_node(tmp_path: Path) -> None:
    """2,000 endpoints of H100 nodes hang on 63 leaves of 32, of the 95 that 1,040 of A100 nodes share."""
    file = design(tmp_path, MIXED, tiers=3)
    found = goodput(file, "llama-13b")
    units = {row["hazard"]: row["units"] for row in found["reliability"]["hazards"]}
    assert units["leaf-switch"] == 63
    assert units["upper-link"] == pytest.approx(6_080 * 2_000 / 3_040)
    assert units["upper-switch"] == pytest.approx(160 * 2_000 / 3_040)
    stars = {row["gpus"]: row["beyond"] for row in found["sizes"]}
    assert (stars[2_000], stars[2_048]) == (False, True)
    short = run("design", file)["reliability"]
    assert short["gpus"] == found["reliability"]["gpus"] == 2_000
    assert short["mtbf_hours"] == pytest.approx(found["reliability"]["mtbf_hours"]["likely"])
    assert "a job on 2,000 stops every 12.2 h" in text("design", file)


def test_a_job_on_one_node_has_no_copies_in_the_memory_of_others(tmp_path: Path) -> None:
    words = ("llama3.2-1b", "--checkpoints", "in-memory")
    one = goodput(design(tmp_path, f"  - {H100 % 1}\n"), *words)
    assert one["reliability"]["checkpoint"]["mode"] == "asynchronous"
    assert one["reliability"]["checkpoint"]["memory_restart_s"] is None
    assert any("no other has memory for its copies" in line for line in one["assumptions"])
    plain = goodput(design(tmp_path, f"  - {H100 % 1}\n"), "llama3.2-1b")
    assert plain["reliability"]["goodput"] == one["reliability"]["goodput"]
    assert "in-memory" not in {row["lever"] for row in plain["reliability"]["levers"]}
    two = goodput(design(tmp_path, f"  - {H100 % 2}\n"), *words)
    assert two["reliability"]["checkpoint"]["memory_restart_s"] > 0
    assert not any("no other has memory" in line for line in two["assumptions"])


def test_a_report_says_which_restart_was_done() -> None:
    words = ("superpod-h100-4su", "-m", "llama3.1-405b", "--draws", "0", "--restart", "standby", "--spares")
    none, one = (text("operate goodput", *words, spares, "--full") for spares in ("0", "1"))
    assert "restart 13.1 min, requeue: no node stands by" in none
    assert "Restarts: requeue of the whole job, since no spare stands by as asked; checkpoints: asynchronous." in none
    assert "restart 9.94 min, standby: 58 % of failures find a spare" in one
    assert "standby where a failure finds a spare free (58 % of them), else requeue of the whole job" in one
    found = goodput(words[0], words[2], *words[5:], "1")["reliability"]
    free = math.exp(-found["nodes_in_repair"])
    assert found["standby_free"] == pytest.approx(free)
    assert found["restart_s"]["likely"] == pytest.approx(458 * free + 787 * (1 - free), abs=1)
    assert goodput(words[0], words[2], *words[5:], "0")["reliability"]["standby_free"] == 0.0
    assert goodput(*words[:1], words[2])["reliability"]["standby_free"] is None


def test_a_job_that_loses_next_to_nothing_has_no_list_of_losses(tmp_path: Path) -> None:
    file = design(tmp_path, f"  - {H100 % 8}\n")
    said = text("operate goodput", *f"{file} -m llama3-8b -g 8 --draws 0".split())
    assert "The job keeps 100.0 % of its time. training time" in said
