"""Whatever a file holds, ffplan answers with an assessment or with located findings, and nothing else."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.inputs.composer import _resolve_plain, compose
from ffplan.inputs.dimensions import BANDWIDTH
from ffplan.inputs.quantities import parse_money, parse_quantity, parse_ratio
from tests.support import ROOT, document, examine_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.base.errors import Finding

BASE: dict[str, Any] = document((ROOT / "designs" / "fire-flyer-2.yaml").read_text()).data
WORDS = st.sampled_from(
    [
        "3:1",
        "200 GB",
        "-5 W",
        ".nan",
        "1e999 MW",
        "$5",
        "qm8700",
        "hdr-aoc",
        "nccl",
        "every",
        "[/x]",
        "",
        "\x1b[31m",
        "é",
    ]
)
NUMBERS = st.one_of(st.booleans(), st.integers(-(10**9), 10**9), st.integers(1, 3000), st.floats())
LEAVES = st.one_of(st.none(), NUMBERS, WORDS, st.text(max_size=20))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            found += places(item, (*path, position))
    return found


def put(value: Any, path: tuple[Any, ...], new: Any, *, drop: bool) -> None:
    for step in path[:-1]:
        value = value[step]
    if drop:
        del value[path[-1]]
    else:
        value[path[-1]] = new


def faults_of(read: Callable[[], object]) -> tuple[Finding, ...]:
    """Return the findings that `read` raises; any other error fails the test."""
    try:
        read()
    except InputError as error:
        return error.findings
    return ()


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    faults = faults_of(lambda: compose(text, "x.yaml"))
    assert all(found.line >= 1 and found.column >= 1 for found in faults)


@given(st.text(alphabet="ab:-[]{}#&*!|>'\"%@`,? \n\t\r0.~<", max_size=60))
def test_any_yaml_is_read_or_refused(text: str) -> None:
    assert all(found.message for found in faults_of(lambda: compose(text, "x.yaml")))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "design.yaml"
        path.write_bytes(raw)
        with pytest.raises(InputError):
            examine_file(path, "design.yaml", Catalog())


JSON_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=10)
TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), JSON_TEXT),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(JSON_TEXT, children, max_size=4),
    max_leaves=20,
)


@given(TREES.filter(lambda tree: tree is not None))
def test_json_is_read_as_json_does(tree: Any) -> None:
    """YAML 1.2 holds JSON; json.loads is the oracle."""
    text = json.dumps(tree)
    assert compose(text, "x.yaml").data == json.loads(text)


@given(st.text(alphabet="abcxyz 0123456789", max_size=12).filter(lambda text: text.strip()))
def test_quoted_text_survives(text: str) -> None:
    assert compose(yaml.safe_dump({"a": text}, default_style='"'), "x.yaml").data == {"a": text}


@given(st.sampled_from(places(BASE)), LEAVES, st.booleans())
def test_a_design_with_any_value_anywhere_is_assessed_or_refused(path: tuple[Any, ...], new: Any, drop: bool) -> None:
    changed = copy.deepcopy(BASE)
    put(changed, path, new, drop=drop)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "design.yaml"
        file.write_text(json.dumps(changed), encoding="utf-8")
        found = faults_of(lambda: examine_file(file, "design.yaml", Catalog()))
        assert all(fault.message and fault.remedy for fault in found)
        if not found:
            assessment = examine_file(file, "design.yaml", Catalog())
            assert assessment.power.it_kw > 0
            assert assessment.fabric.spare_ports >= 0


@given(st.floats(min_value=1e-5, max_value=1e9))
def test_a_quantity_survives_its_units(value: float) -> None:
    read = parse_quantity(f"{value!r} GB/s", BANDWIDTH)
    assert read == pytest.approx(value)
    assert parse_quantity(f"{value!r} Gb/s", BANDWIDTH) == pytest.approx(value / 8)


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_a_ratio_is_a_quotient(left: int, right: int) -> None:
    assert parse_ratio(f"{left}:{right}") == pytest.approx(left / right)


@given(st.integers(0, 10**9))
def test_money_takes_thousands_separators(amount: int) -> None:
    assert parse_money(f"${amount:,}").amount == amount


@given(st.text(max_size=30))
def test_plain_scalars_never_fail(text: str) -> None:
    _resolve_plain(text)
