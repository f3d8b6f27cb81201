"""What a faster resource buys does not depend on what was timed before."""

from __future__ import annotations

import pytest

import ffplan
from ffplan.training import sensitivity

CASES = [
    ("superpod-h100-4su", "llama3-70b", {"gpus": 512, "batch": 512, "tensor": 8, "pipeline": 4, "zero": 1}),
    ("superpod-h100-4su", "llama3-8b", {"gpus": 64, "batch": 256, "tensor": 2, "zero": 3}),
    ("superpod-h100-4su", "grok1-314b", {"gpus": 512, "batch": 512, "tensor": 8, "pipeline": 8, "expert": 8}),
    ("fire-flyer-2", "llama-13b", {"gpus": 128, "batch": 4096, "pipeline": 4, "zero": 1, "sequence": 2048}),
    ("fire-flyer-2-nvlink", "llama-13b", {"gpus": 128, "batch": 4096, "pipeline": 4, "tensor": 2, "zero": 1}),
    ("dgx-a100-10k", "gpt3-175b", {"gpus": 1024, "batch": 1536, "tensor": 8, "pipeline": 8, "order": None}),
]


@pytest.mark.parametrize(
    ("design", "model", "fields"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_gains_with_and_without_earlier_times(
    design: str, model: str, fields: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {name: value for name, value in fields.items() if value is not None}
    kept = ffplan.train(design, model, **given).to_dict()  # type: ignore[arg-type]
    monkeypatch.setattr(sensitivity, "_untouched", lambda *_: {})
    assert ffplan.train(design, model, **given).to_dict() == kept  # type: ignore[arg-type]
    assert kept["rows"][0]["gains"]
