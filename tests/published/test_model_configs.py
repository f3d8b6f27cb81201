"""Models imported from their `config.json`: parameters against true shapes, dimensions against the catalogue.

`model-configs.json` has the fields of each file that matter. 17 files are copies that the package aiconfigurator-core
0.12 ships; the fields of the others are recalled. `parameters` counts the shapes that transformers 5.24 makes of those
fields, with shared embeddings once; `published` says where a number is published, recalled and not looked up. That
release cannot build DBRX, whose number is recalled.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.catalog.configs.part import _import_model
from ffplan.catalog.models import Model, Transformer
from ffplan.catalog.store import Catalog
from ffplan.training.model_flops import parameters
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MODELS: dict[str, dict[str, Any]] = json.loads((ROOT / "tests/published/model-configs.json").read_text())
SMALL = 4e-4
"""Share of parameters in biases and norms that the dimensions leave out: of queries, keys and experts, or more norms of
a layer; the attention of GPT-J has no biases."""
SHIPPED = sorted(MODELS.keys() & set(Catalog().ids_of("model")))


def imported(name: str, folder: Path) -> Transformer:
    file = folder / "config.json"
    file.write_text(json.dumps(MODELS[name]["config"]))
    part = _import_model(str(folder)).entry.part
    assert isinstance(part, Model)
    assert part.transformer is not None
    return part.transformer


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_those_of_the_shapes(name: str, tmp_path: Path) -> None:
    assert parameters(imported(name, tmp_path)) == pytest.approx(MODELS[name]["parameters"], rel=SMALL)


def test_nearly_all_agree_in_four_printed_digits(tmp_path: Path) -> None:
    """The others lie within `SMALL` of a number that rounds the other way."""
    apart = {
        name
        for name, row in MODELS.items()
        if f"{float(parameters(imported(name, tmp_path))):.3e}" != f"{row['parameters']:.3e}"
    }
    assert apart == {"qwen2.5-7b", "gemma2-9b", "gemma3-1b", "gpt-j-6b", "olmo2-7b", "minitron-4b"}
    assert len(MODELS) - len(apart) > 70


@pytest.mark.parametrize("name", SHIPPED)
def test_dimensions_are_those_of_the_catalogue(name: str, tmp_path: Path) -> None:
    """The usual sequence is how a model was trained, and the precision of 4-bit plans a choice: no file states them."""
    own = {"sequence", "attention_fp4", "kv_heads", "head_dim"}
    part = Catalog().entry(name).part
    assert isinstance(part, Model)
    assert part.transformer is not None
    both = (imported(name, tmp_path), part.transformer)
    first, second = ({**shape.model_dump(exclude=own), "kv": shape.key_value_heads} for shape in both)
    assert first == second
    assert both[0].latent or both[0].head_width == both[1].head_width


def test_the_catalogue_is_covered() -> None:
    assert len(SHIPPED) > 30
