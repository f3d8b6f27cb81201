"""Rules enforced while a model's file or a training script is read: documented here, raised by the readers."""

from __future__ import annotations

CONFIG_ROWS = (
    (
        "config-format",
        "A file is neither the `config.json` of a model nor the arguments of a training program",
        "The dimensions of a model are read from no other file.",
        "ffplan serve --model ./adapter_config.json",
        "ffplan serve --model ./config.json",
        "Name the `config.json` of Hugging Face, or the folder that holds it; for an adapter, its base model's.",
    ),
    (
        "config-field",
        "A `config.json` or a training script lacks a field",
        "A dimension that the file leaves to no default would be a guess.",
        '{"model_type": "llama", "num_hidden_layers": 32}',
        '{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096}',
        "Add the field, or download the file again.",
    ),
    (
        "config-value",
        "A field of a `config.json` or an argument has a value that no model has, or two",
        "Such a model would have no parameters, or no step time.",
        '"num_attention_heads": "32"',
        '"num_attention_heads": 32',
        "Follow the hint at the place named.",
    ),
    (
        "config-unsupported",
        "A `config.json` or a training script describes what the dimensions of a transformer do not",
        "State-space layers, linear or sparse attention taken for plain attention would cost the wrong time.",
        '"model_type": "mamba"',
        '"model_type": "llama"',
        "Name a model whose layers all have attention and a feed-forward network, or write a catalogue file by hand.",
    ),
)
"""Id, title, why, wrong and right example, and remedy of each rule."""
