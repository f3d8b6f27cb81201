"""Files that are nearly right: shipped ones with a few places changed, and other programs' formats."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from tests.support import ROOT, ffplan, read_yaml

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

UNITS = (
    "GB",
    "GiB",
    "TB",
    "GB/s",
    "Gb/s",
    "W",
    "kW",
    "MW",
    "us",
    "ms",
    "s",
    "m",
    "TFLOP/s",
    "MT/s",
    "%",
    "USD",
    "USD/kWh",
)
WORDS = (
    "",
    "x",
    "none",
    "nccl",
    "both",
    "every",
    "a: b",
    "é",
    "\x1b[31m",
    "\u202e",
    "=1+1",
    "-",
    "~",
    "9" * 400,
    "2024-13",
)
ODD: tuple[Any, ...] = (
    0,
    -1,
    1,
    2,
    3,
    7,
    64,
    10**6,
    10**18,
    0.5,
    1e-300,
    1e300,
    float("inf"),
    float("nan"),
    None,
    True,
    [],
    {},
)

SIGNS = (b"\t", b"\n", b": ", b"- ", b"*a", b"&a ", b"{", b"]", b"\x00", b"\xff", b"'", b"#")


@cache
def shipped(kind: str) -> tuple[Any, ...]:
    """Return the content of every shipped file of a kind: design, part, cases, training-plan, fleet, recording."""
    if kind == "recording":
        from ffplan.measuring.recording import recording_text
        from tests.unit.calibration.recordings import made_up

        folder = ROOT / "tests" / "published" / "recordings"
        texts = [path.read_text() for path in sorted(folder.glob("*.json"))]
        return tuple(json.loads(text) for text in (*texts, recording_text(made_up())))
    folders = {"design": ("designs",), "part": ("catalogs",), "cases": ("catalogs/measurements",)}
    if kind == "fleet":
        return tuple(read_yaml(path.read_text()) for path in (ROOT / "designs/fleets").glob("*.yaml"))
    if kind == "training-plan":
        return ({"kind": kind, "tensor": 4, "pipeline": 2, "batch": 256, "zero": 1, "recompute": "full"},)
    paths: list[Path] = [path for folder in folders[kind] for path in sorted((ROOT / folder).rglob("*.yaml"))]
    kept = [path for path in paths if ("measurements" in path.parts) == (kind == "cases")]
    return tuple(read_yaml(path.read_text()) for path in kept if path.stat().st_size < 20_000)


def _places(node: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return every (holder, key) below a node."""
    keys: Any = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        found.append((node, key))
        _places(node[key], found)
    return found


def _number(text: str, chance: Random) -> str:
    """Return a quantity with another number or another unit."""
    number, _, unit = text.partition(" ")
    if chance.random() < 0.8:
        return f"{chance.choice(('0.5', '1', '2', '4', '16', '100', '1e3', '0', '-1', '1e30', number + number))} {unit}"
    return f"{number} {chance.choice(UNITS)}"


def _other(value: Any, chance: Random) -> Any:
    """Return a value in place of another one: most often of its kind."""
    if chance.random() < 0.15:
        return chance.choice(ODD)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return max(0, chance.choice((value // 2, value * 2, value + 1, value - 1, chance.randrange(1, 200))))
    if isinstance(value, float):
        return value * chance.choice((0.5, 0.99, 1.01, 2, 10))
    if isinstance(value, str):
        if value[:1].isdigit():
            return _number(value, chance)
        return chance.choice(WORDS) if chance.random() < 0.5 else value[:-1]
    return copy.deepcopy(value)


def _change(holder: Any, key: Any, chance: Random) -> None:
    """Change one place."""
    kind = chance.random()
    if kind < 0.7:
        holder[key] = _other(holder[key], chance)
    elif kind < 0.8:
        del holder[key]
    elif kind < 0.9 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif isinstance(holder, dict):
        holder[chance.choice(("foo", f"{key}x", *map(str, holder)))] = copy.deepcopy(holder[key])


def tree(kind: str, chance: Random, *, mild: bool = False) -> Any:
    """Return the content of a shipped file with a few places changed.

    Args:
        kind: as `shipped` takes it.
        chance: draws the changes.
        mild: change one place at most.
    """
    found = copy.deepcopy(chance.choice(shipped(kind)))
    for _ in range(chance.choice((0, 0, 0, 1, 1) if mild else (0, 1, 1, 1, 2, 3))):
        if places := _places(found, []):
            _change(*chance.choice(places), chance)
    return found


def smaller(design: Any, chance: Random) -> Any:
    """Return a design with at most some hundred nodes in each group, so that it can be wired in no time."""
    nodes = design.get("nodes") if isinstance(design, dict) else None
    for group in nodes if isinstance(nodes, list) else []:
        if isinstance(group, dict) and isinstance(group.get("count"), int) and group["count"] > 100:
            group["count"] = chance.randrange(1, 160)
    fabric = design.get("fabric") if isinstance(design, dict) else None
    if isinstance(fabric, dict):
        fabric.pop("access_points", None)
    return design


def text(content: Any, chance: Random) -> bytes:
    """Return a file with that content, now and then with a few bytes changed."""
    written = yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode()
    return noise(written, chance) if chance.random() < 0.02 else written


def recording(chance: Random) -> bytes:
    """Return a recording of kernels as JSON, a few places changed, or a few rows left."""
    found = tree("recording", chance)
    for group in ("gemms", "attention"):
        if isinstance(found, dict) and isinstance(found.get(group), list) and chance.random() < 0.3:
            found[group] = chance.sample(found[group], min(len(found[group]), chance.randrange(6)))
    written = json.dumps(found).encode()
    return noise(written, chance) if chance.random() < 0.1 else written


def model_config(chance: Random) -> bytes:
    """Return a config.json of Hugging Face, a few places changed."""
    models = json.loads((ROOT / "tests/published/model-configs.json").read_text())
    found = copy.deepcopy(models[chance.choice(sorted(models))]["config"])
    for _ in range(chance.randrange(4)):
        if places := _places(found, []):
            _change(*chance.choice(places), chance)
    written = json.dumps(found, indent=chance.choice((None, 2))).encode()
    return noise(written, chance) if chance.random() < 0.2 else written


def noise(raw: bytes, chance: Random) -> bytes:
    """Return bytes of which a few were changed, lost or doubled."""
    data = bytearray(raw)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data) + 1)
        what = chance.random()
        if what < 0.4:
            data[at:at] = chance.choice(
                (b"\t", b"\n", b": ", b"- ", b"*a", b"&a ", b"{", b"]", b"\x00", b"\xff", b"'", b"#")
            )
        elif what < 0.7:
            del data[at : at + chance.randrange(1, 30)]
        else:
            data[at:at] = data[max(0, at - chance.randrange(1, 60)) : at]
    return bytes(data)


def nccl(chance: Random) -> bytes:
    """Return a topology file of NCCL."""

    def attribute(name: str, *usual: str) -> str:
        value = (
            chance.choice(usual) if chance.random() < 0.99 else chance.choice((*WORDS[:4], "²", "9" * 30, "0x", "-1"))
        )
        return "" if chance.random() < 0.01 else f' {name}="{value}"'

    def device(depth: int) -> str:
        head = attribute("busid", f"0000:{chance.randrange(256):02x}:00.0")
        head += attribute("class", "0x030200", "0x060400", "0x020000", "0x020700", "0x038000")
        head += attribute("vendor", "0x10de", "0x15b3") + attribute("device", "0x20b0", "0x101b", "0x2330")
        head += attribute("link_speed", "16 GT/s", "16.0 GT/s PCIe", "32 GT/s", "") + attribute("link_width", "16", "8")
        inside = "".join(device(depth + 1) for _ in range(chance.randrange(3))) if depth < 3 else ""
        if chance.random() < 0.3:
            inside += f'<gpu dev="0"><nvlink{attribute("target", "0000:01:00.0", "0000:02:00.0")}'
            inside += f"{attribute('count', '12', '4')}{attribute('tclass', '0x030200', '0x068000')}/></gpu>"
        return f"<pci{head}>{inside}</pci>"

    cpus = "".join(
        f"<cpu{attribute('numaid', '0', '1')}{attribute('vendor', 'AuthenticAMD')}>"
        f"{''.join(device(0) for _ in range(chance.randrange(4)))}</cpu>"
        for _ in range(chance.randrange(1, 3))
    )
    raw = f'<system version="1">{cpus}</system>'.encode()
    return noise(raw, chance) if chance.random() < 0.15 else raw


def slurm(chance: Random) -> bytes:
    """Return a topology file of Slurm."""
    runs = ("n[01-04]", "n[05-08]", "n1", "n[1-2]m[0-1]", "n[1-", "n[2-1]", "n[0-999999999]", "²", "")
    lines = [f"SwitchName=s{n} Nodes={chance.choice(runs)}" for n in range(chance.randrange(4))]
    lines += [f"SwitchName=top Switches={chance.choice(('s[0-2]', 's0', 'top', 's9'))}"]
    blocks = [f"BlockName=b{n} Nodes={chance.choice(runs)}" for n in range(3)] + ["BlockSizes=4,8,x"]
    rows = chance.choice((lines, blocks, [*lines, *blocks]))
    form = chance.choice(("tree: {switches: [{switch: s0, nodes: 'n[1-2]'}]}", "block: {blocks: []}", "flat: true"))
    raw = "\n".join(rows if chance.random() < 0.7 else [f"- {{topology: a, {form}}}"]).encode()
    return noise(raw, chance) if chance.random() < 0.5 else raw


def ibnetdiscover(chance: Random) -> bytes:
    """Return what `ibnetdiscover` prints of a small fabric."""
    hosts, switches = chance.randrange(1, 7), chance.randrange(1, 4)
    blocks = []
    for number in range(switches):
        lines = [f'Switch 8 "S-{number}" # "{chance.choice(("leaf", "leaf-01", "z1-leaf-01"))}"']
        lines += [
            f'[{host + 1}]({host:x}) "H-{host}"[1] # lid {host}' for host in range(hosts) if host % switches == number
        ]
        blocks.append("\n".join(lines))
    for host in range(hosts):
        name = chance.choice((f"compute-{host + 1:04} mlx5_0", "Mellanox Technologies Aggregation Node", f"n{host}"))
        blocks.append(f'Ca 1 "H-{host}" # "{name}"\n[1] "S-{host % switches}"[{host + 1}]')
    raw = ("vendid=0x2c9\n" + "\n\n".join(blocks) + "\n").encode()
    return noise(raw, chance) if chance.random() < 0.5 else raw


def traffic(chance: Random) -> bytes:
    """Return a matrix of traffic of Fire-Flyer 2."""
    rows = ["src,dst,bytes"]
    for _ in range(chance.randrange(0, 12)):
        one, two = (
            chance.choice((f"compute-{chance.randrange(1, 1253):04}", f"storage-{chance.randrange(1, 136):03}"))
            for _ in "ab"
        )
        amount = (
            chance.choice((1, 0, 10**9, "1e12", "1 GiB", "x", -1))
            if chance.random() < 0.05
            else chance.randrange(10**6)
        )
        rows.append(f"{one},{two},{amount}")
    raw = "\n".join(rows).encode()
    return noise(raw, chance) if chance.random() < 0.2 else raw


POLICY = """fail-on = "warning"
mandatory = ["limit-capex"]
[rules]
recalled-prices = "off"
no-spares = "error"
[limits]
it_power = "2 MW"
capex = "$10M"
[[waivers]]
rule = "fabric-full"
files = ["**/*.yaml"]
path = "fabric"
reason = "agreed"
until = 2027-06-30
[regressions]
cost = "2 %"
"""


def policy(chance: Random) -> bytes:
    """Return a policy: a right one, or one with a few bytes changed."""
    return POLICY.encode() if chance.random() < 0.5 else noise(POLICY.encode(), chance)


@cache
def _saved() -> Any:
    return json.loads(ffplan("design superpod-h100-4su --format json").out)


def report(chance: Random) -> bytes:
    """Return a saved report, now and then with a few places changed."""
    found = copy.deepcopy(_saved())
    for _ in range(chance.choice((0, 0, 1, 2))):
        if places := _places(found, []):
            _change(*chance.choice(places), chance)
    raw = json.dumps(found).encode()
    return noise(raw, chance) if chance.random() < 0.05 else raw
