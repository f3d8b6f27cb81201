"""What must not change a result, or change it in a known way: over random designs."""

from __future__ import annotations

import csv
import io
import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.base.plain import leaves, plain
from ffplan.check.run import examine
from ffplan.design.resolve import resolve
from ffplan.interop.asbuilt.ibnetdiscover import _read_listing
from ffplan.interop.asbuilt.names import named
from ffplan.interop.audit.report import audit, placed
from ffplan.interop.audit.sides import designed
from ffplan.interop.exported import netlist, subnet
from ffplan.report.design import design_document
from ffplan.report.formats import render
from ffplan.studies.compare.compare import compare
from ffplan.studies.fabric.cabling import wire_design
from tests.property.test_designs import CATALOG, designs
from tests.support import document, examples

if TYPE_CHECKING:
    from ffplan.results.design import Assessment

PLACES = {"line", "column", "sha256", "file"}
"""Where something stands in a file: the only part of a result that the order of keys may change."""
MORE = "communication: {libraries: [nccl], message_size: 64 MiB}\ncost: {price_book: fire-flyer-2-relative}\n"


def assessed(text: str) -> Assessment:
    try:
        return examine(resolve(document(text), CATALOG), CATALOG)
    except InputError:
        assume(False)
        raise


def same(assessment: Assessment, *, without: frozenset[str] = frozenset()) -> list[tuple[str, Any]]:
    """Return every value but those of places."""
    found = leaves({name: item for name, item in plain(assessment).items() if name != "findings"})
    kept = PLACES | without
    return [(path, value) for path, value in found if path.rpartition(".")[2].partition("[")[0] not in kept]


def shuffled(value: Any, chance: random.Random) -> Any:
    """Return plain data with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


@given(designs(), st.integers(0, 99))
@examples(60)
def test_the_order_of_keys_changes_nothing(text: str, seed: int) -> None:
    text += MORE
    before = assessed(text)
    # ratios such as 2:1 are base-60 numbers to YAML 1.1: read as text, and written between quotes
    data = yaml.load(text, Loader=yaml.BaseLoader)
    numbers = {"count", "planes", "zones", "tiers", "breakout", "switches", "links_per_zone", "scalable_unit"}
    numbers |= {"downlinks", "uplinks", "uplink_breakout", "pod_leaves", "per_pod", "rails"}

    def typed(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: typed(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [typed(item, key) for item in value]
        return int(value) if key in numbers and value.isdigit() else float(value) if key == "pue" else value

    after = assessed(json.dumps(shuffled(typed(data), random.Random(seed)), indent=1))
    assert sorted(same(after), key=str) == sorted(same(before), key=str)
    found = [{(item.rule, item.message, item.remedy) for item in side.findings} for side in (before, after)]
    assert found[0] == found[1]  # in the order of their places


@given(designs(), st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True))
@examples(60)
def test_another_name_changes_the_name_alone(text: str, name: str) -> None:
    text += MORE
    before, after = assessed(text), assessed(text.replace(text.split("name: ")[1].split("\n")[0], name, 1))
    changed = {path for (path, one), (_, two) in zip(same(before), same(after), strict=True) if one != two}
    assert changed <= {"design.name"}


@given(designs())
@examples(60)
def test_sums_add_up(text: str) -> None:
    found = assessed(text + MORE)
    s = found.fabric.switches
    parts = [value for name, value in plain(s).items() if name != "total"]
    assert s.total == sum(value for value in parts if value is not None)
    assert sum(found.fabric.endpoints_per_zone) * found.fabric.planes == found.fabric.endpoints
    power = found.power
    nodes = sum(node.count * node.training_w for node in power.nodes)
    assert power.it_kw * 1000 == pytest.approx(nodes + power.network_kw * 1000)
    assert power.facility_kw == pytest.approx(power.it_kw * power.pue)
    if found.cost is not None:
        costs = [found.cost.servers, found.cost.network, found.cost.storage]
        assert found.cost.total == pytest.approx(sum(value for value in costs if value is not None))


@given(designs())
@examples(40)
def test_csv_holds_the_leaves_of_json(text: str) -> None:
    page = design_document(assessed(text + MORE))
    value = json.loads(render(page, "json", terminal=False))
    rows = list(csv.reader(io.StringIO(render(page, "csv", terminal=False), newline="")))[1:]
    wanted = dict(leaves(value))
    assert [path for path, _ in rows] == list(wanted)
    for path, cell in rows:
        expected = wanted[path]
        if isinstance(expected, bool) or expected is None:
            assert cell == ("" if expected is None else str(expected).lower())
        elif isinstance(expected, int | float):
            assert float(cell) == expected
        elif isinstance(expected, str):
            assert cell.removeprefix("'") == expected


@given(designs())
@examples(40)
def test_a_design_beside_itself_is_all_ones(text: str) -> None:
    one = assessed(text + MORE)
    ratios = plain(compare((one, one), ("a", "b"), 0))["ratios"]["b"]
    assert {value for value in ratios.values() if value is not None} == {1.0}


@given(designs())
@examples(40)
def test_a_fabric_that_is_written_and_read_has_no_difference(text: str) -> None:
    try:
        own = wire_design(resolve(document(text), CATALOG))
    except InputError:
        assume(False)
        raise
    inside = subnet(own.fabric.network, None, None)
    built = _read_listing("".join(netlist(own.fabric.network, own.names, inside)), "net")
    wanted = designed(own.fabric.network, own.names, inside)
    report = audit(wanted, built, placed(wanted, built, named(built.devices, wanted.names, (), "")), "d")
    assert report.causes == ()
    assert (report.missing, report.extra, report.miswired, report.absent) == ((), (), (), ())
    assert report.same == len(own.fabric.network.links)
    assert len(np.unique(built.ends)) == built.ends.size


def with_groups(text: str, groups: list[dict[str, Any]]) -> str:
    """Return a design with other groups of nodes."""
    start, end = text.index("nodes:"), text.index("fabric:")
    lines = ["  - {" + ", ".join(f"{key}: {value}" for key, value in group.items()) + "}\n" for group in groups]
    return f"{text[:start]}nodes:\n{''.join(lines)}{text[end:]}"


def groups_of(text: str) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.load(text, Loader=yaml.BaseLoader)["nodes"]
    return groups


@given(designs(), st.lists(st.integers(1, 40), min_size=1, max_size=3), st.integers(0, 99))
@examples(60)
def test_equal_nodes_are_one_group_however_a_file_divides_them(text: str, cuts: list[int], seed: int) -> None:
    text += MORE
    before, firsts, others = assessed(text), [], []
    for group in groups_of(text):
        sizes = [cut for cut in cuts if cut < int(group["count"])][:1]
        sizes.append(int(group["count"]) - sum(sizes))
        firsts.append({**group, "count": sizes[0]})
        others += [{**group, "count": size} for size in sizes[1:]]
    random.Random(seed).shuffle(others)
    assert same(assessed(with_groups(text, firsts + others))) == same(before)


@given(designs())
@examples(60)
def test_the_order_of_groups_changes_no_total(text: str) -> None:
    text += MORE
    before, after = assessed(text), assessed(with_groups(text, groups_of(text)[::-1]))
    assert plain(after.fabric.switches) == plain(before.fabric.switches)
    assert plain(after.fabric.links) == plain(before.fabric.links)
    assert [report.time_s for report in after.communication] == [report.time_s for report in before.communication]
    assert after.power.facility_kw == pytest.approx(before.power.facility_kw)
    assert (after.cost and after.cost.total) == pytest.approx(before.cost and before.cost.total)
