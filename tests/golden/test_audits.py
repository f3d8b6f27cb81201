"""Faults seeded into the small fabrics as built: what an audit finds, on a page for each fabric.

`tests/unit/interop/test_audit.py` says for each fault what must be found; here its figures and its words are kept,
and `make docs` writes them anew.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.golden.commands import PROSE, printed
from tests.golden.pages import differences, page, sections, table
from tests.support import ROOT
from tests.support import SMALL as FOLDER
from tests.unit.interop.seeded import Listing

if TYPE_CHECKING:
    from pathlib import Path

EXPECTED = ROOT / "tests" / "golden" / "audits"
FABRICS = {"floor": "4xNDR", "joined": "4xHDR", "pods": "4xNDR", "racks": "4xNDR"}
"""Small fabrics with the rate of their links, as a listing prints it."""


def lose_cables(built: Listing) -> None:
    """A cable up, one down, and one between spine and core or zone."""
    leaves, spines = built.of("leaf"), built.of("spine")
    built.cut(leaves[0], built.up(leaves[0])[-1])
    built.cut(leaves[1], built.down(leaves[1])[0])
    built.cut(spines[-1], built.up(spines[-1])[-1])


def lose_devices(built: Listing) -> None:
    """A node, a spine and a leaf that stays without its nodes."""
    for name in [name for name in built.links if name.startswith("compute-02/")]:
        built.remove(name)
    built.remove(built.of("spine")[1])
    built.remove(built.of("leaf")[-1])


def slow_links(built: Listing) -> None:
    """Dead lanes up, a low rate down, a whole leaf at half of its rate."""
    leaves = built.of("leaf")
    built.slow(leaves[0], built.up(leaves[0])[0], "1xHDR")
    built.slow(leaves[1], built.down(leaves[1])[1], "4xQDR")
    for port in list(built.links[leaves[2]]):
        built.slow(leaves[2], port, "2xEDR")


def swap_cables(built: Listing) -> None:
    """Two cables of a leaf, and two of different leaves."""
    leaves = built.of("leaf")
    one, two = built.up(leaves[0])[:2]
    built.rewire(leaves[0], [one, two], [two, one])
    ports = built.down(leaves[1])[0], built.down(leaves[2])[0]
    ends = built.cut(leaves[1], ports[0]), built.cut(leaves[2], ports[1])
    built.join(leaves[1], ports[0], *ends[1])
    built.join(leaves[2], ports[1], *ends[0])


def shift_cables(built: Listing) -> None:
    """The cables of the nodes of a leaf, each one port higher, and three cables up in a round."""
    leaves = built.of("leaf")
    down, up = built.down(leaves[0]), built.up(leaves[1])[:3]
    built.rewire(leaves[0], down, [*down[1:], down[0]])
    built.rewire(leaves[1], up, [up[1], up[2], up[0]])


def exchange_names(built: Listing) -> None:
    """Two spines and two leaves with each other's names."""
    for kind in ("spine", "leaf"):
        one, two = built.of(kind)[:2]
        built.names |= {one: two, two: one}


def move_and_add(built: Listing) -> None:
    """A cable in a free port, and a device that the design does not have."""
    leaf = next(name for name in built.of("leaf") if len(built.links[name]) + 1 < built.ports[name])
    free = [port for port in range(1, built.ports[leaf] + 1) if port not in built.links[leaf]]
    end = built.cut(leaf, built.down(leaf)[-1])
    built.join(leaf, free[0], *end)
    built.ports["stranger/nic0"], built.links["stranger/nic0"] = 1, {}
    built.join("stranger/nic0", 1, leaf, free[1])


def rename_hosts(built: Listing) -> None:
    """Hosts with names of their own, told by their wiring, two of them with one name, and a cable that is gone."""
    hosts = sorted({name.partition("/")[0] for name in built.of("/")})
    for number, host in enumerate(hosts):
        for own in built.of(f"{host}/"):
            built.names[own] = f"box{len(hosts) - number} mlx5_{own.partition('nic')[2][0]}"
    for one, two in zip(built.of(f"{hosts[0]}/"), built.of(f"{hosts[1]}/"), strict=True):
        built.names[one] = built.names[two]
    leaf = built.of("leaf")[0]
    built.cut(leaf, built.up(leaf)[0])


SEEDS = (lose_cables, lose_devices, slow_links, swap_cables, shift_cables, exchange_names, move_and_add, rename_hosts)


def strange_names(built: Listing) -> None:
    """Names that say nothing but which adapters are of one host."""
    hosts = sorted({name.partition("/")[0] for name in built.of("/")}, key=_shuffled)
    for name in built.links:
        host, slash, nic = name.partition("/nic")
        own = f"tray{hosts.index(host):03d} mlx5_{nic}" if slash else f"MF0;sw{_shuffled(name)[:6]}:MQM9700/U1"
        built.names.setdefault(name, own)


def makers_names(built: Listing) -> None:
    """What an adapter and a switch call themselves before anyone names them."""
    for name in built.links:
        built.names.setdefault(name, "MT4129 ConnectX7 Mellanox Technologies" if "/" in name else "Quantum Mellanox")


def _shuffled(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


NAMINGS = {"": None, "-strange": strange_names, "-makers": makers_names}
"""What the devices are called; by the suffix of the report."""
NAMED = {"floor": ("", "-strange"), "joined": ("", "-makers"), "pods": ("", "-strange"), "racks": ("", "-makers")}
"""How the devices of a fabric are called."""
CASES = {
    f"{fabric}-{seed.__name__}{suffix}": (fabric, seed, NAMINGS[suffix])
    for fabric in FABRICS
    for suffix in NAMED[fabric]
    for seed in SEEDS
    if not suffix or seed not in (exchange_names, rename_hosts)
}


def reported(case: str, folder: Path) -> str:
    """Return what an audit of a small fabric with a fault finds."""
    fabric, seed, naming = CASES[case]
    design, parts = FOLDER / f"{fabric}.yaml", str(FOLDER / "parts")
    built = Listing(str(design), "--catalog", parts, rate=FABRICS[fabric])
    seed(built)
    if naming is not None:
        naming(built)
    file = folder / "built.txt"
    file.write_text(built.text())
    command = ("audit", str(design), str(file), "--catalog", parts, "--format", "json")
    text = printed(*command)
    return table(text.replace(f"{folder}/", "").replace(f"{FOLDER}/", ""), longest=PROSE)


def reports(folder: Path) -> dict[Path, str]:
    """Return every page of reports by where it is kept."""
    return {
        EXPECTED / f"{fabric}.txt": page({case: reported(case, folder) for case in CASES if CASES[case][0] == fabric})
        for fabric in FABRICS
    }


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case.startswith("pods") else pytest.mark.deep) for case in CASES]
)
def test_the_report_of_an_audit(case: str, tmp_path: Path) -> None:
    assert not differences(reported(case, tmp_path), sections(EXPECTED / f"{CASES[case][0]}.txt")[case])


def test_every_kept_report_has_its_fault() -> None:
    assert {name for path in EXPECTED.iterdir() for name in sections(path)} == set(CASES)
