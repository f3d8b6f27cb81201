"""The same bytes everywhere: over Pythons, dependencies, hash seeds, locales, time zones and odd paths.

    python -m tests.compat [--pythons 3.11 3.12 3.13 3.14] [--settings "C locale" warnings]

For every Python that uv finds, on the path or under pyenv, or can fetch, two environments are made from the wheel: with
the lowest and the newest dependencies that it allows. In each, a fixed set of commands runs under several settings of
the process. All outputs must be the same, byte for byte. A Python that cannot be had is named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support import ROOT

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = ("lowest-direct", "highest")
COMMANDS = (
    "design fire-flyer-2 -f json",
    "design superpod-h100-4su -f table",
    "compare fire-flyer-2 dgx-a100-10k -f json",
    "check fire-flyer-2 superpod-h100-4su -f json",
    "collective superpod-h100-4su -s 1KiB..1GiB -f csv",
    "train superpod-h100-4su --model llama2-70b --gpus 512 --batch 1024 --search -f json",
    "cost superpod-h100-4su --model llama3-70b --tokens 2T -f json",
    "compare fire-flyer-2 dgx-a100-10k --model llama2-70b --tokens 2T --gpus 1024 --seed 3 -f json",
    "route fire-flyer-2 -t permutation --seed 7 -f json",
    "place fire-flyer-2 -o -",
    "faults fire-flyer-2 --samples 3 --seed 5 -f json",
    "size -n 4096 --switch qm9700 -f markdown",
    "export superpod-h100-4su --to cables",
    "export fire-flyer-2 --to graphml",
    "accuracy communication -f csv",
    "catalog list",
)
SETTINGS: dict[str, dict[str, str]] = {
    "hash seed 0": {"PYTHONHASHSEED": "0"},
    "hash seed 4711": {"PYTHONHASHSEED": "4711"},
    "C locale": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "Auckland": {"TZ": "Pacific/Auckland"},
    "optimised": {"PYTHONOPTIMIZE": "1"},
    "warnings": {"PYTHONWARNINGS": "error"},
}


def environments(uv: str, python: str, wheel: Path, folder: Path) -> list[tuple[str, Path]]:
    """Return name and Python of an environment for each resolution; none where uv has no such Python.

    The dependencies are named one by one: to uv, those of a wheel that is named are not direct ones.
    """
    found = []
    for resolution in RESOLUTIONS:
        target = folder / f"{Path(python).name}-{resolution}"
        made = subprocess.run(
            [uv, "venv", "-q", "-p", python, str(target)], capture_output=True, text=True, check=False
        )
        if made.returncode:
            print(f"Python {python}: not tried: {made.stderr.strip().splitlines()[-1]}", flush=True)
            return []
        own = target / "bin" / "python"
        install = [uv, "pip", "install", "-q", "-p", str(own)]
        needs = ["--only-binary", ":all:", "--resolution", resolution, "-r", str(ROOT / "pyproject.toml"), "--extra"]
        subprocess.run([*install, *needs, "fit"], check=True)
        subprocess.run([*install, "--no-deps", str(wheel)], check=True)
        found.append((f"{python} {resolution}", own))
    return found


def digest(python: Path, folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """Return the hash of the output of every command."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG", "TZ"))}
    found = {}
    for words in COMMANDS:
        done = subprocess.run(
            [str(python), "-m", "ffplan", *words.split()],
            capture_output=True,
            env={**env, **settings},
            cwd=folder,
            check=False,
        )
        if done.returncode not in (0, 1) or b"bug of ours" in done.stderr:
            raise SystemExit(
                f"{python} {words}: exit {done.returncode}\n{done.stderr.decode('utf-8', 'replace')[-800:]}"
            )
        found[words] = hashlib.sha256(done.stdout).hexdigest()[:12]
    return found


def main() -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.compat", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pythons", nargs="+", default=list(PYTHONS), help="versions, or paths of interpreters")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="settings to try")
    given = parser.parse_args()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin")
    os.environ["PATH"] = os.pathsep.join([*map(str, sorted(pyenv)), os.environ["PATH"]])
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if uv is None:
        raise SystemExit("uv is missing; `make compat` installs it")
    failed, lacking = 0, 0
    reference: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="ffplan compat ü ") as scratch:  # a blank and a letter beyond ASCII
        folder = Path(scratch)
        subprocess.run([uv, "build", "-q", "--wheel", "-o", str(folder / "dist"), str(ROOT)], check=True)
        (wheel,) = (folder / "dist").glob("*.whl")
        for python in given.pythons:
            made = environments(uv, python, wheel, folder)
            lacking += not made
            for name, own in made:
                for title in given.settings:
                    found = digest(own, folder, SETTINGS[title])
                    reference = reference or found
                    other = [words for words in COMMANDS if found[words] != reference[words]]
                    failed += bool(other)
                    print(f"{name}, {title}: {'the same' if not other else f'differs: {other}'}", flush=True)
    print(f"{failed} settings differ; {lacking} Pythons could not be had")
    return 1 if failed or lacking else 0


if __name__ == "__main__":
    sys.exit(main())
