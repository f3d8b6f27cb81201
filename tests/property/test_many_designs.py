"""Many designs at once are the same as one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ffplan
from ffplan.base.plain import leaves, plain
from tests.support import ROOT, examples

DESIGNS = ("fire-flyer-2", "dgx-a100-10k", "fire-flyer-next", "pcie-a100-three-tier", "fire-flyer-2-nvlink")


def one(design: ffplan.Design, changes: dict[str, Any]) -> dict[str, Any] | None:
    """Return the numbers of a single assessment by path; None where the design cannot be built."""
    try:
        return dict(leaves(plain(ffplan.assess(design.vary(changes)))))
    except ffplan.InputError:
        return None


@given(
    st.sampled_from(DESIGNS),
    st.lists(st.integers(1, 6000), min_size=1, max_size=6),
    st.lists(st.sampled_from([1, 1.5, 2, 3, 4.5, 7]), min_size=1, max_size=2),
    st.sampled_from([1.05, 1.5]),
)
@examples(25)
def test_counts_and_ratios(name: str, counts: list[int], ratios: list[float], pue: float) -> None:
    design = ffplan.load(name)
    if design.spec.fabric.tiers == 1:
        ratios = [1]
    axes = {"nodes[0].count": np.array(counts)[:, None], "fabric.oversubscription": np.array(ratios), "site.pue": pue}
    many = ffplan.assess_many(design, axes)
    assert many.feasible.shape == (len(counts), len(ratios))
    for (row, column), feasible in np.ndenumerate(many.feasible):
        changes = {"nodes[0].count": counts[row], "fabric.oversubscription": f"{ratios[column]:g}:1", "site.pue": pue}
        single = one(design, changes)
        assert feasible == (single is not None)
        for path, values in many.columns.items():
            if single is not None:
                assert values[row, column] == pytest.approx(single[path], rel=1e-11), path


def test_rail_optimised_units() -> None:
    design = ffplan.load("superpod-h100-4su")
    assert design.spec.floor is not None
    plain_floor = {key: value for key, value in design.document.data.items() if key != "floor"}
    for group in plain_floor["nodes"]:
        group.pop("rack_units", None)
        group.pop("per_rack", None)
    import yaml

    bare = ffplan.load(yaml.safe_dump(plain_floor))
    counts = np.array([1, 31, 32, 33, 64, 97, 127, 128, 400, 900])
    many = ffplan.assess_many(bare, {"nodes[0].count": counts})
    for place, count in enumerate(counts.tolist()):
        single = one(bare, {"nodes[0].count": count})
        assert many.feasible[place] == (single is not None)
        for path, values in many.columns.items():
            if single is not None:
                assert values[place] == pytest.approx(single[path], rel=1e-11), (count, path)


def test_what_a_library_refuses_is_refused_for_many() -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    with pytest.raises(ffplan.InputError, match="needs NVLink"):
        ffplan.assess_many(text.replace("[hfreduce, nccl]", "[hfreduce-nvlink]"), {"site.pue": [1.2]})


def test_prices_rates_and_power_scale_as_they_should() -> None:
    base = ffplan.assess_many("fire-flyer-2", {"site.pue": 1.2})
    switches = base["fabric.switches.total"][()]
    many = ffplan.assess_many(
        "fire-flyer-2", {"prices.qm8700": np.array([0.0, 1.0, 2.0]), "qm8700.power": np.array([0.0, 100.0, 200.0])}
    )
    assert np.diff(many["cost.total"]) == pytest.approx([switches, switches])
    assert np.diff(many["power.it_kw"]) == pytest.approx([switches / 10, switches / 10])
    slow = ffplan.assess_many("fire-flyer-2", {"qm8700.rate": np.array([5.0, 12.5, 25.0])})
    assert slow["fabric.bisection_gbyte_s"][0] < slow["fabric.bisection_gbyte_s"][2]
    for place, rate in enumerate((5.0, 12.5, 25.0)):
        assert slow["communication[1].algbw_gbyte_s"][place] <= rate


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("nodes[7].count", 3, "has 2 groups of nodes"),
        ("nodes[0].count", 2.5, "must be whole"),
        ("fabric.oversubscription", 0.5, "1 or more"),
        ("site.pue", 0.9, "1 or more"),
        ("prices.nothing", 1.0, "no such part"),
        ("nothing.power", 1.0, "uses no part `nothing`"),
        ("qm8700.nothing", 1.0, "no figure `nothing`"),
        ("qm8700.power", -1.0, "not below 0"),
        ("site.electricity_price", 0.1, "names none"),
        ("qm8700.ports", 64, "is a count"),
    ],
)
def test_paths_that_are_no_numbers(path: str, value: float, words: str) -> None:
    with pytest.raises(ffplan.UsageError, match=words):
        ffplan.assess_many("fire-flyer-2", {path: [value]})


@pytest.mark.parametrize("name", ["spectrum-x-4096", "hpn-dual-plane", "meta-24k-roce"])
def test_a_ratio_beside_uplinks_is_refused_as_by_a_design(name: str) -> None:
    """Arrays took any ratio, and built the leaves that `uplinks` gives."""
    for ratio in (1, 4):
        with pytest.raises(ffplan.InputError, match="`oversubscription` has no effect beside"):
            ffplan.load(name).vary({"fabric.oversubscription": f"{ratio}:1"})
        with pytest.raises(ffplan.UsageError, match=r"`fabric\.oversubscription` has no effect beside"):
            ffplan.assess_many(name, {"fabric.oversubscription": [ratio]})


@pytest.mark.deep
@pytest.mark.parametrize("name", ["fire-flyer-2", "dgx-a100-10k", "fire-flyer-next"])
def test_every_figure_of_a_design_can_vary(name: str) -> None:
    """An array in place of a figure gives what the figure itself gives."""
    from ffplan.studies.choose.design_grid import _with_arrays
    from ffplan.studies.design.design import study_design

    design = ffplan.load(name)
    resolved = design.resolved
    parts = [resolved.parts.switch, resolved.parts.endpoint_link, resolved.parts.inter_switch_link]
    for group in resolved.groups:
        parts += [group.server, *group.cpus, *group.nics, *([group.accelerator] if group.accelerator else [])]
    tried = 0
    for part in {item.id: item for item in parts}.values():
        for steps, figure in part.figures():
            if any(isinstance(step, int) for step in steps) or isinstance(figure.value, int):
                continue
            path, value = ".".join(map(str, (part.id, *steps))), figure.value * 0.9
            many = ffplan.assess_many(design, {path: [value, figure.value]})
            changed = _with_arrays(resolved, {path: np.float64(value)})  # type: ignore[dict-item]
            single = dict(leaves(plain(study_design(changed, design.catalog).assessment)))
            for column, values in many.columns.items():
                assert values[0] == pytest.approx(single[column], rel=1e-11), (path, column)
            tried += 1
    assert tried > 20
