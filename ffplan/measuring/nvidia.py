"""Readings of nvidia-smi: driver, limits, clocks, power. Without the program they are empty."""

from __future__ import annotations

import subprocess

FACTS = {"driver": "driver_version", "power_limit_w": "power.limit", "clock_limit_mhz": "clocks.max.sm"}
STATE = {
    "clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "power_w": "power.draw",
    "temperature_c": "temperature.gpu",
}
TEXTS = ("driver",)
WAIT = 20
"""Longest time of one question [s]."""


def answer(gpu: str, fields: tuple[str, ...]) -> list[str] | None:
    """Return nvidia-smi's answer; None if it cannot run.

    Args:
        gpu: UUID or number of the GPU.
    """
    command = ["nvidia-smi", "-i", gpu, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    values = [value.strip() for value in done.stdout.strip().split(",")]
    return values if done.returncode == 0 and len(values) == len(fields) else None


def _read(gpu: str, fields: dict[str, str]) -> dict[str, float | str]:
    """Return readings by our names, without non-numeric values, such as [N/A]."""
    texts = answer(gpu, tuple(fields.values()))
    readings: dict[str, float | str] = {}
    for name, text in zip(fields, texts or (), strict=False):
        if name in TEXTS:
            readings[name] = text
            continue
        try:
            value = float(text)
        except ValueError:
            continue
        if 0 <= value < 1e6:
            readings[name] = value
    return readings


def _facts(gpu: str) -> dict[str, float | str]:
    """Return driver, limits and PCI id of a GPU, as far as they are known."""
    readings = _read(gpu, FACTS)
    code = (answer(gpu, ("pci.device_id",)) or [""])[0].lower().removeprefix("0x")
    if len(code) == 8 and all(letter in "0123456789abcdef" for letter in code):
        readings["pci_id"] = f"{code[4:]}:{code[:4]}"
    return readings


def state(gpu: str) -> dict[str, float | str]:
    """Return clocks, power and temperature of a GPU, as far as they are known.

    Args:
        gpu: UUID or number of the GPU.
    """
    readings = _read(gpu, STATE)
    throttled = answer(gpu, ("clocks_throttle_reasons.active",))
    if throttled and throttled[0]:
        readings["throttled"] = throttled[0]
    return readings
