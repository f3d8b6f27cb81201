"""Measured collectives as a file of cases, for `accuracy` and `calibrate`."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from ffplan.inputs.emit import scalar

if TYPE_CHECKING:
    from ffplan.results.acceptance import Measured


def cases_text(measured: tuple[Measured, ...], server: str, name: str, date: str) -> str | None:
    """Return a file of kind `communication-cases`, the median over nodes; None where no collective was measured.

    Args:
        measured: values of logs; collectives without wrong results are taken.
        server: catalogue id of the server.
        name: id of the file.
        date: day of the measurement, as the user states it.
    """
    usable = [item for item in measured if item.gpus and not item.doubt]
    if not usable:
        return None
    lines = [
        "# yaml-language-server: $schema=../schema/communication-cases.schema.json",
        "kind: communication-cases",
        f"id: {scalar(name)}",
        f"name: {scalar(f'{name}, measured')}",
        f"source: {{title: {scalar('nccl-tests on our cluster')}, date: {scalar(date)}, grade: measured, status: V}}",
        "collectives:",
    ]
    for operation in dict.fromkeys(item.check for item in usable):
        own = [item for item in usable if item.check == operation]
        for gpus in sorted({item.gpus for item in own}):
            rows: dict[float, list[float]] = {}
            for item in own:
                if item.gpus == gpus:
                    rows.setdefault(item.size_bytes, []).append(item.value)
            sizes = sorted(rows)
            values = ", ".join(f"{median(rows[size]):.6g}" for size in sizes)
            lines += [
                f"  - id: {operation}-{gpus}",
                f"    system: {{server: {scalar(server)}}}",
                f"    operation: {operation}",
                f"    gpus: [{gpus}]",
                f"    sizes: [{', '.join(f'{size:.0f} B' for size in sizes)}]",
                "    metric: busbw_gbyte_s",
                f"    values: [[{values}]]",
            ]
    return "\n".join(lines) + "\n"
