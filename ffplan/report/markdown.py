"""Markdown for reviews and wikis."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.report.sections import Section
    from ffplan.results.design import Assessment


def escape(text: str) -> str:
    """Return text that stands in a Markdown table cell as it is."""
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(header)
    lines = [head, ["---"] * len(head), *[list(row) for row in rows]]
    cells = [[cell if line == lines[1] else escape(cell) for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _section(section: Section) -> str:
    if all(not label for label, _ in section.lines):
        return "\n".join(f"- {escape(text)}" for _, text in section.lines)
    return table(("", ""), section.lines)


def assessment_markdown(assessment: Assessment, parts: tuple[Section, ...]) -> str:
    """Return one assessment as Markdown."""
    blocks = [f"# {escape(assessment.design.name)}"]
    if assessment.design.description:
        blocks.append(escape(assessment.design.description))
    for section in parts:
        blocks += [f"## {escape(section.title)}", _section(section)]
    sha = assessment.design.sha256
    blocks.append(f"ffplan {assessment.tool.version}, design SHA-256 {sha}")
    return "\n\n".join(blocks) + "\n"
