"""Folders of parts as they lie about: locks of editors, links to nowhere, folders and pipes with the names of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.models import Model
from ffplan.catalog.store import Catalog
from tests.support import document, ffplan, overlay_part

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    """A folder with one good part among what is none."""
    folder = tmp_path / "parts"
    folder.mkdir()
    overlay_part(folder, "llama2-70b", ("id: llama2-70b", "id: my-llama"))
    (folder / "llama2-70b.yaml").rename(folder / "my-llama.yaml")
    (folder / ".#my-llama.yaml").symlink_to("someone@host.1234:56")  # as Emacs marks a file that is open
    (folder / ".hidden.yaml").write_text("{")
    (folder / "folder.yaml").mkdir()
    (folder / "folder.yaml" / "inner.txt").write_text("x")
    os.mkfifo(folder / "pipe.yaml")
    return folder


def test_a_messy_folder_lists_its_parts(messy: Path) -> None:
    done = ffplan("catalog", "list", "models", "--catalog", str(messy))
    assert done.code == 0, done.err
    assert "my-llama" in done.out
    done = ffplan("catalog", "show", "my-lama", "--catalog", str(messy))
    assert done.code == 2
    assert "did you mean `my-llama`" in done.err


def test_a_link_to_nowhere_is_heard_of(messy: Path) -> None:
    (messy / "gone.yaml").symlink_to(messy / "nowhere")
    with pytest.raises(InputError) as caught:
        Catalog((str(messy),))
    assert "gone.yaml:1:1" in str(caught.value)
    assert "[file-unreadable]" in str(caught.value)


def test_pipes_and_folders_are_no_parts(messy: Path) -> None:
    catalog = Catalog((str(messy),))
    for name in ("pipe", "folder", ".hidden", ".#my-llama"):
        with pytest.raises(KeyError):
            catalog.entry(name)


def test_every_file_is_read_once(messy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ffplan.inputs.document import read_bytes

    seen: list[str] = []

    def watched(path: Path, file: str) -> bytes:
        seen.append(str(path))
        return read_bytes(path, file)

    monkeypatch.setattr("ffplan.catalog.store.read_bytes", watched)
    catalog = Catalog((str(messy),))
    for _ in range(2):
        catalog.ids_of("model")
        catalog.entry("my-llama")
        catalog.get(Model, "my-llama", document("model: my-llama\n"), ("model",))
    assert seen.count(str(messy / "my-llama.yaml")) == 1
    assert len(seen) == len(set(seen))


def test_a_library_keeps_the_method_of_its_name(tmp_path: Path) -> None:
    overlay_part(tmp_path, "nccl", ("method: nccl", "method: hfreduce"))
    done = ffplan(
        *("train", "dgx-a100-10k", "--model", "llama2-70b", "--tp", "8", "--gpus", "64", "--batch", "64"),
        *("--catalog", str(tmp_path)),
    )
    assert done.code == 2
    assert "[catalog-library]" in done.err
    assert "the library `nccl` has the method `hfreduce`" in done.err
