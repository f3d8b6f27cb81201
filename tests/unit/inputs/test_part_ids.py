"""Names that stand for parts: case, `_`, words left out; and unknown parts in one run with the faults of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import ffplan
from ffplan.base.errors import did_you_mean, nearest
from ffplan.catalog.named import part_of
from ffplan.catalog.parts import Accelerator, Switch
from ffplan.catalog.store import Catalog
from ffplan.inputs.part_ids import id_of, meant
from tests.support import ffplan as run
from tests.support import vary_design

if TYPE_CHECKING:
    from pathlib import Path

IDS = [
    "h200-sxm",
    "gh200-96gb",
    "a100-pcie-40gb",
    "a100-sxm-40gb",
    "a100-sxm-80gb",
    "sn5600",
    "sn5600d",
    "400g-dr4",
    "llama-13b",
    "llama3-8b",
]


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("H200", ["h200-sxm"]),
        ("a100_sxm_80", ["a100-sxm-80gb"]),
        ("A100-SXM-40GB", ["a100-sxm-40gb"]),
        ("a100-40", ["a100-pcie-40gb", "a100-sxm-40gb"]),
        ("a100-80", ["a100-sxm-80gb"]),
        ("a100-40-sxm", []),  # words in another order
        ("sn5600", ["sn5600"]),  # not sn5600d
        ("sn560", []),
        ("llama", ["llama-13b", "llama3-8b"]),  # not the only one whose first word it is
        ("llama-13b", ["llama-13b"]),
        ("40", []),
        ("200-96gb", []),
        ("", []),
    ],
)
def test_what_a_name_stands_for(name: str, ids: list[str]) -> None:
    assert meant(name, IDS) == ids
    assert id_of(name, IDS) == (ids[0] if len(ids) == 1 else name)


def test_an_option_takes_what_stands_for_one_part_alone() -> None:
    catalog = Catalog()
    assert part_of(catalog, Accelerator, "H200", "--accelerator").id == "h200-sxm"
    with pytest.raises(ffplan.UsageError, match=r"`a100-40` matches more than one accelerator; write .*-pcie-40gb"):
        part_of(catalog, Accelerator, "a100-40", "--accelerator")
    with pytest.raises(ffplan.UsageError, match=r"no accelerator `zz9`.*`ffplan catalog new`.*`--catalog`"):
        part_of(catalog, Accelerator, "zz9", "--accelerator")


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("spectrum-x", ["sn5400", "sn5600", "sn5600d", "sn5610", "sn6600", "sn6800-ld", "sn6810-ld"]),
        ("Spectrum_4", ["sn5400", "sn5600", "sn5600d", "sn5610"]),
        ("quantum-2", ["qm9700", "qm9790"]),
        ("quantum-x800", ["q3200", "q3400", "q3450-ld"]),
        ("tomahawk-5", ["th5-64x800g"]),
        ("slingshot 11", ["slingshot-64x200g"]),
        ("spectru", []),
        ("64", []),
        ("", []),
    ],
)
def test_switches_go_by_the_names_of_their_lines(name: str, ids: list[str], tmp_path: Path) -> None:
    catalog = Catalog()
    assert catalog.switches_called(name) == ids
    assert not catalog.used
    if len(ids) == 1:
        assert part_of(catalog, Switch, name, "--switch").id == ids[0]
        assert run("catalog", "show", name).out == run("catalog", "show", ids[0]).out
    elif ids:
        path = vary_design(tmp_path, "superpod-h100-4su", ("switch: qm9700", f"switch: {name.lower()}"))
        said = f"`{name.lower()}` matches more than one switch"
        assert said in run("design", str(path)).err
        assert f"{said}; write `{ids[0]}`" in run("init --gpus 64 -a b200 --switch", name.lower()).err
        assert f"`{ids[0]}`" in run("init --gpus 64 -a b200 --fabric", name).err
        assert f"catalog show {ids[0]}" in run("explain", name).err


def test_exchanged_letters_are_the_nearest() -> None:
    assert nearest("sn5060", ["sn5610", "sn5600", "sn5400", "sn6600"]) == "sn5600"
    assert did_you_mean("SN5060", ["sn5400", "sn5600"], what="switch") == "did you mean `sn5600`?"


def test_a_design_with_other_names_of_its_parts_is_the_same_design(tmp_path: Path) -> None:
    changes = (("switch: qm9700", "switch: QM9700"), ("family: rail-optimised", "family: rail-optimized"))
    path = vary_design(tmp_path, "superpod-h100-4su", *changes, ("server: hgx-h100-8nic", "server: HGX_H100"))
    design, original = ffplan.load(path), ffplan.load("superpod-h100-4su")
    assert design.spec == original.spec
    assert design.spec.fabric.family == "rail-optimised"


def test_sections_take_other_names_too() -> None:
    design = ffplan.load("superpod-h100-4su").vary(
        {"workload": {"model": "LLAMA3_8B"}, "ownership": {"rents": "Rents_2026"}}
    )
    assert design.resolved.stated_workload.model == "llama3-8b"
    assert design.resolved.ownership is not None
    assert design.resolved.ownership.rents == "rents-2026"


def test_faults_of_schema_and_unknown_parts_come_together(tmp_path: Path) -> None:
    changes = (
        ("switch: qm9700", "switch: sn5060"),
        ("server: hgx-h100-8nic", "server: nothing-like-it, colour: red"),
        ("\nsite:", "\nworkload: {model: llama9-8b, tokns: 1T}\nsite:"),
    )
    path = vary_design(tmp_path, "superpod-h100-4su", *changes)
    done = run("design", str(path))
    assert done.code == 2
    for words in (
        "no switch `sn5060`",
        "did you mean `sn5600`?",
        "`nothing-like-it`",
        "`colour`",
        "`llama9-8b`",
        "`tokns`",
    ):
        assert words in done.err
    assert done.err.count("no switch `sn5060`") == 1


def test_a_recommendation_takes_other_names() -> None:
    with pytest.raises(ffplan.UsageError, match="matches more than one accelerator"):
        ffplan.recommend("llama3-8b", tokens=1e12, days=30, allowed="H100")
    report = ffplan.recommend("LLAMA3_8b", tokens=1e11, days=30, allowed="h100_sxm_80", best=1)
    assert report.model == "llama3-8b"
    assert {design.accelerator for design in report.designs} == {"h100-sxm-80gb"}


def test_an_ambiguous_name_lists_parts_with_their_memory() -> None:
    """As an option, as a part to show, and where the memory is not in the id."""
    listed = "write `a100-pcie-40gb` (40 GB) or `a100-sxm-40gb` (40 GB)"
    for command in ("serve --model llama3-8b --accelerator a100-40", "catalog show a100-40"):
        done = run(command)
        assert (done.code, done.out) == (2, "")
        assert listed in done.err
    assert "`h100-nvl` (94 GB)" in run("serve --model llama3-8b --accelerator h100").err
