"""Models from a `config.json`: windows, experts, precision, wrappers, names, and the same answer by every way."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.configs.architectures import architectures
from ffplan.catalog.configs.part import _import_model, _ImportedModel
from ffplan.catalog.models import Model, Transformer
from ffplan.catalog.named import part_of
from ffplan.catalog.store import Catalog
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from pathlib import Path

CONFIGS = json.loads((ROOT / "tests/published/model-configs.json").read_text())
LLAMA: dict[str, Any] = CONFIGS["llama3-8b"]["config"]


def read(folder: Path, fields: object) -> _ImportedModel:
    (folder / "config.json").write_text(json.dumps(fields))
    return _import_model(str(folder))


def shape(folder: Path, fields: object) -> Transformer:
    part = read(folder, fields).entry.part
    assert isinstance(part, Model)
    assert part.transformer is not None
    return part.transformer


def window(folder: Path, name: str, **changed: object) -> tuple[int, int] | None:
    found = shape(folder, {**CONFIGS[name]["config"], **changed}).window
    return None if found is None else (found.layers, found.tokens)


def test_windows_by_hand(tmp_path: Path) -> None:
    """Every second layer of Gemma 2, all but every sixth of Gemma 3, all of Mistral, Qwen's from a layer on."""
    assert window(tmp_path, "gemma2-9b") == (21, 4096)
    assert window(tmp_path, "gemma3-1b") == (22, 512)
    assert window(tmp_path, "mistral-7b") == (32, 4096)
    assert window(tmp_path, "mistral-7b", sliding_window=None) is None
    assert window(tmp_path, "qwen2.5-7b") is None
    assert window(tmp_path, "qwen2.5-7b", use_sliding_window=True, max_window_layers=20) == (8, 131072)
    kinds = ["sliding_attention", "full_attention", "full_attention"] * 14
    assert window(tmp_path, "gemma2-9b", layer_types=kinds) == (14, 4096)


def test_experts_by_hand(tmp_path: Path) -> None:
    found = shape(tmp_path, CONFIGS["deepseek-v3"]["config"]).experts
    assert found is not None
    assert (found.routed, found.top_k, found.groups, found.top_groups) == (256, 8, 8, 4)
    assert (found.shared, found.ffn, found.dense_layers, found.every) == (1, 2048, 3, 1)
    moe = CONFIGS["qwen3-30b-a3b"]["config"]
    first = shape(tmp_path, {**moe, "mlp_only_layers": [0, 1]}).experts
    assert first is not None
    assert first.dense_layers == 2
    with pytest.raises(InputError, match="`mlp_only_layers` places experts irregularly"):
        read(tmp_path, {**moe, "mlp_only_layers": [3]})
    with pytest.raises(InputError, match="`moe_layer_freq` is 2; the dimensions describe 1 alone"):
        read(tmp_path, {**CONFIGS["deepseek-v3"]["config"], "moe_layer_freq": 2})
    llama = CONFIGS["llama4-maverick"]["config"]["text_config"]
    listed = {**llama, "interleave_moe_layer_step": 1, "moe_layers": list(range(1, 48, 2))}
    second = shape(tmp_path, listed).experts
    assert second is not None
    assert second.every == 2


def test_heads_of_keys_and_values(tmp_path: Path) -> None:
    """One for all in Falcon 7B, eight groups in 40B, and as many as heads where neither is said."""
    assert shape(tmp_path, CONFIGS["falcon-7b"]["config"]).key_value_heads == 1
    assert shape(tmp_path, CONFIGS["falcon-40b"]["config"]).key_value_heads == 8
    plain = {**CONFIGS["falcon-7b"]["config"], "multi_query": False}
    assert shape(tmp_path, plain).key_value_heads == 71


@pytest.mark.parametrize(
    ("stated", "precision"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}, "mxfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": {"type": "float", "num_bits": 8}}},
            },
            "fp8",
        ),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "awq", "bits": 4}, "bf16"),
        ({"quant_method": "gptq", "bits": 4}, "bf16"),
    ],
)
def test_precision(stated: dict[str, Any], precision: str, tmp_path: Path) -> None:
    model = read(tmp_path, {**LLAMA, "quantization_config": stated})
    part = model.entry.part
    assert isinstance(part, Model)
    assert part.transformer is not None
    assert part.transformer.checkpoint == precision
    assert any("quantised by" in remark for remark in model.remarks) == (precision == "bf16")


def test_a_wrapper_is_read_by_its_language_model(tmp_path: Path) -> None:
    wrapped = {"model_type": "llava", "text_config": LLAMA, "vision_config": {}, "tie_word_embeddings": True}
    model = read(tmp_path, wrapped)
    assert "the vision tower is left out" in model.remarks
    inner = {name: value for name, value in LLAMA.items() if name != "tie_word_embeddings"}
    assert not shape(tmp_path, wrapped).tied
    assert shape(tmp_path, {**wrapped, "text_config": inner}).tied


def test_what_is_not_stated_is_named(tmp_path: Path) -> None:
    model = read(tmp_path, {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 4096})
    assert model.remarks[-1] == (
        "not stated, so by the defaults of `llama`: intermediate_size 11008, max_position_embeddings 2048, "
        "num_attention_heads 32, vocab_size 32000"
    )
    by_class = {**LLAMA, "model_type": None, "architectures": ["LlamaForCausalLM"]}
    assert shape(tmp_path, by_class) == shape(tmp_path, LLAMA)


def test_names(tmp_path: Path) -> None:
    part = read(tmp_path, {**LLAMA, "_name_or_path": "meta-llama/Llama-3_1 8B".replace(" ", "-")}).entry.part
    assert (part.vendor, part.name, part.id) == ("meta-llama", "Llama-3_1-8B", "llama-3-1-8b")
    folder = tmp_path / "My Model"
    folder.mkdir()
    assert read(folder, LLAMA).entry.part.id == "my-model"


def test_folders_without_a_config(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"this folder has no config\.json"):
        _import_model(str(tmp_path))
    (tmp_path / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "a/b"}')
    with pytest.raises(InputError, match=r"name the config\.json of its base model, `a/b`"):
        _import_model(str(tmp_path))


def test_every_row_is_an_architecture() -> None:
    rows = architectures()
    assert len(rows) > 50
    assert all(row.classes for row in rows.values())


VERB = re.compile(r" (?:is|are|has|have) ")


def test_every_remark_of_an_architecture_is_a_sentence() -> None:
    """A comma without quotes in a list of YAML cuts a remark in two, of which one has no verb."""
    for name, row in architectures().items():
        for text in (*row.left_out.values(), *row.always):
            assert VERB.search(text), f"{name}: {text}"
            assert text == text.strip(), f"{name}: {text}"


@pytest.mark.parametrize("name", ["qwen2", "qwen2_moe", "qwen2_vl"])
def test_biases_of_queries_keys_and_values_are_one_remark(name: str, tmp_path: Path) -> None:
    said = read(tmp_path, {"model_type": name, "num_hidden_layers": 2, "hidden_size": 8192}).remarks
    assert [text for text in said if "biases" in text or "values" in text] == [
        "biases of queries, keys and values are not counted"
    ]


def test_a_path_gives_what_the_imported_file_gives(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("mine", "parts")]
    for folder in folders:
        folder.mkdir()
    read(folders[0], LLAMA)
    config, written = str(folders[0] / "config.json"), str(folders[1] / "mine.yaml")
    assert ffplan("fabric", "import", "model", config, "-o", written).code == 0
    for words in (
        ("serve", "--accelerator", "h100-sxm-80gb"),
        ("train", "fire-flyer-2", "--batch", "64", "--gpus", "64", "--search"),
        ("cost", "fire-flyer-2", "--tokens", "1B"),
    ):
        direct = ffplan(*words, "--model", config, "--full")
        first = ffplan(*words, "--model", "mine", "--catalog", str(folders[1]), "--full")
        assert (direct.code, first.code, direct.out) == (0, 0, first.out)
        assert direct.err.count("Read from config.json (llama)") == 1


def test_a_part_of_a_path_is_in_copies_of_the_catalogue(tmp_path: Path) -> None:
    read(tmp_path, LLAMA)
    catalog = Catalog()
    part = part_of(catalog, Model, str(tmp_path), "test")
    assert part_of(catalog, Model, str(tmp_path), "test") is part
    assert catalog.fresh().entry(part.id).part is part
    assert (catalog.kind_of(part.id), catalog.admitted(str(tmp_path))) == ("model", part.id)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"d_model": 2560, "n_layer": 64, "ssm_cfg": {"layer": "Mamba2"}}, "state-space layers"),
        ({"model_type": "minimax_m1", "hidden_size": 64}, "linear attention"),
        ({"model_type": "of_tomorrow", "attn_type_list": [0, 0, 1]}, "linear attention"),
        (
            {"model_type": "mllama", "text_config": {"model_type": "mllama_text_model", "cross_attention_layers": [3]}},
            "layers with cross-attention",
        ),
    ],
)
def test_what_cannot_be_described_is_named_before_an_unknown_type(
    tmp_path: Path, config: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError, match=f"has {reason}, which the dimensions of a transformer do not describe"):
        read(tmp_path, config)
