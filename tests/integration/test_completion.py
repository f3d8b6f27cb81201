"""Shell completion, asked for by a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration


def complete(line: str, tmp_path: Path) -> list[str]:
    """Return what bash offers for the last word of `line`."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    words = line.split(" ")
    script = f"""
        eval "$(ffplan --show-completion bash)"
        COMP_WORDS=({" ".join(repr(word) for word in words)})
        COMP_CWORD={len(words) - 1}
        _ffplan_completion ffplan
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    folder = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=False, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_commands_designs_and_parts(tmp_path: Path) -> None:
    assert {"design", "compare", "check", "catalog", "fabric"} <= set(complete("ffplan ", tmp_path))
    assert "fire-flyer-2" in complete("ffplan design fire", tmp_path)
    assert complete("ffplan catalog show qm87", tmp_path) == ["qm8700"]


def test_paths_and_stacks(tmp_path: Path) -> None:
    assert "cost.total" in complete("ffplan explain superpod-h100-4su cost.to", tmp_path)
    assert "fabric.oversubscription=" in complete("ffplan sweep superpod-h100-4su --vary fabric.over", tmp_path)
    assert complete("ffplan train superpod-h100-4su --stack torcht", tmp_path) == ["torchtitan-2024"]
