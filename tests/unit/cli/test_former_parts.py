"""`check --against` a revision whose parts have other names by now, and files that git takes for renamed ones."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support import ffplan, overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support import Run

DESIGN = "superpod-h100-4su"


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A design on a switch of the repository's own, which a later commit renames; the design follows."""
    folder = tmp_path / "repo"
    parts = folder / "parts"
    parts.mkdir(parents=True)
    overlay_part(parts, "qm9700", ("id: qm9700", "id: our-leaf"))
    (parts / "qm9700.yaml").rename(parts / "leaf.yaml")
    book = (
        "kind: price-book\nid: ours\nextends: usd-2026\nname: ours\nvendor: various\ncurrency: USD\n"
        'date: "2026-11"\nsources: {us: {title: a quote, date: "2026-11", grade: datasheet, status: V}}\n'
        "items: {our-leaf: {value: 20000, source: us}}\n"
    )
    (parts / "ours.yaml").write_text(book)
    (folder / "ffplan.toml").write_text('catalog = ["parts"]\n[rules]\nrecalled-prices = "off"\n')
    changes = (("qm9700", "our-leaf"), ("price_book: usd-2026", "price_book: ours"))
    vary_design(folder, DESIGN, *changes).rename(folder / "pod.yaml")
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "first")
    for file in (parts / "leaf.yaml", parts / "ours.yaml", folder / "pod.yaml"):
        file.write_text(file.read_text().replace("our-leaf", "new-leaf"))
    monkeypatch.chdir(folder)
    return folder


def against(*files: str) -> Run:
    return ffplan("check", *files, "--against", "main")


def test_a_version_is_assessed_with_the_parts_of_then(repository: Path) -> None:
    done = against("pod.yaml")
    assert done.code == 0
    assert "[regression]" not in done.out
    pod = repository / "pod.yaml"
    pod.write_text(pod.read_text().replace("pue: 1.25", "pue: 1.5"))
    done = against("pod.yaml")
    assert done.code == 1
    assert "% allowed against main with the parts of then [regression]" in done.out


def test_the_folder_of_then_may_have_another_name(repository: Path) -> None:
    """The settings of then say where the parts were."""
    (repository / "parts").rename(repository / "catalog")
    settings = repository / "ffplan.toml"
    settings.write_text(settings.read_text().replace('"parts"', '"catalog"'))
    done = against("pod.yaml")
    assert (done.code, "[regression]" in done.out) == (0, False)


def test_parts_of_today_are_used_where_they_do(repository: Path) -> None:
    """A price that changed is no change of the design."""
    commit(repository, "renamed")
    book = repository / "parts" / "ours.yaml"
    book.write_text(book.read_text().replace("20000", "2000000"))
    assert "[regression]" not in against("pod.yaml").out


def test_what_stops_a_version_is_said(repository: Path) -> None:
    """The part of then is wrong as well: its file is named as in the repository."""
    git(repository, "stash", "-q")
    leaf = repository / "parts" / "leaf.yaml"
    right = leaf.read_text()
    leaf.write_text(right.replace("power_max", "power_most"))
    commit(repository, "wrong")
    leaf.write_text(right)
    git(repository, "commit", "-qam", "right")
    git(repository, "stash", "pop", "-q")
    done = ffplan("check", "pod.yaml", "--against", "main~1")
    assert (
        "not held against what it was: the version of `main~1` cannot be assessed: parts/leaf.yaml@main~1:" in done.out
    )
    assert "the field `power_most` is not known here" in done.out
    assert "/tmp" not in done.out


def test_a_version_without_parts_in_the_repository(repository: Path, tmp_path: Path) -> None:
    """Parts outside it have no history: what is missing is named."""
    (repository / "parts").rename(tmp_path / "parts")
    (repository / "ffplan.toml").unlink()
    git(repository, "rm", "-rqf", "--cached", "parts", "ffplan.toml")
    commit(repository, "apart")
    pod = repository / "pod.yaml"
    text = pod.read_text()
    pod.write_text(text.replace("new-leaf", "third-leaf"))
    git(repository, "commit", "-qam", "another")
    pod.write_text(text)
    done = ffplan("check", "pod.yaml", "--against", "main", "--catalog", str(tmp_path / "parts"))
    assert "cannot be assessed: pod.yaml@main:" in done.out
    assert "no switch `third-leaf` in the catalogue [regression]" in done.out


def test_a_renamed_file_is_named(repository: Path) -> None:
    commit(repository, "renamed part")
    pod = repository / "pod.yaml"
    (repository / "better.yaml").write_text(pod.read_text().replace("pue: 1.25", "pue: 1.6"))
    pod.unlink()
    git(repository, "add", "-A")
    done = against("better.yaml")
    assert "allowed against main:pod.yaml (which git takes for it) [regression]" in done.out


@pytest.mark.parametrize("folders", ['["parts/sub", "parts"]', '["parts", "parts/sub"]', '["."]'])
def test_folders_of_then_may_lie_in_each_other(repository: Path, folders: str) -> None:
    """And the settings may lie in one of them: what was written for one is not all of another."""
    git(repository, "stash", "-q")
    settings = repository / "ffplan.toml"
    settings.write_text(settings.read_text().replace('["parts"]', folders))
    sub = repository / "parts" / "sub"
    sub.mkdir()
    book = repository / "parts" / "ours.yaml"
    book.rename(sub / "ours.yaml")
    commit(repository, "nested")
    for file in (repository / "parts" / "leaf.yaml", sub / "ours.yaml", repository / "pod.yaml"):
        file.write_text(file.read_text().replace("our-leaf", "new-leaf"))
    pod = repository / "pod.yaml"
    pod.write_text(pod.read_text().replace("pue: 1.25", "pue: 1.5"))
    done = against("pod.yaml")
    assert done.code == 1
    assert "% allowed against main with the parts of then [regression]" in done.out


def test_a_folder_of_then_that_cannot_be_used_is_named(repository: Path) -> None:
    """Two files of then had one id; the other designs are held against theirs all the same."""
    git(repository, "stash", "-q")
    leaf = repository / "parts" / "leaf.yaml"
    (repository / "parts" / "twin.yaml").write_text(leaf.read_text())
    commit(repository, "twins")
    git(repository, "rm", "-q", "parts/twin.yaml")
    git(repository, "stash", "pop", "-q")
    done = against("pod.yaml")
    assert done.code == 0
    words = "the version of `main` cannot be assessed: parts@main: two files have the id `our-leaf`: parts/leaf.yaml"
    assert f"{words} and parts/twin.yaml; keep one" in " ".join(done.out.split())
    assert "ffplan-" not in done.out + done.err
