"""The dataclass that results are made of: frozen, with slots, and cheap to define.

A report needs dozens of small classes. Comparison and printing are left out because generating them is half the
cost of defining a class, and start-up time is a feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(frozen_default=True, eq_default=False)
def record(cls: type[C]) -> type[C]:
    """Make `cls` a frozen dataclass with slots, compared by identity."""
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
