"""Files of `--catalog` are used, or refused where they stand: none is left out in silence."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

import ffplan as api
from ffplan.base.errors import InputError
from ffplan.base.files import data_folder
from ffplan.catalog.folders import KINDS, OTHER_FILES
from ffplan.catalog.store import Catalog
from ffplan.cli.app import build
from ffplan.cli.checked_files import OTHER_KINDS
from tests.support import examples, ffplan, invoked, overlay_part

SHIPPED = Catalog()
FIRST = {kind: SHIPPED.ids_of(kind)[0] for kind in KINDS}
"""A shipped part of each kind."""
QUOTE = """kind: price-book
id: usd-2026
extends: usd-2026
name: a quote
vendor: us
currency: USD
date: "2026-11"
sources: {quote: {title: "an offer", date: "2026-11", grade: measured, status: V}}
items: {hgx-h100-8nic: {value: 5, source: quote}}
"""
DESIGN = "superpod-h100-4su"
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "catalog schema": ("design", "--with-catalog"),
    "init": ("-a", "h100-sxm-80gb", "-g", "64"),
    "compare": (DESIGN, "dgx-a100-10k"),
    "fabric size": ("--endpoints", "100", "--switch", "qm9700"),
    "sweep": (DESIGN, "--vary", "fabric.planes=1"),
    "serve": (DESIGN, "--model", "llama3-8b"),
    "recommend": ("--model", "llama3-70b", "--tokens", "1T"),
    "explain": (DESIGN, "cost.total"),
    "model calibrate accelerator": ("h100-sxm-80gb", "--cases", "{file}"),
    "fabric export": (DESIGN, "--to", "ibsim"),
    "fabric audit": (DESIGN, "{file}"),
    "diff": (DESIGN, "dgx-a100-10k"),
    "fabric verify": (DESIGN, "--with", "opensm"),
    "model reproduce": ("{report}",),
    "model accuracy communication": (),
    "model accuracy training": (),
    "model accuracy memory": (),
    "model accuracy serving": (),
    "model measure fit": ("{file}", "--accelerator", "h100-sxm-80gb"),
    "fabric import nccl": ("{file}",),
    "catalog list": (),
    "catalog show": ("qm9700",),
    "catalog audit": (),
    "catalog new": ("switch",),
}
"""What each command needs beside a design alone."""


def commands(command: Any, *path: str) -> list[str]:
    """Return every command that takes `--catalog`."""
    if isinstance(command, click.Group) or hasattr(command, "commands"):
        return [name for key, item in command.commands.items() for name in commands(item, *path, key)]
    takes = any("--catalog" in option.opts for option in command.params)
    return [" ".join(path)] if takes else []


def folder_with(folder: Path, name: str, text: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return str(folder)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved report."""
    file = tmp_path_factory.mktemp("saved") / "report.json"
    assert ffplan("design", DESIGN, "--format", "json", "-o", str(file)).code == 0
    return file


@pytest.mark.parametrize("command", commands(get_command(build())))
def test_every_command_refuses_what_it_cannot_place(command: str, report: Path, tmp_path: Path) -> None:
    own = folder_with(tmp_path / "parts", "quote.yaml", QUOTE.replace("id: usd-2026\n", "", 1))
    file = tmp_path / "file.json"
    file.write_text("{}")
    arguments = [item.format(file=file, report=report) for item in ARGUMENTS.get(command, (DESIGN,))]
    result = invoked(*command.split(), *arguments, "--catalog", own)
    fault = f"{own}/quote.yaml:1:1: error: the price-book has no `id` [catalog-id]"
    if command == "check":  # its findings are its output
        assert (result.exit_code, result.stdout.startswith(fault)) == (2, True)
        return
    assert isinstance(result.exception, InputError), (command, result.exception, result.output)
    assert (result.exception.exit_code, result.stdout) == (2, "")
    assert str(result.exception).startswith(fault)


def test_the_api_refuses_what_it_cannot_place(tmp_path: Path) -> None:
    own = folder_with(tmp_path, "quote.yaml", "- a\n- b\n")
    with pytest.raises(InputError, match=r"quote.yaml:1:1: error: the field `kind` is missing"):
        api.load(DESIGN, catalogs=own)


def test_a_quote_in_a_file_of_another_name_is_used(tmp_path: Path) -> None:
    """127 servers of 5 USD in place of the shipped price, as with the file named after the id."""
    for name in ("usd-2026.yaml", "quote.yaml", "measurements/quote.yml", "Quote.YAML"):
        (own := tmp_path / name.replace("/", "-")).mkdir()
        place = own / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(QUOTE)
        found = json.loads(ffplan("design", DESIGN, "--format", "json", "--catalog", str(own)).out)
        assert found["cost"]["servers"] == 127 * 5, name
        assert f"{own}/{name}" in [item["path"] for item in found["catalog"]]


def test_a_link_to_a_folder_is_read_once(tmp_path: Path) -> None:
    folder_with(tmp_path / "elsewhere", "quote.yaml", QUOTE)
    own = tmp_path / "parts"
    own.mkdir()
    (own / "link").symlink_to(tmp_path / "elsewhere")
    (own / "again").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "up").symlink_to(own)
    assert Catalog([str(own)]).entry("usd-2026").document.file == f"{own}/link/quote.yaml"


STYLES = ("as written", "quoted", "flow", "json", "windows")
"""Ways to write the same file."""


def rewritten(text: str, style: str) -> str:
    """Return a file written in another way."""
    data = yaml.safe_load(text)
    if style == "quoted":
        return text.replace(f"id: {data['id']}", f'"id": "{data["id"]}"', 1)
    if style == "flow":
        return yaml.safe_dump(data, default_flow_style=True, sort_keys=False, allow_unicode=True)
    if style == "json":
        return json.dumps(data, default=str)
    return text.replace("\n", "\r\n") if style == "windows" else text


@examples(60)
@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(STYLES),
    st.from_regex(r"[A-Za-z0-9_ ]{1,20}\.ya?ml", fullmatch=True),
    st.lists(st.sampled_from(["a", "measurements", "b c"]), max_size=2),
)
def test_a_part_is_found_by_its_id_whatever_its_file_is_called(
    kind: str, style: str, name: str, folders: list[str]
) -> None:
    source = next(data_folder("catalogs").rglob(f"{FIRST[kind]}.yaml"))
    written = rewritten(source.read_text(), style)
    with TemporaryDirectory() as scratch:
        place = Path(scratch).joinpath(*folders, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(written)
        catalog = Catalog([scratch])
        located = catalog.locate(FIRST[kind])
        assert located is not None
        assert located[0] == place
        assert catalog.kind_of(FIRST[kind]) == kind
        assert FIRST[kind] in catalog.ids_of(kind)
        assert catalog.entry(FIRST[kind]).part.id == FIRST[kind]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("kind: swich\nid: mine\n", "1:7", "did you mean `switch`"),
        ("id: mine\n", "1:1", "the field `kind` is missing"),
        ("kind: switch\nid: Mine\n", "2:5", "`Mine` is not an id of the switch"),
        ("kind: switch\nid: [mine]\n", "2:5", "is not an id of the switch"),
        ("kind: switch\nid: a\nid: b\n", "3:1", "[yaml-duplicate-key]"),
        ("kind: switch\n  id: a\n", "2:5", "[yaml-syntax]"),
        ("", "1:1", "[file-empty]"),
        ("apiVersion: v1\nkind: ConfigMap\n", "2:7", "`kind` is `ConfigMap`"),
    ],
)
def test_the_place_of_what_cannot_be_placed(text: str, place: str, words: str, tmp_path: Path) -> None:
    own = folder_with(tmp_path, "file.yaml", text)
    with pytest.raises(InputError) as caught:
        Catalog([own])
    assert str(caught.value).startswith(f"{own}/file.yaml:{place}: error: ")
    assert words in str(caught.value)


def test_other_files_of_ours_may_lie_beside_parts(tmp_path: Path) -> None:
    """Designs, cases, plans and recordings say what they are; all that cannot be placed is named at once."""
    assert set(OTHER_FILES) == {"design", *OTHER_KINDS}
    for kind in OTHER_FILES:
        folder_with(tmp_path, f"{kind}.yaml", f"kind: {kind}\nid: x\n")
    folder_with(tmp_path, "plain.yaml", "name: mine\nnodes: []\n")
    overlay_part(tmp_path, "qm9700")
    assert set(Catalog([str(tmp_path)]).ids()) == set(SHIPPED.ids())
    folder_with(tmp_path, "one.yaml", "a: 1\n")
    folder_with(tmp_path, "two.yaml", "kind: nic\n")
    with pytest.raises(InputError) as caught:
        Catalog([str(tmp_path)])
    assert [finding.file.rpartition("/")[2] for finding in caught.value.findings] == ["one.yaml", "two.yaml"]


def test_a_part_is_checked_beside_whatever_lies_there(tmp_path: Path) -> None:
    """What a part extends may lie in its own folder, which is no folder of parts alone."""
    folder_with(tmp_path, "quote.yaml", QUOTE.replace("id: usd-2026", "id: mine").replace("s: usd-2026", "s: base"))
    folder_with(tmp_path, "another.yaml", QUOTE.replace("id: usd-2026", "id: base", 1))
    folder_with(tmp_path, "compose.yaml", "services: {}\n")
    done = ffplan("check", str(tmp_path / "quote.yaml"))
    assert done.code == 0, done.err


def test_a_command_writes_over_the_file_that_has_the_part(tmp_path: Path) -> None:
    """A second file of the part would be one too many for the next command."""
    from ffplan.cli.output import _overlay_target

    overlay_part(tmp_path, "h100-sxm-80gb")
    (tmp_path / "h100-sxm-80gb.yaml").rename(tmp_path / "ours.yaml")
    parts = Catalog([str(tmp_path)])
    assert _overlay_target(str(tmp_path), "h100-sxm-80gb", parts, "x") == tmp_path / "ours.yaml"
    assert _overlay_target(str(tmp_path), "a100-pcie-40gb", parts, "x") == tmp_path / "a100-pcie-40gb.yaml"
