"""The accelerators of a launch file: stated, or fixed by several settings together; a plan's batch on them.

Options of Slurm, torchrun, mpirun and the launcher of DeepSpeed as their manuals have them (recalled).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import plural
from ffplan.catalog.launch.arguments import _Argument
from ffplan.catalog.launch.settings import _whole, shown

if TYPE_CHECKING:
    from ffplan.catalog.launch.settings import Settings

_STARTED = ("nproc_per_node", "num_gpus")
"""Processes that a launcher starts on a node, one for each accelerator."""
_HELD = ("gpus_per_node", "gres")
"""Accelerators of a node that Slurm gives."""
_NODES = ("nnodes", "nodes")
_WHOLE = ("world_size", "np", "num_processes", "gpus", "ntasks")
_OTHERS = ("ntasks_per_node", "gpus_per_task", "gpus_per_socket", "ntasks_per_gpu", "ntasks_per_socket")
NAMES = (*_STARTED, *_HELD, *_NODES, *_WHOLE, *_OTHERS)
"""Settings of the accelerators that a job gets, or starts on."""
_OF_SLURM = frozenset({"nodes", "gpus", "ntasks", *_HELD, *_OTHERS})
"""Settings that one script may state for several commands."""
_KIND = re.compile(r"(?:gres/)?(?:gpu:)?(?:[A-Za-z][\w.-]*:)?(\d{1,7})(?:\(\S*\))?")
"""Accelerators as Slurm takes them: 8, gpu:8, h100:8, gpu:h100:8."""
_FOUND_OUT = re.compile(r"gpu|cpu|auto|-1|true|\d+:\d+", re.IGNORECASE)
"""Values of launchers that stand for what the machine has, or for as many nodes as come."""
_COMMAND = re.compile(
    r"(?m)(?:^[ \t]*#SBATCH\b|(?<![\w./$(-])(?:srun|sbatch|salloc|mpirun|mpiexec|horovodrun)(?=\s))"
    r"(?P<options>(?:(?:[^\n]|(?<=\f)\n)(?!\.py\b|\bpython|\btorchrun))*)"
)
_SHORT = re.compile(r"(?<=\s)-(?P<name>N|n|G|np)(?:[ \t=]+|(?=\d))(?P<value>\d+|[\"']?\$\{?\w+\}?[\"']?)(?!\S)")
_ASIDE = re.compile(
    r"(?:\$\((?!\()[^()\n]{0,300}|`[^`\n]{0,300})\b(?:hostnames?|nvidia-smi)\b(?:[^()\n]{0,300}\)|[^`\n]{0,300}`)"
)
"""A command inside another that asks for the names of nodes, or their accelerators."""
_LONG = {"N": "nodes", "n": "ntasks", "G": "gpus", "np": "np"}


def _without_asides(plain: str) -> str:
    """Return a script without commands inside others that look up a node, whose arguments are not the job's."""
    return _ASIDE.sub(lambda aside: " " * len(aside[0]), plain)


def _launcher_arguments(plain: str) -> list[_Argument]:
    """Return the options of one letter of Slurm's commands and mpirun in a text that `plain_lines` made."""
    starts = [0, *(match.end() for match in re.finditer("\n", plain))]
    return [
        _Argument(_LONG[row["name"]], row["value"].strip("\"'"), bisect_right(starts, row.start()))
        for command in _COMMAND.finditer(plain)
        for row in _SHORT.finditer(plain, command.start("options"), command.end("options"))
    ]


def _gpu_entry(value: str) -> str:
    """Return the accelerators of a list of Slurm's resources, such as gpu:8,nvme:1; of several kinds, the list."""
    entries = [entry for entry in value.split(",") if re.match(r"(?:gres/)?gpu\b", entry.strip())]
    entry = entries[0].strip() if len(entries) == 1 else value
    return "gpu:1" if entry in ("gpu", "gres/gpu") else entry


def _count(settings: Settings, name: str) -> int | None:
    """Return a number of nodes, processes or accelerators; of another value, such as auto, a remark."""
    setting = settings.values[name]
    if name in _OF_SLURM and setting.again is not None:
        settings.used.add(name)
        value, line = setting.again
        message = f"`{settings.label(name)}` is set to {shown(setting.value)}, and to {shown(value)} at line {line}"
        settings.remark(f"{message}: left out")
        return None
    value = settings.stated(name)
    if value is None:
        return None
    kind = _KIND.fullmatch(_gpu_entry(str(value))) if name in ("gres", "gpus", "gpus_per_node") else None
    other = name == "gres" and ":" in str(value) and "gpu" not in str(value)
    number = None if other else int(kind[1]) if kind else _whole(value)
    if number is not None and number >= 1:
        return number
    if number is not None and not (number == -1 and name == "nproc_per_node"):  # all that there are
        return settings.whole(name)  # notes the fault
    why = "which the program finds out" if _FOUND_OUT.fullmatch(str(value)) else "which is no single number"
    why = "which names no GPU" if other else why
    settings.remark(f"`{settings.label(name)}` is `{shown(value)}`, {why}: left out")
    return None


def world(settings: Settings) -> int | None:
    """Return the accelerators that a file starts the job on, if it says so; what says less is a remark.

    A launcher may start fewer processes than Slurm gives accelerators, and not more.
    """
    counts = {name: _count(settings, name) for name in NAMES if name in settings.values}

    def first(*names: str) -> tuple[str, int] | None:
        return next(((name, number) for name in names if (number := counts.get(name))), None)

    each = first(*_STARTED) or first(*_HELD, "ntasks_per_node")
    nodes = first(*_NODES, *(("ntasks",) if each and each[0] in _STARTED else ()))
    one = each is not None and each[0] == "nproc_per_node" and not counts.keys() & {*_NODES, "ntasks"}
    found = first("world_size", "np", "num_processes")
    product = each[1] * nodes[1] if each and nodes else each[1] if each and one else None
    whole = found[1] if found else product
    if whole is None:
        held = first("gpus", *(("ntasks",) if _tells_tasks(counts) else ()))
        whole = held[1] if held else None
    elif one and not found and each:
        settings.world_by = f" ({settings.label(each[0])} {each[1]} on one node, as by default)"
    known = {name: number for name, number in counts.items() if number}
    if whole is None and known:
        those = " and ".join(f"`{settings.label(name)}` {number:,}" for name, number in known.items())
        settings.world_by = f"{those} alone: the file does not tell its GPUs: give `--gpus`"
    _compare(settings, known, whole, product if found else None)
    return whole


def _tells_tasks(counts: dict[str, int | None]) -> bool:
    """Return whether the tasks of a job are its accelerators: no other count is unknown, or says otherwise."""
    tasks = counts.get("ntasks")
    if tasks is None or counts.keys() & set(_STARTED) or None in counts.values():
        return False
    nodes = [number for name in (*_HELD, "ntasks_per_node") if (number := counts.get(name))]
    shared = any(counts.get(name) not in (None, 1) for name in ("gpus_per_task", "ntasks_per_gpu"))
    return not shared and all(tasks % number == 0 for number in nodes)


def _compare(settings: Settings, known: dict[str, int], whole: int | None, product: int | None) -> None:
    """Note where settings of one job contradict each other."""
    for less, more in (("nodes", "nnodes"), ("gpus_per_node", "nproc_per_node"), ("gres", "nproc_per_node")):
        if less in known and more in known and known[less] < known[more]:
            names = f"`{settings.label(more)}` is {known[more]:,}", f"`{settings.label(less)}` {known[less]:,}"
            settings.remark(f"{names[0]}, and {names[1]}: the former counts")
    if whole is not None and product is not None and product != whole:
        settings.remark(f"the file states {whole:,} GPUs, and nodes with {product:,}: the former count")
    tasks = known.get("ntasks", known.get("ntasks_per_node", 0) * known.get("nodes", 0))
    if whole is not None and tasks > whole:
        settings.remark(f"Slurm starts {tasks:,} tasks for {plural(whole, 'GPU')}: the latter count")
    if whole is not None and known.get("gpus", whole) < whole:
        settings.remark(f"the file starts {whole:,} processes on {plural(known['gpus'], 'GPU')}")


def sized(
    plan: dict[str, Any], settings: Settings, gpus: int | None, most: int | None, given: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return a plan with its program's batch for the accelerators, and remarks on what is missing or does not fit.

    Args:
        gpus: accelerators that were asked for.
        most: accelerators of a job where nobody says; None leaves the batch open.
        given: fields of the plan that options give, which outweigh those of the file.
    """
    sizes = {**plan, **given}
    rest = sizes.get("tensor", 1) * sizes.get("pipeline", 1) * sizes.get("context", 1)
    whole, remarks = _placed(plan, settings, given, rest, gpus)
    found = gpus or whole or most
    ranks = found // rest if found is not None and found % rest == 0 else None
    if settings.each and "batch" not in sizes:
        if ranks is not None:
            plan = {**plan, "batch": settings.each * ranks}
            remarks.append(f"batch {settings.each * ranks:,} is {settings.each} on each of {_ranks(ranks)}")
        else:
            remarks.append(
                f"the batch is {settings.each} on each data-parallel rank: give `--batch`, that times the ranks"
            )
    if settings.steps and "micro_batch" not in sizes:
        steps, batch = settings.steps, sizes["batch"]
        if gpus is not None and ranks is not None and batch % (steps * ranks) == 0:
            plan = {**plan, "micro_batch": batch // (steps * ranks)}
            remarks.append(f"micro_batch {batch // (steps * ranks)} is the batch over {steps} steps of {_ranks(ranks)}")
        else:
            share = f"{batch // steps:,} sequences of each of {steps} steps over the data-parallel ranks"
            remarks.append(f"micro_batch is 1 unless `--micro-batch` says more: the file asks for {share}")
    return plan, remarks


def _ranks(number: int) -> str:
    return plural(number, "data-parallel rank")


def _placed(
    plan: dict[str, Any], settings: Settings, given: dict[str, Any], rest: int, gpus: int | None
) -> tuple[int | None, list[str]]:
    """Return the accelerators that a file fixes, if it does, and a remark on them where options do not say the same."""
    fixed = settings.ranks
    known = {**plan, "data": fixed}
    changed = [name for name in settings.ranks_of if given.get(name, known.get(name)) != known.get(name)]
    if fixed is not None and changed:
        return None, [f"{settings.ranks_by} make {_ranks(fixed)}: options change that"]
    whole = fixed * rest if fixed is not None else settings.world
    if gpus is None:
        said = settings.world_by if whole is None else _runs_on(whole, rest, {**plan, **given}, settings)
        return whole, [said] if said else []
    if fixed is None or whole == gpus:
        return whole, []
    takes = f"{settings.program} takes this file on {plural(fixed * rest, 'GPU')} alone, {_ranks(fixed)}"
    return whole, [f"{takes} ({settings.ranks_by}): the plan on {gpus:,} is another"]


def _runs_on(whole: int, rest: int, sizes: dict[str, Any], settings: Settings) -> str:
    """Return the remark on the accelerators that a file starts on, and whether its own sizes go with them."""
    text = f"it runs on {plural(whole, 'GPU')}"
    if whole < rest:
        return f"{text}, fewer than the {rest:,} of one copy of the model: give `--gpus N`"
    if whole % rest:
        return f"{text}, no multiple of the {rest:,} of one copy of the model: give `--gpus N`"
    by = settings.world_by if settings.ranks is None else f", {_ranks(settings.ranks)} ({settings.ranks_by})"
    micro, batch = sizes.get("micro_batch", 1), sizes.get("batch")
    if batch is not None and batch % (whole // rest * micro):
        ranks = whole // rest
        parts = f"{plural(ranks, 'rank')} of {plural(micro, 'sequence')} each"
        remedy = "give `--gpus N`" if settings.ranks is None else f"give `--batch`, a multiple of {ranks * micro:,}"
        return f"{text}{by}; batch {batch:,} is no multiple of {ranks * micro:,}, {parts}: {remedy}"
    return f"{text}{by}: give `--gpus {whole}`"
