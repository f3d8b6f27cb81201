"""Kernels for separate timing: their shapes, operations and bytes, and plans for timing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ffplan.base.formatting import data_size
from ffplan.base.record import record
from ffplan.catalog.stacks import AttentionKernel, Pass
from ffplan.inputs.model import Count, Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    operation: MemoryOperation
    """Operation."""
    bytes: Bytes
    """Size of all that it reads and writes [byte]."""

    @property
    def words(self) -> str:
        """Call for people."""
        return f"{self.operation} {data_size(self.bytes)}"


class _HostCopy(Frozen):
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


GROUPS = ("gemm", "attention", "memory", "pcie")
"""Groups of kernels, in running order."""
TOKENS = 4096
"""Rows of the first GEMMs: tokens of a micro-batch [1]."""
POWERS = (256, 512, 1024, 2048, 4096)
"""Columns and depths of the first GEMMs, in all pairs, to separate operations, streams and overhead [1]."""
LAYERS = (
    (4096, 6144, 4096),
    (4096, 4096, 14336),
    (4096, 28672, 4096),
    (8192, 10240, 8192),
    (8192, 57344, 8192),
    (8192, 8192, 28672),
    (2048, 8192, 8192),
    (8192, 2560, 8192),
    (8192, 7168, 8192),
    (8192, 8192, 3584),
    (16384, 1536, 1536),
    (16384, 4608, 1536),
    (512, 4096, 4096),
    (128, 8192, 8192),
)
"""Rows, columns and depth of GEMMs of layers from 1.5 to 405 billion parameters, whole and split eight ways [1]."""
LARGE = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 28672, 8192),
    (4096, 1024, 4096),
    (4096, 4096, 512),
    (16384, 8192, 1024),
)
"""Shapes of other precisions."""
HIDDEN, BATCH_TOKENS = 2048, 16384
"""Width and tokens of an attention call, as in FlashAttention's own benchmark [1]."""
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
MIB = 2**20


@record
class KernelPlan:
    """Kernels to time, and how long."""

    name: str
    """Name."""
    kernels: dict[str, tuple[Kernel, ...]]
    """Kernels by group."""
    seconds: float
    """Time for which each runs [s]."""
    warm: float
    """Time for which each runs beforehand [s]."""
    soak: float
    """Duration of a large GEMM before the plan, until clocks and temperature settle as under long work [s]."""

    @property
    def total(self) -> float:
        """Time that all kernels run [s]."""
        return self.soak + sum(map(len, self.kernels.values())) * (self.seconds + self.warm)

    def only(self, groups: Iterable[str]) -> KernelPlan:
        """Return the plan with some groups alone."""
        kept = {name: rows for name, rows in self.kernels.items() if name in set(groups)}
        soak = self.soak if "gemm" in kept else 0.0
        return KernelPlan(name=self.name, kernels=kept, seconds=self.seconds, warm=self.warm, soak=soak)


def _gemms(shapes: Iterable[tuple[int, int, int]], dtype: GemmType) -> tuple[Gemm, ...]:
    return tuple(Gemm(m=m, n=n, k=k, dtype=dtype) for m, n, k in dict.fromkeys(shapes))


def _attention(
    kernels: Iterable[AttentionKernel], widths: Iterable[tuple[int, bool]], lengths: Iterable[int], tokens: int
) -> tuple[AttentionCall, ...]:
    lengths, widths = tuple(lengths), tuple(widths)
    passes: tuple[Pass, ...] = ("forward", "backward")
    return tuple(
        AttentionCall(
            kernel=kernel,
            batch=max(tokens // length, 1),
            heads=max(HIDDEN // width, 1),
            head_dim=width,
            length=length,
            causal=causal,
            measured=way,
        )
        for kernel in kernels
        for width, causal in widths
        for way in passes
        for length in lengths
    )


def _memory(sizes: Iterable[int]) -> tuple[_MemoryCall, ...]:
    """Return each operation at several sizes of moved data [byte], one of them too small to take time."""
    names: tuple[MemoryOperation, ...] = ("copy", "add", "norm", "gelu")
    sizes = tuple(sizes)
    moved = [_MemoryCall(operation=name, bytes=size // MOVED[name] * MOVED[name]) for name in names for size in sizes]
    return (_MemoryCall(operation="small", bytes=2048 * MOVED["small"]), *moved)


def _copies(sizes: Iterable[int]) -> tuple[_HostCopy, ...]:
    ways: tuple[Direction, ...] = ("to-device", "from-device", "both")
    sizes = tuple(sizes)
    return tuple(_HostCopy(direction=way, bytes=size) for way in ways for size in sizes)


def _default_plan() -> KernelPlan:
    """Return the plan for a GPU: a few minutes."""
    squares = [(TOKENS, n, k) for k in POWERS for n in POWERS]
    kernels: dict[str, tuple[Kernel, ...]] = {
        "gemm": (*_gemms([*squares, *LAYERS], "bf16"), *_gemms(LARGE, "fp8"), *_gemms(LARGE, "tf32")),
        "attention": _attention(("fa2", "cudnn"), ((64, True), (128, True), (128, False)), LENGTHS, BATCH_TOKENS),
        "memory": _memory(size * MIB for size in (64, 256, 1024)),
        "pcie": _copies(size * MIB for size in (1, 4, 16, 64, 256)),
    }
    return KernelPlan(name="usual", kernels=kernels, seconds=0.6, warm=0.2, soak=15.0)


def _tiny_plan() -> KernelPlan:
    """Return a plan that shows in seconds, on any device, whether the program runs; its times are meaningless."""
    kernels: dict[str, tuple[Kernel, ...]] = {
        "gemm": _gemms([(64, 64, 64), (128, 64, 256)], "bf16"),
        "attention": _attention(("fa2",), ((64, True),), (64, 128), 128),
        "memory": _memory((MIB,)),
        "pcie": _copies((MIB,)),
    }
    return KernelPlan(name="tiny", kernels=kernels, seconds=0.02, warm=0.01, soak=0.05)


PLANS = {"usual": _default_plan, "tiny": _tiny_plan}
"""Plans by name."""
