"""Findings as JUnit XML, for the test reports of CI systems: a suite for each file, a case for each finding.

Cases have no attributes `file` and `line`: the schema of Jenkins has neither, and refuses them. The suite names the
file, the case its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ffplan.base.control_characters import visible
from ffplan.base.errors import Severity
from ffplan.check.formats.checked import path_of, words_of

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.check.formats.checked import Checked


def _case(suite: ElementTree.Element, file: str, item: Finding) -> None:
    """Add a finding: a failure, or, for a mere note, a passed case with its text."""
    name = f"{item.rule} at {item.line}:{item.column}: {item.message}"
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {"classname": visible(file), "name": visible(name), "time": "0"},
    )
    if item.severity is Severity.INFO:
        ElementTree.SubElement(case, "system-out").text = visible(words_of(item))
        return
    place = f"{file}:{item.line}:{item.column}"
    failure = ElementTree.SubElement(
        case, "failure", {"type": f"{item.severity.value} {item.rule}", "message": visible(item.message)}
    )
    failure.text = visible(f"{place}: {item.severity.value}: {words_of(item)} [{item.rule}]")


def render(checked: Checked) -> str:
    """Return findings as JUnit XML; a file without findings is a case that passed."""
    root = ElementTree.Element("testsuites", {"name": "ffplan check"})
    by_file: dict[str, list[Finding]] = {path_of(file): [] for file in checked.files}
    for item in checked.findings:
        by_file.setdefault(path_of(item.file), []).append(item)
    for file, findings in by_file.items():
        failures = sum(item.severity is not Severity.INFO for item in findings)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            {
                "name": visible(file),
                "file": visible(file),
                "tests": str(len(findings) or 1),
                "failures": str(failures),
                "errors": "0",
                "skipped": "0",
                "time": "0",
            },
        )
        for item in findings:
            _case(suite, file, item)
        if not findings:
            ElementTree.SubElement(suite, "testcase", {"classname": visible(file), "name": "check", "time": "0"})
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
