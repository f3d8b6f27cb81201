"""Small modules of `base`: arrays, errors, extras, values, formats, signals, heaps and escapes."""

from __future__ import annotations

import io
import json
import math
import platform
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base import elementary
from ffplan.base import formatting as units
from ffplan.base.array_math import ceil_div, largest_over, maximum, minimum, round_up, smallest_divisor_at_least
from ffplan.base.control_characters import VisibleStream, visible, visible_but_styles, visible_json
from ffplan.base.errors import MOST_SHOWN, Finding, InputError, Severity, lacking
from ffplan.base.formatting import input_value

if TYPE_CHECKING:
    from pathlib import Path


def test_scalars_and_arrays_agree() -> None:
    a, b = np.array([1, 5, 9]), np.array([4, 4, 4])
    assert np.asarray(minimum(a, b)).tolist() == [min(x, 4) for x in a.tolist()]
    assert np.asarray(maximum(a, b, 6)).tolist() == [6, 6, 9]
    assert np.asarray(ceil_div(a, 4)).tolist() == [ceil_div(x, 4) for x in a.tolist()] == [1, 2, 3]
    assert round_up(np.array([1.2, 2.0, 2.0000000001])).tolist() == [2, 2, 2]
    assert (minimum(3, 2), maximum(3, 2), round_up(2.1), round_up(20.0)) == (2, 3, 3, 20)


def test_smallest_divisor() -> None:
    # 3 scalable units of a DGX H100 SuperPOD: 12 spines would do, 16 divide the 32 uplinks (RA-11333, Table 4)
    assert smallest_divisor_at_least(32, 12) == 16
    several = smallest_divisor_at_least(np.array([32, 20, 72]), np.array([12, 13, 16]))
    assert np.asarray(several).tolist() == [16, 20, 18]
    with pytest.raises(ValueError, match="no divisor"):
        smallest_divisor_at_least(4, 5)
    with pytest.raises(ValueError, match="exceeds"):
        smallest_divisor_at_least(np.array([4]), np.array([5]))


def test_largest_over_some_values() -> None:
    assert largest_over(lambda value: (value, -value, value % 3), [1, 5, 3, 5]) == (5, -1, 2)
    shift = np.array([[0.0], [10.0]])  # has an axis that no value has
    found = largest_over(lambda value: (value + shift, 0 * value), [1, np.array([2, 0, 1]), 0])
    assert [part.tolist() for part in found] == [[[2, 1, 1], [12, 11, 11]], [0, 0, 0]]


def fault(line: int) -> Finding:
    return Finding(
        rule="schema-unknown-field",
        severity=Severity.ERROR,
        file="a.yaml",
        line=line,
        column=1,
        message="odd",
        remedy="leave it out",
    )


@pytest.mark.parametrize(("more", "words"), [(0, ""), (1, "and 1 more fault"), (9_900, "and 9,900 more faults")])
def test_a_message_has_a_hundred_faults_and_the_number_of_others(more: int, words: str) -> None:
    error = InputError(*(fault(line) for line in range(MOST_SHOWN + more, 0, -1)))
    lines = str(error).splitlines()
    assert [line.split(":")[1] for line in lines if line.startswith("a.yaml")] == [str(n) for n in range(1, 101)]
    assert [line for line in lines if line.startswith("and")] == ([words] if words else [])
    assert len(error.findings) == MOST_SHOWN + more


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("here/.venv/bin/python", "`.venv/bin/python -m pip install scipy`"),
        ("else where/python", "`'{}/else where/python' -m pip install scipy`"),
    ],
)
def test_the_line_installs_beside_this_ffplan(
    place: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "executable", str(tmp_path / place))
    assert lacking("fitting", "SciPy", "scipy") == f"fitting needs SciPy: {line.format(tmp_path)}"


@pytest.mark.parametrize(
    ("name", "value", "unit", "text"),
    [
        ("price.hgx-h100-8nic", 144_988.7, "currency", "144,989 EUR"),
        ("rent", 1.859, "currency per hour", "1.86 EUR/h"),
        ("rent.aws@pod", 3.1, "currency per hour", "3.10 EUR/h"),
        ("electricity", 0.0826, "currency per kWh", "0.0826 EUR/kWh"),
        ("colocation", 150, "currency per kW-month", "150 EUR/kW-month"),
        ("utilisation", 0.85, "1", "85.0 %"),
        ("effective@pod", 1.0, "1", "100.0 %"),
        ("capital", 0.1, "1 per year", "10.0 %"),
        ("pue", 1.25, "1", "1.25"),
        ("speed", 0.88, "1", "0.88"),
        ("life", 2.06, "year", "2.06 years"),
        ("life", 1, "year", "1 year"),
        ("grid", 369, "g per kWh", "369 g/kWh"),
        ("embodied_link", 8, "kg", "8 kg"),
        ("life", None, "year", "-"),
    ],
)
def test_a_value_has_its_unit(name: str, value: float | None, unit: str, text: str) -> None:
    assert input_value(name, value, unit, "EUR") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1250, "1,250"),
        (13.3333, "13.33"),
        (0.0924, "0.0924"),
        (355.5472, "355.5"),
        (1.0, "1"),
        (11605.5, "11,606"),
        (99.999, "100"),
        (0.5, "0.5"),
        (-3.25, "-3.25"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert units.number(value) == text


def test_other_forms() -> None:
    assert units.percent(0.827) == "83 %"
    assert units.times(0.0924) == "0.0924x"
    assert units.times(125.0) == "125x"
    assert units.times(None) == "-"
    assert units.data_size(186 * 2**20) == "186 MiB"
    assert units.data_size(12) == "12 B"
    assert units.duration(0.0241) == "24.1 ms"
    assert units.duration(3e-6) == "3 us"
    assert units.power(2500) == "2,500 W"
    assert units.power(3_276_331) == "3,276 kW"


DROPPED = """
import os, signal, sys, time
from ffplan.base import processes
processes.AGAIN = 0.2
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
processes.listen()
sys.unraisablehook = lambda _: None

class Busy:
    def __del__(self):
        os.kill(os.getpid(), signal.{0})
        for _ in range(1000): pass

Busy()
try:
    time.sleep(20)
except BaseException as error:
    processes.heard()
    time.sleep(0.5)  # nothing more comes
    print(type(error).__name__)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no timer that interrupts")
@pytest.mark.parametrize(("sent", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "SystemExit")])
def test_a_dropped_signal_comes_again(sent: str, raised: str) -> None:
    done = subprocess.run([sys.executable, "-c", DROPPED.format(sent)], capture_output=True, text=True, timeout=30)
    assert (done.stdout.strip(), done.returncode) == (raised, 0)


CODE = """
import resource, sys
import numpy as np
from ffplan.base.processes import keep_freed_memory

kept = keep_freed_memory() if sys.argv[1] == "kept" else False
def work():
    for _ in range(200):
        first = np.ones(20_000)
        other = first * 2.0 + 1.0
        del first, other
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> tuple[str, int]:
    run = subprocess.run([sys.executable, "-c", CODE, how], check=True, capture_output=True, text=True)
    kept, count = run.stdout.split()
    return kept, int(count)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left as they are")
def test_arrays_take_the_pages_of_those_before() -> None:
    """Arrays of 160 kB, 400 of them: 40 pages each without, next to none with."""
    kept, few = faults("kept")
    _, many = faults("as it is")
    assert (kept, few < 100) == ("True", True)
    assert many > 10 * max(few, 10)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é × –\tand\nlines", "plain é × –\tand\nlines"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\x9b31mb", r"a\x9b31mb"),
        ("a\rb\x00\x07\x7f", r"a\x0db\x00\x07\x7f"),
        ("a\u202eb\u2066c\u200e", r"a\u202eb\u2066c\u200e"),
        ("a\u200bb\ufeff\u2028", r"a\u200bb\ufeff\u2028"),
    ],
)
def test_what_acts_on_a_terminal_or_hides_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_colours_stay_where_the_program_writes_them() -> None:
    assert visible_but_styles("\x1b[1;31mred\x1b[0m\x1b]0;title\x07") == "\x1b[1;31mred\x1b[0m" + r"\x1b]0;title\x07"
    assert visible_but_styles("\x1b[2J") == r"\x1b[2J"  # which clears the screen


def test_json_keeps_its_meaning() -> None:
    text = json.dumps({"a": "x\u202ey\x9b"}, ensure_ascii=False)
    assert visible_json(text) == '{"a": "x\\u202ey\\u009b"}'
    assert json.loads(visible_json(text)) == json.loads(text)


def test_a_stream_shows_all_that_is_written() -> None:
    below = io.StringIO()
    stream = VisibleStream(below)
    assert stream.write("a\x1b") == 5
    stream.writelines(["b\x07", "c"])
    assert below.getvalue() == r"a\x1bb\x07c"
    assert stream.getvalue() == below.getvalue()  # all else is the stream's own


CLOSE = 4 * 2.0**-52
"""Four last places."""


@given(st.floats(-700.0, 700.0))
def test_exp(x: float) -> None:
    assert float(elementary.exp(x)) == pytest.approx(math.exp(x), rel=CLOSE, abs=0)


@given(st.floats(1e-300, 1e300))
def test_log(x: float) -> None:
    assert float(elementary.log(x)) == pytest.approx(math.log(x), rel=CLOSE, abs=0)
    assert float(elementary.log2(x)) == pytest.approx(math.log2(x), rel=CLOSE, abs=0)


@given(st.floats(-30.0, 700.0))
def test_expm1(x: float) -> None:
    assert float(elementary.expm1(x)) == pytest.approx(math.expm1(x), rel=2 * CLOSE, abs=0)


def test_exact_values_and_the_ends() -> None:
    powers = np.arange(-1000, 1000)
    assert (elementary.log2(2.0**powers) == powers).all()
    assert [float(f) for f in (elementary.exp(0.0), elementary.log(1.0), elementary.expm1(0.0))] == [1.0, 0.0, 0.0]
    assert elementary.exp(np.array([-1e9, -746.0])).tolist() == [0.0, 0.0]
    assert np.isfinite(elementary.exp(1e9))
    assert elementary.expm1(1e-300) == 1e-300


def test_digits_that_no_processor_changes() -> None:
    """The very bits: no last place may depend on numpy, the C library or the processor."""
    assert [float(x).hex() for x in elementary.exp([1.0, -0.5])] == ["0x1.5bf0a8b14576ap+1", "0x1.368b2fc6f960ap-1"]
    assert [float(x).hex() for x in elementary.log([10.0, 0.3])] == ["0x1.26bb1bbb55516p+1", "-0x1.34378fcbda721p+0"]
