"""A dense model and one with experts on four and eight accelerators, with round constants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.models import Model
from ffplan.catalog.store import Catalog
from ffplan.serving.memory import model_weights
from ffplan.serving.plan import Rates, _Deployment, _Machine
from ffplan.serving.step import Served

if TYPE_CHECKING:
    from collections.abc import Callable

RATES = Rates(
    weights=0.9,
    experts=0.8,
    cache=0.9,
    matrix=0.5,
    grouped=0.5,
    attention=0.25,
    layer=40e-6,
    expert_layer=20e-6,
    latent_layer=30e-6,
    quantised_layer=10e-6,
    sequence=20e-6,
    expert_sequence=5e-6,
    call=8e-6,
    exchange=10e-6,
    step=300e-6,
    first=20e-3,
    prompt_layer=0.0,
)
MACHINE = _Machine(bandwidth=3.35e12, peak=989.4e12, peak16=989.4e12, memory=80 * 2.0**30, link=370e9, exchange=370e9)


@pytest.fixture
def served() -> Callable[..., Served]:
    """Return a maker of models on deployments."""

    def make(name: str = "llama3.1-70b", **sizes: float) -> Served:
        model = Catalog().entry(name).part
        assert isinstance(model, Model)
        assert model.transformer is not None
        return Served(
            shape=model.transformer,
            weights=model_weights(model.transformer),
            deployment=replace(_Deployment(tensor=4), **sizes),
            machine=MACHINE,
            rates=RATES,
        )

    return make
