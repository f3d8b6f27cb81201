"""Times of arrival in files of requests: one trace is one load, however and wherever its times are written."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.inputs.requests import read_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STARTS = (0.0, 0.25, 1.5, 100.0, 7_200.5)
FIRST = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
"""A quarter before two clocks of Europe lose an hour."""


def _date(at: float) -> datetime:
    return FIRST + timedelta(seconds=at)


FORMS: dict[str, Callable[[float], object]] = {
    "seconds": lambda at: 1_700_000_000 + at,
    "date": lambda at: _date(at).replace(tzinfo=None).isoformat(),
    "date with a space": lambda at: str(_date(at).replace(tzinfo=None)),
    "date with seven digits": lambda at: f"{_date(at):%Y-%m-%d %H:%M:%S.%f}0",
    "date with nine digits and Z": lambda at: f"{_date(at):%Y-%m-%dT%H:%M:%S.%f}000Z",
    "date in UTC": lambda at: _date(at).isoformat(),
    "date east": lambda at: _date(at).astimezone(timezone(timedelta(hours=5, minutes=45))).isoformat(),
    "offsets in turn": lambda at: _date(at).astimezone(timezone(timedelta(hours=-int(at) % 7))).isoformat(),
}
"""How the times of a trace are written."""


@pytest.fixture(params=["UTC", "America/New_York", "Europe/Berlin", "Pacific/Auckland"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the machine's time zone."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


def _csv(times: list[object]) -> str:
    return "\n".join(["timestamp,prompt,output", *(f"{at},1000,200" for at in times)])


def _lines(times: list[object], field: str = "timestamp") -> str:
    return "\n".join(json.dumps({field: at, "input_length": 1000, "output_length": 200}) for at in times)


@pytest.mark.parametrize("form", FORMS)
def test_one_trace_is_one_load_in_every_form_and_time_zone(form: str, zone: None) -> None:
    times = [FORMS[form](at) for at in STARTS]
    texts = {"CSV": _csv(times), "JSON lines": _lines(times, "time" if form == "seconds" else "timestamp")}
    for name, text in texts.items():
        assert [request.time for request in read_requests(text, name)] == pytest.approx(STARTS, abs=1e-5), name


def test_numbers_of_a_timestamp_in_json_lines_are_milliseconds() -> None:
    for times in ([1000 * at for at in STARTS], [str(1000 * at) for at in STARTS]):
        assert [request.time for request in read_requests(_lines(list(times)), "t")] == pytest.approx(STARTS)


@pytest.mark.parametrize("at", ["2026-03-29T00:30:00 and more", "2026-03-29T00:30:00.123456 tomorrow", "soon"])
def test_what_follows_a_date_is_refused(at: str) -> None:
    with pytest.raises(InputError, match="no time"):
        read_requests(_csv([at]), "t")


def test_a_line_of_json_goes_on_behind_u_2028() -> None:
    """JSON allows it inside a text, and so do programs that write one object a line."""
    rows = _lines([0, 1000]).replace('"input_length"', '"text": "a\u2028b", "input_length"')
    assert [request.time for request in read_requests(rows, "t")] == [0.0, 1.0]
    with pytest.raises(InputError, match="t:3:1: error: the line is not JSON"):
        read_requests(f"{rows}\n{{", "t")
