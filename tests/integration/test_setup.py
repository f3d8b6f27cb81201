"""`make demo` on a machine that has little, or lacks something."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

SETUP = ("Makefile", "pyproject.toml", "requirements.lock", ".ci")
PACKAGE = ("LICENSE", "README.md", "catalogs", "designs", "docs", "ffplan")
PAST_THE_DEMO = {
    "design fire-flyer-2 --format html": ("vl-convert", "vl-convert-python"),
    "operate goodput fire-flyer-2 --model llama2-70b --simulate": ("SimPy", "simpy"),
    "sweep fire-flyer-2 --vary nodes.0.count=9,10 --points p.parquet": ("pyarrow", "pyarrow"),
    "sweep fire-flyer-2 --vary nodes.0.count=9,10 --cluster local": ("Dask", "distributed"),
    "model accuracy training --leave-one-out source": ("SciPy", "scipy"),
    "model measure run --output run.json": ("PyTorch", "torch"),
}
"""Commands that need more than the demo: what they lack, and the package that brings it."""


def copied(folder: Path, *names: str) -> Path:
    """Return a folder with parts of the project, without environments and bytecode."""
    folder.mkdir()
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def make(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run make, apart from settings of Python and of a make around us; those of pip stay unless some are given."""
    apart = ("PYTHON", "MAKE", "MFLAGS", *(["PIP_", "HTTP", "http"] if settings else []))
    env = {name: value for name, value in os.environ.items() if not name.startswith(apart)}
    return subprocess.run(["make", *words], cwd=folder, env=env | settings, capture_output=True, text=True, check=False)


def interpreter(folder: Path, body: str) -> str:
    """Return a script that stands in for Python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def refused(folder: Path, **settings: str) -> str:
    """Return the one line that a demo says which cannot be set up."""
    done = make(folder, "demo", **settings)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert lines[1:] == [line for line in lines[1:] if line.startswith("make: *** [")], done.stderr
    return lines[0]


def test_an_old_python_is_named_before_anything_is_made(tmp_path: Path) -> None:
    old = interpreter(tmp_path, 'case "$*" in *exit*) exit 1 ;; *) echo 3.9.2 ;; esac')
    folder = copied(tmp_path / "project", *SETUP)
    said = refused(folder, PYTHON=old)
    wanted = re.escape(f"ffplan: Python 3.11 or newer is needed; {old} is 3.9.2: make demo PYTHON=") + r"python3\.1\d"
    assert re.fullmatch(wanted, said)
    assert refused(folder, PYTHON="no-such-python").startswith(
        "ffplan: Python 3.11 or newer is needed; no-such-python is not there: "
    )
    assert not (folder / ".venv").exists()


def test_a_python_without_venv_is_told_what_to_install(tmp_path: Path) -> None:
    bare = interpreter(tmp_path, f'case "$*" in *ensurepip*) exit 1 ;; *) exec {sys.executable} "$@" ;; esac')
    folder = copied(tmp_path / "project", *SETUP)
    assert refused(folder, PYTHON=bare) == (
        f"ffplan: {bare} lacks venv or ensurepip: install them (on Debian and Ubuntu: apt-get install python3-venv)"
    )
    assert not (folder / ".venv").exists()


def test_an_index_out_of_reach_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    folder = copied(tmp_path / "project", *SETUP)
    pip = {"PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple", "PIP_CONFIG_FILE": os.devnull}
    for retries in ("1", "0"):
        assert refused(folder, PYTHON=sys.executable, PIP_RETRIES=retries, PIP_TIMEOUT="2", **pip) == (
            "ffplan: pip reaches no package index with what it needs: check the network, HTTPS_PROXY and "
            "PIP_INDEX_URL (.venv/pip.log)"
        )
    assert "annotated-doc" in (folder / ".venv" / "pip.log").read_text()
    assert not (folder / ".venv" / "ready-run").exists()


@pytest.mark.wheel
def test_the_demo_needs_what_its_lock_names_alone(tmp_path: Path) -> None:
    folder = copied(tmp_path / "project", *SETUP, *PACKAGE)
    done = make(folder, "demo", f"PYTHON={sys.executable}")
    assert done.returncode == 0, done.stderr
    assert "fire-flyer-2 trains llama2-70b 25 % cheaper per token than dgx-a100-10k" in done.stdout

    listed = subprocess.run(
        [folder / ".venv/bin/python", "-m", "pip", "list", "--format", "freeze"],
        capture_output=True,
        text=True,
        check=True,
    )
    pinned = set(re.findall(r"^([\w.-]+==[^\s;]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    found = {line.lower().replace("_", "-") for line in listed.stdout.splitlines()}
    assert {line for line in found if not line.startswith(("ffplan==", "pip==", "setuptools=="))} <= pinned
    assert sum(path.lstat().st_size for path in (folder / ".venv").rglob("*")) < 150e6

    for words, (name, package) in PAST_THE_DEMO.items():
        run = subprocess.run(
            [".venv/bin/ffplan", *words.split()], cwd=folder, capture_output=True, text=True, check=False
        )
        assert (run.returncode, run.stdout) == (2, ""), words
        assert run.stderr.endswith(f" needs {name}: `.venv/bin/python -m pip install {package}`\n")
        assert run.stderr.count("\n") == 1
