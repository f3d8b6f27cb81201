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
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.calibration.calibrate import runs
from ffplan.calibration.leave_one_out import _band, _held, leave_one_out
from ffplan.catalog.store import Catalog
from ffplan.results.accuracy import HELD, LEVELS
from ffplan.validation.replay import case_files, replay_files
from tests import engines
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ffplan.base.array_math import Floats

FILE = ROOT / "tests" / "published" / "left-out.json"
KINDS = ("source", "stack", "accelerator", "chip", "process")
FOLDERS = ("measurements", "accelerators", "engines", "kernels", "libraries", "stacks")
LARGE = 16 * 2**20
"""Smallest large message, as in the bands of `ffplan collective` [byte]."""


def case_paths() -> tuple[str, ...]:
    """Return every file of measured training runs."""
    return tuple(str(path) for path in sorted((ROOT / "catalogs" / "measurements" / "training").glob("*.yaml")))


def fingerprint() -> str:
    """Return a hash over the data that the errors rest on; of the models those that a case names."""
    found, catalogs = hashlib.sha256(), ROOT / "catalogs"
    named = set(
        re.findall(r"[\w.-]+", " ".join(path.read_text() for path in (catalogs / "measurements").rglob("*.yaml")))
    )
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


def _scored(runs: str, groups: Sequence[Floats]) -> dict[str, Any]:
    """Return a band of errors that were left out, and what bands of the other groups hold of each."""
    held = [{"level": level, "share": round(_held(groups, level), 4)} for level in LEVELS]
    return {
        "runs": runs,
        "of": len(groups),
        "n": sum(map(len, groups)),
        "band": round(_band(groups, HELD), 4),
        "held": held,
    }


def serving() -> dict[str, Any]:
    """Return the errors of times per token, with configurations and with accelerators left out of the fit."""
    seen = engines.observations([path for path, _ in case_files("serving")], Catalog())
    folds = {"configuration": engines.fifths(seen), "accelerator": [one.groups[2] for one in seen]}
    errors = {name: engines.token_errors(seen, engines.left_out(seen, fold), fold) for name, fold in folds.items()}
    return {"bands": [_scored(name, groups) for name, groups in errors.items()]}


def communication() -> dict[str, Any]:
    """Return the errors of collectives of sources that no constant was fitted on, by the size of the message."""
    report = replay_files("communication", case_files("communication"), Catalog())
    sizes: dict[str, dict[str, list[float]]] = {"small": {}, "large": {}}
    for row in report.rows:
        if row.scored and row.kind == "predicted" and row.size_bytes:
            size = sizes["large" if row.size_bytes >= LARGE else "small"]
            size.setdefault(row.source, []).append(abs(float(np.log1p(row.error))))
    return {"bands": [_scored(name, [*map(np.array, groups.values())]) for name, groups in sizes.items()]}


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
    made |= {"serving": serving(), "communication": communication()}
    FILE.write_text(json.dumps(made, indent=1) + "\n")
    from tests.bands import wrong_bands  # it reads the file

    if wrong := wrong_bands():
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
