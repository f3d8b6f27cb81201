"""The mean time between interruptions of every shipped reliability profile against what its study prints."""

from __future__ import annotations

from math import log

import pytest

from ffplan.catalog.reliability import FailureStudy, ReliabilityProfile
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.resolved import profiled
from ffplan.inputs.document import read_document
from ffplan.reliability.hazards import growth
from ffplan.studies.operate.goodput_basis import goodput_basis
from ffplan.studies.operate.goodput_job import job_on, recovery
from tests.support import DESIGNS, ROOT

CATALOG = Catalog()
PUBLISHED = {
    # Llama 3 herd of models, arXiv 2407.21783, Table 5: 419 unexpected interruptions in 54 days
    ("llama3", "site-h100-100k", 16_384): (54 * 24 / 419, 0.01),
    ("reliability-2026", "site-h100-100k", 16_384): (54 * 24 / 419, 0.01),
    # Kokolis et al., arXiv 2410.21680: 47.7 days of 8 accelerators, 7.9 h of 1,024
    ("rsc-1", "dgx-a100-10k", 8): (47.7 * 24, 0.01),
    ("rsc-1", "dgx-a100-10k", 1_024): (7.9, 0.01),
    # FT-HSDP, arXiv 2602.00277: 2.3 interruptions per 1,000 servers and day
    ("hsdp", "site-h100-100k", 32_000): (24 / (4_000 * 2.3e-3), 0.01),
    # OPT-175B logbook: 90 restarts in 33 days
    ("opt-logbook", "dgx-a100-10k", 1_024): (33 * 24 / 90, 0.01),
    # An et al., arXiv 2408.14158, Tables VI to VIII with Llama 3's software: 11.1 h
    ("fire-flyer", "fire-flyer-2", 10_000): (11.1, 0.02),
}
PROFILES = [name for name in CATALOG.ids_of("reliability") if name != "reliability-2026"]


def study(name: str) -> FailureStudy:
    part = CATALOG.entry(name).part
    assert isinstance(part, FailureStudy)
    return part


def stops(profile: str, design: str, gpus: int) -> dict[str, float]:
    """Return interruptions an hour of a job by hazard [1/h]."""
    read = resolve(read_document(ROOT / "designs" / f"{design}.yaml"), CATALOG)
    basis = goodput_basis(profiled(read, profile), CATALOG)
    by_hazard = recovery(basis, job_on(basis, gpus, 70e9)).outcome.by_hazard
    return {name: float(rate) * 3_600 for name, rate in by_hazard.items()}


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: f"{case[0]}-{case[2]}")
def test_a_profile_has_the_mtbf_of_its_study(case: tuple[str, str, int]) -> None:
    hours, within = PUBLISHED[case]
    assert 1 / sum(stops(*case).values()) == pytest.approx(hours, rel=within)


@pytest.mark.parametrize(("profile", "rate"), [("rsc-1", 6.50), ("rsc-2", 2.34)])
def test_hardware_of_rsc_fails_as_the_study_prints(profile: str, rate: float) -> None:
    """Kokolis et al.: 6.50 and 2.34 failures per 1,000 node-days; RSC-1's 16,384 accelerators fail every 1.8 h."""
    found = stops(profile, "dgx-a100-10k", 16_384)["host"]
    assert found * 24 == pytest.approx(rate * 2_048 / 1_000, rel=1e-3)
    if profile == "rsc-1":
        assert 1 / found == pytest.approx(1.8, abs=0.01)


def test_stops_of_fire_flyer_are_those_of_its_tables() -> None:
    """A year of 10,000 accelerators: 88 Xids of hardware, 178 failures of the network, 108 of memory."""
    found = {name: rate * 8_760 for name, rate in stops("fire-flyer", "fire-flyer-2", 10_000).items()}
    assert found["accelerator"] + found["device-memory"] == pytest.approx(88)
    assert found["link"] == pytest.approx(89 * 365 / 183)
    assert found["host"] == pytest.approx(54 * 365 / 183)
    assert "nic" not in found
    remapped = study("fire-flyer-xid-2023").events["xid-63"].value
    profile = CATALOG.entry("fire-flyer").part
    assert isinstance(profile, ReliabilityProfile)
    others = profile.hazards["device-memory"].others
    assert others is not None
    assert float(others.range[1]) * 10_000 == pytest.approx(found["device-memory"] + remapped)


def test_acme_counts_its_infrastructure() -> None:
    """Hu et al., NSDI'24: 287 failures of infrastructure in six months; the fleet's 4,704 are recalled."""
    acme = study("acme-2024")
    assert sum(item.value for item in acme.events.values()) == 287
    found = stops("acme", "dgx-a100-10k", 4_704)
    assert sum(rate for name, rate in found.items() if name != "software") == pytest.approx(287 / 184 / 24)


def test_software_grows_as_the_sizes_of_rsc_show() -> None:
    """What 47.7 days of 8 and 7.9 h of 1,024 accelerators leave beside 6.50 failures per 1,000 node-days."""
    rates = study("meta-rsc-2024").rates
    hardware = rates["node-rsc-1"].value
    assert (365 / rates["job-of-8"].value, 8_760 / rates["job-of-1024"].value) == pytest.approx((47.7, 7.9), abs=1e-3)
    few, many = rates["job-of-8"].value - hardware, rates["job-of-1024"].value - 128 * hardware
    exponent = log(many / few) / log(128)
    for name in ("reliability-2026", *PROFILES):
        profile = CATALOG.entry(name).part
        assert isinstance(profile, ReliabilityProfile)
        own = profile.hazards["software"].growth
        assert own is not None
        assert float(own.exponent.value) == pytest.approx(exponent, abs=5e-4)
        assert growth(8, own.until.value, float(own.exponent.value)) == pytest.approx(few / many, rel=0.002)
        assert growth(10**6, own.until.value, float(own.exponent.value)) == 1.0
    plain = log(rates["job-of-1024"].value / rates["job-of-8"].value) / log(128)
    assert plain == pytest.approx(1.026, abs=5e-4)


def test_software_of_large_jobs_does_not_grow() -> None:
    """Stops a year: OPT 265 at 1,024, Llama 3 426 at 16,384, FT-HSDP 541 at 32,000; RSC 805 at 1,024."""
    assert stops("opt-logbook", "dgx-a100-10k", 1_024)["software"] * 8_760 == pytest.approx(265.5)
    assert stops("llama3", "dgx-a100-10k", 10_000)["software"] * 8_760 == pytest.approx(63 * 365 / 54)
    assert stops("hsdp", "dgx-a100-10k", 10_000)["software"] * 8_760 == pytest.approx(0.161 * 4_000 * 0.8395, rel=1e-3)


def test_every_profile_is_tested_against_its_study() -> None:
    assert {name for name, _, _ in PUBLISHED} | {"rsc-2", "acme"} == {"reliability-2026", *PROFILES}


@pytest.mark.parametrize("name", DESIGNS)
def test_a_shipped_design_names_its_profile(name: str) -> None:
    design = resolve(read_document(ROOT / "designs" / f"{name}.yaml"), CATALOG)
    assert "profile" in design.reliability.model_fields_set
    own = goodput_basis(design, CATALOG)
    assert own.beside is not None
    assert own.beside.profile.id != own.hazards.profile.id
