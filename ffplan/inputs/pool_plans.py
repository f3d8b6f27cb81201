"""Plans of pools as people write them: 4xDEP4 is four copies of four attention groups that share experts."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ffplan.base.errors import UsageError
from ffplan.base.record import record
from ffplan.inputs.quantities import describe

_WAY = re.compile(r"(DEP|TEP|TP|PP|DP|EP)(\d+)")
_PLAN = re.compile(r"(?:(\d+)\s*[xX]\s*)?((?:(?:DEP|TEP|TP|PP|DP|EP)\d+[\s,-]*)+)")
_FIELDS: dict[str, tuple[str, ...]] = {"TP": ("tensor",), "PP": ("pipeline",), "DP": ("data",), "EP": ("expert",)}
_FIELDS |= {"DEP": ("data", "expert"), "TEP": ("tensor", "expert")}
_MOST = 4096


@record
class PoolPlan:
    """Copies of a model, all of one plan."""

    copies: int = 1
    """Copies."""
    tensor: int = 1
    """Tensor parallelism."""
    pipeline: int = 1
    """Pipeline stages."""
    data: int = 1
    """Attention groups."""
    expert: int = 1
    """Expert parallelism."""

    @property
    def gpus(self) -> int:
        """Accelerators of all copies [1]."""
        return self.copies * self.tensor * self.pipeline * self.data

    def ways(self, joint: str = "") -> str:
        """Return the parallelism of a copy, such as DEP32 or TP2PP4.

        Args:
            joint: what stands between two ways.
        """
        shared = self.pipeline == 1 and self.expert == self.tensor * self.data > 1
        if shared and self.expert in (self.data, self.tensor):
            return f"{'DEP' if self.expert == self.data else 'TEP'}{self.expert}"
        sizes = (("TP", self.tensor), ("PP", self.pipeline), ("DP", self.data), ("EP", self.expert))
        return joint.join(f"{name}{size}" for name, size in sizes if size > 1) or "TP1"

    def __str__(self) -> str:
        return f"{self.copies}x{self.ways()}"


def _parse_pool(value: Any) -> PoolPlan:
    """Parse the plan of a pool.

    Args:
        value: such as `4xTP8`, `DEP32` or `2xTP4EP4`; DEP sets attention groups and expert parallelism, TEP tensor and
            expert parallelism.

    Raises:
        PydanticCustomError: if it is no plan.
    """
    text = value.strip().upper() if isinstance(value, str) else ""
    match = _PLAN.fullmatch(text)
    sizes: dict[str, int] = {}
    for name, size in _WAY.findall(match.group(2)) if match else ():
        for field in _FIELDS[name]:
            sizes[field] = int(size)
    copies = int(match.group(1) or 1) if match else 0
    if not match or not all(1 <= number <= _MOST for number in (copies, *sizes.values())):
        message = f"{describe(value)} is no plan of a pool"
        remedy = "write copies and their parallelism, such as 4xTP8, 1xDEP32 or 2xTP4EP4"
        raise PydanticCustomError("unit", "{message}", {"message": message, "remedy": remedy})
    return PoolPlan(copies=copies, **sizes)


def pool_of(text: Any, place: str) -> PoolPlan:
    """Return the plan of a pool given by an option or a keyword.

    Args:
        text: the plan.
        place: who asks, and the option or keyword, for messages.

    Raises:
        UsageError: if it is no plan.
    """
    if isinstance(text, PoolPlan):
        return text
    try:
        return _parse_pool(text)
    except PydanticCustomError as error:
        said = error.context or {}
        raise UsageError(f"{place}: {said['message']}; {said['remedy']}") from None


PoolText = Annotated[
    PoolPlan, PlainValidator(_parse_pool), WithJsonSchema({"type": "string", "examples": ["4xTP8", "1xDEP32"]})
]
"""A plan of a pool in a file."""
