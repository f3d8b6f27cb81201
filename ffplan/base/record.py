"""The dataclass that results are made of: with slots, immutable to the type checker, and cheap to define.

A report needs dozens of small classes, and start-up time is a feature. Generated comparison, printing and run-time
guards against assignment are four fifths of the cost of defining a class; they are left out, and the type checker
holds what the guards would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(frozen_default=True, eq_default=False)
def record(cls: type[C]) -> type[C]:
    """Make `cls` a dataclass with slots, compared by identity, that the type checker takes for frozen."""
    return dataclass(slots=True, eq=False, repr=False)(cls)
