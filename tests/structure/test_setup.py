"""What sets the project up: two locks that agree, one oldest Python, and no address or package that does not exist."""

from __future__ import annotations

import re
import tomllib

import yaml
from packaging.requirements import Requirement

import ffplan
from tests.support import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OLDEST = PROJECT["requires-python"].removeprefix(">=")
PLACES = ("*.md", "*.yml", ".pre-commit*.yaml", "docs/**/*.md", "docs/*.ipynb", "ffplan/**/*.py", ".github/**/*.*")
TEXTS = sorted(path for place in PLACES for path in ROOT.glob(place))


def pins(name: str) -> dict[str, set[str]]:
    """Return the pins of a lock without their markers, with the hashes of each."""
    found: dict[str, set[str]] = {}
    for block in re.split(r"\n(?=[a-z])", (ROOT / name).read_text()):
        found[re.split(r"[ \\]", block, maxsplit=1)[0]] = set(re.findall(r"--hash=(\S+)", block))
    return found


def names(name: str) -> set[str]:
    return {Requirement(pin).name for pin in pins(name)}


def needed(*extras: str) -> set[str]:
    """Return the names that ffplan depends on, with those of extras."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    return {Requirement(line).name.lower() for line in lines}


def test_what_running_needs_is_pinned_as_what_tests_need() -> None:
    run, everything = pins("requirements.lock"), pins("requirements-dev.lock")
    assert {pin: everything.get(pin) for pin in run} == run
    assert all(everything.values())


def test_running_needs_no_extra() -> None:
    run = names("requirements.lock")
    assert needed("build") <= run
    assert not run & {"distributed", "mypy", "pandas", "pyarrow", "pytest", "scipy", "simpy", "vl-convert-python"}
    assert len(run) < 30
    assert needed("build", "test", "docs", "dev") <= names("requirements-dev.lock")


def test_the_oldest_python_is_the_same_everywhere() -> None:
    flow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert min(flow["jobs"]["ci"]["strategy"]["matrix"]["python"]) == OLDEST
    script = (ROOT / ".ci/setup.sh").read_text()
    assert f"sys.version_info < ({OLDEST.replace('.', ', ')})" in script
    said = {
        name: re.findall(r"Python (3\.\d+) or newer", (ROOT / name).read_text()) for name in ("Makefile", "README.md")
    }
    assert said == {"Makefile": [OLDEST], "README.md": [OLDEST]}
    assert re.findall(r"Python (3\.\d+) or newer", script) == [OLDEST]
    assert f"--python-version {OLDEST} " in (ROOT / "Makefile").read_text()


def test_ci_may_read_and_runs_what_contributors_run() -> None:
    flow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert flow["permissions"] == {"contents": "read"}
    assert [step["run"] for step in flow["jobs"]["ci"]["steps"] if "run" in step][-1] == ".ci/run"


def test_no_text_sends_anybody_to_a_package_an_address_or_a_tag_that_does_not_exist() -> None:
    """ffplan is in no package index, and its texts cannot know where a clone lies."""
    wrong = re.compile(
        r"""pip\ install\ [^\n`#]*(?<![\w./-])ffplan\b(?!/)
        |install\ `ffplan\[
        |OWNER/|github\.com/[\w<>-]+/ffplan\b|ffplan@\w|rev:\ v\d""",
        re.VERBOSE,
    )
    found = [f"{path.relative_to(ROOT)}: {hit}" for path in TEXTS for hit in wrong.findall(path.read_text())]
    assert not found


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", head) for head in heads)
    assert heads[0].startswith(f"{ffplan.__version__} ")
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= {"Added", "Changed", "Fixed", "Removed"}
