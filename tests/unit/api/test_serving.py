"""Serving from Python: the same answers as the command."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ffplan as door
from tests.support import ffplan


def test_the_command_and_python_agree() -> None:
    asked = "serve --accelerator h100-sxm-80gb --gpus 4 --model llama3.1-8b --concurrency 4,8 --tp 1 --format json"
    found = door.serve(accelerator="h100-sxm-80gb", gpus=4, model="llama3.1-8b", concurrency=(4, 8), tensor=1)
    assert json.loads(ffplan(asked).out)["rows"] == json.loads(json.dumps(found.to_dict()))["rows"]
    assert found.rows[1].output_tokens_s > found.rows[0].output_tokens_s


def test_a_design_and_a_search() -> None:
    found = door.serve("superpod-h100-4su", "llama3.1-70b", tpot=0.05, search=True)
    assert found.searched > 1_000
    assert found.rows[found.best].meets
    assert len(found.to_frame()) == len(found.rows)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"accelerator": None}, "a design, or an accelerator"),
        ({"concurrency": 4, "rate": 1}, "not both"),
        ({"concurrency": -1}, "concurrency: `-1`: give a number above 0"),
        ({"prefix_hit": 1.0}, "below 1"),
        ({"speculate": ("mtp", 3, 1.0)}, "a chance below 1"),
        ({"model": "llama3.1-9b"}, "did you mean"),
        ({"engine": "vlm"}, "vllm"),
        ({"engine": "trtllm@0.9", "speculate": ("mtp", 3, 0.8)}, "has no mtp"),
        ({"precision": "fp9"}, "no `fp9`; did you mean"),
        ({"kv": "fp4"}, "no `fp4`"),
        ({"ttft": 1.0, "at": "p98"}, "no `p98`; did you mean"),
        ({"tp": 4}, "did you mean `tensor`"),
        ({"model": "llama3.1-70b", "gpus": 1}, "try --gpus 2 or --precision fp8"),
    ],
)
def test_refusals(changed: dict[str, Any], words: str) -> None:
    asked = {"accelerator": "h100-sxm-80gb", "gpus": 4, "model": "llama3.1-8b", **changed}
    with pytest.raises(door.UsageError, match=words):
        door.serve(**asked)
