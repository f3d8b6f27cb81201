"""Write everything that is generated: schemas, rule pages, command pages, golden outputs.

`make docs` runs it; tests fail where what it would write differs from what is committed. Read the difference of
a golden file before you commit it: it is what a user will see.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.golden import commands, test_audits, test_designs, test_errors, test_small
from tests.golden.cases import CASES
from tests.pages import generated_pages
from tests.support import DESIGNS


def _golden_texts() -> dict[Path, str]:
    texts = {}
    for name in DESIGNS:
        for form, suffix in test_designs.FORMATS.items():
            text = test_designs.report("design", f"designs/{name}.yaml", "--format", form)
            texts[test_designs.EXPECTED / f"{name}.{suffix}"] = text
        texts[test_designs.EXPECTED / f"{name}.check.txt"] = test_designs.report("check", f"designs/{name}.yaml")
    for form, suffix in test_designs.FORMATS.items():
        text = test_designs.report("compare", *test_designs.COMPARISON, "--format", form)
        texts[test_designs.EXPECTED / f"comparison.{suffix}"] = text
    for name in test_designs.DRAWINGS:
        text = test_designs.report("export", f"designs/{name}.yaml", "--to", "svg")
        texts[test_designs.EXPECTED / f"{name}.svg"] = text
    for name, arguments in test_designs.TRAININGS.items():
        texts[test_designs.EXPECTED / f"{name}.txt"] = test_designs.report("train", *arguments)
    for name, arguments in test_designs.COSTS.items():
        texts[test_designs.EXPECTED / f"{name}.txt"] = test_designs.report(*arguments)
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            texts[test_errors.EXPECTED / f"{case.name}.txt"] = test_errors.message(case, Path(scratch))
    return texts


def _numbers() -> dict[Path, str]:
    """Numbers of many settings, what every command says of the small fabrics, and audits of them with faults."""
    lines = commands.commands()
    texts = {commands.place(name): commands.printed(*words) for name, words in lines.items()}
    for design in test_small.SMALL:
        for name, words in test_small.commands().items():
            texts[test_small.EXPECTED / design / f"{name}.txt"] = test_small.said(design, *words)
    with tempfile.TemporaryDirectory() as scratch:
        return {**texts, **test_audits.reports(Path(scratch))}


def main() -> None:
    """Write every generated file, once all of them could be made."""
    texts = {**generated_pages(), **_golden_texts(), **_numbers()}
    golden = (test_designs.EXPECTED, test_errors.EXPECTED, test_small.EXPECTED)
    for folder in (*golden, test_audits.EXPECTED, commands.FOLDER):
        shutil.rmtree(folder, ignore_errors=True)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
