"""Check a fabric with Slurm: slurmctld loads the exported topology, and scontrol prints what it made of it."""

from __future__ import annotations

import getpass
import os
import re
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.hostlist import fold, unfold
from ffplan.base.record import record
from ffplan.interop.programs import _find_program, _ProgramError, _run_program, _wait_for, running
from ffplan.interop.schedulers import tree
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import Check, VerifyReport

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import WiredFabric
    from ffplan.interop.schedulers import _TreeSwitch

_CONF = """\
ClusterName=ffplan
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
TopologyPlugin=topology/tree
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmctldTimeout=300
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


_PLAIN = re.compile(r"[A-Za-z0-9._/+-]+")


@record
class _SlurmView:
    version: str
    switches: dict[str, tuple[int, frozenset[str], frozenset[str]]]
    """Level, nodes and switches below, by switch."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _plain_folder() -> str:
    """Return a folder for scratch files whose path Slurm can read: its configuration has no quotes, so no blanks."""
    temporary = tempfile.gettempdir()
    folders = (temporary, "/tmp", "/var/tmp")
    plain = (folder for folder in folders if _PLAIN.fullmatch(folder) and os.access(folder, os.W_OK))
    plain_folder = next(plain, None)
    if plain_folder is None:
        raise UsageError(
            f"ffplan fabric verify: Slurm reads no path such as `{temporary}`; point TMPDIR to one without blanks"
        )
    return plain_folder


def _load(lines: list[_TreeSwitch], limit_s: float) -> _SlurmView:
    """Let slurmctld load a topology and read it back with scontrol."""
    slurmctld, scontrol = _find_program("slurmctld", "slurm-wlm"), _find_program("scontrol", "slurm-wlm")
    hosts = [host for line in lines for host in line.nodes]
    if not hosts:
        raise UsageError("ffplan fabric verify: no compute node to show to Slurm")
    with tempfile.TemporaryDirectory(prefix="ffplan-slurm-", dir=_plain_folder()) as scratch:
        folder = Path(scratch)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        nodes = f"NodeName={fold(hosts)} NodeAddr=127.0.0.1 Port=[20001-{20000 + len(hosts)}] CPUs=1 State=UNKNOWN"
        if len(hosts) == 1:  # Slurm takes no range of one port
            nodes = nodes.replace("[20001-20001]", "20001")
        conf = _CONF.format(port=_free_port(), user=getpass.getuser(), folder=folder, nodes=nodes)
        (folder / "slurm.conf").write_text(conf)
        (folder / "topology.conf").write_text("".join(f"{line}\n" for line in lines))
        env = {"SLURM_CONF": str(folder / "slurm.conf")}
        log = folder / "slurmctld.log"
        with running([slurmctld, "-D", "-i", "-f", str(folder / "slurm.conf")], folder, "out.log", env) as job:
            _wait_for(
                lambda: log.exists() and "Running as primary controller" in log.read_text(),
                job,
                limit_s,
                "slurmctld did not come up",
            )
            shown = _run_program([scontrol, "show", "topology"], folder, limit_s, env)
        version = re.search(r"slurmctld version (\S+)", log.read_text())
    return _SlurmView(version.group(1) if version else "", _read_topology(shown))


def _read_topology(text: str) -> dict[str, tuple[int, frozenset[str], frozenset[str]]]:
    """Return level, nodes and switches below each switch, as `scontrol show topology` prints them."""
    switches = {}
    for line in text.splitlines():
        fields = dict(part.partition("=")[::2] for part in line.split())
        if "SwitchName" not in fields:
            continue
        try:
            nodes, below = unfold(fields.get("Nodes", "")), unfold(fields.get("Switches", ""))
            switches[fields["SwitchName"]] = (int(fields.get("Level", "-1")), frozenset(nodes), frozenset(below))
        except ValueError as error:
            raise _ProgramError(f"ffplan fabric verify: scontrol printed `{line.strip()}`: {error}") from None
    return switches


def _check(what: str, expected: object, result: object) -> Check:
    return Check(subject="topology", check=what, expected=str(expected), found=str(result), passed=expected == result)


def verify_slurm(design: ResolvedDesign, fabric: WiredFabric, names: Names, limit_s: float) -> VerifyReport:
    """Let slurmctld load the exported topology, and compare the topology that scontrol reads back.

    Args:
        limit_s: time limit of each program [s].

    Raises:
        UsageError: where a program is missing, fails or takes too long.
    """
    lines = tree(fabric, names)
    seen = _load(lines, limit_s)
    below = {name for line in lines for name in line.switches}
    roots = [line.name for line in lines if line.name not in below]
    theirs_below = {name for _, _, switches in seen.switches.values() for name in switches}
    levels = {level for level, _, _ in seen.switches.values()}
    depth = 0
    heights: dict[str, int] = {}
    for line in lines:
        heights[line.name] = 1 + max((heights[name] for name in line.switches), default=-1)
        depth = max(depth, heights[line.name])
    leaves = [line for line in lines if line.nodes]
    same = sum(frozenset(line.nodes) == seen.switches.get(line.name, (0, frozenset(), 0))[1] for line in leaves)
    joined = [line for line in lines if line.switches]
    same_above = sum(
        frozenset(line.switches) == seen.switches.get(line.name, (0, 0, frozenset()))[2] for line in joined
    )
    checks = (
        _check("switches", f"{len(lines):,}", f"{len(seen.switches):,}"),
        _check("levels", depth + 1, len(levels)),
        _check("roots", ", ".join(roots), ", ".join(n for n in seen.switches if n not in theirs_below)),
        _check("leaves with the same nodes", f"{len(leaves):,}", f"{same:,}"),
        _check("switches with the same below", f"{len(joined):,}", f"{same_above:,}"),
    )
    passed = all(check.passed for check in checks)
    return VerifyReport(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        program="slurm",
        version=seen.version,
        passed=passed,
        checks=checks,
        notes=(),
    )
