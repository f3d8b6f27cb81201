"""Pages with commands: run in order in an empty folder, their output put below them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support import ROOT

PAGES = ("tutorial.md", "purchase.md")
_BLOCK = re.compile(r"(<!-- (?P<marks>[^>]*) -->\n)?```console\n(?P<inside>.*?)```", re.DOTALL)


def _marks(text: str | None) -> dict[str, int]:
    """Return the marks before a block: `lines` that are shown, and the exit `code` of its last command."""
    return {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", text or "")}


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def played(page: str) -> str:
    """Return a page with the output of its commands as it is today.

    Args:
        page: name of a page in docs.

    Raises:
        RuntimeError: where a command ends with another exit code than the page says.
    """
    text = (ROOT / "docs" / page).read_text()
    with tempfile.TemporaryDirectory() as scratch:

        def block(found: re.Match[str]) -> str:
            marks = _marks(found["marks"])
            commands = [line for line in found["inside"].splitlines() if line.startswith("$ ")]
            shown: list[str] = []
            for number, command in enumerate(commands, 1):
                done = _run(command.removeprefix("$ "), Path(scratch))
                wanted = marks.get("code", 0) if number == len(commands) else 0
                if done.returncode != wanted:
                    raise RuntimeError(f"{page}: {command}: exit code {done.returncode}: {done.stderr}{done.stdout}")
                lines = [line.rstrip() for line in done.stdout.splitlines()]
                most = marks.get("lines", 10)
                shown += [command, *(lines if len(lines) <= most else [*lines[: most - 1], "..."])]
            head = f"<!-- {found['marks']} -->\n" if found["marks"] else ""
            return f"{head}```console\n" + "\n".join(shown) + "\n```"

        return _BLOCK.sub(block, text)
