"""Racks of one scale-up switch that are not full: as much passes through the NICs of the last one as through others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ffplan
from tests.support import ROOT, examples

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
    """2 GiB in and out of four NICs of 50 GB/s are 10.7 ms, where 16 whole racks take 3.64 ms."""
    assert allreduce_s(288) == pytest.approx(3.643e-3, rel=1e-3)
    assert allreduce_s(289) > 2 * SIZE / (4 * NIC_GBYTE_S * 1e9)
    note = [
        text
        for text in ffplan.assess(ffplan.load(TEXT.replace("count: 288", "count: 289"))).assumptions
        if "last" in text
    ]
    assert any("holds 4 of 72 accelerators" in text and "a job of 1,152" in text for text in note)
