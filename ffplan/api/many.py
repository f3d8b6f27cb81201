"""Many designs at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.api.arguments import reads
from ffplan.api.designs import Design, load
from ffplan.api.studies import assess
from ffplan.api.views import table
from ffplan.base.errors import InputError, UsageError
from ffplan.base.plain import numbers, plain
from ffplan.studies.choose.design_grid import DesignGrid, design_grid

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK = 20_000
"""Designs evaluated at once, few enough for the processor's cache."""


class ManyDesigns:
    """Results of many designs: a column for each path of an assessment that is a number."""

    def __init__(self, axes: dict[str, Any], columns: dict[str, Any], feasible: Any, why: Any) -> None:
        self.axes: dict[str, Any] = axes
        self.columns: dict[str, Any] = columns
        self.feasible: Any = feasible
        self.why: Any = why

    def __getitem__(self, path: str) -> Any:
        return self.columns[path]

    def __contains__(self, path: object) -> bool:
        return path in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return int(self.feasible.size)

    def __repr__(self) -> str:
        built = int(self.feasible.sum())
        return f"ManyDesigns({len(self):,} designs, {built:,} can be built, {len(self.columns)} columns)"

    def _table(self) -> dict[str, Any]:
        """Return every column: axes under `axis.` and their path, results under theirs."""
        axes = {f"axis.{path}": values for path, values in self.axes.items()}
        return {**axes, **self.columns, "feasible": self.feasible, "why": self.why}

    def to_dict(self) -> dict[str, list[Any]]:
        """Return lists by path; paths of axes begin with `axis.`."""
        return {path: values.ravel().tolist() for path, values in self._table().items()}

    def to_frame(self) -> Any:
        """Return a pandas data frame, a row for each design; columns of the axes begin with `axis.`.

        Raises:
            ImportError: without pandas.
        """
        return table(self.to_dict())

    def _repr_html_(self) -> str:
        html: str = self.to_frame().head(10).to_html()
        return html


@reads()
def assess_many(
    designs: str | Path | Design | Iterable[str | Path | Design], axes: Mapping[str, Any] | None = None
) -> ManyDesigns:
    """Return the figures of many designs.

    With axes, one design is evaluated over arrays by broadcasting: `assess_many("fire-flyer-2",
    {"nodes[0].count": np.arange(100, 1200), "qm8700.power": 300.0})`. Each result equals `assess` for the same numbers.
    Without axes, designs are assessed one by one; impossible designs give NaN, and say why.

    Args:
        designs: one design, or several without axes; each any source that `load` accepts.
        axes: arrays by path, which broadcast against each other; see `studies.design_grid.with_arrays`.

    Raises:
        UsageError: for a path without a number in the design.
        InputError: for a wrong design.
    """
    import numpy as np

    if axes is None:
        several = [designs] if isinstance(designs, str | Path | Design) else designs
        return _one_by_one([load(entry) for entry in several])
    if not isinstance(designs, str | Path | Design):
        raise UsageError("assess_many: axes vary one design")
    if not isinstance(axes, Mapping) or not axes or not all(isinstance(path, str) for path in axes):
        raise UsageError("assess_many: give axes as a mapping of paths to arrays, one at least")
    resolved = load(designs).resolved
    arrays = _arrays(axes)
    shape, flat = arrays[0].shape, [array.ravel() for array in arrays]
    parts: list[DesignGrid] = [
        design_grid(resolved, {path: array[start : start + CHUNK] for path, array in zip(axes, flat, strict=True)})
        for start in range(0, max(1, flat[0].size), CHUNK)
    ]
    columns = {path: np.concatenate([part.columns[path] for part in parts]).reshape(shape) for path in parts[0].columns}
    feasible = np.concatenate([part.feasible for part in parts]).reshape(shape)
    why = np.concatenate([part.why for part in parts]).reshape(shape)
    return ManyDesigns(dict(zip(axes, arrays, strict=True)), columns, feasible, why)


def _arrays(axes: Mapping[str, Any]) -> list[Any]:
    import numpy as np

    arrays = []
    for path, value in axes.items():
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"`{path}`: no array of numbers") from None
        if not array.size:
            raise UsageError(f"`{path}`: an empty array")
        arrays.append(array)
    try:
        return list(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(f"`{path}` {array.shape}" for path, array in zip(axes, arrays, strict=True))
        raise UsageError(f"assess_many: the axes do not broadcast: {shapes}") from None


def _one_by_one(designs: list[Design]) -> ManyDesigns:
    import numpy as np

    rows: list[dict[str, Any]] = []
    why = []
    for design in designs:
        try:
            values = numbers(plain(assess(design)))
            why.append("")
        except InputError as error:
            values = {}
            why.append(error.findings[0].message)
        rows.append(values)
    paths = dict.fromkeys(path for row in rows for path in row)
    columns = {path: np.array([row.get(path, np.nan) for row in rows], float) for path in paths}
    names = np.array([design.name for design in designs])
    return ManyDesigns({"design.name": names}, columns, np.array([not word for word in why]), np.array(why))
