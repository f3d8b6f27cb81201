"""Recommendations: the smallest size that meets a target, limits, near misses, files, and bad requests."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

import ffplan.studies.choose.recommend as recommend_study
from ffplan.base.errors import UsageError
from ffplan.catalog.models import Model
from ffplan.catalog.store import Catalog
from ffplan.cost.sensitivity import likely
from ffplan.design.training import PlanFields
from ffplan.studies.choose.candidates import IDEAS
from ffplan.studies.choose.cluster_search import _ClusterSearch, with_nics
from ffplan.studies.choose.recommend import _Recommendation, recommend
from ffplan.studies.choose.recommend_target import Stage, Target, _aim_of, broken, days_for
from ffplan.studies.choose.recommendation import _chances, _differs, distance, kept, purchases
from ffplan.studies.cost.cost import evaluate, inputs_for, ledger_for, study_cost, whole_life
from ffplan.studies.cost.ledger import CostRequest
from ffplan.studies.train.default_job import timed_on
from tests.support import ffplan, valid

if TYPE_CHECKING:
    from pathlib import Path

ASKED = ("recommend", "--model", "llama3-8b", "--tokens", "1T", "--days", "30", "--chance", "0.5")
"""Half a chance to be in time: about the likely days, which the sizes below were worked out for."""


def quiet(words: str) -> None:
    """Take what is tried, and say nothing."""


def target(**changed: object) -> Target:
    fields: dict[str, object] = {"model": "llama3-8b", "tokens": 1e12, "days": 30.0, "book": "usd-2026", "pue": 1.25}
    fields |= {"allowed": ("h100-sxm-80gb",), "chance": 0.5}
    return Target(**(fields | changed))  # type: ignore[arg-type]


def test_a_node_fewer_is_too_slow() -> None:
    """Against every size around the one that is recommended, tried one by one."""
    wanted, catalog = target(), Catalog()
    found = recommend(wanted, catalog, quiet)
    full = next(item for item in found.meet if item.built.idea is IDEAS[0])
    nodes = full.built.assessment.nodes["compute"]
    search = _ClusterSearch(wanted, catalog, "h100-sxm-80gb", quiet)
    fewer = search.tried(IDEAS[0], nodes - 1)
    assert full.days <= 30
    assert fewer is None or fewer.days > 30
    assert [item.capex for item in found.meet] == sorted(item.capex for item in found.meet)


@pytest.mark.deep
def test_limits_and_what_breaks_them() -> None:
    cheap = recommend(target(capex=1e6, watts=1e4), Catalog(), quiet)
    assert cheap.meet == []
    assert {item.accelerator for item in cheap.miss} == {"h100-sxm-80gb"}


@pytest.mark.deep
def test_the_command(tmp_path: Path) -> None:
    run = ffplan(*(*ASKED, "-a", "h100-sxm-80gb", "--best", "2"), *("--folder", str(tmp_path), "-f", "json"))
    assert run.code == 0, run.err
    found = valid(run.out, "recommendation")
    designs = json.loads(run.out)["designs"]
    assert found["left_out"] == []
    assert len(designs) == 2
    assert all(item["days_p10"] < item["days"] <= 30 < item["days_p90"] for item in designs)
    for item in designs:
        checked = ffplan("check", item["file"])
        assert checked.code == 0, checked.out
        cost = json.loads(ffplan("cost", item["file"], "-f", "json").out)
        assert cost["tco"]["purchase"]["p50"] == item["capex"]
        site = json.loads(ffplan("design", item["file"], "-f", "json").out)["site"]
        bounded = {"capex": site["purchase_p50"], "power": site["facility_peak_kw"], "racks": site["racks"]}
        bounded |= {
            "tco": cost["tco"]["total"],
            "days": cost["run"]["days"]["likely"],
        }  # as `BOUNDS` has their addresses
        shown = {name: item[{"power": "facility_peak_kw"}.get(name, name)] for name in bounded}
        assert bounded == pytest.approx(shown, rel=1e-9)
    assert [(row["address"], row["unit"]) for row in json.loads(run.out)["limits"]] == [("run.days", "days")]
    again = ffplan(*(*ASKED, "-a", "h100-sxm-80gb", "--best", "2"), "--folder", str(tmp_path))
    assert (again.code, again.err) == (0, "")
    mine = tmp_path / f"{designs[1]['name']}.yaml"
    mine.write_text("mine")
    refused = ffplan(*(*ASKED, "-a", "h100-sxm-80gb", "--best", "2"), "--folder", str(tmp_path))
    assert (refused.code, f"{mine} exists already" in refused.err, mine.read_text()) == (2, True, "mine")
    assert "Buy " in refused.out  # what was found is not lost


@pytest.mark.deep
def test_a_design_is_in_time_with_the_chance_that_was_asked_for() -> None:
    """Over the draws that it was sized with."""
    asked = ("recommend", "--model", "llama3-8b", "--tokens", "1T", "--days", "30", "-a", "h100-sxm-80gb", "-f", "json")
    sizes = {}
    for chance in (0.5, 0.85, 0.95):
        report = json.loads(ffplan(*asked, "--chance", str(chance)).out)
        assert report["chance"] == chance
        assert all(row["days_at_chance"] <= 30 for row in report["designs"])
        assert all(row["in_time_share"] >= chance for row in report["designs"])
        sizes[chance] = report["designs"][0]["accelerators"]
    assert sizes[0.5] < sizes[0.95]
    assert list(sizes.values()) == sorted(sizes.values())


@pytest.mark.deep
def test_nothing_within_the_limits() -> None:
    run = ffplan(*ASKED, *("-a", "h100-sxm-80gb", "--capex", "$1M", "--full"))
    assert run.code == 1
    assert "No design can train llama3-8b on 1 T tokens in 30 days within the limits." in run.out
    assert "The nearest, h100-sxm-80gb-full-1nic, breaks capex x 1.74" in " ".join(run.out.split())
    assert "capex" in run.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "llama3-9b", "--tokens", "1T", "--days", "30"), "did you mean `llama3-8b`"),
        (("--model", "vgg16", "--tokens", "1T", "--days", "30"), "name a transformer"),
        ((*ASKED[1:], "--capex", "3 CNY"), "--capex is in CNY"),
        ((*ASKED[1:], "-a", "h101"), "h101"),
        ((*ASKED[1:], "--tokens", "many"), "tokens"),
        ((*ASKED[1:], "-a", "h100-sxm-80gb", "--folder", "/dev/null/x"), "/dev/null/x cannot be made: Not a directory"),
        (("--model", "llama3-8b", "--days", "30"), "give --tokens and --days, or --sustained"),
        ((*ASKED[1:], "--sustained", "1 PFLOP/s"), "give --days or --sustained, not both"),
        (("--model", "llama3-8b", "--sustained", "1 MW"), "--sustained"),
        ((*ASKED[1:], "--exclude", "qm970"), "did you mean `qm9700`"),
        ((*ASKED[1:], "--exclude", "llama3-8b"), "no accelerator, server, switch or link"),
        ((*ASKED[1:], "--later", "12"), "write months and days, such as 12:30"),
        ((*ASKED[1:], "--later", "0:20"), "0 months come no later than 0"),
        ((*ASKED[1:], "--later", "12:20", "--later", "6:10"), "6 months come no later than 12"),
        ((*ASKED[1:], "--later", "12:30"), "30 days are to be above 0 and below the 30 before"),
        ((*ASKED[1:], "--later", "900:10"), "900 months are more than the 600"),
        ((*ASKED[1:], "--floor", "500"), "--floor: `500` is not an area"),
        ((*ASKED[1:], "--floor", "500 m"), "is a length; an area is wanted"),
        ((*ASKED[1:], "--area-per-rack", "0 m2"), "--area-per-rack"),
        ((*ASKED[1:], "-a", "h100-sxm-80gb", "--folder", "/proc"), "--folder /proc: cannot be written"),
        (("--model", "llama3-8b", "--sustained", "1 PFLOP/s", "--later", "12:30"), "--later goes with --days"),
    ],
)
def test_bad_requests(arguments: tuple[str, ...], words: str) -> None:
    run = ffplan("recommend", *arguments)
    assert (run.code, words in run.err) == (2, True), run.err


@pytest.mark.deep
def test_every_way_to_build_it() -> None:
    """Against every idea with 8, 4, 2 and 1 NICs, each sized by itself."""
    wanted, catalog = target(days=21.0), Catalog()
    found = recommend(wanted, catalog, quiet)
    search = _ClusterSearch(wanted, catalog, "h100-sxm-80gb", quiet)
    ideas = [idea for idea in IDEAS if not idea.other]
    ways = [*ideas, *(with_nics(idea, nics) for idea in ideas for nics in (4, 2, 1))]
    sized = [search.smallest(way, found.meet[0].nodes, 21.0)[0] for way in ways]
    # less where a size is in time by its own draws alone, and by those of another idea just not
    assert found.meet[0].capex <= min(item.capex for item in sized if item is not None)
    assert len(found.meet[0].built.design.compute.fabric_nics) < 8


@pytest.mark.deep
def test_what_a_limit_costs() -> None:
    """A power limit just below the best's rules it out; a tenth more brings it back. Five nodes: 28 days, four: 35."""
    catalog = Catalog()
    asked = partial(target, days=33, effort="tuned")
    free = recommend(asked(), catalog, quiet)
    best = free.meet[0]
    tight = recommend(asked(watts=best.built.watts * 0.99), catalog, quiet)
    assert best.built.watts not in [item.built.watts for item in tight.meet]
    assert set(broken(best, asked(watts=best.built.watts * 0.99))) == {"power"}
    looser = {item.limit.name: item.best for item in tight.looser}
    assert set(looser) == {"days", "power"}
    assert looser["power"] is not None
    assert looser["power"].capex == best.capex
    assert [item.limit.name for item in free.looser] == ["days"]
    assert free.looser[0].best is not None
    assert free.looser[0].best.capex < best.capex


@pytest.mark.deep
def test_a_limit_of_floor(tmp_path: Path) -> None:
    """Racks times the area of one, which `cost` prints of the written design too."""
    asked = (*ASKED, "-a", "h100-sxm-80gb", "--best", "1")
    stated = ("--area-per-rack", "5m2", "--folder", str(tmp_path))
    best = json.loads(ffplan(*asked, *stated, "-f", "json").out)["designs"][0]
    assert best["floor_m2"] == 5 * best["racks"] > 0
    power = json.loads(ffplan("cost", best["file"], "--draws", "0", "-f", "json").out)["power"]
    assert (power["rack_area_m2"], power["floor_m2"]) == (5, best["floor_m2"])
    tight = ffplan(*asked, "--area-per-rack", "5m2", "--floor", f"{best['floor_m2'] - 1} m2", "-f", "json")
    near = json.loads(tight.out)["near"][0]
    assert (tight.code, set(near["breaks"])) == (1, {"floor"})
    loose = ffplan(*asked, "--full", "--floor", f"{best['floor_m2']} m2")
    assert (loose.code, "recalled: state yours with `--area-per-rack`" in " ".join(loose.out.split())) == (0, True)


@pytest.mark.deep
def test_a_profile_without_the_area_of_a_rack() -> None:
    found = recommend(target(), Catalog(), quiet).meet[0]
    built = copy(found.built)
    built.study = replace(found.study, power=replace(found.study.power, floor_m2=None))
    unknown = replace(found, built=built)
    assert broken(unknown, target()) == {}
    with pytest.raises(UsageError, match="no `rack_area`; state the area of a rack"):
        broken(unknown, target(floor=100.0))


@pytest.mark.deep
def test_shares_of_the_draws() -> None:
    """One design is always the best; of a design and itself the first wins; a node fewer is late more often."""
    wanted, catalog = target(), Catalog()
    found = recommend(wanted, catalog, quiet)
    best = found.meet[0]
    assert [item.best for item in _chances([best], wanted, catalog, 500)] == [1.0]
    twice = _chances([best, best], wanted, catalog, 500)
    assert [item.best for item in twice] == [1.0, 0.0]
    assert twice[0].in_time == twice[1].in_time
    assert twice[0].days_p10 < best.days < twice[0].days_p90
    hint = target(days=30.0 * twice[0].days_p90 / best.days)
    assert _chances([best], hint, catalog, 500)[0].in_time >= 0.9
    assert 0.3 < twice[0].in_time < 1.0
    patient = _chances([best], target(days=60.0), catalog, 500)
    assert patient[0].in_time > 0.98
    assert _chances([], wanted, catalog, 500) == []


@pytest.mark.deep
@pytest.mark.parametrize("aim", ["capex", "tco", "token", "power", "accelerators"])
def test_every_aim_is_least_at_the_best(aim: str) -> None:
    wanted = target(aim=aim)
    found = recommend(wanted, Catalog(), quiet)
    aims = [_aim_of(item, wanted) for item in found.meet]
    assert aims[0] == min(aims) > 0
    # where several are the least, the cheapest
    assert found.meet[0].capex == min(item.capex for item in found.meet if _aim_of(item, wanted) == aims[0])
    assert _chances(found.meet[:2], wanted, Catalog(), 200)[0].best >= 0.0


@pytest.mark.deep
@pytest.mark.parametrize("accelerator", ["b200", "h100-sxm-80gb"])
def test_no_aim_finds_what_another_misses(accelerator: str) -> None:
    """Leaner fabrics with every number of NICs, whatever is made least."""
    job: dict[str, object] = {"model": "llama3-70b", "tokens": 2e12, "allowed": (accelerator,)}
    found = {aim: recommend(target(aim=aim, **job), Catalog(), quiet).meet for aim in ("capex", "tco", "power")}
    for aim, meet in found.items():
        wanted = target(aim=aim, **job)
        # a power that is not wholly known decides nothing
        every = [item for others in found.values() for item in others]
        known = [item for item in every if aim != "power" or not item.built.ledger.unrated]
        least = min(_aim_of(item, wanted) for item in known)
        assert _aim_of(meet[0], wanted) == pytest.approx(least, rel=1e-9)


@pytest.mark.deep
def test_alternatives_differ() -> None:
    wanted = target(slack=5.0)
    found = recommend(wanted, Catalog(), quiet)
    chosen = kept(found, wanted, 3)
    assert chosen[0] is found.meet[0]
    assert all(distance(one, two) for one, two in combinations(chosen, 2))
    assert all(_differs(item, chosen[0]) for item in chosen[1:])
    assert _differs(chosen[0], chosen[0]) == ""
    assert kept(_Recommendation(meet=[], unmeasured=[], miss=[], left_out={}, looser=[]), wanted, 3) == []


def test_days_of_a_sustained_rate() -> None:
    """Llama 3 8B: 6 x (8.03 - 0.525) B of matrices, 12 x 32 x 8,192 x 4,096 of attention: 57.9 GFLOP a token."""
    model = Catalog().entry("llama3-8b").part
    assert isinstance(model, Model)
    assert model.transformer is not None
    days = days_for(model.transformer, 57.9e15, 86_400e6)
    assert days == pytest.approx(1.0, rel=0.01)


@pytest.mark.deep
def test_a_sustained_rate_is_kept_up() -> None:
    asked = ("-m", "llama3-8b", "-a", "h100-sxm-80gb")
    run = ffplan("recommend", *asked, "--sustained", "20 PFLOP/s", "-f", "json")
    assert run.code == 0, run.err
    found = json.loads(run.out)
    assert found["sustained_pflops"] == pytest.approx(20.0)
    assert all(item["sustained_pflops"] >= 20.0 for item in found["designs"])
    assert found["designs"][0]["sustained_pflops"] < 24.0  # five nodes; four keep up 19


@pytest.mark.deep
def test_parts_to_choose_from() -> None:
    asked = (*ASKED, "-a", "h100-sxm-80gb", "-f", "json")
    free = json.loads(ffplan(*asked).out)["designs"][0]["switch"]
    other = json.loads(ffplan(*asked, "--exclude", free).out)["designs"]
    assert free not in {item["switch"] for item in other}
    only = json.loads(ffplan(*asked, "--switch", "qm9700").out)["designs"]
    assert {item["switch"] for item in only} == {"qm9700"}


@pytest.mark.deep
def test_round_sizes_below_one_that_divides_badly() -> None:
    """Days of DeepSeek-V3 on B200 by size: 86 are held by 192 nodes, and not by 200 and 212 between."""
    wanted = target(model="deepseek-v3", tokens=15e12, days=86.0, allowed=("b200",), effort="tuned")
    search = _ClusterSearch(wanted, Catalog(), "b200", quiet)
    large = search.tried(IDEAS[0], 216)
    assert large is not None
    smaller = search.rounder(large)
    assert smaller is not None
    assert (smaller.nodes, smaller.days <= 86) == (192, True)
    between = search.tried(IDEAS[0], 212)
    assert between is not None
    assert between.days > 86


@pytest.mark.deep
def test_a_speed_without_runs_is_said_to_be_estimated() -> None:
    """MI300X has no training constants: it takes those of H200, by the best measured GEMMs; H100 has its own."""
    words = "Its speed is estimated from h200-sxm: no training run on it is among the measurements."
    for name, estimated in (("mi300x", "h200-sxm"), ("h100-sxm-80gb", None)):
        asked = (*ASKED, "-a", name, "--best", "1")
        run = ffplan(*asked, "-f", "json")
        assert json.loads(run.out)["designs"][0]["estimated_from"] == estimated
        assert (words in " ".join(ffplan(*asked, "--full").out.split())) == (estimated is not None)


@pytest.mark.deep
def test_a_limit_of_nothing_is_broken() -> None:
    run = ffplan(*ASKED, "-a", "h100-sxm-80gb", "--capex", "$0", "--power", "0W")
    assert run.code == 1
    assert "capex" in run.out


def test_an_accelerator_that_is_asked_for_and_excluded() -> None:
    run = ffplan(*ASKED, "-a", "h100-sxm-80gb", "--exclude", "h100-sxm-80gb")
    assert (run.code, "h100-sxm-80gb: it is excluded" in run.out) == (1, True)


@pytest.mark.deep
def test_cost_over_the_life_is_one_number() -> None:
    """What the draws begin with, without any draw, is what `cost` prints."""
    wanted, catalog = target(), Catalog()
    best = recommend(wanted, catalog, quiet).meet[0]
    parts, asked = catalog.fresh(), CostRequest(draws=0)
    ledger = ledger_for(best.built.design, parts, asked)
    v = likely(inputs_for(ledger, best.timed, parts))
    year, _ = evaluate(ledger.account, None, v)
    assert whole_life(ledger, v, year) == pytest.approx(best.tco)
    assert best.study.tco is not None
    assert year.capex + year.building == pytest.approx(best.study.tco.capex)


LATER = (
    *("recommend", "--model", "llama3-8b", "--tokens", "1T", "-a", "h100-sxm-80gb", "--best", "1"),
    *("--days", "60", "--later", "6:30", "--later", "12:15.5"),
)


@pytest.mark.deep
def test_a_purchase_in_phases(tmp_path: Path) -> None:
    """The last purchase is the whole design; prices add up to it, and `cost` has the same phases."""
    run = ffplan(*LATER, *("--folder", str(tmp_path), "-f", "json"))
    assert run.code == 0, run.err
    valid(run.out, "recommendation")
    best = json.loads(run.out)["designs"][0]
    bought = best["purchases"]
    assert [row["days_wanted"] for row in bought] == [60, 30, 15.5]
    assert [row["order_month"] for row in bought] == [0, 6, 12]
    assert all(row["days"] <= row["days_wanted"] for row in bought)
    assert [row["nodes"] for row in bought] == sorted({row["nodes"] for row in bought})
    assert bought[-1]["accelerators"] == best["accelerators"] == 8 * best["nodes"] == 8 * bought[-1]["nodes"]
    cost = json.loads(ffplan("cost", best["file"], "--draws", "0", "-f", "json").out)
    bill = cost["tco"]["capex"]
    assert sum(row["capex"] for row in bought) == pytest.approx(bill, abs=0.01 * len(bought))  # each in cents
    assert bought[-1]["alone"] == pytest.approx(bill, rel=1e-9)
    assert bought[0]["capex"] == pytest.approx(bought[0]["alone"], rel=0.03)
    assert ffplan("check", best["file"]).code == 0
    assert [(row["capex"], row["ready_month"]) for row in cost["phases"]] == [
        (row["capex"], row["ready_month"]) for row in bought
    ]


@pytest.mark.deep
def test_a_purchase_in_phases_in_words() -> None:
    run = ffplan(*LATER, "--full")
    assert run.code == 0, run.err
    said = " ".join(run.out.split())
    assert "Bought in phases: first " in said
    assert "than a cluster of that size alone." in said
    assert "A cluster that grows is sized for its last purchase." in said


@pytest.mark.deep
def test_each_purchase_is_the_smallest() -> None:
    """Against a node fewer of the same design, of which the job has the part that stands."""
    wanted = target(days=20.0, stages=(Stage(after=0.0, days=40.0), Stage(after=9.0, days=20.0)))
    catalog = Catalog()
    found = recommend(wanted, catalog, quiet).meet[0]
    first, last = found.growth
    assert (last.nodes, last.days) == (found.nodes, found.days)
    assert first.days <= 40
    fewer = 8 * (first.nodes - 1)
    model = catalog.entry("llama3-8b").part
    assert isinstance(model, Model)
    timed = timed_on(found.built.design, catalog.fresh(), model, PlanFields(), fewer, 1e12, searching=True)
    run = study_cost(found.built.design, catalog.fresh(), CostRequest(draws=0), timed).run
    assert run is not None
    assert run.days.likely > 40


@pytest.mark.deep
def test_an_earlier_purchase_may_serve_already() -> None:
    """28.9 days take the nodes that 29 days take: what stands is not bought again, and no phase is written."""
    nearly = target(days=28.9, stages=(Stage(after=0.0, days=29.0), Stage(after=9.0, days=28.9)))
    found = recommend(nearly, Catalog(), quiet).meet[0]
    assert [row.nodes for row in found.growth] == [found.nodes, found.nodes]
    assert "phases" not in found.built.text
    rows = purchases(found)
    assert [row.capex for row in rows] == [found.bill, 0.0]
    assert [row.ready_month for row in rows] == [None, None]


def test_a_search_that_is_stopped_keeps_what_it_has_sized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at the second accelerator: the first stands, the others are left out with the reason, code 130."""
    real = recommend_study._Pool._size

    def size(self: Any, name: str, now: Any) -> None:
        if self.found:
            raise KeyboardInterrupt
        real(self, name, now)

    monkeypatch.setattr(recommend_study._Pool, "_size", size)
    options = ("--accelerator", "h100-sxm-80gb,h200,b200", "-f", "json")
    done = ffplan("recommend", "-m", "llama3-8b", *("--tokens", "100B", "--days", "60"), *options)
    assert done.code == 130
    assert "stopped; what was not sized is left out" in done.err
    report = json.loads(done.out)
    assert len({design["accelerator"] for design in report["designs"]}) == 1
    assert [row["reason"] for row in report["left_out"]] == ["the search was stopped before it was sized"] * 2
    assert report["limits"] == []


def test_a_search_that_is_stopped_with_nothing_sized_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def try_one(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recommend_study._Pool, "try_one", try_one)
    with pytest.raises(KeyboardInterrupt):
        recommend(target(), Catalog(), quiet)
