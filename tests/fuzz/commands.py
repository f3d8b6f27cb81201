"""Command lines that are nearly right: each command with options drawn from values that it takes."""

from __future__ import annotations

import json
from enum import EnumMeta
from functools import cache
from typing import TYPE_CHECKING, Any

from ffplan.catalog.store import Catalog
from tests.fuzz import files, forms
from tests.support import DESIGNS

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

SMALL = ("1", "2", "3", "4", "8")
NUMBERS = (*SMALL, "16", "64", "100", "128", "512", "0", "-1", "x")
GPUS = ("8", "16", "64", "8,16,64", "64..512", "256", "1000", "7")
VALUES: dict[str, tuple[str, ...]] = {
    "--against": ("x", "fire-flyer-2"),
    "--section": ("assumptions", "x"),
    "--algorithm": ("ring", "tree", "nvls", "nvls-tree", "sharp", "pat", "direct", "rail", "hierarchical", "x"),
    "--baseline": (*DESIGNS, "x"),
    "--batch": ("64", "256", "1024", "4096", "0", "7"),
    "--beside": ("ring", "tree", "all-to-all", "permutation", "incast", "rail-all-to-all"),
    "--breakout": ("1", "2", "4", "3"),
    "--chunks": ("1", "2", "4"),
    "--core-policy": ("minimal", "per-rail-whole-pods", "equal-stripe", "x"),
    "--chance": ("0.85", "0.5", "2", "x"),
    "--checkpoints": ("asynchronous", "synchronous", "in-memory", "x"),
    "--cp": ("1", "2", "4"),
    "--cpu": ("epyc-7502", "xeon-8480c", "x"),
    "--draws": ("0", "10", "1000", "-1"),
    "--date": ("2026-11-22", "x"),
    "--accelerator": ("h100-sxm-80gb", "a100-sxm-80gb", "mi300x", "x"),
    "--days": ("1", "30", "0"),
    "--dp": ("1", "2", "4", "8", "16"),
    "--endpoint-link": ("400g-dac", "hdr-aoc", "x"),
    "--endpoints": ("16", "500", "1000", "10000", "100000", "0"),
    "--ep": ("1", "2", "8", "64"),
    "--etp": ("1", "2"),
    "--experts": ("8", "64", "256"),
    "--gpus": GPUS,
    "--groups": ("gemm", "gemm,memory", "attention,pcie", "x"),
    "--grad-dtype": ("fp32", "bf16", "fp8"),
    "--grad-reduce-dtype": ("fp32", "bf16"),
    "--hidden": ("4096", "7168"),
    "--serve": ("1e9", "x", "10M requests a day", "5/s"),
    "--peak": ("3x", "x", "0.5"),
    "--day": ("x", ""),
    "--effort": ("tuned", "typical", "first-run", "x"),
    "--profile": ("fire-flyer", "rsc-1", "x"),
    "--rent": ("aws-p5-h100-3-year", "market-h100-3-year", "x", "2.10:3-year", "1.5 USD:on-demand", "0:1-year", "2:x"),
    "--gpu-bus": ("0000:01:00.0", "01:00.0,x", ","),
    "--nic-bus": ("0000:02:00.0", ""),
    "--id": ("mine", "imported-server", "a: b", "../x"),
    "--library": ("nccl", "hfreduce", "hfreduce-nvlink", "rccl", "deepep", "nccl,hfreduce", "x"),
    "--interval": ("300 s", "5 min", "1 ms", "0 s", "x"),
    "--jobs": ("1", "2", "0", "kalos", "x"),
    "--load": ("0.5", "1.2", "0"),
    "--load-time": ("60 s", "x"),
    "--like": ("qm8700", "x"),
    "--limit": ("10", "60"),
    "--link": ("400g-aoc", "hdr-aoc", "x"),
    "--lose": (
        "leaf:2",
        "spine:1",
        "link:5",
        "core:1",
        "leaf",
        "link:300",
        "interzone",
        "spine-01",
        "leaf:30",
        "plane",
        "x",
    ),
    "--max-mape": ("5 %", "100 %", "0.1", "x"),
    "--max-nodes": ("2", "4", "8"),
    "--sms": ("4", "20", "133"),
    "--measured": ("x", "fire-flyer-2"),
    "--memory": ("40 GiB", "80 GB", "1 TB", "0.9", "x"),
    "--months": ("1", "12", "24", "0"),
    "--micro-batch": ("1", "2", "4", "8"),
    "--model": ("llama2-70b", "megatron-1.7b", "gpt3-175b", "deepseek-v3", "resnet-50", "vgg16", "./config.json", "x"),
    "--nic-rate": ("200 Gb/s", "400 Gb/s", "50 GB/s", "0"),
    "--nodes": ("2", "3", "10", "50", "1", "100000"),
    "--only": ("matrix", "matrix,memory", "kernel", "attention", "pcie", "x"),
    "--prefill": ("1xTP4", "2xDEP8", "4xTEP8", "x"),
    "--decode": ("1xTP8", "1xDEP32", "3xTP2PP2", "0xTP1"),
    "--ranks": ("2", "16", "1", "x"),
    "--op": ("allreduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv", "broadcast", "x"),
    "--operation": ("allreduce", "all-to-all", "x"),
    "--optimizer-dtype": ("fp32", "bf16"),
    "--order": ("aligned", "alternating", "random", "x"),
    "--overlap": ("gradients", "gradients,parameters", "none", "tensor,pipeline,experts", "x"),
    "--oversubscription": ("1:1", "2:1", "3:1", "3", "0", "x"),
    "--plane": ("1", "2", "9"),
    "--planes": ("1", "2", "4", "8"),
    "--pp": ("1", "2", "4", "8", "3"),
    "--precision": ("bf16", "fp16", "fp8", "tf32", "x"),
    "--main-params": ("fp32", "bf16", "none", "fp8"),
    "--preset": ("megatron-core", "nemo", "deepspeed", "fsdp", "deepseek", "x"),
    "--prices": ("usd-2026", "fire-flyer-2-relative", "x"),
    "--protocol": ("LL", "LL128", "Simple", "ll", "x"),
    "--rails": ("1", "2", "4", "8"),
    "--recompute": ("none", "selective", "full", "keep-qkv", "keep-products", "every-second", "x"),
    "--stack": ("nemo-2025", "torchtitan-2024", "deepspeed-2021", "x"),
    "--attention": ("fused", "unfused", "fa2", "cudnn", "fa9"),
    "--reducer": ("nccl", "hfreduce", "hfreduce-nvlink", "x"),
    "--quantum": ("2 h", "0 s", "x"),
    "--restart": ("requeue", "reschedule", "standby", "x"),
    "--routing": ("static", "ecmp", "adaptive", "valiant", "x"),
    "--runs": ("1", "2", "0"),
    "--save-time": ("10 s", "x"),
    "--samples": ("1", "2", "3"),
    "--schedule": ("1f1b", "zb-h1", "zb-2p", "zb-v", "v-half", "v-min", "dualpipe", "x"),
    "--seed": ("0", "1", "7", "-1", "99999999999999999999"),
    "--sequence": ("512", "2048", "8192", "131072"),
    "--share": ("0.5", "1", "0", "0.01", "2", "nan"),
    "--size": ("1 MiB", "1 GiB", "1K,1M", "1MiB..1GiB", "0", "8 B", "x"),
    "--images": ("1e6", "100", "0", "-1", "x"),
    "--spares": ("0", "1", "64", "-1"),
    "--concurrency": ("1", "8,64", "1..32", "0"),
    "--rate": ("1/s", "60/min", "0", "x"),
    "--isl": ("128", "8192", "0"),
    "--osl": ("1", "1024", "0"),
    "--kv": ("bf16", "fp8", "x"),
    "--engine": ("vllm", "sglang@0.5.9", "trtllm", "x"),
    "--chunk": ("512", "8192", "0"),
    "--speculate": ("mtp:3:0.8", "ngram:4:0.5", "x"),
    "--prefix-hit": ("50%", "0", "nan"),
    "--ttft": ("2 s", "1 ms", "x"),
    "--tpot": ("50 ms", "1 us", "x"),
    "--at": ("p99", "mean", "x"),
    "--lengths": ("x",),
    "--trace": ("x",),
    "--shortest": ("0.8", "1", "0", "2"),
    "--start": ("llama3-405b", "x"),
    "--switch": ("qm8700", "qm9700", "q3400", "sn5600", "x"),
    "--tiers": ("1", "2", "3"),
    "--tokens": ("1", "128", "4096"),
    "--metric": ("accelerators", "cost.total", "fabric.cables.total", "bom.total", "x"),
    "--pareto": ("cost.total:min,accelerators:max", "accelerators:max", "x"),
    "--sample": ("2", "50", "0"),
    "--vary": (
        "nodes[0].count=1..9",
        "nodes[0].count=16..4096*4",
        "fabric.switch=qm8700,qm9700,nope",
        "fabric.tiers=1,2,3",
        "fabric.oversubscription=1..3#5",
        "site.pue=1.1,1.5",
        "fabric.leaf.uplinks=8,20",
        "nodes[9].count=1",
        "x",
    ),
    "--tolerance": ("10 %", "0 %", "100 %", "x"),
    "--today": ("2026-11-22", "2030-01-01", "x"),
    "--top": ("1", "3", "20"),
    "--top-k": ("1", "8"),
    "--tp": ("1", "2", "4", "8", "16"),
    "--traffic": ("ring", "tree", "library-tree", "all-to-all", "rail-all-to-all", "permutation", "incast", "FILE.csv"),
    "--units": ("108", "132"),
    "--years": ("3", "5", "0.1"),
    "--zero": ("0", "1", "2", "3"),
    "--zone": ("1", "2", "9"),
    "--zones": ("1", "2", "3"),
    "kind": ("switches", "models", "servers", "nics", "prices", "links", "cpus", "x"),
}
"""Values of each option that takes a word or a number."""
WRONG = {"x", "0", "-1", "9", "nan", "2", "a: b", "../x", "99999999999999999999", "100000"}
"""Values that are often refused, and therefore drawn seldom; 2 is a share of more than all."""
LEFT_OUT = {"--update-baseline", "--output", "--catalog", "--write", "--save", "--force", "--with", "--leave-one-out"}
LEFT_OUT |= {"--points", "--cluster", "--tls"}
"""Options that write files, drive programs of others, or ask for minutes of work."""
NOT_RUN = {"fabric verify", "init", "explain", "operate jobs", "recommend", "model measure run"}
NOT_RUN |= {"model accuracy serving"}
"""Commands that drive other programs, write files into the working folder, time a design hundreds of times, simulate
for long, or load a GPU for minutes."""
USUAL = {
    "fabric size": ("--endpoints", "--switch"),
    "train": ("--model", "--batch", "--gpus"),
    "serve": ("--model",),
    "cost": ("--model", "--tokens"),
    "operate goodput": ("--model",),
    "sweep": ("--vary",),
    "model calibrate accelerator": ("--cases",),
    "model calibrate serving": ("--engine", "--accelerator"),
    "fabric export": ("--to",),
    "compare": (),
    "model measure fit": ("--accelerator",),
}
"""Options that a command is rarely without."""


@cache
def _commands() -> dict[str, Any]:
    from tests.pages import commands

    return {name: command for name, command in commands().items() if name not in NOT_RUN}


@cache
def _ids() -> tuple[str, ...]:
    return tuple(sorted(Catalog().ids_of("accelerator") + Catalog().ids_of("switch")))


@cache
def _exported() -> bytes:
    """Return a shipped fabric as built."""
    from ffplan.interop.exported import netlist, subnet
    from tests.support import wired

    own = wired("superpod-h100-4su")
    return "".join(netlist(own.fabric.network, own.names, subnet(own.fabric.network, None, None))).encode()


def options(command: Any) -> list[Any]:
    """Return the options and arguments of a command."""
    return [item for item in command.params if item.name != "help" and not LEFT_OUT & set(item.opts)]


def key(option: Any) -> str:
    """Return the name under which the values of an option are listed."""
    return str(max(option.opts, key=len))


def _design(chance: Random, folder: Path, name: str, *, small: bool) -> str:
    """Return a design: a shipped one by name, or a file with a few places changed."""
    if chance.random() < (0.1 if small else 0.3):
        return chance.choice(("superpod-h100-4su", "fire-flyer-2") if small else DESIGNS)
    content = files.tree("design", chance, mild=True)
    if small or chance.random() < 0.5:
        content = files.smaller(content, chance)
    return _file(folder, name, files.text(content, chance))


def _file(folder: Path, name: str, raw: bytes) -> str:
    (folder / name).write_bytes(raw)
    return str(folder / name)


def served(chance: Random) -> bytes:
    """Return results of serving benchmarks, some fields wrong or gone."""
    from tests.unit.interop.test_served import AIPERF, INFERENCEX, SGLANG, SUMMARY, VLLM

    if chance.random() < 0.1:
        return SUMMARY.replace("10.00", chance.choice(("10.00", "-1", "x", "1e30"))).encode()
    plan = {"tp": 8, "precision": "fp8", "hw": None, "framework": None}
    result = {**chance.choice((VLLM, VLLM, VLLM, SGLANG, AIPERF, INFERENCEX)), **plan}
    for name in chance.sample(sorted(result), chance.choice((0, 0, 0, 1, 3))):
        result[name] = chance.choice((None, 0, -1, 1, 7, 1e12, 1e300, "x", "", [], {}, True, [1, "x"]))
    return json.dumps([result] * chance.choice((1, 1, 3))).encode()


def _argument(command: str, option: Any, chance: Random, folder: Path) -> list[str]:
    """Return the value of an argument."""
    name = key(option)
    small = command in (
        "fabric route",
        "fabric place",
        "fabric faults",
        "fabric cables",
        "diff",
        "fabric audit",
        "fabric export",
    )
    if command == "model measure fit":
        return [_file(folder, "run.json", files.recording(chance))]
    if command == "model calibrate serving":
        return [_file(folder, "run.json", served(chance))]
    if command == "fabric import nccl":
        return [_file(folder, "in.xml", files.nccl(chance))]
    if command == "fabric import model":
        if chance.random() < 0.5:
            text = forms.pasted(chance.choice(forms.LAUNCHES), chance, forms.LAUNCHES)
            return [_file(folder, "pretrain", text.encode())]
        return [_file(folder, "config.json", files.model_config(chance))]
    if command == "fabric import slurm":
        return [_file(folder, "topology.conf", files.slurm(chance))]
    if name == "report":
        return [_file(folder, "report.json", files.report(chance))]
    if name == "as_built" and chance.random() < 0.7:
        return [_file(folder, "net.txt", files.noise(_exported(), chance) if chance.random() < 0.5 else _exported())]
    if command == "fabric import ibnetdiscover" or name == "as_built":
        return [_file(folder, "net.txt", files.ibnetdiscover(chance))]
    if name == "files":
        kinds = ("part", "cases", "training-plan", "design", "design") if command == "check" else ("design",)
        count = chance.choice((1, 1, 2, 3)) if command == "check" else 2
        return [
            _file(folder, f"f{number}.yaml", files.text(files.tree(chance.choice(kinds), chance, mild=True), chance))
            if chance.random() < 0.6
            else chance.choice(DESIGNS)
            for number in range(count)
        ]
    if name in ("before", "after"):
        return [_design(chance, folder, f"{name}.yaml", small=small)]
    if name == "design":
        return [_design(chance, folder, "design.yaml", small=small)] if chance.random() < 0.8 else []
    if command == "fleet":
        return [_file(folder, "fleet.yaml", files.text(files.tree("fleet", chance), chance))]
    if name == "file" and command == "fabric audit" and chance.random() < 0.7:
        return ["superpod-h100-4su"]
    if name == "file":
        return [_design(chance, folder, "design.yaml", small=small)]
    if name == "accelerator" and chance.random() < 0.7:
        return [chance.choice(("h100-sxm-80gb", "a100-sxm-80gb"))]
    if name in ("accelerator", "name") and not isinstance(_annotation(option), EnumMeta):
        return [_pick((*_ids(), "x"), chance)]
    return [_pick(_values(option), chance)]


def _annotation(option: Any) -> Any:
    return getattr(getattr(option, "type_descriptor", None), "annotation", None)


def _values(option: Any) -> tuple[str, ...]:
    """Return the values to draw from; a name that is not listed is an error of this table."""
    kind = _annotation(option)
    if isinstance(kind, EnumMeta):
        members: list[object] = list(kind.__members__.values())
        return (*map(str, members), "x")
    return VALUES[key(option)]


def _pick(values: tuple[str, ...], chance: Random) -> str:
    """Return one of some values, seldom a wrong one."""
    wrong = chance.random() < 0.03
    found = chance.choice(values)
    while found in WRONG and not wrong and len(set(values) - WRONG) > 1:
        found = chance.choice(values)
    return found


def _option(option: Any, chance: Random, folder: Path) -> list[str]:
    """Return an option with its value."""
    name = key(option)
    if getattr(option, "is_flag", False):
        return [chance.choice([*option.opts, *option.secondary_opts])]
    if name == "--plan" and chance.random() < 0.2:
        text = forms.pasted(chance.choice(forms.LAUNCHES), chance, forms.LAUNCHES)
        return [name, _file(folder, "pretrain.sh", text.encode())]
    if name == "--plan":
        return [name, _file(folder, "plan.yaml", files.text(files.tree("training-plan", chance, mild=True), chance))]
    if name == "--cases":
        return [name, _file(folder, "cases.yaml", files.text(files.tree("cases", chance, mild=True), chance))]
    if name == "--policy":
        return [name, _file(folder, "ffplan.toml", files.policy(chance))]
    if name == "--map":
        rows = ("found,designed", "leaf-x,leaf-1", "~n([0-9]+),compute-\\1", "~(,x", "a", "compute-1,compute-2")
        return [name, _file(folder, "map.csv", "\n".join(chance.choices(rows, k=3)).encode())]
    if name == "--day":
        return [name, _file(folder, "hours.csv", forms.damaged(chance.choice(forms.HOURS), chance).encode())]
    if name == "--chart":
        return [name, str(folder / "chart.svg")]
    value = _pick(_values(option), chance)
    if value == "FILE.csv":
        value = _file(folder, "t.csv", files.traffic(chance))
    return [name, value]


def overlay(chance: Random, folder: Path) -> list[str]:
    """Return a folder with one changed part, in place of a shipped one."""
    content = files.tree("part", chance, mild=True)
    parts = folder / "parts"
    parts.mkdir(exist_ok=True)
    for old in parts.iterdir():
        old.unlink()
    name = content.get("id") if isinstance(content, dict) else None
    usual = isinstance(name, str) and name.isprintable() and "/" not in name and 0 < len(name) < 100
    _file(parts, f"{name if usual else 'part'}.yaml", files.text(content, chance))
    return ["--catalog", str(parts)]


def line(chance: Random, folder: Path) -> list[str]:
    """Return a command line; the files that it names are written."""
    names = sorted(_commands())
    name = chance.choice(names)
    command, found = _commands()[name], name.split()
    seldom = min(0.15, 0.8 / len(options(command)))
    for option in options(command):
        if option.param_type_name == "argument":
            found += _argument(name, option, chance, folder) if option.required or chance.random() < 0.5 else []
        elif option.required or chance.random() < (0.9 if key(option) in USUAL.get(name, ()) else seldom):
            found += _option(option, chance, folder)
    takes = any("--catalog" in option.opts for option in command.params)
    return found + (overlay(chance, folder) if takes and chance.random() < 0.25 else [])


def uncovered() -> list[str]:
    """Return the options for which the table has no values."""
    own = {
        "--plan",
        "--policy",
        "--map",
        "--cases",
        "--chart",
        "file",
        "before",
        "after",
        "files",
        "report",
        "as_built",
        "accelerator",
        "name",
        "design",
    }
    return sorted(
        f"{name} {key(option)}"
        for name, command in _commands().items()
        for option in options(command)
        if not getattr(option, "is_flag", False)
        and key(option) not in own
        and key(option) not in VALUES
        and not isinstance(_annotation(option), EnumMeta)
    )
