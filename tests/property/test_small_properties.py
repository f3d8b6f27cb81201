"""Gains, trees, partial domains and bounds, whatever the design."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ffplan
from ffplan.base.outcomes import Term
from ffplan.collectives.bottleneck import _port_rate
from ffplan.collectives.hfreduce import _hfreduce_ledger, ledger_total
from ffplan.collectives.volumes import _double_tree_load, bound, rate, ring_factor
from ffplan.fabric.routing.traffic import _crossing_pairs, _double_binary_tree, _joined_trees
from ffplan.results.difference import judged
from ffplan.training import sensitivity
from tests.support import ROOT, examples

CASES = [
    ("superpod-h100-4su", "llama3-70b", {"gpus": 512, "batch": 512, "tensor": 8, "pipeline": 4, "zero": 1}),
    ("superpod-h100-4su", "llama3-8b", {"gpus": 64, "batch": 256, "tensor": 2, "zero": 3}),
    ("superpod-h100-4su", "grok1-314b", {"gpus": 512, "batch": 512, "tensor": 8, "pipeline": 8, "expert": 8}),
    ("fire-flyer-2", "llama-13b", {"gpus": 128, "batch": 4096, "pipeline": 4, "zero": 1, "sequence": 2048}),
    ("fire-flyer-2-nvlink", "llama-13b", {"gpus": 128, "batch": 4096, "pipeline": 4, "tensor": 2, "zero": 1}),
    ("dgx-a100-10k", "gpt3-175b", {"gpus": 1024, "batch": 1536, "tensor": 8, "pipeline": 8, "order": None}),
]


@pytest.mark.parametrize(
    ("design", "model", "fields"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_gains_with_and_without_earlier_times(
    design: str, model: str, fields: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {name: value for name, value in fields.items() if value is not None}
    kept = ffplan.train(design, model, **given).to_dict()  # type: ignore[arg-type]
    monkeypatch.setattr(sensitivity, "_untouched", lambda *_: {})
    assert ffplan.train(design, model, **given).to_dict() == kept  # type: ignore[arg-type]
    assert kept["rows"][0]["gains"]


@given(st.integers(1, 3000))
def test_each_tree_is_binary_and_no_rank_is_inner_in_both_but_one(ranks: int) -> None:
    trees = _double_binary_tree(ranks)
    inner = []
    for parent in trees:
        assert (parent < 0).sum() == 1
        children = np.bincount(parent[parent >= 0], minlength=ranks)
        assert children.max() <= 2
        inner.append(children > 0)
    assert (inner[0] & inner[1]).sum() <= 1


@given(st.lists(st.integers(0, 200), min_size=1, max_size=6).filter(any))
def test_joined_trees_cross_zones_with_one_pair_each(sizes: list[int]) -> None:
    trees = _joined_trees(sizes)
    ranks, zones = sum(sizes), sum(1 for size in sizes if size)
    zone = np.repeat(np.arange(len(sizes)), sizes)
    assert _crossing_pairs(trees, zone) == zones - 1
    for parent in trees:
        assert (parent < 0).sum() == 1
        assert np.bincount(parent[parent >= 0], minlength=ranks).max(initial=0) <= 2
        at = np.arange(ranks)
        for _ in range(8 * zones + 16):  # deep enough for any of these trees
            at = np.where(at >= 0, parent[at], -1)
        assert (at < 0).all(), "a rank does not lead to the root"


TRAYS = 18
"""Trays of an NVL72 rack."""
TEXT = (ROOT / "designs" / "gb200-nvl72-16.yaml").read_text()
SIZE = 2**30
NIC_GBYTE_S = 50.0
"""A tray has four GPUs and four NICs of 400 Gb/s."""


def allreduce_s(trays: int, algorithm: str | None = None) -> float:
    """Return the time of an allreduce over all trays [s]."""
    design = ffplan.load(TEXT.replace("count: 288", f"count: {trays}"))
    return ffplan.collective(design, sizes=SIZE, algorithm=algorithm).rows[-1].time_s


@given(st.integers(2, 12), st.integers(1, TRAYS - 1), st.sampled_from([None, "tree", "ring", "nvls-tree"]))
@examples(25)
def test_trays_beside_whole_racks_make_no_job_faster(racks: int, more: int, algorithm: str | None) -> None:
    """And no more passes than the NICs of the last rack carry: the message once in and once out (each of them)."""
    whole = allreduce_s(racks * TRAYS, algorithm)
    partial = allreduce_s(racks * TRAYS + more, algorithm)
    assert partial >= whole
    assert partial >= SIZE / (4 * more * NIC_GBYTE_S * 1e9)


def test_one_tray_in_a_rack_of_its_own() -> None:
    """2 GiB in and out of four NICs of 50 GB/s are 10.7 ms, where 16 whole racks take 3.11 ms."""
    assert allreduce_s(288) == pytest.approx(3.114e-3, rel=1e-3)
    assert allreduce_s(289) > 2 * SIZE / (4 * NIC_GBYTE_S * 1e9)
    note = [
        text
        for text in ffplan.assess(ffplan.load(TEXT.replace("count: 288", "count: 289"))).assumptions
        if "last" in text
    ]
    assert any("holds 4 of 72 accelerators" in text and "a job of 1,152" in text for text in note)


POSITIVE = st.floats(min_value=0.01, max_value=1e4)


@given(st.lists(POSITIVE, min_size=1, max_size=6), st.floats(min_value=1.0, max_value=10.0))
def test_more_of_any_resource_never_lowers_the_bound(capacities: list[float], factor: float) -> None:
    def result(values: list[float]) -> float:
        return float(
            bound(
                *[
                    Term(name=str(i), label="", gbyte_s=v, low_gbyte_s=v, high_gbyte_s=v, derivation="")
                    for i, v in enumerate(values)
                ]
            ).gbyte_s
        )

    before = result(capacities)
    assert before == min(capacities)
    for position in range(len(capacities)):
        raised = [v * factor if i == position else v for i, v in enumerate(capacities)]
        assert result(raised) >= before


@given(POSITIVE, st.floats(0.1, 2.0), POSITIVE, POSITIVE)
def test_a_root_port_never_carries_more_than_its_limits(
    one_way: float, share: float, inward: float, outward: float
) -> None:
    b = float(_port_rate(one_way, share, inward, outward))
    assert b * max(inward, outward) <= one_way * (1 + 1e-9)
    assert b * (inward + outward) <= one_way * max(1.0, share) * (1 + 1e-9)
    assert float(_port_rate(one_way, share, inward, inward)) * 2 * inward <= one_way * share * (1 + 1e-9)
    assert float(_port_rate(one_way, share, inward, 0.0)) == pytest.approx(one_way / inward)


@given(st.integers(1, 16), st.integers(1, 16), st.integers(4, 10_000))
def test_the_ledger_follows_its_closed_form(copies: int, reads: int, nodes: int) -> None:
    assert ledger_total(_hfreduce_ledger(copies, reads, _double_tree_load(nodes))) == 2 * copies + 1 + 2 + 2 + 1 + reads


@given(st.lists(st.integers(2, 10**6), min_size=1, max_size=6), POSITIVE)
def test_one_formula_any_shape(ranks: list[int], capacity: float) -> None:
    array = np.asarray(rate(capacity, ring_factor(np.array(ranks))))
    assert array.tolist() == pytest.approx([rate(capacity, ring_factor(n)) for n in ranks])


@given(st.floats(0.2, 5), st.none() | st.floats(0, 1))
def test_a_verdict_is_the_same_from_either_side(ratio: float, share: float | None) -> None:
    """Whoever is named first: the same side wins, as surely; a side that most draws contradict never does."""
    mine, theirs = judged(ratio, share), judged(1 / ratio, share if share is None else 1 - share)
    if min(abs(ratio - 1), abs(1 / ratio - 1)) < 0.006 or (share is not None and abs(share - 0.5) < 1e-9):
        return  # at the edge of a rule, where rounding decides
    assert (mine.gap > 0) == (theirs.gap < 0)
    assert (mine.close, mine.share is None) == (theirs.close, theirs.share is None)
    if mine.share is not None:
        assert mine.share == pytest.approx(theirs.share)
        assert mine.share >= 0.5
    assert mine.gap == 0 or (mine.gap < 0) == (ratio < 1)
