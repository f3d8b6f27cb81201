"""Programs whose output no reader takes: what tells it, and which other program would say what is wanted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from typing import Literal

    Door = Literal["log", "server", "fabric"]

_START = 2**20
"""Part of a text that is searched [character]."""


@record
class _Instead:
    """What to give in place of an output, by what is read."""

    log: str
    server: str = "run a job with NCCL_TOPO_DUMP_FILE=topo.xml (NCCL and RCCL take it), and give topo.xml"
    fabric: str = "run ibnetdiscover or iblinkinfo for InfiniBand, `lldpcli show neighbors` on switches of Ethernet"


_SMI = _Instead("give `nvidia-smi -q -x` for the links of accelerators, nvbandwidth for copies")
_ROCM = _Instead("give rccl-tests")
_TRANSFER = _Instead("give nccl-tests or rccl-tests of the same nodes; for the rates of links, ibstat or ibdiagnet")
_PORTS = _Instead("give ibstat or ibdiagnet for the rates of links")
_STORAGE = _Instead("give fio or IOR: what storage serves at most, not what a model asks of it")
_PROGRAMS = (
    ("`nvidia-smi topo -m`", r"^[ \t]*GPU0[ \t]+(?:GPU1|NIC0|mlx5_0|CPU Affinity)", _SMI),
    ("`rocm-smi`", r"^=+ (?:Weight|Hops|Link Type) between two GPUs|ROCm System Management", _ROCM),
    ("`amd-smi topology`", r"^(?:ACCESS|WEIGHT|HOPS|LINK TYPE) TABLE:", _ROCM),
    ("perftest (ib_write_bw)", r"#bytes[ \t]+#iterations|(?:RDMA_Write|RDMA_Read|Send) (?:\w+ )?BW Test", _TRANSFER),
    ("the OSU benchmarks", r"^# OSU ", _TRANSFER),
    ("the benchmark of oneCCL", r"#repetitions[ \t]+t_min\[usec\]", _TRANSFER),
    ("iperf3", r"^\[ ID\] Interval", _TRANSFER),
    ("DCGM", r"DCGM (?:GPU )?Diagnostic|Successfully ran diagnostic|\bdcgmi diag\b|^\|[ -]*Diagnostic +\|", _SMI),
    ("MLPerf Storage", r"train_au_(?:mean_)?percentage|train_io_mean_MB_per_second|MLPerf[ _-]?Storage", _STORAGE),
    ("fio in its terse form", r"^[0-9];fio-[0-9.]+;", _Instead("run fio with --output-format=json")),
    ("`nvidia-smi`", r"NVSMI LOG|^\| NVIDIA-SMI [0-9]", _SMI),
    ("`mst status`", r"^MST (?:modules|devices):", _PORTS),
    ("`ibv_devinfo`", r"^hca_id:", _PORTS),
    ("`ibstat`", r"^CA '[\w.-]+'|^Infiniband device '", _PORTS),
    ("lstopo", r"<!DOCTYPE topology|^Machine \([0-9]", _SMI),
    ("NCCL itself (NCCL_DEBUG)", r"\bNCCL (?:INFO|WARN) ", _Instead("give the rows of nccl-tests")),
)
"""Programs by what tells their output; the first counts."""
_KNOWN = tuple((name, re.compile(mark, re.MULTILINE), instead) for name, mark, instead in _PROGRAMS)


def _recognised(text: str, door: Door) -> tuple[str, str] | None:
    """Return what a text is that a reader does not take, and what to give in its place; None if it is unknown.

    Args:
        door: what is read: measured values, the inside of a server, or a fabric.
    """
    start = text[:_START]
    known = next(((name, instead) for name, mark, instead in _KNOWN if mark.search(start)), None)
    if known is None:
        return None
    name, instead = known
    remedies = {"log": instead.log, "server": instead.server, "fabric": instead.fabric}
    return f"this is output of {name}", remedies[door]
