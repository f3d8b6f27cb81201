"""The largest cluster that budget and power allow: one more step of nodes is too large."""

from __future__ import annotations

import pytest

from ffplan.catalog.store import Catalog
from ffplan.studies.choose import first_designs
from ffplan.studies.choose.candidates import IDEAS, Idea, Wishes, draft_from
from ffplan.studies.choose.first_designs import Builder, why_not
from tests.support import but_few


@pytest.mark.parametrize("idea", [idea for idea in IDEAS if not idea.other], ids=lambda idea: idea.name)
@pytest.mark.parametrize(
    ("accelerator", "budget", "watts"),
    [
        ("h100-sxm-80gb", 45e6, 2e6),
        pytest.param("h100-sxm-80gb", None, 5e6, marks=pytest.mark.deep),
        pytest.param("a100-sxm-80gb", 160e6, None, marks=pytest.mark.deep),
        ("gb200-gpu", None, 3e6),
    ],
)
def test_one_step_more_does_not_fit(accelerator: str, budget: float | None, watts: float | None, idea: Idea) -> None:
    wishes = Wishes(
        accelerator=accelerator, gpus=None, budget=budget, watts=watts, model=None, book="usd-2026", pue=1.25
    )
    builder = Builder(wishes, Catalog(), "bid")
    built = builder.largest(idea)
    assert built is not None
    assert not why_not(built, wishes)
    more = builder.drafts(idea, built.assessment.nodes["compute"] + builder.step)
    assert not more or why_not(more[0], wishes)


def test_a_draft_has_the_purchase_and_the_power_of_the_whole() -> None:
    """The draft by which parts are chosen says of a design what all of its studies say."""
    wishes = Wishes(
        accelerator="h100-sxm-80gb", gpus=None, budget=None, watts=1e9, model=None, book="usd-2026", pue=1.25
    )
    builder = Builder(wishes, Catalog(), "bid")
    draft, built = builder.drafts(IDEAS[0], 100)[0], builder.build(IDEAS[0], 100)
    assert built is not None
    assert draft.text == built.text
    assert draft.cost == built.cost > 0
    assert draft.drawn("facility-peak") == built.drawn("facility-peak") > 0
    assert draft.drawn("it-training") == built.drawn("it-training") > 0


@pytest.mark.parametrize("idea", [IDEAS[0], IDEAS[2]], ids=lambda idea: idea.name)
@pytest.mark.parametrize("accelerator", ["gaudi3", "gb200-gpu", "mi325x"])
@pytest.mark.parametrize("nodes", but_few([18, 54, 72, 73, 144], 18, 73))
def test_tiers_that_are_not_tried_hold_no_design(accelerator: str, nodes: int, idea: Idea) -> None:
    wishes = Wishes(accelerator=accelerator, gpus=None, budget=None, watts=1e9, model=None, book="usd-2026", pue=1.25)
    builder = Builder(wishes, Catalog(), "bid")
    site = first_designs._Site(wishes=wishes, name="bid", currency="USD")
    tried = {parts.switch.id: first_designs._tiers(idea, parts, nodes) for parts in builder.choices}
    assert all(tiers in ((1, 2, 3), (2, 3)) for tiers in tried.values())
    for parts in builder.choices:
        single = draft_from(first_designs._text(idea, parts, nodes, 1, site), idea, builder.catalog)
        assert (single is not None) == (1 in tried[parts.switch.id]), parts.switch.id
