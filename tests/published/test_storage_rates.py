"""Published rates of clients and checkpoints against the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.library import FileSystem
from ffplan.catalog.store import Catalog
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2.0**30
HEALTHY = 10 * GIB
"""What a node of Fire-Flyer 2 writes: over 10 GiB/s, arXiv 2408.14158, section VII-A [byte/s]."""


def fio(file: Path, **rates: float) -> Path:
    """Write a log of fio with a job of a minute for each way."""
    done = {way: {"bw_bytes": rate, "io_bytes": 60 * rate, "runtime": 60_000} for way, rate in rates.items()}
    job = {"jobname": "one", "error": 0, "job options": {"direct": "1"}, **done}
    file.write_text(json.dumps({"fio version": "fio-3.35", "jobs": [job]}))
    return file


def test_a_node_of_the_paper_writes_what_the_paper_says() -> None:
    found = json.loads(ffplan("operate storage fire-flyer-2 -m llama-13b -g 8 --format json").out)
    assert found["burst"]["node_gbyte_s"] == found["client_write_gbyte_s"] == pytest.approx(HEALTHY / 1e9)
    assert found["burst"]["binds"] == found["node_write"][0]["label"] == "clients of the nodes"


def test_a_healthy_node_passes_its_own_sheet_and_half_of_one_does_not(tmp_path: Path) -> None:
    for part, verdict in ((1.0, "pass"), (0.5, "fail")):
        log = fio(tmp_path / "node.json", read=HEALTHY * part, write=HEALTHY * part)
        run = ffplan("fabric accept", "fire-flyer-2", "--measured", str(log), "--format", "json")
        rows = json.loads(run.out)["judged"]
        assert {(row["measured"]["check"], row["verdict"]) for row in rows} == {
            ("storage-read", verdict),
            ("storage-write", verdict),
        }


@pytest.mark.parametrize("name", ["meta-24k-roce", "megascale-12288", "site-h100-100k"])
def test_a_checkpoint_of_405_billion_parameters_is_saved_at_published_rates(name: str) -> None:
    """ByteCheckpoint, NSDI'25, Table 8: 51.06 s to save and 129.49 s to load on 8,960; others 50 to 200 GB/s."""
    found = json.loads(ffplan(f"operate storage {name} -m llama3-405b -g 8960 --format json").out)["burst"]
    assert found["save_s"] == pytest.approx(51.06, rel=0.01)
    assert found["load_s"] == pytest.approx(129.49, rel=0.01)
    assert 50 < found["bytes"] / found["save_s"] / 1e9 < 200


def test_bloom_on_spectrum_scale() -> None:
    """2.3 TB of 384 accelerators in 40 s on 48 nodes."""
    part = Catalog().entry("spectrum-scale").part
    assert isinstance(part, FileSystem)
    assert part.checkpoint is not None
    assert part.checkpoint.write.value == pytest.approx(2.3e12 / 40 / 1e9)
    assert part.client.write.range[0] == pytest.approx(2.3e12 / 40 / 48 / 1e9, abs=0.01)
