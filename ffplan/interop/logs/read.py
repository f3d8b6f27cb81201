"""Logs of any known program: what they measured, and the collectives among it as a file of cases."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError
from ffplan.base.pasted import _as_pasted, _bared, _sections, _streams
from ffplan.inputs.document import scalar
from ffplan.interop.logs import dcgm, links, nccl_tests, storage, tables
from ffplan.interop.logs.measured import _AS_WRITTEN, NO_HINTS, Found, _documents, _number_of, _refuse, _stem, _unread
from ffplan.interop.recognised import _recognised
from ffplan.interop.spreadsheet import _heading, _rows
from ffplan.results.acceptance import Measured, Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.interop.logs.measured import CollectiveHints


def cases_text(measured: tuple[Measured, ...], server: str, name: str, date: str) -> str | None:
    """Return a file of kind `communication-cases`, the median over nodes; None where no collective was measured.

    Args:
        measured: values of logs; collectives without wrong results are taken.
    """
    usable = [measurement for measurement in measured if measurement.gpus and not measurement.doubt]
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
    for operation in dict.fromkeys(measurement.check for measurement in usable):
        measurements = [measurement for measurement in usable if measurement.check == operation]
        for gpus in sorted({measurement.gpus for measurement in measurements}):
            rows: dict[float, list[float]] = {}
            for measurement in measurements:
                if measurement.gpus == gpus:
                    rows.setdefault(measurement.size_bytes, []).append(measurement.value)
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


_PROGRAMS = (
    "nccl-tests, rccl-tests, the OSU benchmarks, oneCCL's benchmark, perftest, nvbandwidth, dcgmi diag, fio, IOR, "
    "MLPerf Storage, STREAM, mlc, nvidia-smi -q -x and topo -m, ibstat, ibdiagnet2.lst, ibdiagnet2.db_csv, "
    "ibdiagnet2.log, or the sheet as CSV with a column `measured`"
)
_MOST_ROWS = 1_000_000
_REMEDY = "write the measured value alone, in the unit of its row"


def _known(loaded: Any, file: str, said: CollectiveHints) -> Callable[[], list[Measured]] | None:
    """Return what reads a JSON document; None if no known program wrote it."""
    if nccl_tests._is_nccl_tests_json(loaded):
        return lambda: nccl_tests._read_nccl_tests_json(loaded, file, said)
    if dcgm._is_nvbandwidth(loaded):
        return lambda: dcgm._read_nvbandwidth(loaded, file)
    return (lambda: storage._read_fio(loaded, file)) if storage._is_fio(loaded) else None


def _json(text: str, file: str, said: CollectiveHints) -> list[Found] | None:
    """Read the JSON documents of a text, each a run of its own; return None if no known program wrote one."""
    documents = [
        document for document in _documents(text) if document.fault or _known(document.value, file, said) is not None
    ]
    if not any(not document.fault for document in documents):
        if documents and text.lstrip().startswith("{"):
            message = f"not valid JSON: {documents[0].fault}"
            _refuse(file, documents[0].fault_line, message, "give the file as it was written")
        return None
    values, found, faults = [document.value for document in documents], list[Found](), list[InputError]()
    for document, after in zip(documents, [*values[1:], None], strict=True):
        read = _known(document.value, file, said)
        if read is None:
            found.append(_unread(file, document.fault_line, f"not valid JSON: {document.fault}"))
        elif not storage._goes_on(document.value, after):
            try:
                found += [replace(row, line=document.line) for row in read()]
            except InputError as error:
                faults.append(error)
                found.append(_unread(file, document.line, error.findings[0].message))
    if faults and not any(isinstance(row, Measured) for row in found):
        raise faults[0]
    return found


_SHEET_COLUMNS = ("check", "measured")
"""Columns that tell an acceptance sheet."""


def _is_sheet(text: str) -> bool:
    return _heading(text, _SHEET_COLUMNS) is not None


def _sheet(text: str, file: str) -> list[Measured]:
    """Return the rows of an acceptance sheet that were filled in: columns check, measured, and host."""
    heading = _heading(text, _SHEET_COLUMNS)
    assert heading is not None

    def figure(text: str, line: int, what: str, remedy: str = _AS_WRITTEN) -> float:
        return _number_of(heading.number(text), file, line, what, remedy)

    measured = []
    for line, row in _rows(text, file, heading):
        value = row["measured"]
        if not value:
            continue
        if line - heading.line >= _MOST_ROWS:
            _refuse(file, line, f"more than {_MOST_ROWS:,} rows", "give fewer")
        measured.append(
            Measured(
                check=row["check"],
                value=figure(value, line, "number", _REMEDY),
                host=row.get("host") or "unnamed",
                part=row.get("part", ""),
                file=file,
                line=line,
                gpus=int(figure(row.get("gpus") or "0", line, "number of accelerators")),
                nodes=1,
                size_bytes=figure(row.get("size_bytes") or "0", line, "size"),
            )
        )
    if not measured:
        _refuse(file, heading.line, "no row has a `measured` value", "fill in the column `measured`")
    return measured


def read_log(
    text: str, file: str, said: CollectiveHints = NO_HINTS, unread: list[Unread] | None = None
) -> list[Measured]:
    """Read a log of any known program.

    A document of the right program in the wrong shape is refused, whatever is wrong in it.

    Args:
        said: what the user says of collectives whose log does not.
        unread: takes the parts that could not be read, beside those that could.

    Raises:
        InputError: where no known program wrote it, or a line cannot be.
    """
    try:
        found = _found_in(text, file, said)
    except (TypeError, AttributeError, ValueError, KeyError, IndexError, OverflowError, csv.Error) as error:
        message = f"the log does not follow its program's format: {str(error)[:100]}"
        _refuse(file, 1, message, "give the log as the program wrote it")
    measured = [row for row in found if isinstance(row, Measured)]
    lost = [row for row in found if isinstance(row, Unread)]
    if lost and not measured:
        _refuse(file, lost[0].line, lost[0].why, "give the whole log, of a run that ended")
    if unread is not None:
        unread += lost
    return measured


def _found_in(text: str, file: str, said: CollectiveHints) -> Sequence[Found]:
    try:
        return _of_processes(text, file, said) or _read_one(_as_pasted(text), file, said)
    except InputError:
        with suppress(InputError):
            return _read_one(_bared(text), file, said)
        raise


_MARKS = ('"nvbandwidth"', '"fio version"', '"devices"')
"""Names in the JSON of known programs that a part of it has, too."""
_COMPLAINT = re.compile(
    r"not found|no such file|denied|refused|\bfail(?:ed|ure)?\b|\berror\b|\bkilled\b|\babort|segmentation fault"
    r"|unreachable|timed out|\bcannot\b|\bunable\b",
    re.IGNORECASE,
)
"""What a process prints that could not run."""


def _silence(lines: list[tuple[int, str]], file: str) -> tuple[Unread, bool]:
    """Say what a process printed that measured nothing: its complaint, or its first words; and whether it complains."""
    said = [(number, line.strip()) for number, line in lines if line.strip()]
    complaints = ((number, line) for number, line in said if "NCCL INFO" not in line and _COMPLAINT.search(line))
    complaint = next(complaints, None)
    number, line = complaint or (said[0] if said else (lines[0][0] if lines else 1, ""))
    why = f"no measurement: `{line[:160]}`" if line else "no measurement"
    return _unread(file, number, why), complaint is not None


def _of_processes(text: str, file: str, said: CollectiveHints) -> list[Found]:
    """Read what each of several processes or hosts printed, one after another or mixed; empty if at most one did.

    A host that measured nothing is named, and so is a rank that complains: other ranks print notes alone.
    """
    read: dict[str, Sequence[Found]] = {}
    lost: dict[str, Unread] = {}
    silent: dict[str, tuple[Unread, bool]] = {}
    for label, lines in (_sections(text) or _streams(text)).items():
        numbers, own = [number for number, _ in lines], _as_pasted("\n".join(line for _, line in lines))
        if not (
            any(mark in own for mark in _MARKS) or any(tells(own) for tells, _ in (_COLLECTIVES | _TEXTS).values())
        ):
            silent[label] = _silence(lines, file)
            continue
        try:
            rows = _read_one(own, file, said)
            read[label] = [replace(row, line=numbers[row.line - 1]) for row in rows]
        except InputError as error:
            fault = error.findings[0]
            lost[label] = _unread(file, numbers[min(fault.line, len(numbers)) - 1], fault.message)
    collective = any(isinstance(row, Measured) and row.gpus for rows in read.values() for row in rows)
    lost |= {
        label: part
        for label, (part, complains) in silent.items()
        if (label or not collective) and (complains or not (not label or label.isdigit() or collective))
    }
    if not read or (len(read) < 2 and (collective or not lost)):
        return []
    stem = _stem(file)
    parts = {**read, **{label: [*read.get(label, ()), part] for label, part in lost.items()}}
    return [
        replace(row, host=f"{stem} {label}" if label.isdigit() else label or stem) if row.host == stem else row
        for label, rows in parts.items()
        for row in rows
    ]


_COLLECTIVES: dict[str, tuple[Callable[[str], bool], Callable[[str, str, CollectiveHints], Sequence[Found]]]] = {
    "nccl-tests": (lambda text: nccl_tests._is_nccl_tests(text) and not _is_sheet(text), nccl_tests._read_nccl_tests),
    "the OSU benchmarks": (tables._is_osu, tables._read_osu),
    "the benchmark of oneCCL": (tables._is_oneccl, tables._read_oneccl),
}
"""Programs whose logs may need the user's hints."""
_TEXTS: dict[str, tuple[Callable[[str], bool], Callable[[str, str], Sequence[Found]]]] = {
    "nvidia-smi": (links._is_smi, links._read_smi),
    "ibdiagnet's .db_csv": (links._is_ibdiagnet_csv, links._read_ibdiagnet_csv),
    "ibdiagnet's .log": (links._is_ibdiagnet_log, links._read_ibdiagnet_log),
    "ibdiagnet's .lst": (links._is_ibdiagnet_lst, links._read_ibdiagnet_lst),
    "ibstat": (links._is_ibstat, links._read_ibstat),
    "`nvidia-smi topo -m`": (links._is_matrix, links._read_matrix),
    "DCGM": (dcgm._is_dcgm, dcgm._read_dcgm),
    "perftest": (tables._is_perftest, tables._read_perftest),
    "MLPerf Storage": (storage._is_mlperf, storage._read_mlperf),
    "IOR": (storage._is_ior, storage._read_ior),
    "fio": (storage._is_fio_text, storage._read_fio_text),
    "nvbandwidth": (dcgm._is_nvbandwidth_text, dcgm._read_nvbandwidth_text),
    "mlc": (dcgm._is_mlc, dcgm._read_mlc),
    "STREAM": (dcgm._is_stream, dcgm._read_stream),
    "the acceptance sheet": (_is_sheet, _sheet),
}
"""Programs that write text or XML: what tells their output, and its reader."""


def _read_one(text: str, file: str, said: CollectiveHints) -> Sequence[Found]:
    """Read a log of one program; refuse several, since all values but one program's would be lost."""
    wrote = [name for name, (tells, _) in (_COLLECTIVES | _TEXTS).items() if tells(text)]
    if len(wrote) > 1:
        _refuse(file, 1, f"the log mixes output of {' and '.join(wrote)}", "give one file for each program")
    if wrote and wrote[0] in _COLLECTIVES:
        return _COLLECTIVES[wrote[0]][1](text, file, said)
    if wrote:
        return _TEXTS[wrote[0]][1](text, file)
    measured = _json(text, file, said)
    if measured is None:
        known = _recognised(text, "log") or ("not output of a supported program", f"supported: {_PROGRAMS}")
        _refuse(file, 1, *known)
    return measured
