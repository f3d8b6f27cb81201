"""Programs whose output no reader takes, or not this one, and what to give in its place."""

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
_NEIGHBOURS = _Instead(
    "give ibstat or ibdiagnet for the rates of links",
    fabric="give the table of `show lldp neighbors` or its JSON, of hosts `lldpcli show neighbors -f json`",
)
_PROGRAMS = (
    ("CDP", r"^Device[- ]?ID +Local Intrfce", _NEIGHBOURS),
    (
        "LLDP in a form that is not read",
        r"^lldp\.\S+\.(?:via|rid)=|^Interface \S+ detected [0-9]+ LLDP neighbor|^(?:Local Port id|Local Intf): ",
        _NEIGHBOURS,
    ),
    (
        "`rocm-smi`",
        r"^=+ (?:Weight|Hops|Link Type|Numa Nodes)\b|ROCm System Management|\(Topology\) "
        r"|^[ \t]*GPU[0-9]+[ \t].{0,200}\b(?:XGMI|PCIE)\b",
        _ROCM,
    ),
    ("`amd-smi topology`", r"^(?:ACCESS|WEIGHT|HOPS|LINK TYPE) TABLE:", _ROCM),
    (
        "`nvidia-smi topo -m`",
        r"^[ \t|]*GPU0[ \t|]+(?:GPU1|NIC0|mlx5_0|CPU Affinity)"
        r"|^[ \t|]*GPU[0-9]+[ \t|]+(?:X|NV[0-9]+|SYS|NODE|PHB|PXB|PIX)[ \t|]",
        _SMI,
    ),
    ("perftest (ib_write_bw)", r"#bytes[ \t]+#iterations|(?:RDMA_Write|RDMA_Read|Send) (?:\w+ )?BW Test", _TRANSFER),
    ("the OSU benchmarks", r"^# OSU |^# Size[ \t]+(?:Bandwidth|(?:Avg )?Latency) ?\(", _TRANSFER),
    ("the Intel MPI Benchmarks", r"Intel\(R\) MPI Benchmarks|^# #processes = ", _TRANSFER),
    ("the benchmark of oneCCL", r"#repetitions[ \t]+t_min\[usec\]", _TRANSFER),
    ("iperf3", r"^\[ ID\] Interval", _TRANSFER),
    ("samples of CUDA", r"^\[P2P \(Peer-to-Peer\) GPU Bandwidth|^\[CUDA Bandwidth Test\]", _SMI),
    (
        "DCGM",
        r"DCGM (?:GPU )?Diagnostic|Successfully ran diagnostic|\bdcgmi diag\b|^\|[ -]*Diagnostic +\|"
        r"|^\|-----  (?:Metadata|Deployment|Integration|Hardware|Stress) ",
        _Instead("give the table of `dcgmi diag -r 3`, or its JSON"),
    ),
    (
        "dcgmproftester, which loads engines to try counters and seeks no limit",
        r"\bdcgmproftester|(?:Active|Bytes): generated ",
        _Instead("give `dcgmi diag -r 3` for failures, nvbandwidth for copies"),
    ),
    (
        "MLPerf Storage",
        r"train_au_(?:mean_)?percentage|train_io_mean_MB_per_second|MLPerf[ _-]?Storage|^\[METRIC\] |Running DLIO",
        _STORAGE,
    ),
    ("fio in its terse form", r"^[0-9];fio-[0-9.]+;", _Instead("run fio with --output-format=json")),
    ("`nvidia-smi`", r"NVSMI LOG|<nvidia_smi_log|^\| NVIDIA-SMI [0-9]", _SMI),
    ("`mst status`", r"^MST (?:modules|devices):|^DEVICE_TYPE[ \t]+MST\b", _PORTS),
    ("`ibv_devinfo`", r"^hca_id:", _PORTS),
    ("`ibstat`", r"^CA '[\w.-]+'|^Infiniband device '", _PORTS),
    (
        "`mlxlink`, `ibv_devices`, `ibdev2netdev` or `ethtool`",
        r"^Operational Info\b|^ *device[ \t]+node GUID|^\w+ port [0-9]+ ==> \w|^Settings for \S+:",
        _PORTS,
    ),
    (
        "`lspci`",
        r"\b[0-9a-f]{2}\.[0-7] (?:3D controller|VGA|Infiniband controller|Ethernet controller|PCI bridge)\b",
        _SMI,
    ),
    (
        "lstopo",
        r"<!DOCTYPE topology|<topology\b|\bMachine \([0-9]|^[ \t]*(?:Package|NUMANode) L#[0-9]",
        _SMI,
    ),
    ("NCCL itself (NCCL_DEBUG)", r"\bNCCL (?:INFO|WARN) ", _Instead("give the rows of nccl-tests")),
)
"""Programs by what tells their output; the first counts."""
_KNOWN = tuple((name, re.compile(mark, re.MULTILINE), instead) for name, mark, instead in _PROGRAMS)


def _recognised(text: str, door: Door) -> tuple[str, str] | None:
    """Return the kind of a text that a reader refuses, and the right input; None if the kind is unknown."""
    start = text[:_START]
    known = next(((name, instead) for name, mark, instead in _KNOWN if mark.search(start)), None)
    if known is None:
        return None
    name, instead = known
    remedies = {"log": instead.log, "server": instead.server, "fabric": instead.fabric}
    return f"this is output of {name}", remedies[door]
