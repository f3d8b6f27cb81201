"""Sweeps of a fleet: a point is the plan of the edited file, wherever it is evaluated, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import ffplan
from ffplan.design.resolve import resolve
from ffplan.studies.choose.sweep_axes import Points, axis
from ffplan.studies.fleet.query import sweep_query
from ffplan.studies.train.default_job import timed_on
from tests.support import ROOT, valid
from tests.support import ffplan as run

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.inputs.document import Document
    from ffplan.studies.choose.sweep import SweepQuery
    from ffplan.studies.train.default_job import TimedJob

FLEET: dict[str, Any] = {
    "kind": "fleet",
    "name": "mine",
    "start": "2027-01",
    "quarters": 4,
    "sites": {"east": {"power": "3 MW"}},
    "clusters": [
        {"name": "a", "design": "superpod-h100-4su", "site": "east", "order": "2026-01", "use": {"run": "100 %"}},
        {"name": "b", "design": "superpod-h100-4su", "order": "2027-04", "use": {"run": "100 %"}},
    ],
    "demand": [{"name": "run", "train": "llama3.1-70b", "tokens": [{"low": "2T", "likely": "4T", "high": "9T"}]}],
}


def written(folder: Path, content: dict[str, Any] = FLEET) -> str:
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return str(path)


def query_of(file: str, *vary: str) -> SweepQuery:
    text = Path(file).read_text(encoding="utf-8")
    return sweep_query(text, file, overlays=(), points=Points(tuple(map(axis, vary))), metrics=("totals.cash.p50",))


def figures(file: str) -> dict[str, float | None]:
    """Return figures that `ffplan fleet` prints, by their name in a sweep."""
    plan = json.loads(run("fleet", file, "-f", "json").out)
    rows, totals = {row["name"]: row for row in plan["clusters"]}, plan["totals"]
    return {
        "totals.met": totals["met"],
        "totals.cash.p50": totals["cash"]["p50"],
        "quarters[2].demand.run.short": plan["quarters"][2]["demand"]["run"]["short"],
        "clusters.b.late": rows["b"]["late"],
        "clusters.a.purchase.p90": rows["a"]["purchase"]["p90"],
        "clusters.b.choices.never.regret": next(row["regret"] for row in rows["b"]["choices"] if row["shift"] is None),
        "clusters.b.choices.planned.cost": next(row["cost"] for row in rows["b"]["choices"] if row["shift"] == 0),
        "sites.east.over": plan["sites"][0]["over"],
    }


def test_a_point_is_the_plan_of_the_edited_file(tmp_path: Path) -> None:
    """Also where the other order comes first: the figures of a cluster stay its own."""
    file, edited = written(tmp_path), str(tmp_path / "edited.yaml")
    names = tuple(figures(file))
    axes = {"clusters[1].count": "1,3", "clusters[0].order": "2026-01,2027-07", "sites.east.power": "1MW,3MW"}
    swept = ffplan.sweep(file, axes, metrics=names)
    assert swept.reason == [""] * 8
    for point in (0, 5, 7):
        content = yaml.safe_load(Path(file).read_text())
        content["clusters"][1]["count"] = int(swept.axes["clusters[1].count"][point])
        content["clusters"][0]["order"] = swept.axes["clusters[0].order"][point]
        content["sites"]["east"]["power"] = swept.axes["sites.east.power"][point]
        Path(edited).write_text(yaml.safe_dump(content))
        assert {name: swept.columns[name][point] for name in names} == figures(edited)


def test_the_shipped_fleet_by_its_name() -> None:
    """Its default metrics with the values of `ffplan fleet`; the seed is that of the draws."""
    asked = ("--vary", "demand[1].rate[7].likely=450", "--seed", "3", "-f", "json")
    swept: dict[str, Any] = valid(run("sweep", "two-sites", *asked).out, "sweep")
    assert swept["design"]["file"] == "designs/fleets/two-sites.yaml"
    plan = json.loads(run("fleet", "two-sites", "--seed", "3", "-f", "json").out)
    shown = {row["path"]: row["least"] for row in swept["metrics"]}
    assert shown["totals.met"] == plan["totals"]["met"]
    assert shown["totals.shortfall.mean"] == plan["totals"]["shortfall"]["mean"]
    assert [shown[f"sites.{row['site']}.facility_peak_kw"] for row in plan["sites"]] == [
        row["facility_peak_kw"] for row in plan["sites"]
    ]


def test_one_process_and_several_write_the_same(tmp_path: Path) -> None:
    asked = ("sweep", written(tmp_path), "--vary", "clusters[1].count=1..6", "--points")
    for jobs in ("1", "2"):
        assert run(*asked, str(tmp_path / f"{jobs}.csv"), "-j", jobs).code == 0
    lines = (tmp_path / "1.csv").read_bytes()
    assert lines == (tmp_path / "2.csv").read_bytes()
    assert lines.count(b"\n") == 7


def test_a_sweep_takes_its_designs_along(tmp_path: Path) -> None:
    """A worker has neither the fleet file nor the designs beside it; another design makes another sweep."""
    (tmp_path / "mine.yaml").write_bytes((ROOT / "designs/superpod-h100-4su.yaml").read_bytes())
    (tmp_path / "two.yaml").write_bytes((ROOT / "designs/superpod-b200-4su.yaml").read_bytes())
    clusters = [{**FLEET["clusters"][0], "design": "mine.yaml"}, FLEET["clusters"][1]]
    file, vary = written(tmp_path, {**FLEET, "clusters": clusters}), "clusters[1].design=mine.yaml,two.yaml,none.yaml"
    query = query_of(file, vary)
    (tmp_path / "two.yaml").write_text("another")
    assert query_of(file, vary).key != query.key
    for path in tmp_path.iterdir():
        path.unlink()
    sent = pickle.loads(pickle.dumps(query))
    assert sent.key == query.key
    sweep = sent.sweep()
    chunks = [sweep.chunk(number) for number in range(sweep.chunks)]
    cash = [chunk.columns["totals.cash.p50"][0] for chunk in chunks[:2]]
    assert 0 < cash[0] < cash[1]
    assert [chunk.reason for chunk in chunks] == [[""], [""], [f"{tmp_path}/none.yaml: no such file"]]


def test_what_points_share_is_studied_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two designs over nine points: each is resolved once, and its training plan is sought once."""
    searched, resolved = list[str](), list[str]()

    def timed(design: ResolvedDesign, *rest: Any, **more: Any) -> TimedJob:
        searched.append(design.spec.name)
        return timed_on(design, *rest, **more)

    def read(document: Document, catalog: Catalog) -> ResolvedDesign:
        resolved.append(document.file)
        return resolve(document, catalog)

    monkeypatch.setattr("ffplan.studies.fleet.members.timed_on", timed)
    monkeypatch.setattr("ffplan.studies.fleet.members.resolve", read)
    clusters = [FLEET["clusters"][0], {**FLEET["clusters"][1], "design": "superpod-b200-4su"}]
    file = written(tmp_path, {**FLEET, "clusters": clusters})
    sweep = query_of(file, "clusters[1].count=1..3", "sites.east.power=1MW,2MW,3MW").sweep()
    assert [sweep.chunk(number).reason for number in range(9)] == [[""]] * 9
    assert searched == ["superpod-h100-4su", "superpod-b200-4su"]
    assert resolved == ["designs/superpod-h100-4su.yaml", "designs/superpod-b200-4su.yaml"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--vary", "clustrs[0].count=1,2"), "the fleet has no field `clustrs`; did you mean `clusters`?"),
        (("--vary", "clusters[1].cuont=1,2"), "`cuont` is not known here; did you mean `count`?"),
        (("--vary", "clusters[7].order=2027-01"), "no place [7] there; did you mean `clusters[1].order`?"),
        (("--vary", "demand[0].tokens[0].likely.x=1"), "did you mean `demand[0].tokens[0].likely`?"),
        (("--vary", "sites.eats.power=3MW"), "the fleet has no site `eats`; did you mean `east`?"),
        (("--vary", "sites.east.powr=3MW"), "`powr` is not known here; did you mean `power`?"),
        (("--vary", "clusters[0].use.rnu=50 %"), "the fleet has no demand `rnu`; did you mean `run`?"),
        (("--vary", "sites.east.power=3MW,4"), "`4` has no unit; a power is wanted"),
        (("--vary", "clusters[0].order=2027-01,soon"), "`soon` is no month"),
        (("--vary", "clusters[0].count=2,many"), "a whole number is wanted"),
        (("--metric", "cost.total"), "a figure of designs, not of fleets; write one of fleets, such as `totals."),
        (("--metric", "totals.mett"), "no such number in the plan; did you mean `totals.met`?"),
        (("--metric", "clusters[0].late"), "write `clusters.a.late` or `clusters.b.late`"),
        (("--metric", "sites[0].over"), "write `sites.east.over`"),
        (("--pareto", "totals.met:max,cost.total:min"), "--metric cost.total: a figure of designs"),
    ],
)
def test_bad_sweeps(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = run("sweep", written(tmp_path), "--vary", "quarters=4", *arguments)
    assert (done.code, words in done.err, "Traceback" in done.err) == (2, True, False), done.err


def test_a_name_of_nothing() -> None:
    done = run("sweep", "two-sits", "--vary", "quarters=4")
    assert (done.code, done.err.strip()) == (
        2,
        "ffplan sweep: no file and no shipped design or fleet is called `two-sits`; did you mean `two-sites`?",
    )


def test_a_fleet_with_faults_is_told_by_its_lines(tmp_path: Path) -> None:
    file = written(tmp_path, {**FLEET, "quarters": 0, "sites": {"east": {"powr": "3 MW"}}})
    done = run("sweep", file, "--vary", "clusters[0].count=1,2")
    assert done.code == 2
    assert f"{file}:4:11: error: `quarters` is `0`" in done.err
    assert "did you mean `power`?" in done.err


def test_points_that_are_no_fleet_say_where(tmp_path: Path) -> None:
    """A site that the file lacks, a life that is over, and a quarter without a value; the others are planned."""
    file = written(tmp_path, {**FLEET, "quarters": 2, "demand": [{**FLEET["demand"][0], "tokens": ["2T", "3T"]}]})
    for vary, reason in (
        ("clusters[0].site=east,west", "clusters[0].site: no site is called `west`"),
        ("clusters[0].order=2026-01,2015-01", "clusters[0].order: its life ends before the fleet starts"),
        ("quarters=2,3", "demand[0].tokens: 2 values for 3 quarters"),
    ):
        report = json.loads(run("sweep", file, "--vary", vary, "-f", "json").out)
        assert (report["built"], [row["reason"] for row in report["refused"]]) == (1, [reason])
    assert run("sweep", file, "--vary", "quarters=3,4").code == 1
