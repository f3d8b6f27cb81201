"""pre-commit runs our hook; the action installs itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, vary_design
from tests.unit.check.test_policy import git
from tests.unit.cli.test_pipelines import Runner

pytestmark = pytest.mark.integration


def test_pre_commit_runs_the_hook(tmp_path: Path) -> None:
    designs = tmp_path / "designs"
    designs.mkdir()
    git(tmp_path, "init", "-q", "-b", "main")
    design = vary_design(designs, "fire-flyer-2")
    env = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b"}
    env |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    command = [str(Path(sys.executable).parent / "pre-commit"), "try-repo", str(ROOT), "ffplan-check", "--files"]
    files = ["designs/fire-flyer-2.yaml"]
    git(tmp_path, "add", ".")
    fine = subprocess.run([*command, *files], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert fine.returncode == 0, fine.stdout + fine.stderr
    assert "Passed" in fine.stdout
    design.write_text(design.read_text().replace("tiers: 2", "tier: 2"))
    broken = subprocess.run([*command, *files], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert broken.returncode == 1
    assert "designs/fire-flyer-2.yaml:18:3: error: the field `tier` is not known here" in broken.stdout


def test_the_action_installs_itself(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "designs").mkdir(parents=True)
    vary_design(repository / "designs", "fire-flyer-2")
    runner = Runner(tmp_path / "runner", repository)
    done = runner.run("install", python=sys.executable)
    assert done.returncode == 0, done.stderr
    folder = runner.text("path").strip()
    runner.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    assert runner.run("check").returncode == 0
    assert runner.run("verdict").returncode == 0
