"""Models imported from any `config.json`: dimensions as counted shape by shape, and a message for whatever is wrong."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.errors import FfplanError
from ffplan.catalog.configs.part import _import_model
from ffplan.catalog.models import Model
from ffplan.training.model_flops import parameters
from tests.fuzz.files import model_config

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def counted(file: Path) -> float:
    part = _import_model(str(file)).entry.part
    assert isinstance(part, Model)
    assert part.transformer is not None
    return float(parameters(part.transformer))


@given(
    layers=st.integers(1, 200),
    groups=st.integers(1, 16),
    per_group=st.integers(1, 16),
    width=st.integers(1, 512),
    head_dim=st.none() | st.integers(1, 512),
    ffn=st.integers(1, 100_000),
    vocabulary=st.integers(1, 300_000),
    tied=st.booleans(),
)
def test_parameters_are_those_of_the_shapes(
    tmp_path_factory: pytest.TempPathFactory,
    layers: int,
    groups: int,
    per_group: int,
    width: int,
    head_dim: int | None,
    ffn: int,
    vocabulary: int,
    tied: bool,
) -> None:
    heads = groups * per_group
    hidden, head = heads * width, head_dim or width
    fields = {
        **{"model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": ffn},
        **{"num_attention_heads": heads, "num_key_value_heads": groups, "head_dim": head_dim},
        **{"vocab_size": vocabulary, "tie_word_embeddings": tied},
    }
    file = tmp_path_factory.mktemp("llama") / "config.json"
    file.write_text(json.dumps(fields))
    shapes = [(vocabulary, hidden)] * (1 if tied else 2) + [(hidden, 1)]
    each = [(hidden, heads * head), (hidden, groups * head), (hidden, groups * head), (heads * head, hidden)]
    each += [(hidden, ffn), (hidden, ffn), (ffn, hidden), (hidden, 1), (hidden, 1)]
    assert counted(file) == sum(a * b for a, b in shapes + layers * each)


@given(seed=st.integers(0, 10**9))
def test_a_changed_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    file = tmp_path_factory.mktemp("any") / "config.json"
    file.write_bytes(model_config(Random(seed)))
    said: float | FfplanError
    try:
        said = counted(file)
    except FfplanError as error:
        said = error
    assert str(said).startswith(f"{file}:") if isinstance(said, FfplanError) else said > 0
