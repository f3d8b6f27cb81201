"""Rules that reading measured values enforces: logs, recordings and results of other programs."""

from __future__ import annotations

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
