"""The next commands of reports: each reads what the run read, so that it can be run as it is printed."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from ffplan.base.next_commands import following, reading
from tests.support import ROOT
from tests.support import ffplan as run

if TYPE_CHECKING:
    from pathlib import Path

LAST_WORDS = re.compile(r"\bNext:? .*", re.DOTALL)
RUNS = {
    "design": ("design", "FILE"),
    "cost": ("cost", "FILE", "--draws", "50"),
    "compare": ("compare", "FILE", "superpod-h100-4su"),
    "init": ("init", "-a", "h100-sxm-80gb", "--gpus", "64"),
    "accept": ("fabric", "accept", "FILE"),
    "train": ("train", "FILE", "--model", "llama3.1-8b", "--gpus", "32", "--batch", "128", "--search"),
}
"""Commands that suggest others."""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return a folder of parts whose name has a space, and a design that is read with it alone."""
    parts = tmp_path / "my parts"
    parts.mkdir()
    text = (ROOT / "catalogs/switches/nvidia/qm9700.yaml").read_text()
    (parts / "mine.yaml").write_text(re.sub(r"^id: .*", "id: my-switch", text, count=1, flags=re.MULTILINE))
    design = tmp_path / "mine.yaml"
    shipped = (ROOT / "designs/superpod-h100-4su.yaml").read_text()
    design.write_text(re.sub(r"^( +switch:) \S+", r"\1 my-switch", shipped, flags=re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    return parts.name, design.name


@pytest.mark.parametrize("command", RUNS)
def test_suggested_commands_read_the_parts_that_the_run_read(command: str, own: tuple[str, str]) -> None:
    parts, design = own
    done = run(*(design if word == "FILE" else word for word in RUNS[command]), "--catalog", parts)
    assert done.code == 0, done.err
    said = LAST_WORDS.search(done.out)
    assert said is not None
    steps = re.findall(r"ffplan [^;]+?--catalog '[^']+'", " ".join(said[0].split()))
    assert steps
    for step in steps:
        words = shlex.split(step)
        assert words[-2:] == ["--catalog", parts]
    if command in ("design", "init"):  # nothing is left to fill in
        assert run(*shlex.split(steps[0])[1:]).code == 0


def test_without_folders_the_commands_are_as_they_were() -> None:
    assert following("ffplan cost mine; ffplan catalog list rents") == "ffplan cost mine; ffplan catalog list rents"


def test_each_of_several_commands_has_all_folders() -> None:
    with reading(["a", "b c"]):
        assert following("ffplan cost mine; ffplan catalog list rents") == (
            "ffplan cost mine --catalog a --catalog 'b c'; ffplan catalog list rents --catalog a --catalog 'b c'"
        )
        assert following("the same with --tokens T") == "the same with --tokens T"


def test_a_project_names_its_folders_itself(own: tuple[str, str], tmp_path: Path) -> None:
    parts, design = own
    (tmp_path / "ffplan.toml").write_text(f'catalog = ["{parts}"]\n')
    text = run("design", design).out
    assert "ffplan cost mine.yaml" in text
    assert "--catalog" not in text
