"""Other networks, and profiles of reliability, whatever the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.resolved import profiled
from ffplan.fabric.sizing.low_diameter import _delta_of, _dragonfly_global_links, _dragonfly_shape, _router_degree
from ffplan.fabric.wiring.links import _dragonfly_links
from ffplan.studies.operate.goodput_basis import goodput_basis
from ffplan.studies.operate.goodput_job import job_on, recovery
from tests.fabrics import dragonfly_of, mms_links
from tests.property.test_designs import designs
from tests.support import document, examples, ffplan

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9, 11, 13, 16, 17])
def test_slim_fly_graphs(q: int) -> None:
    delta = _delta_of(q)
    assert delta is not None
    a, b = mms_links(q)
    routers = 2 * q * q
    matrix = np.zeros((routers, routers), np.int32)
    matrix[a, b] = matrix[b, a] = 1
    assert (a != b).all()
    assert set(matrix.sum(axis=0).tolist()) == {_router_degree(q, delta)}
    assert ((matrix + matrix @ matrix + np.eye(routers, dtype=np.int32)) > 0).all(), (
        "some pair is further than two apart"
    )


@pytest.mark.parametrize("radix", [7, 11, 15, 16])
def test_dragonflies(radix: int) -> None:
    """No router beyond its ports, every pair of groups joined alike, at most local, global, local between two
    routers."""
    p, a, h = _dragonfly_shape(radix)
    for groups in {2, 3, a * h // 2 + 1, a * h + 1}:
        links = _dragonfly_links(dragonfly_of(groups, radix))
        one, two, far = links.a, links.b, links.inter_group
        routers = groups * a
        matrix = np.zeros((routers, routers), np.int32)
        np.add.at(matrix, (one, two), 1)
        matrix += matrix.T
        ports = np.concatenate([one * radix + links.a_port, two * radix + links.b_port])
        assert len(np.unique(ports)) == len(ports)
        assert max(links.a_port.max(), links.b_port.max()) < radix
        assert (one != two).all()
        assert matrix.sum(axis=0).max() + p <= radix
        assert far.sum() == _dragonfly_global_links(groups, radix)
        between = np.bincount(one[far] // a * groups + two[far] // a, minlength=groups**2)
        assert set(between[between > 0].tolist()) == {a * h // (groups - 1)}
        reach = ((matrix + np.eye(routers, dtype=np.int32)) > 0).astype(np.int32)
        assert (reach @ reach @ reach > 0).all()
    with pytest.raises(ValueError, match=f"2 to {a * h + 1} groups"):
        dragonfly_of(a * h + 2, radix)


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
    """A file of the same id in a folder of the user's stands for the shipped one; what is printed is the same, but for
    the command that the first screen suggests, which names the folder.
    """
    (tmp_path / f"{name}.yaml").write_text(f"kind: reliability\nid: {name}\nextends: {name}\n")
    run = ("operate goodput", "fire-flyer-2", "-m", "llama-13b", "--draws", "50", "--profile", name)
    plain, same = ffplan(*run), ffplan(*run, "--catalog", str(tmp_path))
    assert (plain.code, plain.err) == (same.code, same.err) == (0, "")
    assert plain.out.split() == [word for word in same.out.split() if word not in ("--catalog", str(tmp_path))]
