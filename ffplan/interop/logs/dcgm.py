"""Rates of a node: `dcgmi diag` in print or as JSON, copies of nvbandwidth, and memory by STREAM and mlc."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.record import record
from ffplan.interop.logs.measured import Found, _documents, _number_of, _refuse, _stem, _unread
from ffplan.results.acceptance import Measured, Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

_MATRICES = {
    "host_to_device_memcpy_ce": "copy-to-device",
    "device_to_host_memcpy_ce": "copy-to-host",
    "all_to_host_memcpy_ce": "copy-to-host-shared",
    "host_to_all_memcpy_ce": "copy-to-device-shared",
    "device_to_device_memcpy_read_ce": "nvlink-copy",
    "device_to_device_memcpy_write_ce": "nvlink-copy",
}
"""Checks by the name of a test; other tests are left out."""
_ABSENT = ("N/A",)
"""What stands where a pair has no value."""
_TRIAD = re.compile(r"^[ \t]*Triad:?[ \t]+(\S+)\s", re.MULTILINE)
_GPU = re.compile(r"^[ \t]*Implementation:[ \t]*(CUDA|HIP|SYCL\w*)", re.MULTILINE)
_STREAM = re.compile(r"^[ \t]*Function[ \t]+(Best Rate MB/s|MBytes/sec)", re.MULTILINE)


def _is_nvbandwidth(loaded: Any) -> bool:
    return isinstance(loaded, dict) and isinstance(loaded.get("nvbandwidth"), dict)


def _read_nvbandwidth(loaded: dict[str, Any], file: str) -> list[Measured]:
    """Return the copies of nvbandwidth's JSON [GB/s], one for each pair; between GPUs the least of each row."""
    measured: list[Measured] = []
    for case in loaded["nvbandwidth"].get("testcases") or []:
        name = case.get("name", "") if isinstance(case, dict) else ""
        if name not in _MATRICES:
            continue
        status = str(case.get("status", "Passed"))
        if status not in ("Passed", "Waived"):
            _refuse(file, 1, f"the test `{name}` ended with `{status}`", "give the file of a run that passed")
        rows = case.get("bandwidth_matrix") or []
        if not all(isinstance(row, list) for row in rows):
            _refuse(file, 1, f"`bandwidth_matrix` of `{name}` is not a matrix", "give the file as it was written")
        for number, row in enumerate(rows):
            measured += _copies(name, number, [str(cell) for cell in row], file, 1)
    return _some_copies(measured, file)


def _copies(name: str, number: int, cells: list[str], file: str, line: int) -> list[Measured]:
    check, host = _MATRICES[name], _stem(file)
    rates = [(gpu, _number_of(cell, file, line, "bandwidth")) for gpu, cell in enumerate(cells) if cell not in _ABSENT]
    if check == "nvlink-copy":
        others = [rate for gpu, rate in rates if gpu != number]  # old versions print 0.00 of a GPU to itself
        rates = [(number, min(others))] if others else []
    return [
        Measured(check=check, value=rate, host=host, part=f"GPU {gpu}", file=file, line=line) for gpu, rate in rates
    ]


def _some_copies(measured: list[Measured], file: str) -> list[Measured]:
    if not measured:
        _refuse(file, 1, "no copy test of the acceptance sheet", f"run {', '.join(sorted(_MATRICES))}")
    return measured


_RUNNING = re.compile(r"\bRunning (\w+_(?:ce|sm))\.")
_SUM = re.compile(r"\s*SUM \w")
_SIDE = re.compile(r"\b([CG]PU)\(row\)")
_MATRIX_ROW = re.compile(r"([0-9]{1,4})((?:[ \t]+(?:N/A|[0-9]{1,9}[.,][0-9]{1,6}))+)")


def _is_nvbandwidth_text(text: str) -> bool:
    return "nvbandwidth Version" in text or _RUNNING.search(text) is not None


_COLUMNS = re.compile(r"0(?:[ \t]+[0-9]{1,4})*")


def _read_nvbandwidth_text(text: str, file: str) -> list[Found]:
    measured: list[Measured] = []
    lost: list[Unread] = []
    name, started, columns, whole = "", 0, 0, 0

    def closed() -> None:
        if name in _MATRICES and whole < (columns if columns and _MATRICES[name] == "nvlink-copy" else 1):
            lost.append(_unread(file, started, f"the matrix of `{name}` is missing or cut"))

    for line, content in enumerate([*text.splitlines(), "SUM of all"], 1):
        if running := _RUNNING.search(content):
            closed()
            name, started, columns, whole = running[1], line, 0, 0
        elif _SUM.match(content) or ((side := _SIDE.search(content)) and (side[1] == "CPU") != ("host" in name)):
            closed()
            name = ""  # a matrix below is of another test, whose name was cut
        elif name in _MATRICES and (row := _MATRIX_ROW.fullmatch(content.strip())):
            cells = row[2].replace(",", ".").split()
            measured += _copies(name, int(row[1]), cells, file, line)
            whole += len(cells) >= columns
        elif name in _MATRICES and _COLUMNS.fullmatch(content.strip()):
            columns = len(content.split())
    return [*_some_copies(measured, file), *lost]


def _is_stream(text: str) -> bool:
    return _STREAM.search(text) is not None and "Triad" in text


def _read_stream(text: str, file: str) -> list[Measured]:
    """Return the triad of STREAM [GB/s], as the program counts its bytes."""
    if (kind := _GPU.search(text)) is not None:
        line = text.count("\n", 0, kind.start(1)) + 1
        _refuse(file, line, f"BabelStream with {kind[1]} measures the memory of a GPU", "give STREAM on the host")
    measured = []
    for match in _TRIAD.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        rate = _number_of(match[1].replace(",", "."), file, line, "rate") / 1e3
        doubt = "wrong results" if "Failed Validation" in text else ""
        row = Measured(check="memory", value=rate, host=_stem(file), part="", file=file, line=line, doubt=doubt)
        measured.append(row)
    if not measured:
        _refuse(file, 1, "no row `Triad`", "give the whole output of STREAM")
    return measured


_MLC = re.compile(r"^[ \t]*Stream-triad like[ \t]*:[ \t]*([0-9]{1,9}[.,][0-9]{1,6})[ \t]*$", re.MULTILINE)


def _is_mlc(text: str) -> bool:
    return "Intel(R) Memory Latency Checker" in text or _MLC.search(text) is not None


def _read_mlc(text: str, file: str) -> list[Measured]:
    """Return the triad of mlc [GB/s], which it prints in MB/s of a million bytes."""
    if (match := _MLC.search(text)) is None:
        _refuse(file, 1, "no row `Stream-triad like`", "run `mlc --max_bandwidth` or `mlc --peak_injection_bandwidth`")
    line = text.count("\n", 0, match.start(1)) + 1
    rate = _number_of(match[1].replace(",", "."), file, line, "rate") / 1000
    return [Measured(check="memory", value=rate, host=_stem(file), part="", file=file, line=line)]


_DCGM = re.compile(
    r"DCGM (?:GPU )?Diagnostic|Successfully ran diagnostic|^\|[ -]*Diagnostic +\||\"test_categories\"[ \t]*:"
    r"|^[|+]-----  (?:Metadata|Deployment|Integration|Hardware|Stress) ",
    re.MULTILINE,
)
_CELLS = re.compile(r"^[ \t]*\|([^|]{0,80})\|(.{0,400})\|[ \t]*$")
_STATUS = re.compile(r"(pass|fail|warn|skip|not run)\w*\b(?:[ \t]*-[ \t]*(.{0,200}))?$", re.IGNORECASE)
_ENTITY = re.compile(r"GPUs?:?[ \t]?([0-9]{1,4})[ \t]*:[ \t]*(.{1,200})")
_COPY = re.compile(
    r"GPU ?([0-9]{1,4}),? (GPU to Host|Host to GPU) bandwidth:?\s{0,9}([0-9]{1,5}(?:[.,][0-9]{1,6})?) ?GB/s"
)
_RAN = ("pass", "fail", "warn")
_COPIES = {"GPU to Host": "copy-to-host", "Host to GPU": "copy-to-device"}


@record
class _TestResult:
    test: str
    line: int
    status: str
    """pass, fail, warn, skip or not run."""
    gpus: tuple[str, ...] = ()
    """Numbers of the accelerators; empty of all."""
    words: str = ""
    """Its warnings and notes."""


def _is_dcgm(text: str) -> bool:
    return _DCGM.search(text) is not None


def _status_of(words: str) -> str | None:
    """Return the status that words begin with; None if there is none."""
    match = _STATUS.match(words.strip())
    return match[1].lower() if match else None


def _printed(text: str) -> Iterator[_TestResult]:
    """Yield the tests of the printed table: a line for each, or one more for each accelerator."""
    name, line, status, words = "", 0, "", list[str]()
    gpus, failing = tuple[str, ...](), list[tuple[str, str]]()

    def finished() -> Iterator[_TestResult]:
        said = " ".join(words)
        by_status: dict[str, list[str]] = {}
        for gpu, own in failing:
            by_status.setdefault(own, []).append(gpu)
        for own, numbers in (by_status or {status: list(gpus)}).items():
            if own:
                yield _TestResult(test=name, line=line, status=own, gpus=tuple(numbers), words=said)

    for number, content in enumerate(text.splitlines(), 1):
        if (cells := _CELLS.match(content)) is None:
            continue
        left, right = cells[1].strip(), cells[2].strip()
        if left and _status_of(right) is not None and left.lower() not in ("warning", "info", "error"):
            yield from finished()
            name, line, status, words, failing = left, number, _status_of(right) or "", [], []
            gpus = tuple(re.findall(r"[0-9]{1,4}", right)) if "GPU" in right else ()
        elif (one := _ENTITY.fullmatch(right)) is not None and (own := _status_of(one[2])) is not None:
            failing.append((one[1], own))
        else:
            words.append(right)
    yield from finished()


def _texts(value: Any) -> str:
    """Return the words of a JSON value: a text, a list of them, or of objects that hold a warning."""
    if isinstance(value, dict):
        return str(value.get("warning", ""))
    return " ".join(_texts(part) for part in value) if isinstance(value, list) else str(value or "")


def _documented(loaded: Any, line: int) -> Iterator[_TestResult]:
    """Yield the tests of a JSON document, of version 4 or before."""
    if isinstance(loaded, list):
        for part in loaded:
            yield from _documented(part, line)
    if not isinstance(loaded, dict):
        return
    if isinstance(loaded.get("results"), list) and "name" in loaded:
        for result in loaded["results"]:
            status = _status_of(str(result.get("status", "")))
            entity = result.get("entity_id") if result.get("entity_group", "GPU") == "GPU" else None
            gpus = result.get("gpu_ids", result.get("gpu_id", entity))
            numbers = tuple(re.findall(r"[0-9]{1,4}", "" if gpus is None else str(gpus)))
            words = f"{_texts(result.get('warnings'))} {_texts(result.get('info'))}".strip()
            if status is not None:
                yield _TestResult(test=str(loaded["name"]), line=line, status=status, gpus=numbers, words=words)
        return
    for part in loaded.values():
        yield from _documented(part, line)


def _outcomes(text: str) -> list[_TestResult]:
    documents = list(_documents(text))
    if not any(not document.fault for document in documents):
        return list(_printed(text))
    return [result for document in documents for result in _documented(document.value, document.line)]


_RUNTIME = re.compile(
    r"^[ \t]*Error:[ \t]*(.{1,200})|\"(?:runtime_error|Error)\"[ \t]*:[ \t]*\"([^\"]{1,200})", re.MULTILINE
)
_OPEN_ROW = re.compile(r"^[ \t]*[|+](?:.{0,400}[^|+ \t\n])?[ \t]*$", re.MULTILINE)
"""A row of the printed table that lacks its last border: the log was cut there."""


def _lost(text: str, file: str) -> Iterator[Unread]:
    """Yield what DCGM says that it could not do, and where its output was cut."""
    for pattern in (_RUNTIME, _OPEN_ROW):
        if (match := pattern.search(text)) is not None:
            said = f"the diagnosis failed: {match[1] or match[2]}" if pattern is _RUNTIME else "the table is cut"
            yield _unread(file, text.count("\n", 0, match.start()) + 1, said)
    for document in _documents(text):
        if document.fault:
            yield _unread(file, document.fault_line, f"not valid JSON: {document.fault}")


def _judgements(outcome: _TestResult, file: str) -> Iterator[Measured]:
    """Yield the failures of a test [1]: one for each accelerator that failed, none of a test that passed; one that did
    not run is in doubt.
    """
    failed, ran = outcome.status == "fail", outcome.status in _RAN
    numbers: tuple[str, ...] = outcome.gpus if outcome.status != "pass" and outcome.gpus else ("",)
    words = " ".join(_COPY.sub("", outcome.words).split())[:160].strip(" ,")
    for number in numbers:
        yield Measured(
            check="dcgm-errors",
            value=float(failed),
            host=_stem(file),
            part=f"GPU {number} {outcome.test}" if number else outcome.test,
            file=file,
            line=outcome.line,
            doubt=("" if outcome.status == "pass" else words or ("a warning" if outcome.status == "warn" else ""))
            if ran
            else f"the test did not run: {words or outcome.status}",
        )


def _read_dcgm(text: str, file: str) -> list[Found]:
    """Return failed tests by accelerator [1], and copies between each and its host [GB/s]."""
    measured: list[Found] = []
    outcomes = _outcomes(text)
    if not any(outcome.status in _RAN for outcome in outcomes):
        _refuse(file, 1, "no test ran", "give the whole output of `dcgmi diag -r 3`, or of `-j`")
    for outcome in outcomes:
        measured += _judgements(outcome, file)
        for copy in _COPY.finditer(" ".join(outcome.words.split())):
            measured.append(
                Measured(
                    check=_COPIES[copy[2]],
                    value=_number_of(copy[3].replace(",", "."), file, outcome.line, "bandwidth"),
                    host=_stem(file),
                    part=f"GPU {copy[1]}",
                    file=file,
                    line=outcome.line,
                )
            )
    return [*measured, *_lost(text, file)]
