"""The nearest valid name, and names that contain what was typed."""

from __future__ import annotations

import pytest

from ffplan.base.errors import _containing, did_you_mean, nearest

PARTS = ["b100", "h100-sxm-80gb", "h100-pcie", "hgx-h100-8nic", "qm8700", "qm9700"]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("h100", "did you mean `h100-pcie`, `h100-sxm-80gb` or `hgx-h100-8nic`?"),
        ("H100", "did you mean `h100-pcie`, `h100-sxm-80gb` or `hgx-h100-8nic`?"),
        ("qm8701", "did you mean `qm8700`?"),
        ("h100_pcie", "did you mean `h100-pcie`?"),
        ("sxm", "did you mean `h100-sxm-80gb`?"),
        ("zzz", "known part: `b100`, `h100-pcie`, `h100-sxm-80gb`, `hgx-h100-8nic`, `qm8700`, `qm9700`"),
    ],
)
def test_names_that_contain_it_come_before_names_that_look_like_it(name: str, remedy: str) -> None:
    assert did_you_mean(name, PARTS, what="part") == remedy


def test_many_names_are_counted() -> None:
    known = [f"gpu-{number}" for number in range(9)]
    assert did_you_mean("gpu", known, what="part").endswith("`gpu-5`? (3 more contain `gpu`)")
    assert _containing("gp", known) == []  # two letters are in too many names
    assert nearest("gpu-88", known) == "gpu-8"
