"""Rules enforced while a model, a job, or measured values are read: documented here, raised by the readers."""

from __future__ import annotations

JOB_ROWS = (
    (
        "design-workload",
        "The workload contradicts itself, or is too large for the design",
        "Limits on step, tokens and their cost are held against it.",
        "workload: {model: resnet-50}  # no transformer",
        "workload: {model: llama3-70b}",
        "Name a transformer, and as many accelerators as one job can span.",
    ),
    (
        "design-serving",
        "`serving` has no load, two loads, or an engine that nobody knows",
        "Limits on latency and on the cost of tokens are held against it.",
        "serving: {model: llama3.1-70b, rate: 5/s, concurrency: 64}",
        "serving: {model: llama3.1-70b, rate: 5/s}",
        "Name a model, one engine, and a rate or a concurrency.",
    ),
    (
        "design-fleet",
        "A fleet file contradicts itself, or a cluster cannot do what it is used for",
        "A fleet is planned for all of its demand, on clusters that can meet it.",
        "use: {pretraining: 70 %, chat: 50 %}",
        "use: {pretraining: 70 %, chat: 30 %}",
        "Follow the hint; `ffplan catalog schema fleet` describes the format.",
    ),
)
"""Id, title, why, wrong and right example, and remedy of each rule."""


MEASURED_ROWS = (
    (
        "measured-log",
        "A log of a benchmark or a diagnostic cannot be read",
        "Measured values are judged only if the log names the measurement and is consistent.",
        "ffplan fabric accept fire-flyer-2 --measured notes.txt",
        "ffplan fabric accept fire-flyer-2 --measured all_reduce_perf.log",
        "Give the whole output of the program, as it wrote it.",
    ),
    (
        "serving-run",
        "A measured serving run lacks something, contradicts an option, or cannot be read",
        "Constants fitted to another model, plan or load than the one that ran would be wrong, and look right.",
        "ffplan model calibrate serving run.json --engine vllm-2026  # the file does not say the accelerator",
        "ffplan model calibrate serving run.json --engine vllm-2026 --accelerator h100-sxm-80gb --tp 8 --precision fp8",
        "Give the file as the benchmark wrote it, and only its missing settings as options.",
    ),
    (
        "measured-recording",
        "A recording of kernels says nothing of the accelerator",
        "Constants are fitted to the device that was measured; times of a CPU, or another device, do not apply to it.",
        "ffplan model measure fit run.json --accelerator a100-sxm-80gb  # the device is an H100",
        "ffplan model measure fit run.json --accelerator h100-sxm-80gb",
        "Name the accelerator that was measured, or measure again.",
    ),
)
"""Id, title, reason, example, good example and remedy of each rule."""


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
