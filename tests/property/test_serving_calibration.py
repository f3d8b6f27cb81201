"""Whatever a user's constants are near the release's: runs that they made give them back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ffplan.calibration.serving_calibrate import calibrate_serving
from ffplan.calibration.serving_release import _release_rates
from ffplan.catalog.engines import Engine
from ffplan.catalog.store import Catalog
from tests.unit.calibration.test_serving_calibrate import LOADS, REQUEST, TODAY, made, truth


@settings(max_examples=5, deadline=None)
@given(
    factors=st.fixed_dictionaries(
        {
            "weights": st.floats(0.92, 1.05),
            "cache": st.floats(0.9, 1.1),
            "layer": st.floats(0.75, 1.3),
            "sequence": st.floats(0.75, 1.3),
        }
    )
)
def test_runs_give_back_the_constants_that_made_them(factors: dict[str, float]) -> None:
    release = Catalog().entry("vllm-2026").part
    assert isinstance(release, Engine)
    engine = truth(release, factors)
    report = calibrate_serving(Catalog(), made(engine, LOADS), REQUEST, TODAY).report
    tpot = next(row for row in report.errors if row.measure == "tpot")
    assert tpot.mean_after < 0.02
    assert tpot.mean_after <= tpot.mean_before + 1e-3
    wanted = _release_rates(engine, "h100-sxm-80gb")
    for constant in report.constants:
        if constant.name in factors:
            ratio = constant.after / getattr(wanted, constant.name).value
            # time of a layer and of a sequence can stand for each other in part, at a prior that knows neither
            assert 0.8 < ratio < 1.2, constant.name
