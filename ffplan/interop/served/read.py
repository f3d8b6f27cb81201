"""Results of any known benchmark of serving engines: the program by what is in the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ffplan.base.errors import located
from ffplan.base.pasted import _read_pasted
from ffplan.base.record import record
from ffplan.interop.served import programs, suites
from ffplan.interop.served.fields import RULE, _Result
from ffplan.results.serving_runs import BenchmarkRun

_LEAST = 3
"""Marks that a result must have to be of a program [1]."""
_MOST_RESULTS = 10_000


@record
class _Reader:
    program: str
    marks: tuple[str, ...]
    read: Callable[[_Result, str], BenchmarkRun]
    shared: tuple[str, ...] = ()
    """Marks that a relative of the program has as well; they tell its family, and not which of the two."""

    def marked(self, result: _Result) -> tuple[int, int]:
        """Return how many marks a result has, and how many of them are the program's alone."""
        marked = sum(name in result.data for name in self.marks)
        return marked + sum(name in result.data for name in self.shared), marked


_READERS = (
    _Reader(programs.VLLM, programs.VLLM_MARKS, programs._read_bench_serving, programs.SHARED_MARKS),
    _Reader(programs.SGLANG, programs.SGLANG_MARKS, programs._read_bench_serving, programs.SHARED_MARKS),
    _Reader(programs.AIPERF, programs.AIPERF_MARKS, programs._read_aiperf),
    _Reader(suites.INFERENCEX, suites.INFERENCEX_MARKS, suites._read_inferencex),
    _Reader(suites.LOADGEN, suites.LOADGEN_MARKS, suites._read_loadgen),
)
_KNOWN = (
    "the JSON of vllm bench serve --save-result, SGLang bench_serving, AIPerf, genai-perf or InferenceX, or "
    "LoadGen's mlperf_log_summary.txt or mlperf_log_detail.txt"
)


def _documents(text: str, file: str) -> list[_Result]:
    """Return the objects of a JSON file: one, a list of them, or one after another."""
    decoder, position, results = json.JSONDecoder(), 0, []
    while position < len(text):
        if text[position] in " \t\r\n[],":  # a list's objects are read one by one, each with its own place
            position += 1
            continue
        try:
            loaded, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            at = getattr(error, "pos", position)
            place = (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
            message = f"not valid JSON: {getattr(error, 'msg', 'nested too deeply')}"
            raise located(RULE, file, place, message, "give the file as the program wrote it") from None
        if not isinstance(loaded, dict):
            place = (text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position))
            raise located(RULE, file, place, "a result is an object `{...}`, and this is none", f"give {_KNOWN}")
        results.append(_Result(data=loaded, file=file, text=text, start=position, end=end))
        position = end
        if len(results) > _MOST_RESULTS:
            raise located(RULE, file, (1, 1), f"more than {_MOST_RESULTS:,} results", "give fewer")
    return results


def _reader(result: _Result) -> _Reader | None:
    """Return the reader whose marks a result has most of; None if it has too few of any."""
    best = max(_READERS, key=lambda reader: reader.marked(result))
    return best if best.marked(result)[0] >= _LEAST else None


def _read(result: _Result) -> BenchmarkRun:
    reader = _reader(result)
    if reader is None:
        raise located(
            RULE, result.file, (result.line, 1), "not a result of a known serving benchmark", f"give {_KNOWN}"
        )
    return reader.read(result, reader.program)


def read_results(text: str, file: str) -> list[BenchmarkRun]:
    """Return the measured runs of a file of any known program, as it is or as it was pasted; content tells which.

    Raises:
        InputError: where no known program wrote it, or a value cannot be.
    """
    runs, _ = _read_pasted(lambda plain: _runs(plain, file), text)
    return runs


def _runs(text: str, file: str) -> list[BenchmarkRun]:
    if logs := suites._loadgen_results(text, file):
        return [_read(log) for log in logs]
    results: list[Any] = _documents(text, file) if text.lstrip()[:1] in ("{", "[") else []
    if not results:
        raise located(RULE, file, (1, 1), "not a result of a known serving benchmark", f"give {_KNOWN}")
    return [_read(result) for result in results]
