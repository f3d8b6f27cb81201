"""The action and the snippets of docs/ci.md, run as the code hosts run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ffplan.check.policy import read_policy
from tests.support import ROOT, read_yaml, vary_design
from tests.unit.check.test_policy import git

ACTION = read_yaml((ROOT / "action.yml").read_text())
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
BIN = str(Path(sys.executable).parent)
GH = """#!/bin/sh
echo "$@" >> "$GH_LOG"
case "$*" in
  *"--paginate"*) cat "$GH_COMMENTS" ;;
  *"--method"*)
    for word in "$@"; do case "$word" in body=@*) cat "${word#body=@}" > "$GH_BODY" ;; esac; done
    exit "$GH_EXIT" ;;
esac
"""


class Runner:
    """A machine that runs steps of the action on a repository."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.folder, self.repository = folder, repository
        self.event = {"github.event.pull_request.base.sha": "", "github.event.pull_request.number": ""}
        tools = folder / "tools"
        tools.mkdir(parents=True)
        (tools / "gh").write_text(GH)
        (tools / "gh").chmod(0o755)
        (folder / "comments").write_text("")
        self.env = {
            **os.environ,
            "PATH": f"{tools}:{BIN}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_PATH": str(folder / "path"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "GH_LOG": str(folder / "gh.log"),
            "GH_BODY": str(folder / "body"),
            "GH_COMMENTS": str(folder / "comments"),
            "GH_EXIT": "0",
        }

    def value(self, expression: str, inputs: dict[str, str]) -> str:
        """Return what an expression of the action stands for."""
        name = expression.strip()
        if name.startswith("inputs."):
            key = name.removeprefix("inputs.")
            return inputs.get(key, re.sub(r"\$\{\{.*\}\}", "token", str(ACTION["inputs"][key]["default"])))
        if name == "steps.check.outputs.code":
            return self.text("output").splitlines()[-1].removeprefix("code=")
        return {"github.repository": "o/r", "github.action_path": str(ROOT), **self.event}[name]

    def run(self, step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run one step as the runner does."""
        given = {
            name: re.sub(r"\$\{\{(.*?)\}\}", lambda found: self.value(found[1], inputs), str(value))
            for name, value in STEPS[step]["env"].items()
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[step]["run"]],
            cwd=self.repository,
            env={**self.env, **given},
            capture_output=True,
            text=True,
            check=False,
        )

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    repository = tmp_path / "repository"
    designs = repository / "designs"
    designs.mkdir(parents=True)
    vary_design(designs, "fire-flyer-2")
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    return Runner(tmp_path / "runner", repository)


def test_no_expression_is_spliced_into_a_script() -> None:
    for step in STEPS.values():
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    assert list(STEPS) == ["install", "check", "diff", "verdict"]


@pytest.mark.deep
def test_check_annotates_and_summarises(runner: Runner) -> None:
    done = runner.run("check")
    assert done.returncode == 0, done.stderr
    assert "::notice file=designs/fire-flyer-2.yaml,line=" in done.stdout
    assert runner.text("output") == "code=0\n"
    assert runner.text("summary").startswith("**ffplan check** 1 design checked")
    assert runner.run("verdict").returncode == 0
    runner.run("check", **{"fail-on": "info", "against": "main"})
    assert runner.run("verdict").returncode == 1
    wrong = runner.run("check", files="designs nowhere.yaml")
    assert wrong.returncode == 0  # the last step fails, after the comment
    assert runner.run("verdict").returncode == 2


def change(runner: Runner) -> None:
    design = runner.repository / "designs" / "fire-flyer-2.yaml"
    design.write_text(design.read_text().replace("pue: 1.25", "pue: 1.5"))
    runner.event = {
        "github.event.pull_request.base.sha": git(runner.repository, "rev-parse", "HEAD").strip(),
        "github.event.pull_request.number": "7",
    }
    git(runner.repository, "commit", "-qam", "second")


@pytest.mark.deep
def test_one_comment_is_made_then_updated(runner: Runner) -> None:
    change(runner)
    done = runner.run("diff")
    assert done.returncode == 0, done.stderr
    assert "--method POST repos/o/r/issues/7/comments" in runner.text("gh.log")
    assert runner.text("body").startswith("<!-- ffplan:report -->\n### fire")
    assert runner.text("body").rstrip().endswith("</details>")
    assert "facility power" in runner.text("body")
    (runner.folder / "comments").write_text("42\n")
    assert runner.run("diff").returncode == 0
    assert "--method PATCH repos/o/r/issues/comments/42" in runner.text("gh.log")


def test_a_renamed_design_is_compared_with_what_it_was(runner: Runner) -> None:
    """Its folder is gone; git tells the file by its content."""
    change(runner)
    (runner.repository / "pods").mkdir()
    git(runner.repository, "mv", "designs/fire-flyer-2.yaml", "pods/new name.yaml")
    git(runner.repository, "commit", "-qm", "third")
    (runner.repository / "pods" / "other.yaml").write_text((runner.repository / "pods" / "new name.yaml").read_text())
    assert runner.run("diff", files="pods").returncode == 0
    assert runner.text("summary").count("### fire-flyer-2") == 1
    base = runner.event["github.event.pull_request.base.sha"]
    held = runner.run("check", files="pods", against=base)
    assert "::error file=pods/new name.yaml,line=1,col=1,title=regression::facility peak went" in held.stdout
    assert "other.yaml,line=1,col=1,title=regression" not in held.stdout


def test_a_token_that_may_not_comment_falls_back_to_the_summary(runner: Runner) -> None:
    change(runner)
    runner.env["GH_EXIT"] = "1"
    done = runner.run("diff")
    assert done.returncode == 0
    assert "the report stands in the summary" in done.stdout
    assert "facility power" in runner.text("summary")


def test_nothing_is_written_where_no_design_changed(runner: Runner) -> None:
    change(runner)
    runner.event["github.event.pull_request.base.sha"] = git(runner.repository, "rev-parse", "HEAD").strip()
    assert runner.run("diff").returncode == 0
    assert "--method" not in runner.text("gh.log")
    (runner.folder / "comments").write_text("42\n")
    assert runner.run("diff").returncode == 0
    assert "No design differs from the target branch any more." in runner.text("body")


def test_a_push_has_nothing_to_compare(runner: Runner) -> None:
    assert runner.run("diff").returncode == 0
    assert runner.text("gh.log") == ""


def fences(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


def test_the_policy_of_the_page_is_one(tmp_path: Path) -> None:
    (text,) = fences("ci.md", "toml")
    path = tmp_path / "ffplan.toml"
    path.write_text(text)
    found = read_policy(path, "ffplan.toml").fields
    assert found.waivers[0].until is not None
    assert found.limits.power_per_rack == 45_000


def snippets() -> list[Any]:
    return [read_yaml(text) for text in fences("ci.md", "yaml")]


@pytest.mark.deep
def test_the_gitlab_snippet_writes_its_reports(runner: Runner) -> None:
    job = next(item["ffplan"] for item in snippets() if "ffplan" in item)
    for line in job["script"]:
        subprocess.run(["bash", "-e", "-c", line], cwd=runner.repository, env=runner.env, check=True)
    reports = job["artifacts"]["reports"]
    quality = json.loads((runner.repository / reports["codequality"]).read_text())
    assert {"description", "check_name", "fingerprint", "severity", "location"} == set(quality[0])
    assert quality[0]["location"]["path"] == "designs/fire-flyer-2.yaml"
    suites = ElementTree.parse(runner.repository / reports["junit"]).getroot()
    assert suites.tag == "testsuites"


def test_the_github_snippet_names_inputs_of_the_action() -> None:
    job = next(item["jobs"]["ffplan"] for item in snippets() if "jobs" in item)
    assert set(job["steps"][1]["with"]) <= set(ACTION["inputs"])


def test_the_hook_of_the_page_exists() -> None:
    hooks = {item["id"]: item for item in read_yaml((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (wanted,) = next(item["repos"] for item in snippets() if "repos" in item)[0]["hooks"]
    assert set(hooks) == {wanted["id"]}
    assert {"id", "name", "entry", "language"} <= set(hooks[wanted["id"]])
