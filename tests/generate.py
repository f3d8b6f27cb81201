"""Write everything that is generated: schemas, rule pages, command pages, golden outputs.

`make docs` runs it; tests fail where what it would write differs from what is committed. Read the difference of
a golden file before you commit it: it is what a user will see.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.golden import test_designs, test_errors
from tests.golden.cases import CASES
from tests.pages import generated_pages
from tests.support import DESIGNS


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _write_golden() -> None:
    folder = _fresh(test_designs.EXPECTED)
    for name in DESIGNS:
        for form, suffix in test_designs.FORMATS.items():
            text = test_designs.report("design", f"designs/{name}.yaml", "--format", form)
            (folder / f"{name}.{suffix}").write_text(text)
        (folder / f"{name}.check.txt").write_text(test_designs.report("check", f"designs/{name}.yaml"))
    for form, suffix in test_designs.FORMATS.items():
        text = test_designs.report("compare", *test_designs.COMPARISON, "--format", form)
        (folder / f"comparison.{suffix}").write_text(text)
    folder = _fresh(test_errors.EXPECTED)
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            (folder / f"{case.name}.txt").write_text(test_errors.message(case, Path(scratch)))


def main() -> None:
    """Write every generated file."""
    for path, text in generated_pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    _write_golden()


if __name__ == "__main__":
    main()
