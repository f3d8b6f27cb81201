"""Rates of a node: copies (nvbandwidth) and memory (STREAM, mlc)."""

from __future__ import annotations

import re
from typing import Any

from ffplan.interop.logs.measured import _number_of, _refuse, _stem
from ffplan.results.acceptance import Measured

_COPIES = {
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
        if name not in _COPIES:
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
    check, host = _COPIES[name], _stem(file)
    rates = [(gpu, _number_of(cell, file, line, "bandwidth")) for gpu, cell in enumerate(cells) if cell not in _ABSENT]
    if check == "nvlink-copy":
        rates = [(number, min(rate for _, rate in rates))] if rates else []
    return [
        Measured(check=check, value=rate, host=host, part=f"GPU {gpu}", file=file, line=line) for gpu, rate in rates
    ]


def _some_copies(measured: list[Measured], file: str) -> list[Measured]:
    if not measured:
        _refuse(file, 1, "no copy test of the acceptance sheet", f"run {', '.join(sorted(_COPIES))}")
    return measured


_RUNNING = re.compile(r"\bRunning (\w+_(?:ce|sm))\.")
_SUM = re.compile(r"\s*SUM \w")
_SIDE = re.compile(r"\b([CG]PU)\(row\)")
_MATRIX_ROW = re.compile(r"([0-9]{1,4})((?:[ \t]+(?:N/A|[0-9]{1,9}[.,][0-9]{1,6}))+)")


def _is_nvbandwidth_text(text: str) -> bool:
    return "nvbandwidth Version" in text or _RUNNING.search(text) is not None


def _read_nvbandwidth_text(text: str, file: str) -> list[Measured]:
    measured: list[Measured] = []
    name = ""
    for line, content in enumerate(text.splitlines(), 1):
        if running := _RUNNING.search(content):
            name = running[1]
        elif _SUM.match(content) or ((side := _SIDE.search(content)) and (side[1] == "CPU") != ("host" in name)):
            name = ""  # a matrix below is of another test, whose name was cut
        elif name in _COPIES and (row := _MATRIX_ROW.fullmatch(content.strip())):
            measured += _copies(name, int(row[1]), row[2].replace(",", ".").split(), file, line)
    return _some_copies(measured, file)


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
