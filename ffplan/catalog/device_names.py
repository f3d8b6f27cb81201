"""Accelerators by the names that drivers print, such as `NVIDIA A100-SXM4-80GB` and `AMD Instinct MI300X`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.catalog.parts import Accelerator

_BESIDE = re.compile(r"\(.*")
"""Explanation in brackets after a name."""
_MEMORY = re.compile(r"([0-9]{1,4}) ?GB")
_FORM = re.compile(r"\b(SXM|PCIE|NVL|OAM)[0-9]?\b")
_STACK = re.compile(r"\bHBM[0-9]\w?\b|\bGDDR[0-9]\w?\b")
_MODEL = re.compile(r"\b(?=[A-Z0-9]*[0-9])[A-Z0-9]{2,12}\b")
_WITH_CPU = re.compile(r"^G[HB][0-9]")
"""Modules with a CPU, whose driver names give the CPU's memory."""


@record
class _DeviceName:
    """Model, form and memory in an accelerator's name."""

    models: frozenset[str]
    """Words with digits, such as H100 and MI300X."""
    form: str
    """SXM, PCIE, NVL or OAM; empty if the name has none."""
    memory: str
    """Memory as in the name [GB]; empty if the name has none."""


def _device_name(text: str) -> _DeviceName:
    """Parse an accelerator's name.

    Args:
        text: name from a driver or a catalogue file.
    """
    left = _BESIDE.sub("", text).upper()
    form, memory = _FORM.search(left), _MEMORY.search(left)
    for pattern in (_STACK, _FORM, _MEMORY):
        left = pattern.sub(" ", left)
    models = frozenset(_MODEL.findall(left))
    with_cpu = any(map(_WITH_CPU.match, models))
    return _DeviceName(models, form[1] if form else "", memory[1] if memory and not with_cpu else "")


def is_another(text: str, part: Accelerator) -> bool:
    """Return whether a driver's name contradicts this accelerator; attributes that either name omits are ignored.

    Args:
        text: the name that a driver prints.
    """
    said, known = _device_name(text), _device_name(part.name)
    if not said.models or not known.models:
        return False
    if not said.models & known.models:
        return True
    forms, memories = {said.form, known.form} - {""}, {said.memory, known.memory} - {""}
    return len(forms) > 1 or len(memories) > 1
