"""Findings in every format that pipelines read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import jsonschema
import pytest

from ffplan.base.errors import Finding, Severity
from ffplan.check.formats import FORMATS, render
from ffplan.check.formats.checked import Checked, fingerprints, path_of, uri_of
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "a.yaml\n::error::x, y: 100% | <b>`x`</b> ]]> \x1b[31m\x00"


def finding(severity: Severity = Severity.ERROR, file: str = "designs/a.yaml", **fields: object) -> Finding:
    values = {"rule": "limit-capex", "line": 7, "column": 3, "message": "too dear", "remedy": "spend less"}
    return Finding(severity=severity, file=file, **{**values, **fields})  # type: ignore[arg-type]


def checked(*findings: Finding) -> Checked:
    return Checked(files=("designs/a.yaml",), words=("design",), findings=findings)


MANY = checked(finding(Severity.INFO, line=1), finding(Severity.WARNING, line=2), finding(line=3))

SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {"driver": {"type": "object", "required": ["name", "rules"]}},
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "level", "locations", "partialFingerprints"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"type": "object", "required": ["text"]},
                                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                                "locations": {"type": "array", "minItems": 1},
                            },
                        },
                    },
                },
            },
        },
    },
}
"""What of the schema of SARIF 2.1.0 ffplan uses; the field names and choices are those of the OASIS standard."""
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 32},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "required": ["path", "lines"],
                "properties": {"lines": {"required": ["begin"], "properties": {"begin": {"minimum": 1}}}},
            },
        },
    },
}
"""A Code Quality report as GitLab's help describes it."""


def test_sarif() -> None:
    found = json.loads(render(MANY, "sarif"))
    jsonschema.validate(found, SARIF)
    (run,) = found["runs"]
    assert [item["level"] for item in run["results"]] == ["error", "warning", "note"]
    first = run["results"][0]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "limit-capex"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "designs/a.yaml", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 3, "startColumn": 3}
    assert first["message"]["text"] == "too dear; spend less"


def test_junit() -> None:
    root = ElementTree.fromstring(render(MANY, "junit"))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "0")
    cases = list(suite)
    assert len({case.get("name") for case in cases}) == 3
    assert [case.find("failure") is not None for case in cases] == [False, True, True]
    fine = ElementTree.fromstring(render(checked(), "junit"))
    assert (fine[0].get("tests"), fine[0].get("failures"), len(fine[0])) == ("1", "0", 1)


def test_github() -> None:
    lines = render(MANY, "github").splitlines()
    assert lines[0] == "::error file=designs/a.yaml,line=3,col=3,title=limit-capex::too dear; spend less"
    assert [line.partition(" ")[0] for line in lines[:3]] == ["::error", "::warning", "::notice"]
    assert lines[-1] == MANY.summary == "1 design checked: 1 error, 1 warning, 1 info"


def test_github_shows_ten_of_a_kind_and_says_how_many_more() -> None:
    lines = render(checked(*(finding(line=at) for at in range(1, 26))), "github").splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == 10
    assert commands[-1] == "::error title=ffplan check::16 more of this kind stand in the log"
    assert sum("too dear [limit-capex]" in line for line in lines) == 16
    ten = render(checked(*(finding(line=at) for at in range(1, 11))), "github").splitlines()
    assert sum(line.startswith("::error file") for line in ten) == 10


def test_gitlab() -> None:
    found = json.loads(render(MANY, "gitlab"))
    jsonschema.validate(found, GITLAB)
    assert [item["severity"] for item in found] == ["critical", "minor", "info"]
    assert found[0]["location"] == {"path": "designs/a.yaml", "lines": {"begin": 3}}
    assert json.loads(render(checked(), "gitlab")) == []


def test_fingerprints_outlive_lines_and_tell_repetitions_apart() -> None:
    one, two = fingerprints((finding(line=1), finding(line=2)))
    assert one != two
    assert fingerprints((finding(line=9),)) == [one]
    assert fingerprints((finding(message="other"),)) != [one]
    assert fingerprints((finding(file="./designs/a.yaml"),)) == [one]


def test_markdown_fits_a_comment() -> None:
    text = render(MANY, "markdown")
    assert text.splitlines()[0].startswith("**ffplan check** 1 design checked")
    assert text.count("\n| ") == 5
    long = render(checked(*(finding(line=at, message="x" * 500) for at in range(1, 400))), "markdown")
    assert len(long) < 65_536
    assert "more findings have no room here" in long


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_texts_break_no_format(form: str) -> None:
    text = render(checked(finding(file=EVIL, message=EVIL, remedy=EVIL)), form)
    assert "\x1b" not in text.replace("\\u001b", "")
    assert "\x00" not in text
    if form == "github":
        assert sum(line.startswith("::") for line in text.splitlines()) == 1
    if form == "junit":
        ElementTree.fromstring(text)
    if form in ("json", "sarif", "gitlab"):
        json.loads(text)


def test_paths_are_relative_with_forward_slashes() -> None:
    assert path_of("./designs//a.yaml") == "designs/a.yaml"
    assert path_of("designs/../b.yaml") == "b.yaml"
    assert uri_of("my designs/ä.yaml") == "my%20designs/%C3%A4.yaml"


@pytest.mark.parametrize("form", FORMATS)
def test_the_command_prints_every_format(form: str, tmp_path: Path) -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text().replace("it_power: 4 MW", "it_power: 1 MW")
    file = tmp_path / "design.yaml"
    file.write_text(text)
    run = ffplan(f"check {file} --format {form}")
    assert run.code == 1
    assert "limit-it-power" in run.out
    assert ffplan(f"check {file} --format {form}").out == run.out


@pytest.mark.parametrize(("least", "code"), [("error", 1), ("warning", 1), ("info", 1), ("never", 0)])
def test_fail_on(least: str, code: int, tmp_path: Path) -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text().replace("it_power: 4 MW", "it_power: 1 MW")
    (tmp_path / "design.yaml").write_text(text)
    assert ffplan(f"check {tmp_path / 'design.yaml'} --fail-on {least}").code == code


def test_never_hides_no_broken_file(tmp_path: Path) -> None:
    (tmp_path / "design.yaml").write_text("name: [")
    assert ffplan(f"check {tmp_path / 'design.yaml'} --fail-on never").code == 2


@pytest.mark.parametrize("most", [600, 900, 1500, 4000])
def test_markdown_holds_as_many_rows_as_fit(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """One row more would not fit; the words for what is left out come behind."""
    from ffplan.check.formats import markdown

    monkeypatch.setattr(markdown, "MOST_LETTERS", most)
    every = checked(*(finding(line=at, message="x" * 90) for at in range(1, 60)))
    text, _, rest = markdown.render(every).partition("\n\n")[2].partition("\n\n")
    rows = text.splitlines()
    head = len(markdown.render(every).partition("\n\n")[0]) + 2
    assert head + len(text) + 1 <= most < head + len(text) + 1 + len(rows[-1]) + 2
    assert rest.startswith(f"{60 - 1 - (len(rows) - 2)} more findings")
