"""Many designs from one: points of a sweep, evaluated chunk by chunk, with their metrics or the reason of a refusal."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from copy import deepcopy
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.errors import FfplanError, InputError, UsageError, did_you_mean, nearest
from ffplan.base.plain import NoPlaceError, leaves, put, steps
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.schema import Design
from ffplan.figures.address import address_of, path_of
from ffplan.inputs.document import parse_document
from ffplan.studies.basis.provenance import design_info
from ffplan.studies.choose.design_grid import _gridded, _with_figure, design_grid
from ffplan.studies.choose.sweep_axes import Points, _column_of, _studied
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.inputs.document import Document
    from ffplan.results.result import DesignInfo
    from ffplan.studies.choose.sweep_axes import SweptAxis

_CHUNK = 20_000
"""Points evaluated together where arrays carry them [1]."""
_SINGLE_CHUNK = 100
"""Points of a chunk if each takes a separate study [1]."""
_NO_VALUE = ("schema-unknown-field", "schema-type", "quantity-unit", "reference-kind")
"""Faults that a path, or a value of it, has in every design."""
_USUAL = (
    "accelerators",
    "fabric.switches.total",
    "fabric.links.total",
    "fabric.oversubscription",
    "fabric.bisection_gbyte_s",
    "communication[0].algbw_gbyte_s",
    "cost.total",
    "cost.per_accelerator",
    "power.facility_kw",
)
"""Metrics of a sweep that names none, where the design has them."""


@record
class SweepQuery:
    """A sweep, in plain data, so that any process can run a part of it."""

    text: str
    file: str
    overlays: tuple[str, ...]
    """Folders of the user's parts."""
    points: Points
    metrics: tuple[str, ...]
    """Metrics wanted, by their address; empty for the usual ones."""
    designs: tuple[tuple[str, str, str], ...] = ()
    """Name, label and text of the designs that a fleet names."""

    def sweep(self) -> Sweep:
        """Return the sweep, ready to evaluate."""
        return DesignSweep(self)

    @property
    def key(self) -> str:
        """What tells this sweep from any other: design, axes, metrics, version, and what is in the folders of parts."""
        how = (self.points.zipped, self.points.sample, self.points.seed)
        parts = [__version__, self.text, self.overlays, how, self.metrics, self.designs]
        digest = sha256(json.dumps(parts).encode())
        for axis in self.points.axes:
            values = axis.numbers.tobytes() if axis.texts is None else json.dumps(axis.texts).encode()
            digest.update(axis.path.encode() + b"=" + values)
        for name, content in Catalog(self.overlays).own_files() if self.overlays else ():
            digest.update(name.encode() + b":" + sha256(content).digest())
        return digest.hexdigest()[:16]


@record
class Chunk:
    """Some points with their results."""

    first: int
    columns: dict[str, Floats]
    """Metrics by path, NaN if a point has none, shape (points,)."""
    reason: list[str]
    """Why a point cannot be built; empty if it can."""
    unpriced: dict[str, int]
    """Points whose cost is unknown, by the part without a price."""


@record
class Studied:
    """What is known of the points of one combination of the values that arrays do not carry."""

    values: dict[str, Any]
    """Figures by path, of all points or shape (points,)."""
    unpriced: tuple[str, ...] = ()
    """Parts without a price."""
    refused: Any = ""
    """Why a point cannot be built, empty if it can; of all points or shape (points,)."""


class Sweep(ABC):
    """A sweep, ready to evaluate any chunk of it."""

    what = "design"
    """What the file holds, in messages."""

    def __init__(self, query: SweepQuery) -> None:
        self.query: SweepQuery = query
        self.points: Points = query.points
        self.document: Document = parse_document(query.text.encode(), query.file)
        self.catalog: Catalog = Catalog(list(query.overlays))
        self.by_array: list[bool] = [False] * len(self.points.axes)
        """Whether arrays carry the values, by axis."""
        self.names: tuple[str, ...] = query.metrics
        self.size = _SINGLE_CHUNK
        """Points of a chunk [1]."""

    @property
    @abstractmethod
    def info(self) -> DesignInfo:
        """Name and origin of what the points vary."""

    @abstractmethod
    def _validate(self, text: str) -> object:
        """Read the file of a point; raise `InputError` if it is wrong."""

    @abstractmethod
    def _study(self, key: tuple[int, ...], arrays: dict[str, Floats]) -> Studied:
        """Evaluate points.

        Args:
            key: which value each axis has that arrays do not carry.
            arrays: values of the other axes by path, shape (points,).

        Raises:
            FfplanError: if none of the points can be built.
        """

    def _check(self, axis: SweptAxis) -> None:
        faults = [self._kind_fault(axis, index) for index in _telling(axis)]
        told = [fault for fault in faults if fault is not None]
        if told and (axis.texts is not None or len(told) == len(faults)):
            raise told[0]

    def _kind_fault(self, axis: SweptAxis, index: int) -> UsageError | None:
        """Return why no design has a path, or none a value of this kind there; None if the value may do."""
        text = self._text({axis.path: axis.value(index)})
        try:
            self._validate(text)
        except InputError as error:
            for fault in error.findings:
                if fault.rule in _NO_VALUE:
                    return UsageError(f"--vary {axis.path}: {fault.message}; {fault.remedy}")
        return None

    def _text(self, values: dict[str, Any]) -> str:
        data = deepcopy(self.document.data)
        for path, value in values.items():
            try:
                put(data, path, value, create=True)
            except NoPlaceError as error:
                place = f"place [{error.step}]" if isinstance(error.step, int) else f"`{error.step}`"
                known = [place for place, _ in leaves(data)]
                close = next(filter(path.startswith, known), None) or nearest(path, known)
                hint = f"; did you mean `{close}`?" if close else ""
                raise UsageError(f"--vary {path}: the {self.what} has no {place} there{hint}") from None
        return json.dumps(data)

    @property
    def chunks(self) -> int:
        """Chunks of the sweep [1]."""
        return -(-self.points.count // self.size)

    def chunk(self, number: int) -> Chunk:
        """Return the results of a chunk."""
        first = number * self.size
        last = min(first + self.size, self.points.count)
        indices = self.points.indices(first, last)
        found_here = Chunk(first=first, columns={}, reason=[""] * (last - first), unpriced={})
        fixed = [column for column, carried in zip(indices, self.by_array, strict=True) if not carried]
        groups = np.unique(np.stack(fixed), axis=1, return_inverse=True) if fixed else None
        keys = [tuple(key) for key in groups[0].T.tolist()] if groups is not None else [()]
        place = groups[1].ravel() if groups is not None else np.zeros(last - first, np.int64)
        for index, key in enumerate(keys):
            rows = np.flatnonzero(place == index)
            arrays = {
                axis.path: axis.numbers[column[rows]]
                for axis, column, carried in zip(self.points.axes, indices, self.by_array, strict=True)
                if carried
            }
            self._evaluate(key, arrays, rows.tolist(), found_here)
        return found_here

    def _evaluate(self, key: tuple[int, ...], arrays: dict[str, Floats], rows: list[int], into: Chunk) -> None:
        try:
            studied = self._study(key, arrays)
        except ZeroDivisionError:
            studied = Studied(values={}, refused="a figure is 0 that something is divided by")
        except (FfplanError, RefusedError) as error:
            studied = Studied(values={}, refused=self._reason(error))
        for row, reason in zip(rows, np.broadcast_to(studied.refused, len(rows)).tolist(), strict=True):
            into.reason[row] = reason
        for part in studied.unpriced:
            into.unpriced[part] = into.unpriced.get(part, 0) + len(rows)
        for name in self.names:
            path = _column_of(name, studied.values)
            if path in studied.values:
                column = into.columns.setdefault(name, np.full(len(into.reason), np.nan))
                column[rows] = studied.values[path]

    def _reason(self, error: Exception) -> str:
        return error.findings[0].message if isinstance(error, InputError) else str(error)


class DesignSweep(Sweep):
    """A sweep of a design; arrays carry what they can."""

    def __init__(self, query: SweepQuery) -> None:
        super().__init__(query)
        design = resolve(self.document, self.catalog)
        self.design = design
        self.of_parts: set[str] = {swept.path for swept in self.points.axes if self._is_part(swept)}
        """Paths of the axes that are prices, or figures of parts."""
        arrays = self._are_columns(design) and _gridded(design)
        self.by_array = [arrays and self._is_array(design, swept) for swept in self.points.axes]
        self.names = query.metrics or tuple(name for name in _USUAL if self._has(design, name))
        if any(self.by_array):
            self.size = _CHUNK
        for axis, carried in zip(self.points.axes, self.by_array, strict=True):
            if not carried and axis.path not in self.of_parts:
                self._check(axis)
        for axis in self.points.axes:
            if axis.path in self.of_parts:
                _with_figure(design, axis.path, float(axis.numbers[0]))
        self._case = lru_cache(maxsize=64)(self._resolved)

    @property
    def info(self) -> DesignInfo:
        """The design's name and origin."""
        return design_info(self.design)

    def _validate(self, text: str) -> object:
        return self._resolve(text)

    @staticmethod
    def _has(design: ResolvedDesign, name: str) -> bool:
        lacks = {"cost": design.spec.cost is None, "communication[0]": design.spec.communication is None}
        return not lacks.get(name.split(".")[0], False)

    def _are_columns(self, design: ResolvedDesign) -> bool:
        """Return whether arrays carry every metric; metrics of other studies are checked on one point."""
        known: set[str] = set()
        if _gridded(design):
            known = set(design_grid(design, {"nodes[0].count": [float(design.spec.nodes[0].count)]}).columns)
        others = [name for name in self.query.metrics if _column_of(name, known) not in known]
        if not others:
            return bool(known)
        every = self._metrics(design)
        if not every:
            return False
        for name in others:
            if _column_of(name, every) not in every:
                remedy = did_you_mean(name, map(address_of, every | known), what="metric")
                raise UsageError(f"--metric {name}: no such number in the results; {remedy}")
        return False

    def _metrics(self, design: ResolvedDesign) -> set[str]:
        """Return the metrics of the first point, or of the design itself where the point cannot be built."""
        fields = {axis.path: axis.value(0) for axis in self.points.axes if self._is_field(axis)}
        for values in (fields, {}):
            try:
                varied, catalog = self._resolve(self._text(values)) if values else (design, self.catalog.fresh())
                return set(_studied(varied, catalog, self.query.metrics)[0])
            except (InputError, RefusedError, ZeroDivisionError):
                continue
        return set()

    def _is_array(self, design: ResolvedDesign, axis: SweptAxis) -> bool:
        if axis.numbers is None:
            return False
        broken = axis.numbers[axis.numbers % 1 != 0][:1]  # counts take no fraction, wherever it stands
        try:
            design_grid(design, {axis.path: np.array([axis.numbers.min(), *broken, axis.numbers.max()], float)})
        except UsageError as error:
            if not self._is_field(axis):
                raise UsageError(f"--vary {axis.path}: {error}{self._nearest(axis)}") from None
            return False
        return True

    def _is_field(self, axis: SweptAxis) -> bool:
        return steps(axis.path)[0] in (*Design.model_fields, *self.document.data)

    def _nearest(self, axis: SweptAxis) -> str:
        head = axis.path.partition(".")[0]
        if head == "prices" or self.catalog.kind_of(head):
            return ""
        close = nearest(head, Design.model_fields)
        return f"; did you mean `{close}`?" if close else ""

    def _is_part(self, axis: SweptAxis) -> bool:
        head = axis.path.partition(".")[0]
        if self._is_field(axis) or not (head == "prices" or self.catalog.kind_of(head)):
            return False
        if axis.numbers is None:
            raise UsageError(f"--vary {axis.path}: prices and figures of parts are numbers, in the catalogue's unit")
        return True

    def _resolve(self, text: str) -> tuple[ResolvedDesign, Catalog]:
        catalog = self.catalog.fresh()
        return resolve(parse_document(text.encode(), self.query.file), catalog), catalog

    def _resolved(self, key: tuple[int, ...]) -> tuple[ResolvedDesign, Catalog] | str:
        chosen = [item for item, carried in zip(self.points.axes, self.by_array, strict=True) if not carried]
        pairs = list(zip(chosen, key, strict=True))
        text = self._text({item.path: item.value(at) for item, at in pairs if item.path not in self.of_parts})
        try:
            design, catalog = self._resolve(text)
            for axis, index in pairs:
                if axis.path in self.of_parts:
                    design = _with_figure(design, axis.path, float(axis.numbers[index]))
        except (InputError, UsageError) as error:
            return self._reason(error)
        return design, catalog

    def _study(self, key: tuple[int, ...], arrays: dict[str, Floats]) -> Studied:
        case = self._case(key)
        if isinstance(case, str):
            raise UsageError(case)
        if not arrays:
            values, unpriced = _studied(*case, self.query.metrics)
            return Studied(values=values, unpriced=unpriced)
        grid = design_grid(case[0], arrays, {*self.names, *map(path_of, self.names)})
        columns = grid.columns
        if grid.unpriced:  # a sum without a part would make it the cheapest
            columns = {path: column for path, column in columns.items() if not path.startswith("cost.")}
        return Studied(values=columns, unpriced=grid.unpriced, refused=grid.why)


def _telling(axis: SweptAxis) -> list[int]:
    """Return the values of an axis that tell whether a path takes its kind: all of a list; of a range the ends, the
    first whole number and the first fraction, since some paths take only one of both.
    """
    if axis.texts is not None:
        return list(range(len(axis)))
    whole = axis.numbers % 1 == 0
    firsts = [np.flatnonzero(kind)[:1].tolist() for kind in (whole, ~whole)]
    return sorted({0, len(axis) - 1, *firsts[0], *firsts[1]})
