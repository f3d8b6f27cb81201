"""Output of nvbandwidth (JSON) and of STREAM (text): copies inside a node, and its memory."""

from __future__ import annotations

import re
from typing import Any

from ffplan.interop.logs.measured import number_of, refuse, stem
from ffplan.results.acceptance import Measured

COPIES = {
    "host_to_device_memcpy_ce": "copy-to-device",
    "device_to_host_memcpy_ce": "copy-to-host",
    "all_to_host_memcpy_ce": "copy-to-host-shared",
    "host_to_all_memcpy_ce": "copy-to-device-shared",
    "device_to_device_memcpy_read_ce": "nvlink-copy",
    "device_to_device_memcpy_write_ce": "nvlink-copy",
}
"""Checks by the name of a test; other tests are left out."""
ABSENT = ("N/A",)
"""What stands where a pair has no value."""
_TRIAD = re.compile(r"^[ \t]*Triad:?[ \t]+(\S+)\s", re.MULTILINE)
_GPU = re.compile(r"^[ \t]*Implementation:[ \t]*(CUDA|HIP|SYCL\w*)", re.MULTILINE)
_STREAM = re.compile(r"^[ \t]*Function[ \t]+(Best Rate MB/s|MBytes/sec)", re.MULTILINE)


def is_nvbandwidth(loaded: Any) -> bool:
    """Return whether a JSON document is of nvbandwidth."""
    return isinstance(loaded, dict) and isinstance(loaded.get("nvbandwidth"), dict)


def read_nvbandwidth(loaded: dict[str, Any], file: str) -> list[Measured]:
    """Return the copies of nvbandwidth [GB/s], one for each pair; between GPUs the least of each row.

    Args:
        loaded: the content.
        file: name of the file.

    Raises:
        InputError: where it is none.
    """
    host, found = stem(file), []
    for case in loaded["nvbandwidth"].get("testcases") or []:
        name = case.get("name", "") if isinstance(case, dict) else ""
        check = COPIES.get(name)
        if check is None:
            continue
        status = str(case.get("status", "Passed"))
        if status not in ("Passed", "Waived"):
            refuse(file, 1, f"the test `{name}` ended with `{status}`", "give the file of a run that passed")
        for at, row in enumerate(case.get("bandwidth_matrix") or []):
            if not isinstance(row, list):
                refuse(file, 1, f"`bandwidth_matrix` of `{name}` is no matrix", "give the file as it was written")
            cells = [(gpu, str(cell)) for gpu, cell in enumerate(row) if str(cell) not in ABSENT]
            rates = [(gpu, number_of(text, file, 1, "bandwidth")) for gpu, text in cells]
            values = [rate for _, rate in rates]
            if check == "nvlink-copy" and values:
                found.append(Measured(check=check, value=min(values), host=host, part=f"GPU {at}", file=file, line=1))
            elif check != "nvlink-copy":
                found += [
                    Measured(check=check, value=value, host=host, part=f"GPU {gpu}", file=file, line=1)
                    for gpu, value in rates
                ]
    if not found:
        refuse(file, 1, "no copy that the sheet knows", f"run {', '.join(sorted(COPIES))}")
    return found


def is_stream(text: str) -> bool:
    """Return whether a text is output of STREAM or BabelStream."""
    return _STREAM.search(text) is not None and "Triad" in text


def read_stream(text: str, file: str) -> list[Measured]:
    """Return the triad of STREAM [GB/s], as the program counts its bytes.

    Args:
        text: what the program printed.
        file: name of the file.

    Raises:
        InputError: where the row has no number.
    """
    if (kind := _GPU.search(text)) is not None:
        line = text.count("\n", 0, kind.start(1)) + 1
        refuse(file, line, f"BabelStream with {kind[1]} measures the memory of a GPU", "give STREAM on the host")
    found = []
    for match in _TRIAD.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        rate = number_of(match[1], file, line, "rate") / 1e3
        found.append(Measured(check="memory", value=rate, host=stem(file), part="", file=file, line=line))
    if not found:
        refuse(file, 1, "no row `Triad`", "give the whole output of STREAM")
    return found
