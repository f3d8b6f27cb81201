"""Storage: capacity and rates of the paper's servers, incast, and what a node copies."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.family import plan_fabric
from ffplan.inputs.document import read_document
from ffplan.reliability.hazards import _bridges_per_node, event_rates, job_units
from ffplan.reliability.storage import _transfer_seconds, blocked_rate, capacity, incast, storage_rates
from ffplan.studies.operate.acceptance_verdicts import _robust_score
from ffplan.training.memory import kv_bytes
from tests.support import ROOT, model_named

PIB = 2.0**50


def test_the_paper_s_storage() -> None:
    """180 servers: 9 TB/s by NIC, 8 reached; 44.2 PB raw, mirrored 22.1 PB, which is 19.6 PiB and not over 20."""
    rates = storage_rates(
        servers=180, nic_gbyte_s=50.0, drive_read=16 * 6.5, drive_write=16 * 4.0, copies=2, efficiency=8 / 9
    )
    assert rates.read["NICs of the servers"] == pytest.approx(8000.0)
    assert rates.write["NICs of the servers"] == pytest.approx(4000.0)
    assert rates.write["drives"] == 180 * 64 / 2
    raw, usable = (float(capacity(180, 16, 15.36e12, copies)) for copies in (1, 2))
    assert (raw / 1e15, usable / 1e15) == pytest.approx((44.2, 22.1), abs=0.05)
    assert usable / PIB == pytest.approx(19.6, abs=0.05)


def test_the_readme_of_3fs() -> None:
    """6.6 TiB/s under training traffic on the same servers: 0.81 of their NICs."""
    reached = 6.6 * 2**40 / 1e9
    rates = storage_rates(servers=180, nic_gbyte_s=50.0, drive_read=None, drive_write=None, copies=2, efficiency=1.0)
    assert reached / float(rates.read["NICs of the servers"]) == pytest.approx(0.81, abs=0.005)
    assert set(rates.write) == {"NICs of the servers"}


def test_rates_of_drives_need_not_be_whole() -> None:
    rates = storage_rates(servers=3, nic_gbyte_s=50.0, drive_read=6.5, drive_write=5.5, copies=2, efficiency=1.0)
    assert (rates.read["drives"], rates.write["drives"]) == (19.5, 8.25)


def test_a_transfer_takes_the_least_rate() -> None:
    assert _transfer_seconds(1e12, {"drives": 100.0, "NICs": 50.0}) == (20.0, "NICs")
    many, name = _transfer_seconds(np.array([1e12, 2e12]), {"drives": 100.0, "NICs": np.array([200.0, 50.0])})
    assert np.asarray(many).tolist() == [10.0, 40.0]
    assert name == "NICs"


def test_head_of_line_blocking_is_karol_s() -> None:
    assert blocked_rate(1) == 1.0
    assert blocked_rate(2) == pytest.approx(0.75, abs=0.01)
    assert blocked_rate(4) == pytest.approx(0.6553, abs=0.01)
    assert blocked_rate(180) == pytest.approx(2 - np.sqrt(2), abs=0.01)


def test_granted_requests_keep_a_client_busy() -> None:
    found = incast(np.array([1, 2, 8]), client=25.0, sender=50.0, window=4, transfer_s=40e-6, grant_s=10e-6)
    assert np.asarray(found).tolist() == pytest.approx([20.0, 25.0, 25.0])
    slow = incast(np.array([1, 8]), client=400.0, sender=50.0, window=4, transfer_s=1.0, grant_s=0.0)
    assert np.asarray(slow).tolist() == [50.0, 200.0]


def test_units_of_a_job() -> None:
    design = resolve(read_document(ROOT / "designs" / "fire-flyer-2-nvlink.yaml"), Catalog())
    plan = plan_fabric(design)
    assert _bridges_per_node(design) == 4
    units = job_units(design, plan, 625)
    assert units.counts["accelerator"] == 5000
    assert units.counts["bridge"] == 2500
    # 625 of its 1,520 endpoints, with 32.9 of the 80 leaves and as much of what is above them
    part = 625 / (1250 + 270)
    assert units.counts["leaf-switch"] == 33
    assert units.counts["upper-switch"] == pytest.approx(part * (plan.switches - 80))
    assert units.counts["inter-switch-link"] == pytest.approx(part * 1680)
    assert units.counts["job"] == 1
    assert units.counts["scale-up-domain"] == 0
    assert not units.survives
    racks = resolve(read_document(ROOT / "designs" / "gb200-nvl72-16.yaml"), Catalog())
    assert job_units(racks, plan_fabric(racks), 19).counts["scale-up-domain"] == 2  # 18 trays share a rack's switches
    dual = resolve(read_document(ROOT / "designs" / "hpn-dual-plane.yaml"), Catalog())
    assert set(job_units(dual, plan_fabric(dual), 8).survives) == {"endpoint-link", "leaf-switch"}


def test_rates_of_a_fleet_and_of_an_accelerator() -> None:
    rates = {"gpu": 0.1, "link": 0.2, "software": 400.0}
    found = event_rates(rates, fleet=2.0, relative=1.5, spreads={"gpu", "link"}, of_nodes={"gpu"})
    assert found == pytest.approx({"gpu": 0.3, "link": 0.4, "software": 400.0})


def test_the_cache_of_a_context() -> None:
    """Llama 3 70B: 80 layers, 8 heads of 128 for keys and for values, 2 bytes: 320 KiB a token."""
    transformer = model_named("llama3-70b").transformer
    latent = model_named("deepseek-v3").transformer
    assert transformer is not None
    assert latent is not None
    assert kv_bytes(transformer, 1) == 80 * 2 * 8 * 128 * 2
    assert kv_bytes(latent, 1000, 1) == 1000 * 61 * (512 + 64)


def test_a_slow_node_stands_out_of_its_fleet() -> None:
    fleet = [100.0, 101.0, 99.0, 100.5, 99.5, 90.0]
    middle, score = _robust_score(90.0, fleet)
    assert middle == pytest.approx(99.75)
    assert score < -3.5
    assert _robust_score(99.0, fleet)[1] > -3.5
    assert _robust_score(99.0, [100.0] * 5) == (100.0, float("-inf"))
