"""Many designs at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.api.designs import Design, load
from ffplan.api.studies import assess
from ffplan.base.errors import UsageError
from ffplan.base.plain import leaves, plain
from ffplan.studies.design_grid import DesignGrid, design_grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CHUNK = 20_000
"""Designs whose arrays are held at once, so that they stay in the cache."""


class ManyDesigns:
    """Results of many designs: a column for each path of an assessment that is a number."""

    def __init__(self, axes: dict[str, Any], columns: dict[str, Any], feasible: Any) -> None:
        """Keep the columns.

        Args:
            axes: what differs, arrays by path.
            columns: results, arrays by path; NaN where a design cannot be built.
            feasible: which designs can be built.
        """
        self.axes, self.columns, self.feasible = axes, columns, feasible

    def __getitem__(self, path: str) -> Any:
        """Return a column."""
        return self.columns[path] if path in self.columns else self.axes[path]

    def __len__(self) -> int:
        """Return the number of designs."""
        return int(self.feasible.size)

    def __repr__(self) -> str:
        """Return how many there are, and how many can be built."""
        built = int(self.feasible.sum())
        return f"ManyDesigns({len(self):,} designs, {built:,} can be built, {len(self.columns)} columns)"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return lists by path."""
        columns = {**self.axes, **self.columns, "feasible": self.feasible}
        return {path: values.ravel().tolist() for path, values in columns.items()}

    def to_frame(self) -> Any:
        """Return a pandas data frame, a row for each design.

        Raises:
            ImportError: without pandas.
        """
        import pandas as pd

        columns = {**self.axes, **self.columns, "feasible": self.feasible}
        return pd.DataFrame({path: values.ravel() for path, values in columns.items()})

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first rows."""
        html: str = self.to_frame().head(10).to_html()
        return html


def assess_many(
    designs: str | Path | Design | Iterable[str | Path | Design], axes: Mapping[str, Any] | None = None
) -> ManyDesigns:
    """Return what many designs are made of.

    With axes, one design is evaluated over arrays by broadcasting: `assess_many("fire-flyer-2",
    {"nodes[0].count": np.arange(100, 1200), "qm8700.power": 300.0})`. Each result equals that of `assess` for the same
    numbers. Without axes, designs are assessed one by one.

    Args:
        designs: one design, or with no axes several; each what `load` takes.
        axes: arrays by path, which broadcast against each other; see `studies.design_grid.with_arrays`.

    Raises:
        UsageError: where a path is no number of the design.
        InputError: where a design is wrong.
    """
    import numpy as np

    if axes is None:
        several = [designs] if isinstance(designs, str | Path | Design) else designs
        return _one_by_one([load(item) for item in several])
    if not isinstance(designs, str | Path | Design):
        raise UsageError("assess_many: axes vary one design")
    if not axes:
        raise UsageError("assess_many: name at least one axis, or leave axes out")
    resolved = load(designs).resolved
    arrays = np.broadcast_arrays(*(np.asarray(value) for value in axes.values()))
    shape, flat = arrays[0].shape, [array.ravel() for array in arrays]
    parts: list[DesignGrid] = [
        design_grid(resolved, {path: array[at : at + CHUNK] for path, array in zip(axes, flat, strict=True)})
        for at in range(0, max(1, flat[0].size), CHUNK)
    ]
    columns = {path: np.concatenate([part.columns[path] for part in parts]).reshape(shape) for path in parts[0].columns}
    feasible = np.concatenate([part.feasible for part in parts]).reshape(shape)
    return ManyDesigns(dict(zip(axes, arrays, strict=True)), columns, feasible)


def _one_by_one(designs: list[Design]) -> ManyDesigns:
    """Return the numbers of designs that have nothing in common."""
    import numpy as np

    rows = []
    for design in designs:
        found = dict(leaves(plain(assess(design))))
        rows.append({path: value for path, value in found.items() if _is_number(value)})
    paths = dict.fromkeys(path for row in rows for path in row)
    columns = {path: np.array([row.get(path, np.nan) for row in rows], float) for path in paths}
    names = np.array([design.name for design in designs])
    return ManyDesigns({"design.name": names}, columns, np.ones(len(designs), bool))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
