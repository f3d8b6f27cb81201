"""Leave one source out: fit the constants of a kind of accelerator without a source, then score it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.calibration.fit import BOUNDS, UNFITTED, errors, figures, fit, waits_for_host, wanted
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.training import LeaveOneOutReport, LeftOut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.validation.training_replay import TrainingReplay


def _set(replay: TrainingReplay) -> str:
    rates = replay.accelerator.training
    return rates.set if rates is not None else ""


def leave_one_out(
    replays: Sequence[TrainingReplay], progress: Callable[[int, int, str], None] | None = None
) -> LeaveOneOutReport:
    """Return every source scored by constants that were fitted on the other sources of its accelerators.

    Args:
        replays: every table whose rows count.
        progress: callback for progress.

    Raises:
        FitError: where SciPy is missing.
    """
    pairs = list(dict.fromkeys((_set(replay), replay.file.id) for replay in replays if _set(replay)))
    found = []
    for number, (name, source) in enumerate(pairs):
        if progress is not None:
            progress(number, len(pairs), source)
        mine = [item for item in replays if _set(item) == name and item.file.id == source]
        others = [item for item in replays if _set(item) == name and item.file.id != source]
        found.append(_left(name, source, mine, others))
    return LeaveOneOutReport(SCHEMA_VERSION, tuple(found))


def _left(name: str, source: str, mine: list[TrainingReplay], others: list[TrainingReplay]) -> LeftOut:
    """Return one source scored.

    Raises:
        FitError: where SciPy is missing.
    """
    shipped = errors(mine)
    rows = len(shipped)
    before = float(np.abs(shipped).mean())
    base = mine[0].accelerator.training
    assert base is not None
    launches = bool(others) and waits_for_host(others)
    determined = wanted(others, launches=launches) if others else ()
    missing = [item for item in wanted(mine, launches=False) if item not in determined]
    missing += ["launch"] if waits_for_host(mine) and not launches else []
    count = len(errors(others)) if others else 0
    why = None
    if not others:
        why = "no other source has these accelerators"
    elif missing:
        why = f"no other source tells {', '.join(missing)}"
    elif count < len(determined):
        why = f"{count} other row(s) cannot tell {len(determined)} constants"
    if why is not None:
        return LeftOut(
            source=source,
            set=name,
            n=rows,
            mape=None,
            bias=None,
            max_error=None,
            shipped=before,
            fitted_on=count,
            why=why,
        )
    given = base.model_copy(update={name: None for name in BOUNDS if name not in UNFITTED})
    result = fit(others, names=determined, units=base.units.value, base=given)
    after = errors(mine, figures(result.values, given, base.units.value))
    size = np.abs(after)
    return LeftOut(
        source=source,
        set=name,
        n=rows,
        mape=float(size.mean()),
        bias=float(after.mean()),
        max_error=float(size.max()),
        shipped=before,
        fitted_on=count,
        why=None,
    )
