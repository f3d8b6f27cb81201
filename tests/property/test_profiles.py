"""Failures by any profile: they never come less often to a larger job, and extending changes nothing by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.resolved import profiled
from ffplan.studies.operate.goodput_basis import goodput_basis
from ffplan.studies.operate.goodput_job import job_on, recovery
from tests.property.test_designs import designs
from tests.support import document, examples, ffplan

if TYPE_CHECKING:
    from pathlib import Path

CATALOG = Catalog()
PROFILES = CATALOG.ids_of("reliability")


@examples(40)
@given(designs(), st.sampled_from(PROFILES), st.lists(st.integers(1, 200_000), min_size=2, max_size=6))
def test_a_larger_job_is_never_interrupted_less_often(text: str, profile: str, sizes: list[int]) -> None:
    try:
        basis = goodput_basis(profiled(resolve(document(text), CATALOG), profile), CATALOG)
    except InputError:
        assume(False)
    outcomes = [recovery(basis, job_on(basis, gpus, 7e9)).outcome for gpus in sorted(sizes)]
    times = [float(outcome.mtbf_s) for outcome in outcomes]
    assert times == sorted(times, reverse=True)
    for name in basis.hazards.profile.hazards:
        rates = [float(outcome.by_hazard[name]) for outcome in outcomes]
        assert rates == sorted(rates)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_that_changes_nothing_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    """A file of the same id in a folder of the user's stands for the shipped one; what is printed is the same."""
    (tmp_path / f"{name}.yaml").write_text(f"kind: reliability\nid: {name}\nextends: {name}\n")
    run = ("goodput", "fire-flyer-2", "-m", "llama-13b", "--draws", "50", "--profile", name)
    plain, same = ffplan(*run), ffplan(*run, "--catalog", str(tmp_path))
    assert (plain.code, plain.err) == (same.code, same.err) == (0, "")
    assert plain.out == same.out
