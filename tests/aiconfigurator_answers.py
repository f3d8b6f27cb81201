"""Estimates of aiconfigurator: a list of calls as JSON on standard input, their answers as JSON on standard output.

`tests.bench_serving` runs this file in an environment that has aiconfigurator and nothing of ffplan.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from importlib import import_module
from typing import Any


def answer(estimate: Any, call: dict[str, Any]) -> dict[str, Any]:
    """Return the times of a call in the columns of measured runs, or the reason why there are none.

    Args:
        estimate: `cli_estimate` of aiconfigurator.
        call: its arguments.
    """
    try:
        found = estimate(**call)
    except Exception as error:  # every kind of its errors refuses the row
        return {"refused": f"{type(error).__name__}: {error}".splitlines()[0]}
    if call["mode"] == "static":
        return {"latency_s": float(found.raw["request_latency"]) / 1e3}
    return {
        "ttft_ms": float(found.ttft),
        "tpot_ms": float(found.tpot),
        "warned": found.kv_cache_warning is not None,
    }


def main() -> None:
    """Answer every call."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    estimate = import_module("aiconfigurator.cli.api").cli_estimate
    json.dump([answer(estimate, call) for call in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
