"""The wheel, in a fresh environment, away from the project."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from typing import TYPE_CHECKING

import pytest
from packaging.metadata import Metadata
from trove_classifiers import classifiers as trove_classifiers

from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.wheel]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


def test_wheel_in_a_fresh_environment(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    built = run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, ROOT, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {
        path.relative_to(ROOT).as_posix()
        for folder in ("catalogs", "designs")
        for path in (ROOT / folder).rglob("*.yaml")
    }
    assert {f"ffplan/_data/{name}" for name in shipped} <= set(names)
    assert not [name for name in names if name.startswith("tests/")]

    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    own_pip = (python, *pip[1:])
    installed = run(*own_pip, "install", "--quiet", "--constraint", constraints(tmp_path), wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr

    command = tmp_path / "venv" / "bin" / "ffplan"
    report = run(command, "design", "fire-flyer-2", "--format", "json", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    assert report.stdout == ffplan("design fire-flyer-2 --format json").out
    assert run(command, "check", "dgx-a100-10k", cwd=tmp_path).returncode == 0
    assert "qm8700" in run(command, "catalog", "list", "switch", cwd=tmp_path).stdout
    size = "size --endpoints 500 --switch qm8700 --format html"
    assert run(command, *size.split(), cwd=tmp_path).stdout == ffplan(size).out
    imported = run(python, "-c", "import ffplan; print(ffplan.__file__)", cwd=tmp_path).stdout
    assert str(tmp_path) in imported


def constraints(folder: Path) -> Path:
    """Write the lock file without hashes, as constraints for an install by name."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line.rstrip("\\ ") for line in lines if line and not line.startswith((" ", "#"))]
    path = folder / "constraints.txt"
    path.write_text("\n".join(pins) + "\n")
    return path


def test_the_source_archive_is_the_repository(tmp_path: Path) -> None:
    """What its tests, its Makefile and its README name is in it, and it builds the same wheel."""
    build = (sys.executable, "-m", "hatchling", "build", "--directory", tmp_path)
    assert run(*build, "--target", "sdist", cwd=ROOT).returncode == 0
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    found = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.splitlines()
    assert found == {*listed, "PKG-INFO"}
    assert run(*build, "--target", "wheel", cwd=source).returncode == 0
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened_wheel:
        names = opened_wheel.namelist()
        (text,) = (opened_wheel.read(name) for name in names if name.endswith("dist-info/METADATA"))
    assert len([name for name in names if name.endswith("catalogs/LICENSE.md")]) == 1
    metadata = Metadata.from_email(text)  # refuses what PyPI would
    assert metadata.license_expression == "Apache-2.0 AND CC0-1.0"
    assert set(metadata.classifiers or ()) <= trove_classifiers
