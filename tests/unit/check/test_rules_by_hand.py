"""Rules on figures of a hand: the edge from which each fires, and its words."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from ffplan.check.rules import RULES
from ffplan.check.rules import fabric as fabric_rules
from ffplan.fabric.sizing import striping
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.constraints import RefusedError
from tests.support import document

RULE = {rule.id: rule for rule in RULES}
TEXT = """\
name: x
nodes:
  - {role: compute, server: box}
  - {role: compute, server: box}
fabric:
  tiers: 3
  zones: 2
  link: {endpoint: a, inter_switch: b}
workload:
  model: m
ownership: {}
cost: {price_book: book}
"""


def place(path: str) -> int:
    """Return the line of a field."""
    return next(row for row, line in enumerate(TEXT.splitlines(), 1) if line.strip().startswith(f"{path}:"))


def design(**fields: Any) -> Any:
    return SimpleNamespace(document=document(TEXT), **{"reliability": None, **fields})


def said(rule: str, **fields: Any) -> list[str]:
    """Return the messages of a rule."""
    examined: Any = SimpleNamespace(**fields)
    return [finding.message for finding in RULE[rule].check(examined)]


def test_announced_parts_are_named_alone() -> None:
    parts = [SimpleNamespace(id=name, announced=name != "sold") for name in ("next", "sold", "later")]
    catalog = SimpleNamespace(used=[SimpleNamespace(part=part) for part in parts])
    assert said("announced-parts", catalog=catalog, design=design()) == ["announced, not yet sold: `next` and `later`"]
    catalog.used = catalog.used[1:2]
    assert said("announced-parts", catalog=catalog, design=design()) == []


@pytest.mark.parametrize(("share", "fires"), [(0.25, False), (0.26, True), (None, False)])
def test_a_quarter_of_a_step_for_the_exchange_between_experts(share: float | None, fires: bool) -> None:
    """The first row is the workload; parts by other names are others."""
    parts = [SimpleNamespace(name="gemm", share=0.9)]
    parts += [] if share is None else [SimpleNamespace(name="experts", share=share)]
    late = SimpleNamespace(parts=[SimpleNamespace(name="experts", share=0.9)])
    timed = SimpleNamespace(model="moe", rows=[SimpleNamespace(parts=parts), late])
    group = SimpleNamespace(accelerators_per_node=8, fabric_nics=[0])
    found = said("expert-exchange-exposed", timed=timed, design=design(compute=group))
    words = "26 % of a step of `moe` is its exchange between experts; in a node, 8 accelerators share 1 NIC"
    assert found == ([words] if fires else [])
    assert said("expert-exchange-exposed", timed=None, design=design(compute=group)) == []


@pytest.mark.parametrize(
    ("policy", "totals", "words", "advice"),
    [
        (
            "equal-stripe",
            {"equal-stripe": 1400, "minimal": 1320, "full": 1400},
            "`minimal` needs 1,320 switches, 80 fewer",
            "minimal",
        ),
        ("equal-stripe", {"equal-stripe": 9, "b": 8, "a": 8}, "`b` needs 8 switches, 1 fewer, `a` needs 8", "a"),
        ("equal-stripe", {"equal-stripe": 8, "minimal": 8}, "", ""),
        ("minimal", {"equal-stripe": 9, "minimal": 8}, "", ""),
    ],
)
def test_another_core_policy_with_fewer_switches(policy: str, totals: dict[str, int], words: str, advice: str) -> None:
    fabric = SimpleNamespace(core_policy=policy, switches_by_core_policy=totals)
    examined: Any = SimpleNamespace(design=design(), assessment=SimpleNamespace(fabric=fabric))
    found = list(RULE["fewer-cores"].check(examined))
    assert len(found) == bool(words)
    for item in found:
        assert f"takes {totals[policy]:,} switches: {words}" in item.message
        assert f"`core_policy: {advice}` where" in item.remedy
        assert item.line == place("tiers")


@pytest.mark.parametrize(
    ("changed", "tiers", "words"),
    [
        ({}, 2, ""),
        ({"spine_oversubscription": 2.0}, 2, " without `spine_oversubscription`"),
        ({"uplinks": 8}, 2, " without `spine.uplinks`"),
        ({"uplinks": 8, "pod_leaves": 4}, 2, " without `spine.uplinks` and `spine.pod_leaves`"),
        ({"oversubscription": 3.0}, 2, ""),
        ({"oversubscription": 3.0}, 1, " without `oversubscription`"),
        ({"oversubscription": 0.5}, 1, " without `oversubscription`"),
    ],
)
def test_what_goes_with_a_tier(changed: dict[str, float], tiers: int, words: str) -> None:
    fabric: Any = SimpleNamespace(
        oversubscription=changed.get("oversubscription", 1.0),
        spine_oversubscription=changed.get("spine_oversubscription", 1.0),
        spine=SimpleNamespace(uplinks=changed.get("uplinks"), pod_leaves=changed.get("pod_leaves")),
        model_fields_set=set(),
    )
    assert fabric_rules._without_tier_fields(fabric, tiers) == words


@pytest.mark.parametrize(
    ("terms", "fires"),
    [
        ([("host_memory", 11.0), ("nic", 12.0)], True),
        ([("host_memory", 12.0), ("nic", 12.0)], False),
        ([("host_memory", 13.0), ("nic", 12.0)], False),
        ([("host_memory", 11.0), ("nic", 12.0), ("host_memory", 99.0), ("nic", 1.0)], True),  # the tightest first
        ([("host_memory", 11.0)], False),
        ([("nic", 12.0)], False),
        ([], False),
    ],
)
def test_memory_that_reduces_less_than_the_nics(terms: list[tuple[str, float]], fires: bool) -> None:
    found = [SimpleNamespace(name=name, gbyte_s=rate) for name, rate in terms]
    report = SimpleNamespace(library="lib", bound=SimpleNamespace(terms=found))
    silent = SimpleNamespace(library="none", bound=SimpleNamespace(terms=[]))
    compute = SimpleNamespace(position=1, server=SimpleNamespace(id="box"))
    examined: Any = SimpleNamespace(
        design=design(compute=compute), assessment=SimpleNamespace(communication=[silent, report])
    )
    items = list(RULE["host-memory-below-nic"].check(examined))
    words = "host memory of `box` lets `lib` reduce 11 GB/s, the NICs 12 GB/s"
    assert [(item.message, item.line) for item in items] == ([(words, 4)] if fires else [])


def group(**changed: Any) -> Any:
    fields = {"position": 0, "server": SimpleNamespace(id="box"), "fabric_nics": [0], "accelerators_per_node": 8}
    role = SimpleNamespace(role=changed.pop("role", "compute"))
    return SimpleNamespace(**{**fields, "group": role, **changed})


@pytest.mark.parametrize(
    ("changed", "stripes", "plan", "ports"),
    [
        ({}, 1, (2, 1, None), "1 port"),
        ({"fabric_nics": [0, 1]}, 1, (2, 1, None), ""),
        ({}, 2, (2, 2, None), ""),  # one NIC, two ports in two planes
        ({"fabric_nics": [0, 1]}, 1, (1, 1, None), "2 ports"),  # one switch holds all
        ({"fabric_nics": [0, 1]}, 1, (1, 2, None), ""),
        ({"fabric_nics": [0, 1]}, 1, (1, 1, object()), ""),
        ({"role": "storage"}, 1, (2, 1, None), ""),
        ({"accelerators_per_node": 0}, 1, (2, 1, None), ""),
    ],
)
def test_nodes_that_hang_on_one_switch(changed: dict[str, Any], stripes: int, plan: Any, ports: str) -> None:
    tiers, planes, dragonfly = plan
    fabric = SimpleNamespace(tiers=tiers, planes=planes, dragonfly=dragonfly)
    groups = [group(role="storage"), group(position=1, **changed)]
    found = said("no-path-redundancy", design=design(groups=groups, stripes=stripes), fabric=fabric)
    assert len(found) == bool(ports)
    assert all(words.startswith(f"each node of `box` hangs on one switch by {ports}, and") for words in found)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"spare_nodes": 0.02, "spare_switches": 0.02, "spare_links": 0.02}, ""),
        ({"spare_nodes": 0.02, "spare_switches": 0.0, "spare_links": 0.02}, "switches"),
        ({"spare_switches": 0.02, "spare_links": 0.0}, "nodes and cables and optics"),
        ({}, "nodes, switches and cables and optics"),
    ],
)
def test_ownership_without_spares(inputs: dict[str, float], words: str) -> None:
    given = {name: SimpleNamespace(likely=value) for name, value in inputs.items()}
    owned = {"ownership": object(), "rent": None, "prices": object()}
    fields = {"ownership": SimpleNamespace(inputs=given)}
    found = said("no-spares", design=design(**owned), **fields)
    assert found == ([f"no spare {words}: a job waits for the repair of each"] if words else [])
    for change in ({"ownership": None}, {"rent": object()}, {"prices": None}):
        assert said("no-spares", design=design(**{**owned, **change}), **fields) == []


def test_each_part_without_a_price_is_a_finding() -> None:
    missing = [SimpleNamespace(quantity=count, category="nics", part=name) for name, count in (("a", 1200), ("b", 2))]
    cost = SimpleNamespace(missing=missing, price_book="book")
    assert said("price-missing", design=design(), assessment=SimpleNamespace(cost=cost)) == [
        f"the price book `book` has no price for `{name}` ({count} nics); the cost is partial"
        for name, count in (("a", "1,200"), ("b", "2"))
    ]
    assert said("price-missing", design=design(), assessment=SimpleNamespace(cost=None)) == []


def mismatches(
    *, endpoint: float, between: float, nic: float, breakout: int = 1, up: int = 1, stripes: int = 1, nics: int = 1
) -> list[tuple[str, str]]:
    """Return findings on a switch of 100 GB/s a port, and their remedies; rates of links and NICs in GB/s."""

    def part(name: str, rate: float) -> Any:
        return SimpleNamespace(id=name, rate=SimpleNamespace(value=rate))

    fabric = SimpleNamespace(
        breakout=breakout, link=SimpleNamespace(endpoint="e", inter_switch="i" if between else None)
    )
    own = design(
        spec=SimpleNamespace(fabric=fabric),
        parts=SimpleNamespace(
            switch=part("sw", 100.0),
            endpoint_link=part("end", endpoint),
            inter_switch_link=part("mid", between or endpoint),
        ),
        uplink_breakout=up,
        stripes=stripes,
        groups=[SimpleNamespace(position=0, nics=[part("nic", nic)] * nics, fabric_nics=range(nics))],
        networks=(),
    )
    examined: Any = SimpleNamespace(design=own)
    return [(item.message, item.remedy) for item in RULE["rate-mismatch"].check(examined)]


OTHERS = "choose parts of one rate; a link runs at the slower one"


def test_rates_that_fit_are_silent() -> None:
    """Whole ports; ports split in two, with cables of two parts; two ports of a NIC on two split ports."""
    assert mismatches(endpoint=100.0, between=100.0, nic=100.0) == []
    assert mismatches(endpoint=100.0, between=100.0, nic=50.0, breakout=2) == []
    assert mismatches(endpoint=100.0, between=100.0, nic=100.0, breakout=2, stripes=2) == []
    assert mismatches(endpoint=100.0, between=0.0, nic=100.0) == []


def test_rates_that_do_not_fit() -> None:
    slow = "`end`, `mid` and `nic` run at 400 Gb/s, a port of `sw` at 800 Gb/s"
    assert mismatches(endpoint=50.0, between=50.0, nic=50.0, nics=3) == [(slow, OTHERS)]
    assert mismatches(endpoint=100.0, between=50.0, nic=25.0) == [
        ("`mid` runs at 400 Gb/s, a port of `sw` at 800 Gb/s", OTHERS),
        ("`nic` runs at 200 Gb/s, a port of `sw` at 800 Gb/s", OTHERS),
    ]
    assert mismatches(endpoint=50.0, between=50.0, nic=50.0, breakout=2, up=2) == [
        (
            "each of the 2 parts of `end` and each of the 2 parts of `mid` run at 200 Gb/s, a port of `sw` at 400 Gb/s",
            OTHERS,
        )
    ]


def test_stripes_that_breakout_would_fit() -> None:
    """Two ports of 50 GB/s each on ports of 100: split them. Four of 25 too; two of 25 would still be too slow."""
    assert mismatches(endpoint=100.0, between=100.0, nic=100.0, stripes=2) == [
        (
            "each of the 2 ports of `nic` runs at 400 Gb/s, a port of `sw` at 800 Gb/s",
            "set `breakout: 2`, with links of 800 Gb/s",
        )
    ]
    ((_, remedy),) = mismatches(endpoint=100.0, between=100.0, nic=100.0, stripes=4)
    assert remedy == "set `breakout: 4`, with links of 800 Gb/s"
    ((_, remedy),) = mismatches(endpoint=100.0, between=100.0, nic=50.0, stripes=2)
    assert remedy == OTHERS


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("peak.bf16", True),
        ("collectives.ring", True),
        ("training.mfu", True),
        ("memory_bandwidth", True),
        ("nvlink", True),
        ("rate", True),
        ("power.maximum", True),
        ("power.training", True),
        ("power.idle", False),
        ("price", False),
        ("sockets.0.rate", False),
    ],
)
def test_which_recalled_figures_the_headline_rests_on(path: str, counts: bool) -> None:
    cost = SimpleNamespace(price_book="book")
    items = [SimpleNamespace(part=part, path=path) for part in ("box", "book")]
    for priced, found in ((cost, 1), (None, 2)):
        seen = said("recalled-figures", design=design(), assessment=SimpleNamespace(cost=priced, unverified=items))
        assert len(seen) == counts
        assert all(words.startswith(f"{found} figure") for words in seen)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "1 figure behind rates and power, recalled and unverified: `rate` of `p0`"),
        (
            3,
            "3 figures behind rates and power, recalled and unverified: `rate` of `p0`, `rate` of `p1` and `rate` of "
            "`p2`",
        ),
        (
            5,
            "5 figures behind rates and power, recalled and unverified: `rate` of `p0`, `rate` of `p1` and `rate` of "
            "`p2`, and 2 more",
        ),
    ],
)
def test_three_recalled_figures_are_named(count: int, words: str) -> None:
    items = [SimpleNamespace(part=f"p{at}", path="rate") for at in range(count)]
    assert said("recalled-figures", design=design(), assessment=SimpleNamespace(cost=None, unverified=items)) == [words]


def test_the_share_of_recalled_prices() -> None:
    def found(*lines: tuple[str, float], missing: int = 0, total: float = 1000.0) -> list[str]:
        rows = [SimpleNamespace(part=f"p{at}", status=status, total=part) for at, (status, part) in enumerate(lines)]
        cost = SimpleNamespace(lines=rows, total=total, missing=[None] * missing)
        return said("recalled-prices", design=design(), assessment=SimpleNamespace(cost=cost))

    words = "of the cost rests on recalled, unverified prices: `p0`"
    assert found(("R", 250.0), ("V", 750.0)) == [f"25 % {words}"]
    assert found(("R", 250.0), ("R", 100.0), ("R", 0.0)) == [f"35 % {words}, `p1`"]  # what is free has no price
    assert found(("R", 5.1)) == [f"1 % {words}"]
    assert found(("R", 5.0)) == found(("R", 4.9)) == [f"under 1 % {words}"]
    assert found(("R", 250.0), missing=1) == [f"25 % {words.replace('cost', 'cost that is priced')}"]
    assert found(("V", 250.0), ("R", 0.0)) == []
    assert said("recalled-prices", design=design(), assessment=SimpleNamespace(cost=None)) == []


@pytest.mark.parametrize(
    ("why", "change", "remedy"),
    [
        ("", None, ""),
        (
            "12.5 cores",
            None,
            "name the core switches in OpenSM's `root_guid_file`, or accept it; `ffplan fabric route` and `verify` "
            "show it",
        ),
        (
            "12.5 cores",
            SimpleNamespace(fields="`a: 1`", switches=1400, bare=32),  # ftree refuses leaves without a host as well
            "name the core switches in OpenSM's `root_guid_file`, or accept it; `ffplan fabric route` and `verify` "
            "show it",
        ),
        (
            "12.5 cores",
            SimpleNamespace(fields="`a: 1`", switches=1400, bare=0),
            "write `a: 1` (1,400 switches, 80 more), or accept it; `ffplan fabric route` and `verify` show it",
        ),
    ],
)
def test_uneven_stripes(monkeypatch: pytest.MonkeyPatch, why: str, change: Any, remedy: str) -> None:
    monkeypatch.setattr(fabric_rules, "uneven", lambda _: why)
    monkeypatch.setattr(striping, "_even_change", lambda *_: change)
    examined: Any = SimpleNamespace(design=design(), fabric=SimpleNamespace(switches=1320))
    assert [item.remedy for item in RULE["uneven-striping"].check(examined)] == ([remedy] if why else [])


def test_a_workload_that_is_refused_says_its_own_remedy() -> None:
    usual = "change the plan, the batch or the accelerators; `ffplan train` says more"
    refused = RefusedError("it does not fit", infeasible=True)
    for job, remedy in ((refused, usual), (UncalibratedError("it does not fit", "fit it"), "fit it")):
        examined: Any = SimpleNamespace(job=job, design=design())
        (found,) = RULE["workload-refused"].check(examined)
        assert found.message == "the workload has no step time: it does not fit"
        assert (found.remedy, found.line) == (remedy, place("workload"))
    assert said("workload-refused", job=None, design=design()) == []


@pytest.mark.parametrize(("zones", "spread", "fires"), [(2, "split", True), (2, "every", False), (1, "split", False)])
def test_zones_that_nothing_joins(zones: int, spread: str, fires: bool) -> None:
    """A group that is split over them would need a way; groups that each zone has whole do not."""
    fabric = SimpleNamespace(zones=zones, zone_oversubscription=None)
    groups = [SimpleNamespace(group=SimpleNamespace(zones=name)) for name in ("every", spread)]
    found = said("zone-bottleneck", design=design(groups=groups), assessment=SimpleNamespace(fabric=fabric))
    assert found == (["nothing joins the zones: no job can span them"] if fires else [])


@dataclass(frozen=True)
class Rule:
    """A rule of sizing that holds so many endpoints by its tiers."""

    tiers: int = 3
    pod_size: int | None = 7
    spine_up: int | None = 7

    @property
    def capacity(self) -> int:
        assert (self.pod_size, self.spine_up) == (None, None)  # of the tier that goes
        return {1: 40, 2: 800}[self.tiers]


@pytest.mark.parametrize(
    ("points", "zones", "planes", "fullest", "trunks", "tiers", "words"),
    [
        (1600, 2, 1, 800, 0, 3, "800 ports per zone would fit with `tiers: 2`, which holds 800"),
        (1601, 2, 1, 800, 0, 3, ""),  # one of the zones has 801
        (1600, 2, 1, 801, 0, 3, ""),
        (1600, 2, 1, 780, 1, 3, ""),  # and a link to the other zone
        (1600, 1, 2, 780, 0, 3, "800 ports per zone would fit with `tiers: 2`, which holds 800"),
        (80, 2, 1, 40, 0, 3, "40 ports per zone would fit with `tiers: 1`, which holds 40"),
        (80, 2, 1, 40, 1, 3, "41 ports per zone would fit with `tiers: 2`, which holds 800"),
        (80, 2, 1, 40, 1, 2, ""),
        (80, 2, 1, 40, 0, 2, "40 ports per zone would fit with `tiers: 1`, which holds 40"),
        (1, 1, 1, 1, 0, 1, ""),
    ],
)
def test_fewer_tiers_that_hold_the_fullest_zone(
    monkeypatch: pytest.MonkeyPatch,
    points: int,
    zones: int,
    planes: int,
    fullest: int,
    trunks: int,
    tiers: int,
    words: str,
) -> None:
    monkeypatch.setattr(fabric_rules, "base_rule", lambda _: Rule())
    monkeypatch.setattr(fabric_rules, "_without_tier_fields", lambda *_: "")
    fabric = SimpleNamespace(access_points=points, zones=zones, planes=planes, endpoints_per_zone=(1, fullest))
    own = design(spec=SimpleNamespace(fabric=SimpleNamespace(tiers=tiers)), trunk_links=trunks)
    assert said("fewer-tiers", design=own, assessment=SimpleNamespace(fabric=fabric)) == ([words] if words else [])


@pytest.mark.parametrize(
    ("counts", "per_zone", "found"),
    [
        ((7, 9), (20, 20), 0),  # what is over of one group makes up for the other
        ((7, 9), (20, 18), 2),
        ((8, 9), (20, 19), 1),
        ((8, 8), (20, 19), 0),
    ],
)
def test_zones_that_are_even_all_the_same(counts: tuple[int, ...], per_zone: tuple[int, ...], found: int) -> None:
    groups = [
        SimpleNamespace(group=SimpleNamespace(count=count, zones="split"), position=at)
        for at, count in enumerate(counts)
    ]
    fabric = SimpleNamespace(zones=2, endpoints_per_zone=per_zone)
    assert len(said("zones-uneven", design=design(groups=groups), assessment=SimpleNamespace(fabric=fabric))) == found


def test_findings_about_a_field_stand_at_its_name() -> None:
    """Not at its value, which may be a line further down or a word to the right."""
    apart = SimpleNamespace(zones=2, zone_oversubscription=None)
    few = SimpleNamespace(zones=2, zone_oversubscription=2.0)
    full = SimpleNamespace(by_role=[SimpleNamespace(unused_ports=0)], spare_ports=0)
    groups = [SimpleNamespace(group=SimpleNamespace(zones="split"))]
    owned = design(groups=groups, ownership=object(), rent=None, prices=object())
    places = []
    for rule, fabric in (
        ("zone-bottleneck", apart),
        ("zone-bottleneck", few),
        ("fabric-full", full),
        ("no-spares", full),
    ):
        examined: Any = SimpleNamespace(
            design=owned, assessment=SimpleNamespace(fabric=fabric), ownership=SimpleNamespace(inputs={})
        )
        (item,) = RULE[rule].check(examined)
        places.append((item.line, item.column))
    assert places == [(place("zones"), 3), (place("fabric"), 1), (place("fabric"), 1), (place("ownership"), 1)]
