"""Write everything that is generated: schemas, rule pages, command pages, golden outputs.

`make docs` runs it; tests fail where what it would write differs from what is committed. Read the difference of
a golden file before you commit it: it is what a user will see.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.golden import commands, test_audits, test_designs, test_errors, test_small
from tests.pages import generated_pages


def golden() -> dict[Path, str]:
    """Return every kept output by where it is kept."""
    with tempfile.TemporaryDirectory() as scratch:
        errors = Path(scratch) / "errors"
        errors.mkdir()
        return {
            **test_designs.expected(),
            **test_errors.pages(errors),
            **commands.tables(),
            **test_small.expected(),
            **test_audits.reports(Path(scratch)),
        }


def main() -> None:
    """Write every generated file, once all of them could be made."""
    texts = {**generated_pages(), **golden()}
    for module in (test_designs, test_errors, test_small, test_audits):
        shutil.rmtree(module.EXPECTED, ignore_errors=True)
    shutil.rmtree(commands.FOLDER, ignore_errors=True)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
