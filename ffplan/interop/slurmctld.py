"""The real slurmctld, loading the exported topology, and the topology that scontrol reads back."""

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
from ffplan.interop.programs import ProgramError, find_program, run_program, running, wait_for

if TYPE_CHECKING:
    from ffplan.interop.slurm import TreeSwitch

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
class SlurmView:
    """The topology as Slurm loaded it."""

    version: str
    switches: dict[str, tuple[int, frozenset[str], frozenset[str]]]
    """Level, nodes and switches below, by switch."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _plain_folder() -> str:
    """Return a folder for scratch files whose path Slurm can read: its configuration has no quotes, so no blanks.

    Raises:
        UsageError: where there is none.
    """
    wanted = tempfile.gettempdir()
    folders = (wanted, "/tmp", "/var/tmp")
    plain = (folder for folder in folders if _PLAIN.fullmatch(folder) and os.access(folder, os.W_OK))
    found = next(plain, None)
    if found is None:
        raise UsageError(f"ffplan verify: Slurm reads no path such as `{wanted}`; point TMPDIR to one without blanks")
    return found


def load(lines: list[TreeSwitch], limit_s: float) -> SlurmView:
    """Let slurmctld load a topology and read it back with scontrol.

    Args:
        lines: the tree.
        limit_s: time limit of each program [s].

    Raises:
        UsageError: where a program is missing, fails or takes too long.
    """
    slurmctld, scontrol = find_program("slurmctld", "slurm-wlm"), find_program("scontrol", "slurm-wlm")
    hosts = [host for line in lines for host in line.nodes]
    if not hosts:
        raise UsageError("ffplan verify: no compute node to show to Slurm")
    with tempfile.TemporaryDirectory(prefix="ffplan-slurm-", dir=_plain_folder()) as scratch:
        folder = Path(scratch)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        nodes = f"NodeName={fold(hosts)} NodeAddr=127.0.0.1 Port=[20001-{20000 + len(hosts)}] CPUs=1 State=UNKNOWN"
        if len(hosts) == 1:
            nodes = nodes.replace("[20001-20001]", "20001")
        conf = _CONF.format(port=_free_port(), user=getpass.getuser(), folder=folder, nodes=nodes)
        (folder / "slurm.conf").write_text(conf)
        (folder / "topology.conf").write_text("".join(f"{line}\n" for line in lines))
        env = {"SLURM_CONF": str(folder / "slurm.conf")}
        log = folder / "slurmctld.log"
        with running([slurmctld, "-D", "-i", "-f", str(folder / "slurm.conf")], folder, "out.log", env) as job:
            wait_for(
                lambda: log.exists() and "Running as primary controller" in log.read_text(),
                job,
                limit_s,
                "slurmctld did not come up",
            )
            shown = run_program([scontrol, "show", "topology"], folder, limit_s, env)
        version = re.search(r"slurmctld version (\S+)", log.read_text())
    return SlurmView(version.group(1) if version else "", read_topology(shown))


def read_topology(text: str) -> dict[str, tuple[int, frozenset[str], frozenset[str]]]:
    """Return level, nodes and switches below each switch, as `scontrol show topology` prints them.

    Raises:
        ProgramError: where a line cannot be read.
    """
    found = {}
    for line in text.splitlines():
        fields = dict(part.partition("=")[::2] for part in line.split())
        if "SwitchName" not in fields:
            continue
        try:
            nodes, below = unfold(fields.get("Nodes", "")), unfold(fields.get("Switches", ""))
            found[fields["SwitchName"]] = (int(fields.get("Level", "-1")), frozenset(nodes), frozenset(below))
        except ValueError as error:
            raise ProgramError(f"ffplan verify: scontrol printed `{line.strip()}`: {error}") from None
    return found
