"""Which tables of measured runs a calibration is made on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.calibration.calibrate import runs
from ffplan.catalog.store import Catalog
from tests.golden.cases import STEPS

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = STEPS.replace("[8, 64, 2, 2, 2, 1, 2.5]", "[8, 64, 2, 2, 4, 1, 2.5]")
TABLE = RIGHT.partition("tables:\n")[2]


def test_tables_that_are_not_scored_or_have_no_time_are_left_out(tmp_path: Path) -> None:
    others = {"b": "    scored: false\n", "c": "    arithmetic: true\n"}
    text = RIGHT + "".join(TABLE.replace("id: gpt\n", f"id: {name}\n{field}") for name, field in others.items())
    path = tmp_path / "runs.yaml"
    path.write_text(text)
    found = runs(Catalog(), (str(path),))
    assert [replay.table.id for replay in found] == ["gpt"]
