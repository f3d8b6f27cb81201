"""Every catalogue file and every shipped design."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.folders import KINDS
from ffplan.catalog.parts import Part, Server, StorageServer
from ffplan.catalog.prices import PriceBook
from ffplan.catalog.stacks import SoftwareStack
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.studies.explain.catalog import part_sheet
from ffplan.validation.cases import CaseFile, TrainingFile
from ffplan.validation.serving_cases import ServingFile
from tests.support import DESIGNS, ROOT, checker, host_named, syntax

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = {
    "accelerator": "accelerators",
    "cpu": "cpus",
    "nic": "nics",
    "switch": "switches",
    "link": "links",
    "server": "servers",
    "storage-server": "storage",
    "file-system": "storage",
    "price-book": "prices",
    "rent-book": "rents",
    "token-book": "rents",
    "ownership": "ownership",
    "library": "libraries",
    "attention-rates": "kernels",
    "runtime": "runtimes",
    "stack": "stacks",
    "failure-study": "reliability",
    "xid-table": "reliability",
    "reliability": "reliability",
    "job-mix": "reliability",
    "engine": "engines",
    "model": "models",
}
CASES = sorted((ROOT / "catalogs" / "measurements").rglob("*.yaml"))
FILES = sorted(set((ROOT / "catalogs").rglob("*.yaml")) - set(CASES))


CATALOG = Catalog()


def part(path: Path) -> Part:
    return CATALOG.entry(path.stem).part


def files_of(kind: str) -> list[Path]:
    found = [path for path in FILES if path.relative_to(ROOT / "catalogs").parts[0] == FOLDERS[kind]]
    if list(FOLDERS.values()).count(FOLDERS[kind]) > 1:
        found = [path for path in found if part(path).kind == kind]
    assert found
    return found


def test_every_kind_has_a_folder_and_a_part() -> None:
    assert set(FOLDERS) == set(KINDS)
    assert {part(path).kind for path in FILES} == set(KINDS)


@pytest.mark.parametrize("kind", FOLDERS)
def test_catalogue_files(kind: str) -> None:
    check = checker("catalog")
    for path in files_of(kind):
        loaded = part(path)
        assert loaded.kind == kind, path
        check.validate(read_document(path).data)
        figures = list(loaded.figures())
        assert figures, path
        used = {figure.source for _, figure in figures}
        if isinstance(loaded, SoftwareStack):
            used |= {source for source in (loaded.recipe, loaded.settings.source) if source is not None}
        if getattr(loaded, "extends", None) is not None and kind == "reliability":  # sources of its base come with it
            continue
        assert used == set(loaded.sources), f"{path}: every source listed is used, every source used is listed"
        for source in loaded.sources.values():
            assert ("recalled" in source.title) == (source.status == "R"), f"{path}: a recalled figure says so"


def test_every_part_can_be_shown() -> None:
    for path in FILES:
        sheet = part_sheet(CATALOG, path.stem)
        assert len(sheet.report.figures) == len(sheet.source_of), path


def test_every_id_in_a_part_exists() -> None:
    known = set(CATALOG.ids())
    for path in FILES:
        loaded = part(path)
        names: set[str] = set()
        if isinstance(loaded, PriceBook):
            names |= set(loaded.items)
        if isinstance(loaded, Server | StorageServer):
            names |= {socket.cpu for socket in loaded.sockets} | {nic.part for nic in loaded.nics}
        if isinstance(loaded, Server) and loaded.accelerator:
            names.add(loaded.accelerator)
        assert names <= known, path


@pytest.mark.parametrize("subject", ["communication", "training", "serving"])
def test_case_files(subject: str) -> None:
    check = checker(f"{subject}-cases")
    first = f"# yaml-language-server: $schema=../../../schema/{subject}-cases.schema.json\n"
    for path in (item for item in CASES if item.parent.name == subject):
        document = read_document(path)
        kinds: dict[str, type[CaseFile | TrainingFile | ServingFile]] = {
            "communication": CaseFile,
            "training": TrainingFile,
            "serving": ServingFile,
        }
        loaded = validate(kinds[subject], document)
        assert loaded.id == path.stem
        check.validate(document.data)
        if isinstance(loaded, CaseFile):
            assert loaded.collectives or loaded.hierarchies or loaded.offloads, path
        assert path.read_text().startswith(first), path


@pytest.mark.parametrize("name", DESIGNS)
def test_design_file(name: str) -> None:
    path = ROOT / "designs" / f"{name}.yaml"
    document = read_document(path)
    assert document.data["name"] == name
    checker("design").validate(document.data)
    assert path.read_text().startswith("# yaml-language-server: $schema=../schema/design.schema.json\n")


def test_the_two_fire_flyer_nodes_differ_only_in_nvlink() -> None:
    plain, bridged = (Catalog().entry(f"fire-flyer-2-node{suffix}").document.data for suffix in ("", "-nvlink"))
    for key in set(plain) - {"id", "name", "power"}:
        assert plain[key] == bridged[key], key
    assert set(bridged) - set(plain) == {"nvlink"}
    assert plain["power"]["training"]["value"] == bridged["power"]["training"]["value"]


def test_accelerators_behind_a_switch_of_nvidia_have_rates_of_collectives() -> None:
    """A gap would read as the library's share of the links, without calls, ceilings or reduction in the switch."""
    lacking = set()
    for path in files_of("server"):
        host = host_named(path.stem)
        if host.accelerator is not None and host.accelerator.vendor == "NVIDIA" and host.joined:
            rates = host.accelerator.collectives
            if rates is None or rates.ring is None or rates.ll is None:
                lacking.add(host.accelerator.id)
    assert lacking == {"rubin-gpu"}, "of which nothing is measured yet"


def test_code_holds_no_hardware_number() -> None:
    """Numbers of the catalogue's parts do not stand in code outside docstrings and comments."""
    import ast

    known = {37.5, 32.4, 0.864, 409.6, 320, 204.8, 1.7576, 0.084, 404, 2500, 4200, 15.2}
    for path in (ROOT / "ffplan").rglob("*.py"):
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value not in (0, 1):
                assert node.value not in known, f"{path}:{node.lineno}: {node.value}"
