"""`ffplan.goodput` and `ffplan.storage` in Python."""

from __future__ import annotations

import json

import pytest

import ffplan
from ffplan.base.errors import UsageError
from tests.support import ffplan as run


@pytest.mark.deep
def test_the_same_as_the_commands_print() -> None:
    found = ffplan.goodput("superpod-h100-4su", "llama3-70b", draws=0)
    same = ("goodput", "superpod-h100-4su", "-m", "llama3-70b", "--draws", "0", "-f", "json")
    printed = json.loads(run(*same).out)
    assert found.to_dict()["reliability"] == printed["reliability"]
    assert len(found.to_frame()) == len(printed["sizes"])
    stored = ffplan.storage("fire-flyer-2", "llama-13b", gpus=512)
    assert stored.burst is not None
    assert stored.storage.servers == 135
    assert ffplan.storage("fire-flyer-2").burst is None


def test_a_section_of_a_design_changes_it() -> None:
    design = ffplan.load("superpod-h100-4su")
    faster = design.vary({"reliability": {"restart": "standby"}})
    plain, quick = (ffplan.goodput(item, "llama3-70b", draws=0).reliability.goodput.likely for item in (design, faster))
    assert quick > plain


def test_a_convolutional_network_has_a_goodput() -> None:
    found = ffplan.goodput("superpod-h100-4su", "resnet-50", draws=0).reliability
    assert (found.unit, found.model) == ("images", "resnet-50")


@pytest.mark.parametrize(("arguments", "words"), [(("qm9700",), "is a switch, not a model"), ((None,), "no job")])
def test_what_is_refused(arguments: tuple[str | None], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ffplan.goodput("superpod-h100-4su", *arguments)
    with pytest.raises(UsageError, match="one job can span 1,016"):
        ffplan.goodput("superpod-h100-4su", "llama3-70b", gpus=2000)
