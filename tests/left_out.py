"""Errors of training times predicted without what they are of; `make bands` writes them anew in some minutes.

A fit takes seconds, and there are half a hundred: the file stands beside the tests with a fingerprint of what it
rests on, and a test says when it is out of date.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.calibration.calibrate import runs
from ffplan.calibration.leave_one_out import leave_one_out
from ffplan.catalog.store import Catalog
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = ROOT / "tests" / "published" / "left-out.json"
KINDS = ("source", "stack", "accelerator", "chip", "process")
FOLDERS = ("measurements/training", "accelerators", "stacks", "kernels")


def case_paths() -> tuple[str, ...]:
    """Return every file of measured training runs."""
    return tuple(str(path) for path in sorted((ROOT / "catalogs" / "measurements" / "training").glob("*.yaml")))


def fingerprint() -> str:
    """Return a hash over the data that the errors rest on; of the models those that a case names."""
    found, catalogs = hashlib.sha256(), ROOT / "catalogs"
    named = set(re.findall(r"[\w.-]+", " ".join(Path(path).read_text() for path in case_paths())))
    models = (path for path in (catalogs / "models").rglob("*.yaml") if path.stem in named)
    for path in (
        *(path for folder in FOLDERS for path in sorted((catalogs / folder).rglob("*.yaml"))),
        *sorted(models),
    ):
        found.update(path.read_bytes())
    return found.hexdigest()


def rounded(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Return records as objects, their figures to four places."""
    found = [asdict(row) for row in rows]
    return [
        {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()} for row in found
    ]


def computed(kind: str) -> dict[str, Any]:
    """Return the errors with one kind of thing left out."""
    report = leave_one_out(runs(Catalog(), case_paths()), by=kind)  # type: ignore[arg-type]
    assert report.mean is not None
    rows = {name: rounded(getattr(report, name)) for name in ("rows", "kinds", "settings", "bands")}
    return {"mean": round(report.mean, 4), **rows}


def stored() -> dict[str, Any]:
    """Return the errors as last written."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def main() -> None:
    """Write the file; fail where bands of other runs do not hold what they should."""
    made = {"fingerprint": fingerprint(), **{kind: computed(kind) for kind in KINDS}}
    FILE.write_text(json.dumps(made, indent=1) + "\n")
    from tests.bands import wrong_bands  # it reads the file

    if wrong := wrong_bands():
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
