"""Sizes of workloads as people write them: 2T tokens, 300/min requests, 4xDEP4 pools."""

from __future__ import annotations

import re
from typing import Annotated, Any, Protocol

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ffplan.base.errors import UsageError
from ffplan.base.record import record
from ffplan.inputs.quantities import _fault, describe

_WAY = re.compile(r"(DEP|TEP|TP|PP|DP|EP)(\d+)")
_PLAN = re.compile(r"(?:(\d+)\s*[xX]\s*)?((?:(?:DEP|TEP|TP|PP|DP|EP)\d+[\s,-]*)+)")
_FIELDS: dict[str, tuple[str, ...]] = {"TP": ("tensor",), "PP": ("pipeline",), "DP": ("data",), "EP": ("expert",)}
_FIELDS |= {"DEP": ("data", "expert"), "TEP": ("tensor", "expert")}
_MOST = 4096
"""Most copies, or accelerators of one way of a copy [1]."""


class _Spread(Protocol):
    @property
    def tensor(self) -> int: ...
    @property
    def pipeline(self) -> int: ...
    @property
    def data(self) -> int: ...
    @property
    def expert(self) -> int: ...


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
    accelerator: str = ""
    """Accelerator of its nodes, of a design with unlike ones; empty for the nodes that jobs run on."""

    @classmethod
    def of(cls, plan: _Spread, copies: int = 1) -> PoolPlan:
        """Return copies of a plan that names its ways alike."""
        return cls(copies=copies, tensor=plan.tensor, pipeline=plan.pipeline, data=plan.data, expert=plan.expert)

    @property
    def gpus(self) -> int:
        """Accelerators of all copies [1]."""
        return self.copies * self.tensor * self.pipeline * self.data

    def ways(self, joint: str = "") -> str:
        """Return the parallelism of a copy, such as DEP32 or TP2PP4.

        Args:
            joint: text between two ways.
        """
        shared = self.pipeline == 1 and self.expert == self.tensor * self.data > 1
        if shared and self.expert in (self.data, self.tensor):
            return f"{'DEP' if self.expert == self.data else 'TEP'}{self.expert}"
        sizes = (("TP", self.tensor), ("PP", self.pipeline), ("DP", self.data), ("EP", self.expert))
        return joint.join(f"{name}{size}" for name, size in sizes if size > 1) or "TP1"

    def __str__(self) -> str:
        return f"{self.copies}x{self.ways()}{self.accelerator and f'@{self.accelerator}'}"


def _parse_pool(value: Any) -> PoolPlan:
    """Parse `4xTP8`, `DEP32` or `2xTP4EP4@h200-sxm`: DEP sets attention groups and experts, TEP tensor and experts."""
    text, at, accelerator = (value if isinstance(value, str) else "").partition("@")
    match = _PLAN.fullmatch(text.strip().upper()) if accelerator.strip() or not at else None
    sizes: dict[str, int] = {}
    for name, size in _WAY.findall(match.group(2)) if match else ():
        for field in _FIELDS[name]:
            sizes[field] = int(size)
    copies = int(match.group(1) or 1) if match else 0
    if not match or not all(1 <= number <= _MOST for number in (copies, *sizes.values())):
        remedy = "write copies and their parallelism, such as 4xTP8, 1xDEP32 or 2xTP4EP4@h200-sxm"
        raise _fault("unit", f"{describe(value)} is not a plan of a pool", remedy)
    return PoolPlan(copies=copies, accelerator=accelerator.strip().lower(), **sizes)


def pool_of(text: Any, place: str) -> PoolPlan:
    """Return the plan of a pool given by an option or a keyword.

    Args:
        text: the plan.
        place: who asks, and the option or keyword, for messages.

    Raises:
        UsageError: if it is not a plan.
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


def _written(value: Any) -> str:
    return str(value).strip() if isinstance(value, int | float | str) and not isinstance(value, bool) else ""


_TOKEN_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "g": 1e9, "t": 1e12}
"""Suffixes of a number of tokens, with their factors."""
MOST_TOKENS = 1e18
_TOKEN_SHAPE = r"([0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)"
_TOKENS = re.compile(_TOKEN_SHAPE)


def parse_tokens(value: Any) -> float:
    """Parse a number of tokens [1].

    Args:
        value: such as 300B, 15.6T or 2e12.

    Raises:
        PydanticCustomError: if the value is not a number above 0.
    """
    match = _TOKENS.fullmatch(_written(value))
    scale = _TOKEN_SCALES.get(match[2].lower()) if match else None
    if match is None or scale is None:
        raise _fault("unit", f"{describe(value)} is not a number of tokens", "write 300B or 2T")
    count = float(match[1].replace(",", "")) * scale
    if not 1 <= count <= MOST_TOKENS:
        raise _fault("range", f"{describe(value)} is out of range", "write a number above 0, such as 2T")
    return count


Tokens = Annotated[
    float,
    PlainValidator(parse_tokens),
    WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{_TOKEN_SHAPE}$", "examples": ["2T"]}]}
    ),
]
"""A number of tokens, such as `2T` [1]."""


_RATE_SHAPE = (
    r"([0-9][0-9,]*(?:\.[0-9]+)?(?:e[0-9]+)?)\s*([kmb])?\s*(?:requests?\s*)?"
    r"(?:(?:/|per|a|an)\s*(s|sec|second|min|minute|h|hour|day))?"
)
_RATE = re.compile(_RATE_SHAPE)
_RATE_SCALES = {"k": 1e3, "m": 1e6, "b": 1e9}
_PERIODS = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), 60.0),
    **dict.fromkeys(("h", "hour"), 3600.0),
    "day": 86400.0,
}
_MOST_REQUESTS = 1e9
"""Most requests a second [1/s]."""


def parse_rate(value: Any) -> float:
    """Parse a rate of arrival [1/s], a second if it names no period.

    Args:
        value: such as `5/s`, `300/min` or `10M requests a day`.

    Raises:
        PydanticCustomError: if it is not a rate, 0, or beyond all use.
    """
    match = _RATE.fullmatch(_written(value).lower())
    remedy = "write 5/s, 300/min or 10M requests a day"
    if match is None:
        raise _fault("unit", f"{describe(value)} is not a rate", remedy)
    rate = float(match[1].replace(",", "")) * _RATE_SCALES.get(match[2], 1.0) / _PERIODS[match[3] or "s"]
    if not 0 < rate <= _MOST_REQUESTS:
        raise _fault("range", f"{describe(value)} is not above 0 and below {_MOST_REQUESTS:g} a second", remedy)
    return rate


RequestRate = Annotated[
    float,
    PlainValidator(parse_rate),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "examples": ["5/s", "10M requests a day"]}]}),
]
"""A rate of requests, such as `5/s` [1/s]."""


def parse_hit(value: Any) -> float:
    """Parse the part of a prompt that a prefix cache holds, below 1 [1].

    Args:
        value: such as `50%` or 0.5.

    Raises:
        PydanticCustomError: if it is no part below 1.
    """
    text = _written(value)
    try:
        part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        part = -1.0
    if not 0 <= part < 1:
        raise _fault("unit", f"{describe(value)} is no share below 1", "write 50% or 0.5")
    return part


def parse_drafts(value: Any) -> tuple[str, int, float]:
    """Parse speculative decoding: its kind, the tokens of a draft, and the chance that one is accepted.

    Args:
        value: such as `mtp:3:0.8`.

    Raises:
        PydanticCustomError: if it has no such form.
    """
    kind, *rest = str(value).split(":")
    try:
        width, chance = rest
        return kind, int(width), float(chance)
    except ValueError:
        remedy = "write a kind, tokens and a chance, such as mtp:3:0.8"
        raise _fault("unit", f"{describe(value)} is no kind of drafts", remedy) from None
