"""The names of the commands: which module each lives in, and what the help says of it."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ffplan.base.record import record


@record
class _Command:
    summary: str
    """What the help says of it, in a line."""
    module: str = ""
    """Its module under `ffplan.cli`, with `:function` where that is named otherwise; empty if it has none."""
    _: KW_ONLY
    commands: dict[str, _Command] | None = None
    """Commands of a group, in addition to its module's."""
    former: str = ""
    """Name that it had; it still works, and says the new one."""
    default: str = ""
    """Default command of a group."""
    common: tuple[str, ...] = ()
    """Options that its help shows; all of them if empty, and with `--help-all`."""


_OUTPUT = ("--format", "--output", "--full", "--section", "--catalog")
_TRAIN = (
    *("--model", "--gpus", "--batch", "--precision", "--tp", "--pp", "--dp", "--ep", "--zero", "--recompute"),
    *("--search", "--plan", "--save", "--tokens", "--stack"),
)
_RECOMMEND = (
    *("--model", "--tokens", "--days", "--serve", "--isl", "--osl", "--ttft", "--tpot", "--peak", "--chance"),
    *("--aim", "--capex", "--power", "--accelerator", "--exclude", "--folder", "--best"),
)
_SERVE = (
    *("--model", "--accelerator", "--gpus", "--isl", "--osl", "--concurrency", "--rate", "--ttft", "--tpot", "--at"),
    *("--precision", "--kv", "--engine", "--tp", "--ep", "--dp", "--search"),
)
_COLLECTIVE = ("--op", "--library", "--size", "--gpus", "--algorithm", "--sharp", "--tokens", "--chart")
_COMPARE = (
    *("--model", "--tokens", "--gpus", "--batch", "--plan", "--serve", "--isl", "--osl", "--ttft", "--tpot"),
    *("--baseline", "--profile", "--effort"),
)
HEADINGS = {
    "Job": (
        *("--model", "--tokens", "--days", "--gpus", "--batch", "--precision", "--stack", "--plan", "--search"),
        *("--save", "--sustained", "--later", "--effort", "--sequence", "--top"),
    ),
    "Serving": (
        *("--serve", "--within", "--isl", "--osl", "--ttft", "--tpot", "--at", "--peak", "--day", "--concurrency"),
        *("--rate", "--lengths", "--trace", "--engine", "--kv", "--chunk", "--speculate", "--prefix-hit"),
        *("--disaggregate", "--prefill", "--decode"),
    ),
    "Parallel plan": (
        *("--tp", "--pp", "--dp", "--ep", "--cp", "--etp", "--micro-batch", "--chunks", "--sp", "--zero"),
        *("--recompute", "--schedule", "--overlap", "--reducer", "--preset", "--attention", "--grad-dtype"),
        *("--grad-reduce-dtype", "--optimizer-dtype", "--main-params", "--memory"),
    ),
    "Aim and limits": (
        *("--aim", "--capex", "--tco", "--power", "--racks", "--floor", "--area-per-rack", "--pue", "--chance"),
        *("--slack", "--budget", "--power-of"),
    ),
    "Parts": ("--accelerator", "--switch", "--exclude", "--prices", "--catalog", "--profile", "--fabric"),
    "Money": ("--rent", "--years", "--draws", "--seed"),
    "Output": (
        *("--format", "--output", "--full", "--section", "--folder", "--best", "--chart", "--rows", "--name"),
        "--help",
    ),
}
"""Options by the heading that they stand under in a long help; the others stand under `Options`."""
_OPERATE = {
    "goodput": _Command("what failures and checkpoints leave of a job", "operate:goodput", former="goodput"),
    "storage": _Command("capacity, rates and what binds them", "operate:storage", former="storage"),
    "jobs": _Command("how jobs share a cluster: use, and waits by size", "operate:utilization", former="utilization"),
}
_FABRIC = {
    "size": _Command("every network family for a number of endpoints", "fabric:size", former="size"),
    "route": _Command("a job over the wired fabric: load per link", "fabric:route", former="route"),
    "place": _Command("the order of a job's ranks over its nodes", "fabric:place", former="place"),
    "faults": _Command("what losing switches and links leaves", "fabric:faults", former="faults"),
    "cables": _Command("cables by length over the floor plan", "fabric:cabling", former="cabling"),
    "export": _Command("the fabric for another program", "export", former="export"),
    "import": _Command("files of other programs", "import_", former="import"),
    "audit": _Command("the fabric as built against the design", "audit", former="audit"),
    "verify": _Command("the fabric in a real program, such as OpenSM", "audit:verify", former="verify"),
    "accept": _Command("what delivered parts should measure, and do", "acceptance", former="acceptance"),
}
_CATALOG = {"schema": _Command("the JSON Schema of files and outputs", "catalog:schema", former="schema")}
_CALIBRATE = {
    "accelerator": _Command("an accelerator, from training runs or collectives", "calibrate"),
    "serving": _Command("a serving engine, from results of benchmarks", "calibrate:calibrate_serving"),
}
_MODEL = {
    "accuracy": _Command("the model against measurements", "accuracy", former="accuracy"),
    "calibrate": _Command(
        "constants from your own runs", commands=_CALIBRATE, former="calibrate", default="accelerator"
    ),
    "measure": _Command("kernels on a GPU at hand", "measure", former="measure"),
    "reproduce": _Command("a saved report, computed again", "diff:reproduce", former="reproduce"),
}
PANELS = {
    "Plan": {
        "init": _Command("designs to start from, for a few wishes", "init"),
        "design": _Command("fabric, bounds, power and cost of a design", "design"),
        "compare": _Command("designs side by side, at a job", "compare", common=(*_COMPARE, *_OUTPUT)),
        "check": _Command("designs in CI: rules, limits, policies", "check"),
        "diff": _Command("two versions of a design, and what changed", "diff"),
        "cost": _Command("own or rent, and what a training run costs", "cost"),
        "recommend": _Command(
            "the best purchase to train or serve a model", "recommend", common=(*_RECOMMEND, *_OUTPUT)
        ),
        "sweep": _Command("a design or a fleet varied along any paths", "sweep"),
        "fleet": _Command("clusters and sites over quarters of demand", "fleet"),
    },
    "Predict": {
        "train": _Command("seconds a step, memory and what binds", "train", common=(*_TRAIN, *_OUTPUT)),
        "serve": _Command("tokens a second, latency and cost of a served model", "serve", common=(*_SERVE, *_OUTPUT)),
        "collective": _Command("a collective over sizes and scales", "collective", common=(*_COLLECTIVE, *_OUTPUT)),
        "operate": _Command("goodput, storage and jobs of a cluster", commands=_OPERATE),
    },
    "Build": {
        "fabric": _Command("size, wire, export, audit and accept it", commands=_FABRIC),
    },
    "Trust": {
        "explain": _Command("where a figure comes from, or what a rule means", "explain"),
        "catalog": _Command("parts, prices, their sources, and schemas", "catalog", commands=_CATALOG),
        "model": _Command("accuracy and calibration of the model", commands=_MODEL),
    },
}
"""Commands by the heading of the help that they stand under."""

TOP = {name: command for panel in PANELS.values() for name, command in panel.items()}
"""Commands by name."""
FORMER = {
    command.former: (group, name)
    for group, parent in TOP.items()
    for name, command in (parent.commands or {}).items()
    if command.former
}
"""Group and name of the commands that stood at the top before."""


def _current_names(words: list[str]) -> tuple[list[str], str | None]:
    """Return the words of a command line with today's name of its command, and what to say of a former name."""
    note = None
    if words and words[0] in FORMER:
        group, name = FORMER[words[0]]
        note = f"ffplan: `ffplan {words[0]}` is now `ffplan {group} {name}`; the old name goes with the next release"
        words = [group, name, *words[1:]]
    return _with_default(words), note


def _with_default(words: list[str]) -> list[str]:
    """Return words with a group's default command inserted if they name none of its commands."""
    commands: dict[str, _Command] | None = TOP
    for position, word in enumerate(words):
        command = (commands or {}).get(word)
        if command is None:
            return words
        rest = words[position + 1 :]
        if command.default and rest and rest[0] not in (*(command.commands or {}), "--help", "-h", "--help-all"):
            return [*words[: position + 1], command.default, *rest]
        commands = command.commands
    return words
