"""`catalog` and `prices` of a project's `ffplan.toml`, which stand in for options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan import load
from ffplan.cli.options import _project_catalogs, _project_prices, _settings
from tests.support import ffplan as run

if TYPE_CHECKING:
    from pathlib import Path

SIZE = ("fabric", "size", "--endpoints", "500", "--switch")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with a part, from a folder inside of it."""
    for folder in ("parts", "designs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "parts/own.yaml").write_text(
        run("catalog", "new", "switch", *("--id", "sn9999", "--like", "sn5600")).out
    )
    (tmp_path / "ffplan.toml").write_text('catalog = ["parts"]\nprices = "usd-2024"\n')
    monkeypatch.chdir(tmp_path / "designs")
    _settings.cache_clear()
    return tmp_path


def test_commands_find_the_parts_and_prices_of_the_project(project: Path) -> None:
    assert _project_catalogs(["mine"]) == ["mine", "../parts"]
    assert _project_prices() == "usd-2024"
    done = run(*SIZE, "sn9999")
    assert (done.code, "[USD]" in done.out) == (0, True), done.err
    assert "sn9999" in run("catalog", "list", "switches").out
    assert (project / "designs").is_dir()


def test_python_reads_no_project(project: Path) -> None:
    """The same folder is passed, as docs/python.md says."""
    with pytest.raises(KeyError):
        load("superpod-h100-4su").catalog.entry("sn9999")
    passed = load("superpod-h100-4su", catalogs=project / "parts").catalog.entry("sn9999")
    assert passed.part.id == "sn9999"


def test_an_option_counts_before_the_project(project: Path) -> None:
    done = run(*SIZE, "sn9999", "--prices", "nothing")
    assert "--prices: no price book `nothing`" in done.err
    folder = project / "mine"
    folder.mkdir()
    text = (project / "parts/own.yaml").read_text()
    (folder / "own.yaml").write_text(text.replace("TODO: name", "Mine: name"))
    assert "Mine: name" in run("catalog", "show", "sn9999", "--catalog", str(folder)).out
    assert "Mine: name" not in run("catalog", "show", "sn9999").out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('catalog = "parts"', "ffplan.toml:1:1: error: `catalog` is not a list"),
        ("prices = 3", "`prices`: input should be a valid string"),
        ('prices = "nothing"', "--prices: no price book `nothing`"),
        ('catalog = ["nowhere"]', "--catalog ../nowhere: cannot be read"),
        ("catalog = [", "this is not TOML"),
    ],
)
def test_wrong_settings_are_told(project: Path, text: str, words: str) -> None:
    (project / "ffplan.toml").write_text(text)
    done = run(*SIZE, "sn5600")
    assert done.code == 2
    assert words in done.err


def test_a_wrong_policy_is_the_matter_of_check_alone(project: Path) -> None:
    (project / "ffplan.toml").write_text('[rules]\nnothing = "off"\n')
    assert run(*SIZE, "sn5600").code == 0


def test_settings_stand_in_a_pyproject_too(project: Path) -> None:
    (project / "ffplan.toml").unlink()
    (project / "pyproject.toml").write_text('[tool.ffplan]\ncatalog = ["parts"]\n')
    assert _project_catalogs() == ["../parts"]
    assert _project_prices() is None


def test_a_pyproject_of_others_has_none(project: Path) -> None:
    (project / "ffplan.toml").unlink()
    (project / "pyproject.toml").write_text('[project]\nname = "ffplan-designs"\n')
    assert _project_catalogs() == []


def test_a_folder_that_is_gone_has_none(project: Path) -> None:
    (project / "designs").rmdir()
    assert _project_catalogs(["mine"]) == ["mine"]


def test_without_settings_nothing_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _settings.cache_clear()
    assert _project_catalogs() == []
    assert _project_prices() is None
