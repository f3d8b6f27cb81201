"""Findings in every format that pipelines read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema

from ffplan.base.errors import Finding, Severity
from ffplan.check import formats
from ffplan.check.formats import FORMATS, Checked, _fingerprints, _uri_of, path_of, render
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

SCHEMAS = ROOT / "tests" / "published" / "schemas"
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
"""A Code Quality report as GitLab's help describes it; no package carries a schema of it."""


def faults_of(sarif_log: Any) -> list[str]:
    """Return what the published schema of SARIF 2.1.0 finds wrong."""
    schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
    return [
        f"{error.json_path}: {error.message}" for error in jsonschema.Draft4Validator(schema).iter_errors(sarif_log)
    ]


def junit_faults(text: str) -> list[str]:
    """Return what the published schema of JUnit reports finds wrong."""
    return [str(error.reason) for error in JUNIT.iter_errors(text)]


JUNIT = xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd"))
STRANGE = (
    finding(message="a <b> & \"c\" 'd' ]]>\nsecond \u00e9\u4e2d\u202e\x07", remedy=""),
    finding(severity=Severity.INFO, line=0, column=0, message="", path=""),
    finding(rule="no-such-rule", file="/elsewhere/a b.yaml"),
)


@pytest.mark.parametrize("found", [(), MANY.findings, STRANGE], ids=["none", "many", "strange"])
def test_published_schemas_take_what_is_written(found: tuple[Finding, ...]) -> None:
    """Schemas as packages publish them; see the README beside them."""
    assert faults_of(json.loads(render(checked(*found), "sarif"))) == []
    assert junit_faults(render(checked(*found), "junit")) == []


def test_gitlab() -> None:
    found = json.loads(render(MANY, "gitlab"))
    jsonschema.validate(found, GITLAB)
    assert [item["severity"] for item in found] == ["critical", "minor", "info"]
    assert found[0]["location"] == {"path": "designs/a.yaml", "lines": {"begin": 3}}
    assert json.loads(render(checked(), "gitlab")) == []


LONG = finding(message="the spine is " + "far " * 30 + "too dear", remedy="spend " + "much " * 25 + "less")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_terminal_gets_lines_that_fit(width: int) -> None:
    folded = render(checked(LONG), "text", width=width).splitlines()
    assert max(map(len, folded)) <= width
    assert " ".join(" ".join(folded).split()) == " ".join(render(checked(LONG), "text").split())
    assert render(checked(LONG), "gitlab", width=width) == render(checked(LONG), "gitlab")
    remedy = next(at for at, line in enumerate(folded) if line.startswith("    spend"))
    assert all(line.startswith("  ") and line[2] != " " for line in folded[1:remedy])
    assert all(line.startswith("      ") for line in folded[remedy + 1 : -1])


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_is_asked_for_its_width_and_a_pipe_has_none(columns: int) -> None:
    from pty import openpty

    command = [sys.executable, "-m", "ffplan", "check", "designs/fire-flyer-2.yaml"]
    main, other = openpty()
    environment = {**os.environ, "COLUMNS": str(columns)}
    subprocess.run(command, cwd=ROOT, env=environment, stdout=other, stderr=subprocess.DEVNULL, check=True)
    shown = os.read(main, 65536).decode().replace("\r\n", "\n")
    os.close(other)
    os.close(main)
    piped = ffplan("check designs/fire-flyer-2.yaml").out
    assert max(map(len, shown.splitlines())) <= columns < max(map(len, piped.splitlines()))
    assert shown.split() == piped.split()


@pytest.mark.parametrize("found", [(), MANY.findings, STRANGE, (finding(file="./a/../b.yaml"), finding(file="b.yaml"))])
def test_gitlab_takes_what_is_written(found: tuple[Finding, ...]) -> None:
    """The rules of GitLab's help: a bare list without a byte order mark, each finding once, paths without `./`."""
    text = render(checked(*found), "gitlab")
    assert text.startswith("[")
    rows = json.loads(text)
    jsonschema.validate(rows, GITLAB)
    assert len(rows) == len(found)
    assert len({row["fingerprint"] for row in rows}) == len(rows)
    assert not [row for row in rows if row["location"]["path"].startswith("./") or "\\" in row["location"]["path"]]


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
    assert _uri_of("my designs/ä.yaml") == "my%20designs/%C3%A4.yaml"


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
    monkeypatch.setattr(formats, "MOST_LETTERS", most)
    every = checked(*(finding(line=at, message="x" * 90) for at in range(1, 60)))
    text, _, rest = render(every, "markdown").partition("\n\n")[2].partition("\n\n")
    rows = text.splitlines()
    head = len(render(every, "markdown").partition("\n\n")[0]) + 2
    assert head + len(text) + 1 <= most < head + len(text) + 1 + len(rows[-1]) + 2
    assert rest.startswith(f"{60 - 1 - (len(rows) - 2)} more findings")


NOWHERE = finding(line=0, column=0, rule="made-up", message="two\n  lines", remedy="", file="./b.yaml")
"""A finding about a whole file, without remedy, of a rule that no list has."""


def test_sarif_counts_lines_from_one_and_lists_each_rule_once() -> None:
    (run,) = json.loads(render(checked(finding(), finding(line=9, rule="fabric-full"), NOWHERE), "sarif"))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["fabric-full", "limit-capex"]
    by_rule = {item["ruleId"]: item for item in run["results"]}
    assert [by_rule[rule].get("ruleIndex") for rule in ("fabric-full", "limit-capex", "made-up")] == [0, 1, None]
    region = by_rule["made-up"]["locations"][0]["physicalLocation"]
    assert region["region"] == {"startLine": 1, "startColumn": 1}
    assert region["artifactLocation"]["uri"] == "b.yaml"
    assert by_rule["made-up"]["message"]["text"] == "two lines"
    levels = {rule["id"]: rule["defaultConfiguration"]["level"] for rule in run["tool"]["driver"]["rules"]}
    assert levels == {"fabric-full": "note", "limit-capex": "error"}
    help_ = run["tool"]["driver"]["rules"][0]["help"]
    assert help_["markdown"].startswith(f"{help_['text']}\n\nRefused:\n\n```yaml\nnodes:")
    assert len({item["partialFingerprints"]["ffplanFinding/v1"] for item in run["results"]}) == 3


def test_what_ships_with_ffplan_points_to_no_file_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A design checked by its name has no file there; one of the checkout has the line itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_bytes((ROOT / "designs" / "fire-flyer-2.yaml").read_bytes())
    notes = [line for line in ffplan("check fire-flyer-2 own.yaml -f github").out.splitlines() if "fabric-full" in line]
    assert notes[0].startswith("::notice title=fabric-full::designs/fire-flyer-2.yaml:14:1: every leaf port is taken")
    assert notes[1].startswith("::notice file=own.yaml,line=14,col=1,title=fabric-full::every leaf port is taken")
    log = json.loads(ffplan("check fire-flyer-2 own.yaml -f sarif").out)
    assert faults_of(log) == []
    places = [item["locations"][0]["physicalLocation"] for item in log["runs"][0]["results"]]
    found = {(place["artifactLocation"]["uri"], place["artifactLocation"]["uriBaseId"]) for place in places}
    assert found == {("own.yaml", "%SRCROOT%"), ("designs/fire-flyer-2.yaml", "FFPLAN")}
    assert "FFPLAN" in log["runs"][0]["originalUriBaseIds"]
    lines = (tmp_path / "own.yaml").read_text().split("\n")
    for place in places:
        own = place["artifactLocation"]["uri"] == "own.yaml"
        wanted = lines[place["region"]["startLine"] - 1] if own else None
        assert place["region"].get("snippet", {}).get("text") == wanted


def test_sarif_keeps_the_worst_results_of_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_RESULTS", 2)
    (run,) = json.loads(render(MANY, "sarif"))["runs"]
    assert [item["level"] for item in run["results"]] == ["error", "warning"]


def test_gitlab_says_where_and_what() -> None:
    first, last = json.loads(render(checked(finding(Severity.INFO), NOWHERE), "gitlab"))
    assert first["location"] == {"path": "b.yaml", "lines": {"begin": 1}}
    assert (first["description"], first["check_name"], first["severity"]) == ("two lines", "made-up", "critical")
    assert (last["description"], last["location"]["lines"]["begin"]) == ("too dear; spend less", 7)


def test_junit_has_a_suite_for_each_file() -> None:
    """Notes are no failures, and say their words; a finding of a file that nobody named has a suite too."""
    both = Checked(files=("x.yaml", "designs/a.yaml"), words=("design",) * 2, findings=(*MANY.findings, NOWHERE))
    suites = ElementTree.fromstring(render(both, "junit"))
    assert [(s.get("name"), s.get("tests"), s.get("failures"), s.get("skipped")) for s in suites] == [
        ("x.yaml", "1", "0", "0"),
        ("designs/a.yaml", "3", "2", "0"),
        ("b.yaml", "1", "1", "0"),
    ]
    (clean,), (note, warned, failed), _ = suites
    assert (clean.get("classname"), clean.get("name")) == ("x.yaml", "check")
    assert (note.findtext("system-out"), note.find("failure")) == ("too dear; spend less", None)
    assert note.get("name") == "limit-capex at 1:3: too dear"
    assert (failed.get("classname"), failed.get("line"), failed.get("file")) == ("designs/a.yaml", None, None)
    failure = warned.find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("warning limit-capex", "too dear")
    assert failure.text == "designs/a.yaml:2:3: warning: too dear; spend less [limit-capex]"


def test_github_says_each_kind_in_its_own_ten() -> None:
    """Nine and the count of the rest where there are more than ten; each kind has its own."""
    items = [finding(severity, line=at) for severity in Severity for at in range(1, 12)]
    lines = render(checked(*items), "github").splitlines()
    commands = [line.partition(" ")[0] for line in lines if line.startswith("::")]
    assert commands == ["::error"] * 10 + ["::warning"] * 10 + ["::notice"] * 10
    assert sum("::2 more of this kind are in the log" in line for line in lines) == 3
    assert [line.partition(":")[2].partition(":")[0] for line in lines if line.startswith("designs")] == [
        "10",
        "11",
    ] * 3


def test_github_escapes_what_commands_are_made_of() -> None:
    odd = finding(file="a:b,c%.yaml", message="50 % : x, y", remedy="")
    assert render(checked(odd), "github").splitlines()[0] == (
        "::error file=a%3Ab%2Cc%25.yaml,line=7,col=3,title=limit-capex::50 %25 : x, y"
    )


def test_markdown_has_a_row_for_each_finding_the_worst_first() -> None:
    rows = render(checked(*MANY.findings, NOWHERE), "markdown").splitlines()
    assert rows[1:4] == ["", "| severity | place | finding | rule |", "| --- | --- | --- | --- |"]
    assert [row.split(" | ")[0] for row in rows[4:]] == ["| error", "| error", "| warning", "| info"]
    assert rows[5] == "| error | designs/a.yaml:3 | too dear; spend less | limit-capex |"
    assert render(checked(), "markdown").count("\n") == 1


@pytest.mark.parametrize(
    ("words", "severities", "beside", "summary"),
    [
        (("design",), "", {}, "1 design checked: nothing found"),
        (("design", "design", "part"), "", {}, "2 designs, 1 part checked: nothing found"),
        (("part",), "", {}, "1 part checked: nothing found"),
        (("plan", "design"), "", {}, "1 design, 1 plan checked: nothing found"),
        (("design",), "error warning info", {}, "1 design checked: 1 error, 1 warning, 1 info"),
        (("design",), "info info error error", {}, "1 design checked: 2 errors, 2 info"),
        (("design",), "warning warning", {"waived": 3}, "1 design checked: 2 warnings (3 waived)"),
        (("design",), "", {"limits": 1, "held": 1}, "1 design checked: nothing found; 1 limit holds"),
        (("design",), "", {"limits": 3, "held": 3}, "1 design checked: nothing found; 3 limits hold"),
        (("design",), "error", {"limits": 3, "held": 2}, "1 design checked: 1 error; 2 of 3 limits hold"),
        (("design",), "error", {"limits": 2, "held": 1}, "1 design checked: 1 error; 1 of 2 limits holds"),
        (("design",), "error", {"limits": 1}, "1 design checked: 1 error; 0 of 1 limit holds"),
        (("design",), "", {"known": 2}, "1 design checked: nothing found (2 in the baseline)"),
        (("design",), "", {"fixed": 1}, "1 design checked: nothing found (1 entry of the baseline fixed)"),
        (
            ("design",),
            "",
            {"waived": 1, "known": 2, "fixed": 3},
            "1 design checked: nothing found (1 waived, 2 in the baseline, 3 entries of the baseline fixed)",
        ),
    ],
)
def test_the_summary(words: tuple[str, ...], severities: str, beside: Any, summary: str) -> None:
    items = tuple(finding(Severity(name)) for name in severities.split())
    assert Checked(files=("a",) * len(words), words=words, findings=items, **beside).summary == summary


def test_findings_are_told_apart_by_message_where_they_have_no_field() -> None:
    plain, other = finding(), finding(message="other")
    with_field, elsewhere = finding(path="cost"), finding(path="cost", message="other")
    marks = _fingerprints((plain, other, with_field, elsewhere, finding(rule="x"), finding(file="c.yaml")))
    assert len(set(marks)) == 6  # the second at a field counts as a repetition
    assert _fingerprints((elsewhere,)) == _fingerprints((with_field,))
    assert _fingerprints((other, plain))[1] == marks[0]


def test_paths_outside_the_folder_stay_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    assert path_of(str(inside / "x" / ".." / "a.yaml")) == "a.yaml"
    assert path_of(str(tmp_path / "a.yaml")) == (tmp_path / "a.yaml").as_posix()
    assert path_of("../a.yaml") == "../a.yaml"


def test_text_has_the_worst_first_and_no_other_format_is_known() -> None:
    lines = render(MANY, "text").splitlines()
    assert [line.partition(" ")[0] for line in lines[:-1:2]] == [f"designs/a.yaml:{at}:3:" for at in (3, 2, 1)]
    assert lines[-1] == MANY.summary
    with pytest.raises(KeyError, match="yaml"):
        render(MANY, "yaml")
