"""Data frames of results: every result has one, whatever was called before, in plain types that polars takes too."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any, get_args

import pytest

import ffplan
from ffplan.api.keywords import Aim, LimitKeywords, PlanKeywords, SizeKeywords
from ffplan.design.training import PlanFields
from ffplan.studies.choose.recommend_target import AIMS, Target
from ffplan.studies.choose.size import SizeRequest
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SWEPT = {"nodes[0].count": "400,800,90000", "fabric.core_policy": ["minimal", "equal-stripe"]}
RESULTS: dict[str, Callable[[], Any]] = {
    "assess": lambda: ffplan.assess("superpod-h100-4su"),
    "assess_many": lambda: ffplan.assess_many(["fire-flyer-2", "dragonfly-a100"]),
    "compare": lambda: ffplan.compare("fire-flyer-2", "dgx-a100-10k"),
    "collective": lambda: ffplan.collective("superpod-h100-4su", gpus=[8, 64]),
    "costs": lambda: ffplan.costs("superpod-h100-4su", draws=50),
    "goodput": lambda: ffplan.goodput("superpod-h100-4su", "llama3-70b", draws=0),
    "recommend": lambda: ffplan.recommend("llama3-8b", tokens=1e11, days=30, allowed="h100-sxm-80gb", best=2),
    "size": lambda: ffplan.size(5000, "qm8700"),
    "storage": lambda: ffplan.storage("fire-flyer-2"),
    "sweep": lambda: ffplan.sweep("pcie-a100-three-tier", SWEPT),
    "sweep report": lambda: ffplan.sweep("pcie-a100-three-tier", SWEPT).report,
    "train": lambda: ffplan.train("superpod-h100-4su", "llama3-8b", gpus=[64, 128], batch=256, tensor=2),
}


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_a_frame_has_plain_columns_that_arrow_takes(make: Callable[[], Any]) -> None:
    pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    frame = make().to_frame()
    assert len(frame)
    assert {str(kind) for kind in frame.dtypes} <= {"int64", "float64", "bool", "boolean", "string"}
    assert arrow.Table.from_pandas(frame, preserve_index=False).num_rows == len(frame)


def test_a_sweep_has_a_row_for_each_point() -> None:
    pytest.importorskip("pandas")
    swept = ffplan.sweep("pcie-a100-three-tier", SWEPT)
    frame = swept.to_frame()
    assert frame["axis.nodes[0].count"].tolist() == [400, 400, 800, 800, 90000, 90000]
    assert frame["axis.fabric.core_policy"].tolist() == ["minimal", "equal-stripe"] * 3
    assert frame["fabric.switches.total"].notna().tolist() == [True] * 4 + [False] * 2
    assert [bool(reason) for reason in frame["reason"]] == [False] * 4 + [True] * 2
    assert swept.to_dict()["reason"] == swept.reason
    assert "<table>" in swept._repr_html_()


def test_a_recommendation_has_a_row_for_each_design() -> None:
    pytest.importorskip("pandas")
    report = RESULTS["recommend"]()
    assert report.to_frame()["capex"].tolist() == pytest.approx([design.capex for design in report.designs])


@pytest.mark.parametrize("attribute", ["to_frame", "_repr_html_"])
def test_a_result_that_was_only_unpickled_has_its_views(tmp_path: Path, attribute: str) -> None:
    pytest.importorskip("pandas")
    path = tmp_path / "report.pickle"
    path.write_bytes(pickle.dumps(ffplan.size(5000, "qm8700")))
    code = f"import pickle; print(len(pickle.load(open({str(path)!r}, 'rb')).{attribute}()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ffplan.train("superpod-h100-4su", "llama3-8b", tp=8), "train: no keyword `tp`.*mean `tensor`"),  # type: ignore[call-arg]
        (lambda: ffplan.train("superpod-h100-4su", "llama3-8b", gpsu=8), "no keyword `gpsu`.*mean `gpus`"),  # type: ignore[call-arg]
        (lambda: ffplan.search("superpod-h100-4su", "llama3-8b", micro_bach=8), "search: .*mean `micro_batch`"),  # type: ignore[call-arg]
        (
            lambda: ffplan.recommend("llama3-8b", tokens=1e12, days=30, capx=5e6),  # type: ignore[call-arg]
            "recommend: no keyword `capx`.*mean `capex`",
        ),
        (lambda: ffplan.recommend("llama3-8b", tokens=1, days=1, model_id=3), "did you mean `model`"),  # type: ignore[call-arg]
        (lambda: ffplan.size(100, "qm8700", tier=2), "size: no keyword `tier`; did you mean `tiers`"),  # type: ignore[call-arg]
    ],
)
def test_an_unknown_keyword_names_the_nearest(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ffplan.UsageError, match=words):
        call()


def test_keywords_are_the_fields_that_they_stand_for() -> None:
    named = {"model", "tokens", "days", "book", "pue", "stages", "sustained"}
    assert set(PlanKeywords.__annotations__) == set(PlanFields.model_fields)
    assert set(LimitKeywords.__annotations__) == set(Target.__annotations__) - named
    named = {"endpoints", "switch", "oversubscription", "prices"}
    assert set(SizeKeywords.__annotations__) == set(SizeRequest.__annotations__) - named
    assert set(get_args(Aim)) == set(AIMS)
