"""Kernels for separate timing: their shapes, operations and bytes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ffplan.base.formatting import data_size
from ffplan.catalog.stacks import AttentionKernel, Pass
from ffplan.inputs.model import Count, Frozen

GemmType = Literal["bf16", "fp16", "fp8", "tf32"]
"""Precision of the operands of a GEMM."""
MemoryOperation = Literal["copy", "add", "norm", "gelu", "small"]
"""Copy within device memory, sum of two tensors, layer norm and GELU forward, and a sum too small to take time."""
Direction = Literal["to-device", "from-device", "both"]
"""Way of a copy between pinned host memory and the device; both at once, each of the stated size."""
Bytes = Annotated[int, Field(ge=1, le=2**50)]

OPERAND_BYTES: dict[str, int] = {"bf16": 2, "fp16": 2, "fp8": 1, "tf32": 4}
"""Bytes of an operand's number [byte]."""
RESULT_BYTES: dict[str, int] = {"bf16": 2, "fp16": 2, "fp8": 2, "tf32": 4}
"""Bytes of a result's number; a GEMM at FP8 writes 16 bits [byte]."""
MOVED: dict[str, int] = {"copy": 4, "add": 6, "norm": 4, "gelu": 4, "small": 6}
"""Bytes that an operation reads and writes for each number of 16 bits [byte]."""


class Gemm(Frozen):
    """One GEMM as a linear layer has it: M x K times the transpose of N x K."""

    m: Count
    """Rows of the result [1]."""
    n: Count
    """Columns of the result [1]."""
    k: Count
    """Inner dimension [1]."""
    dtype: GemmType
    """Precision of the operands."""

    @property
    def words(self) -> str:
        """Shape for people."""
        return f"{self.dtype} {self.m} x {self.n} x {self.k}"

    @property
    def operations(self) -> float:
        """Floating-point operations [FLOP]."""
        return 2.0 * self.m * self.n * self.k

    @property
    def read(self) -> int:
        """Size of the operands [byte]."""
        return OPERAND_BYTES[self.dtype] * (self.m + self.n) * self.k

    @property
    def written(self) -> int:
        """Size of the result [byte]."""
        return RESULT_BYTES[self.dtype] * self.m * self.n


class AttentionCall(Frozen):
    """One call of a kernel of fused attention."""

    kernel: AttentionKernel
    """Kernel."""
    batch: Count
    """Sequences [1]."""
    heads: Count
    """Heads of queries, keys and values alike [1]."""
    head_dim: Count
    """Width of a head [1]."""
    length: Count
    """Tokens of a sequence [1]."""
    causal: bool
    """With a causal mask, whose removed operations are not counted."""
    measured: Pass
    """Pass that is timed."""

    @property
    def words(self) -> str:
        """Call for people: sequences x heads x width of a head, mask, pass and length."""
        mask = "causal" if self.causal else "full"
        shape = f"{self.batch} x {self.heads} x {self.head_dim}"
        return f"{self.kernel} {shape} {mask} {self.measured} {self.length}"


class _MemoryCall(Frozen):
    """One kernel that memory binds."""

    operation: MemoryOperation
    """Operation."""
    bytes: Bytes
    """Size of all that it reads and writes [byte]."""

    @property
    def words(self) -> str:
        """Call for people."""
        return f"{self.operation} {data_size(self.bytes)}"


class _HostCopy(Frozen):
    """One copy between pinned host memory and the device."""

    direction: Direction
    """Way."""
    bytes: Bytes
    """Size, of each way [byte]."""

    @property
    def words(self) -> str:
        """Copy for people."""
        return f"{self.direction} {data_size(self.bytes)}"


Kernel = Gemm | AttentionCall | _MemoryCall | _HostCopy
"""What can be timed."""
