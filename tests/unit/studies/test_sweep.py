"""Sweeps: what axes mean, which points they span, what a chunk holds, fronts, and files that can go on."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from ffplan import __version__
from ffplan.base.errors import FfplanError, UsageError
from ffplan.cli.app import build
from ffplan.studies.choose import sweep_run
from ffplan.studies.choose.design_grid import design_grid
from ffplan.studies.choose.sweep import DesignSweep, SweepQuery
from ffplan.studies.choose.sweep_axes import Points, axis
from ffplan.studies.choose.sweep_rows import Kept, front, knee
from ffplan.studies.choose.sweep_run import SweepJob, _in_tasks, _refuse_parts, _refuse_versions, _work, job_key
from tests.support import ROOT, assess_file, examples, ffplan, overlay_part, valid, vary_design

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def swept(*vary: str, design: str = "pcie-a100-three-tier", metrics: tuple[str, ...] = ()) -> DesignSweep:
    text = (ROOT / "designs" / f"{design}.yaml").read_text(encoding="utf-8")
    points = Points(tuple(axis(item) for item in vary))
    return DesignSweep(SweepQuery(text=text, file=f"{design}.yaml", overlays=(), points=points, metrics=metrics))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1..4", [1, 2, 3, 4]),
        ("a=64..200:64", [64, 128, 192]),
        ("a=1..100*10", [1, 10, 100]),
        ("a=1..2#5", [1, 1.25, 1.5, 1.75, 2]),
        ("a=3:1,2", [3, 2]),
    ],
)
def test_values_of_an_axis(text: str, values: list[float]) -> None:
    assert axis(text).numbers.tolist() == pytest.approx(values)


def test_words_are_no_numbers() -> None:
    found = axis("fabric.switch = qm8700, sn5600")
    assert (found.path, found.texts, found.numbers) == ("fabric.switch", ("qm8700", "sn5600"), None)
    assert [axis("a=1,true").value(at) for at in (0, 1)] == [1, True]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", "write PATH=VALUES"),
        ("a=", "no value"),
        ("a=1,,2", "a value is empty"),
        ("a=b,b", "`b` stands twice"),
        ("a=2..1", "ends before it begins"),
        ("a=1..2:0", "a step is above 0"),
        ("a=0..2*2", "a factor is above 1, and the start above 0"),
        ("a=1..2#1", "a whole number of values"),
        ("a=1..1e9", "more than 10,000,000 values"),
    ],
)
def test_what_an_axis_refuses(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        axis(text)


def test_points_of_axes() -> None:
    two = (axis("a=1..2"), axis("b=1..3"))
    every = Points(two)
    assert every.count == 6
    assert [column.tolist() for column in every.indices(1, 5)] == [[0, 0, 1, 1], [1, 2, 0, 1]]
    paired = Points((axis("a=1..3"), axis("b=4..6")), zipped=True)
    assert [column.tolist() for column in paired.indices(0, 3)] == [[0, 1, 2], [0, 1, 2]]
    drawn = Points(two, sample=60, seed=1)
    columns = drawn.indices(0, 60)
    assert np.bincount(columns[0]).tolist() == [30, 30]  # a hypercube: as many of each value
    assert np.bincount(columns[1]).tolist() == [20, 20, 20]
    again = Points(two, sample=60, seed=1).indices(10, 20)
    assert all((one[10:20] == two).all() for one, two in zip(columns, again, strict=True))


def test_points_that_are_refused() -> None:
    with pytest.raises(UsageError, match="axes of one length are paired; these have a 2, b 3"):
        Points((axis("a=1..2"), axis("b=1..3")), zipped=True)
    with pytest.raises(UsageError, match="the path is varied twice"):
        Points((axis("a=1..2"), axis("a=1..3")))
    with pytest.raises(UsageError, match=r"10,000,000 x 100,000 = 1,000,000,000,000 points are more than"):
        Points((axis("a=1..10000000"), axis("b=1..100000")))


def test_a_point_is_what_the_design_is(tmp_path: Path) -> None:
    """Carried by arrays or made into a design of its own, a point has the numbers that `design` prints."""
    sweep = swept("fabric.switch=qm8700,nope", "nodes[0].count=300,400")
    assert sweep.by_array == [False, True]
    found = sweep.chunk(0)
    assert found.reason[2:] == ["no switch `nope` in the catalogue"] * 2
    assert np.isnan(found.columns["fabric.switches.total"][2:]).all()
    own = assess_file(vary_design(tmp_path, "pcie-a100-three-tier", ("count: 1250", "count: 300")))
    assert found.columns["fabric.switches.total"][0] == own.fabric.switches.total
    assert own.cost is not None
    assert found.columns["cost.total"][0] == pytest.approx(own.cost.total)
    alone = swept(
        "fabric.core_policy=per-rail-whole-pods,minimal", "nodes[0].count=300,400", metrics=("fabric.by_role[0].count",)
    )
    assert alone.by_array == [False, False]
    assert alone.chunk(0).columns["fabric.by_role[0].count"][0] == own.fabric.by_role[0].count


def test_a_sum_without_a_price_is_no_cost() -> None:
    sweep = swept("fabric.switch=qm8700,qm9700")
    found = sweep.chunk(0)
    assert np.isnan(found.columns["cost.total"]).tolist() == [False, True]
    assert found.unpriced == {"qm9700": 1}


def test_metrics_of_other_studies() -> None:
    found = swept("nodes[0].count=16,32", design="superpod-h100-4su", metrics=("bom.total", "accelerators")).chunk(0)
    assert found.columns["accelerators"].tolist() == [128, 256]
    timed = swept("workload.model=llama3-8b,llama3-70b", design="superpod-h100-4su", metrics=("train.mfu",)).chunk(0)
    assert (timed.columns["train.mfu"] > 0.2).all()
    with pytest.raises(UsageError, match="metrics are of the design's `workload`, which it does not have"):
        swept("site.pue=1.1,1.2", metrics=("train.mfu",))
    with pytest.raises(UsageError, match=r"no such number in the results; did you mean `cost.total`"):
        swept("site.pue=1.1,1.2", metrics=("cost.totl",))


def test_the_front_is_what_nothing_beats() -> None:
    """Against the definition, on random points of two to four metrics, some of them equal or unknown."""
    random = np.random.default_rng(3)
    for metrics in (2, 3, 4):
        values = random.integers(0, 8, (200, metrics)).astype(float)
        values[::17, 0] = np.nan
        found = set(front(values).tolist())
        for number, row in enumerate(values):
            if np.isnan(row).any():
                assert number not in found
                continue
            beaten = ((values <= row).all(axis=1) & (values < row).any(axis=1)).any()
            first = not (values[:number] == row).all(axis=1).any()
            assert (number in found) == (not beaten and first)


def test_the_knee_bulges_most() -> None:
    assert knee(np.array([[0, 10], [1, 2], [10, 0]])) == 1
    assert knee(np.array([[0, 2], [1, 1], [2, 0]])) is None  # a line
    assert knee(np.array([[0, 2], [2, 0]])) is None
    assert knee(np.array([[0, 9, 9], [3, 3, 3], [9, 9, 0]])) == 1


ARGUMENTS = ("sweep", "pcie-a100-three-tier", "--vary", "nodes[0].count=1..60000", "--vary", "site.pue=1.1,1.2")


@pytest.mark.deep
def test_the_points_are_the_same_however_many_work(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    assert ffplan(*ARGUMENTS, "--points", str(one), "-j", "1").code == 0
    assert ffplan(*ARGUMENTS, "--points", str(two), "-j", "3").code == 0
    assert one.read_bytes() == two.read_bytes()
    rows = list(csv.DictReader(one.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 120_000
    assert rows[-1]["reason"] == "the trees have too few ports for the endpoints"
    assert not (tmp_path / "one.csv.resume").exists()


class _Busy(Future[Kept]):
    """A chunk of a worker that is done only once somebody waits for it."""

    def __init__(self, job: SweepJob, number: int) -> None:
        super().__init__()
        self.job, self.number = job, number

    def result(self, timeout: float | None = None) -> Kept:
        del timeout
        return _work(self.job, self.number)


class _Pool(Executor):
    """Workers that never finish by themselves, with what they were given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def submit(self, call: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        assert call is _work
        self.given.append(arguments[1])
        return _Busy(*arguments)


@pytest.mark.deep
def test_this_process_is_one_of_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes chunks while the others are busy, no more than may wait, and gives all in their order."""
    sweep = swept("nodes[0].count=100..1199", "site.pue=1.1..1.5#1000")
    job, pools = SweepJob(sweep.query, "key", None, {}), list[int]()

    @contextmanager
    def pool(workers: int) -> Iterator[_Pool]:
        pools.append(workers)
        yield busy

    busy = _Pool()
    monkeypatch.setattr(sweep_run, "worker_pool", pool)
    chunks = sweep_run.on_cores(job, sweep, 3, 2)
    first = next(chunks)
    assert (pools, busy.given) == ([1], [3, 4])
    found = [first, *chunks]
    assert [part.first for part in found] == [20_000 * number for number in range(3, sweep.chunks)]
    alone = list(sweep_run.here(job, sweep, 3))
    assert [part.stats for part in found] == [part.stats for part in alone]
    assert len(busy.given) < len(found) / 2  # most were evaluated here, since the others never came back by themselves


@pytest.mark.deep
def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.csv", tmp_path / "part.csv"
    summary = ffplan(*ARGUMENTS, "--points", str(whole), "-j", "1", "-f", "json")
    ffplan(*ARGUMENTS, "--points", str(part), "-j", "1")
    from ffplan.cli.sweep_file import _PointsFile
    from ffplan.studies.choose.sweep_rows import grid_axes, header, kept
    from ffplan.studies.choose.sweep_run import Total

    text = (ROOT / "designs" / "pcie-a100-three-tier.yaml").read_text(encoding="utf-8")
    points = Points((axis("nodes[0].count=1..60000"), axis("site.pue=1.1,1.2")))
    query = SweepQuery(text=text, file="pcie-a100-three-tier", overlays=(), points=points, metrics=())
    sweep = query.sweep()
    total = Total({}, grid_axes(points, sweep.names, {}))
    target = _PointsFile(str(part), query.key, header(sweep, sweep.names, "csv"))
    target.start(total, resume=False)
    for number in (0, 1):
        found = kept(sweep, sweep.chunk(number), sweep.names, "csv", {})
        total.take(found)
        target.add(found.data, total)
    with part.open("ab") as stream:
        stream.write(b"half a li")  # what a crash may leave
    again = ffplan(*(*ARGUMENTS, "--points", str(part)), "-j", "1", "--resume", "-f", "json")
    assert again.code == 0, again.err
    assert part.read_bytes() == whole.read_bytes()
    assert again.out == summary.out


STATE = '{"chunks": 0, "points": 0, "built": 0, "stats": {}, "refused": {}, "unpriced": {}, "front": [], "sample": [], '
STATE += '"cells": []}'
DIGEST = hashlib.sha256(f'["0", 0, 0, {STATE}]'.encode()).hexdigest()
NOTE = f'{{"key": "0", "bytes": 0, "check": 0, "digest": "{DIGEST}", "total": {STATE}}}'


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("{", "is damaged; delete it"),
        ('{"key": "0", "bytes": 0, "total": {}}', "is damaged; delete it"),
        (NOTE, "is of another sweep"),
        (NOTE.replace('"points": 0', '"points": 7'), "is damaged; delete it"),
        ('{"key":"x","bytes":Infinity,"total":{}}', "is damaged; delete it"),
        ('{"a":' * 100_000, "is damaged; delete it"),
    ],
)
def test_notes_that_are_refused(tmp_path: Path, note: str, words: str) -> None:
    file = tmp_path / "p.csv"
    file.write_text("x\n")
    (tmp_path / "p.csv.resume").write_text(note)
    run = ffplan(*ARGUMENTS, "--points", str(file), "--resume")
    assert (run.code, words in run.err) == (2, True), run.err
    assert file.read_text() == "x\n"


ALL_TLS = ",".join(f"{name}={ROOT}/LICENSE" for name in ("ca", "cert", "key"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--resume",), "give --points FILE"),
        (("--zip", "--sample", "3"), "give one of the two"),
        (("--vary", "nodes[0].nics=0,1", "--metric", "cost.totl"), "did you mean"),
        (("--metric", "serve.rate_s"), "are of the design's `serving`, which it does not have"),
        (("--points", "p.txt"), "end the name in .csv, .jsonl, .parquet"),
        (("--pareto", "cost.total:min"), "a front takes two metrics or more"),
        (("--pareto", "cost.total,accelerators:max"), "write METRIC:min or METRIC:max"),
        (("--tls", f"ca={ROOT}/LICENSE"), "Dask takes all three"),
        (("--tls", "ca=nix"), "the file nix does not exist"),
        (("--tls", ALL_TLS), "--tls is for a scheduler by TLS"),
        (("--tls", ALL_TLS, "--cluster", "tcp://127.0.0.1:9"), "give --cluster tls://HOST:8786"),
        (("--vary", "fabrc.switch=a,b"), "did you mean `fabric`?"),
        (("--vary", "fabrc.oversubscription=1,2"), "did you mean `fabric`?"),
        (("--vary", "site.pew=1.1,1.2"), "did you mean `pue`?"),
        (("--vary", "prices.qm870=1,2"), "did you mean `prices.qm8700`?"),
        (("--vary", "qm8700.powr=1,2"), "did you mean `power`?"),
        (("--vary", "qm8700.power=a,b"), "prices and figures of parts are numbers"),
        (("--vary", "fabric.switch=qm8700,connectx-6-200g"), "is a NIC; a switch is wanted here"),
        (("--vary", "nodes=1,2"), "a list is wanted"),
        (("--vary", "nodes[0].count=100,many"), "a whole number is wanted"),
        (("--vary", "fabric.tiers=2.5..4.5"), "`tiers` is `2.5`; a whole number is wanted"),
        (("--vary", "fabric.switch=1..3"), "`switch` is `1`; text is wanted"),
        (("--vary", "nodes.0.count=1,2", "--vary", "nodes[0].count=1,2"), "the path is varied twice"),
        (("--points", "/nowhere/p.csv"), "ffplan sweep: --points /nowhere/p.csv: cannot be written"),
        (("--vary", "nodes[7].count=1,2"), "the design has no place [7] there"),
        (("--vary", "foo.bar=1,2"), "the design uses no part `foo`"),
    ],
)
def test_bad_sweeps(arguments: tuple[str, ...], words: str) -> None:
    run = ffplan("sweep", "pcie-a100-three-tier", "--vary", "site.pue=1.1,1.2", *arguments)
    assert (run.code, words in run.err) == (2, True), run.err


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tls://127.0.0.1:9", "here"])
def test_a_scheduler_out_of_reach(address: str) -> None:
    pytest.importorskip("distributed")
    run = ffplan("sweep", "pcie-a100-three-tier", "--vary", "site.pue=1.1,1.2", "--cluster", address)
    assert run.code == 2, run.err
    assert f"ffplan sweep: --cluster {address}: the scheduler cannot be reached: " in run.err


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"tcp://w1": __version__, "tcp://w2": "0.0.1"}, f"worker tcp://w2 has ffplan 0.0.1, this is {__version__}"),
        ({"tcp://w1": "none"}, "worker tcp://w1 has ffplan none"),
        ({}, "the cluster has no workers"),
    ],
)
def test_workers_of_another_version(found: dict[str, str], words: str) -> None:
    class Client:
        def run(self, _: object) -> dict[str, str]:
            return found

    with pytest.raises(UsageError, match=words):
        _refuse_versions(Client(), "tcp://s")


def test_tasks_of_a_cluster_have_every_chunk_once() -> None:
    """Fast chunks ten at a time while each worker has four tasks or more; slow ones one by one."""
    fast = swept("nodes[0].count=100..1099", "site.pue=1.1..1.5#1000")
    for first, workers, most in ((0, 1, 10), (0, 4, 3), (7, 2, 5), (48, 1, 1), (0, 64, 1)):
        tasks = list(_in_tasks(fast, first, workers))
        assert [number for task in tasks for number in task] == list(range(first, 50))
        assert max(len(task) for task in tasks) == most
    slow = swept("fabric.tiers=2,3", "site.pue=1.1..1.5#400", metrics=("tco.total",))
    assert [len(task) for task in _in_tasks(slow, 0, 1)] == [1] * slow.chunks


def test_columns_that_are_wanted_are_those_of_all() -> None:
    """Communication is left out where it is not wanted; the others, and the reasons, are as they were."""
    design = swept("site.pue=1.1").design
    axes = {"nodes[0].count": np.arange(1.0, 3_000.0, 7.0), "site.pue": np.array(1.2)}
    whole = design_grid(design, axes)
    rate, bound = "communication[1].algbw_gbyte_s", "communication[0].bound.algbw_gbyte_s"
    for wanted in ((), ("accelerators",), ("cost.total", rate), (bound, "power.it_kw")):
        some = design_grid(design, axes, wanted)
        assert set(some.columns) == set(wanted)
        for name in wanted:
            assert np.array_equal(some.columns[name], whole.columns[name], equal_nan=True)
        assert np.array_equal(some.why, whole.why)
        assert not some.feasible.all()


def test_workers_that_see_other_parts(tmp_path: Path) -> None:
    """A worker is asked what it sees: here this process, after the folder has changed, and after it has gone."""
    folder = tmp_path / "parts"
    folder.mkdir()
    source = ROOT / "catalogs/switches/nvidia/qm9700.yaml"
    (folder / "mine.yaml").write_text(source.read_text(encoding="utf-8").replace("id: qm9700", "id: mine"))
    points = Points((axis("fabric.switch=mine"),))
    query = SweepQuery(text="", file="x", overlays=(str(folder),), points=points, metrics=())

    class Client:
        def __init__(self, change: Callable[[], object]) -> None:
            self.change = change

        def run(self, asked: Callable[[SweepQuery], str], query: SweepQuery) -> dict[str, str]:
            own, kept = asked(query), folder.rename(tmp_path / "kept")
            self.change()
            seen = asked(query)
            shutil.rmtree(folder, ignore_errors=True)
            kept.rename(folder)
            return {"tcp://w1": own, "tcp://w2": seen}

    _refuse_parts(Client(lambda: shutil.copytree(tmp_path / "kept", folder)), "tcp://s", query)
    with pytest.raises(UsageError, match="worker tcp://w2 has other files in --catalog"):
        _refuse_parts(Client(folder.mkdir), "tcp://s", query)
    with pytest.raises(UsageError, match="worker tcp://w2 has no such folder as --catalog"):
        _refuse_parts(Client(lambda: None), "tcp://s", query)


def test_fractions_between_whole_counts() -> None:
    """101, 103.25, 105.5, 107.75, 110: the first and the last can be built."""
    found = swept("nodes[0].count=101..110#5", metrics=("accelerators",)).chunk(0)
    assert [reason == "" for reason in found.reason] == [True, False, False, False, True]
    tiers = swept("fabric.tiers=1.5..3#4", metrics=("accelerators",)).chunk(0)  # 1.5, 2, 2.5 and 3
    assert [reason == "" for reason in tiers.reason] == [False, False, False, True]
    assert tiers.reason[0] == "`tiers` is `1.5`; a whole number is wanted"


def test_numbers_of_a_section_that_the_design_has_not() -> None:
    """`workload` is a field of designs, though this one has none: it is no part."""
    with pytest.raises(UsageError, match="metrics are of the design's `workload`"):
        swept("reliability.spares=1,2", metrics=("train.mfu",))
    found = swept("workload.gpus=8,16", design="superpod-b200-4su").chunk(0)
    assert all("`model`" in reason for reason in found.reason)


def test_the_report(tmp_path: Path) -> None:
    lines = tmp_path / "p.jsonl"
    run = ffplan(
        *(
            "sweep",
            "pcie-a100-three-tier",
            "--vary",
            "fabric.switch=qm8700,nope",
            "--vary",
            "nodes[0].count=100..500:100",
        ),
        *("--pareto", "cost.total:min,accelerators:max", "-f", "json", "--points", str(lines)),
    )
    assert run.code == 0, run.err
    found = valid(run.out, "sweep")
    assert (found["points"], found["built"]) == (10, 5)
    assert [item["points"] for item in found["refused"]] == [5]  # type: ignore[attr-defined]
    assert len(found["front"]) == 5  # type: ignore[arg-type]
    rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert [row["point"] for row in rows] == list(range(10))
    assert rows[9]["reason"] == "no switch `nope` in the catalogue"
    nothing = ffplan("sweep", "pcie-a100-three-tier", "--vary", "fabric.switch=nope,nix")
    assert nothing.code == 1


def test_programs_of_others_read_numbers_as_numbers(tmp_path: Path) -> None:
    """pandas reads the lines, Arrow a folder of two parts, one of which holds no design that can be built."""
    pandas = pytest.importorskip("pandas")
    dataset = pytest.importorskip("pyarrow.dataset")
    axes = ("fabric.switch=nope,qm8700", "nodes[0].count=100..5099:1", "site.pue=1,1.1,1.2,1.3")
    ask = ["sweep", "pcie-a100-three-tier", *(word for axis in axes for word in ("--vary", axis)), "-j", "1"]
    ask += ["--metric", "accelerators,fabric.switches.total,cost.total", "--points"]
    assert ffplan(*ask, str(tmp_path / "p.jsonl")).code == 0
    with (tmp_path / "p.jsonl").open() as lines:
        rows = [json.loads(line) for line in lines]
    frame = pandas.json_normalize([rows[0], rows[20_001], rows[20_002]])
    assert frame["axes.nodes[0].count"].tolist() == [100, 100, 100]
    assert frame["axes.site.pue"].tolist() == [1, 1.1, 1.2]
    assert '"metrics": {"accelerators": 800, "fabric.switches.total": 200, "cost' in json.dumps(rows[20_001])
    assert ffplan(*ask, str(tmp_path / "p.parquet")).code == 0
    table = dataset.dataset(tmp_path / "p.parquet").to_table()
    assert [str(kind) for kind in table.schema.types] == [
        *("string", "int64", "double"),
        *("int64", "int64", "double", "string"),
    ]
    taken = table.take([0, 20_001]).to_pylist()
    assert [row["accelerators"] for row in taken] == [None, 800]
    assert [row["fabric.switches.total"] for row in taken] == [None, 200]


@pytest.mark.deep
def test_a_cluster_that_loses_a_worker_loses_no_point(tmp_path: Path) -> None:
    """A worker is killed in the midst; its chunks run again, and no point is lost or twice."""
    distributed = pytest.importorskip("distributed")
    from ffplan.studies.choose.sweep_run import SweepJob, on_cluster

    points = Points((axis("nodes[0].count=1..200000"), axis("site.pue=1.1,1.2")))
    text = (ROOT / "designs" / "pcie-a100-three-tier.yaml").read_text(encoding="utf-8")
    query = SweepQuery(text=text, file="x", overlays=(), points=points, metrics=("accelerators",))
    sweep = query.sweep()
    job = SweepJob(query, query.key, "csv", {})
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", worker_dashboard_address=None
    ) as cluster:
        found, killed = [], False
        for part in on_cluster(job, sweep, 0, address=cluster.scheduler_address, security={}, workers=2):
            found.append((part.first, part.count))
            if not killed:
                next(iter(cluster.workers.values())).process.process.kill()
                killed = True
    assert found == [(first, 20_000) for first in range(0, 400_000, 20_000)]


@pytest.mark.deep
def test_workers_that_die_one_after_another_end_the_sweep() -> None:
    """Dask gives up a chunk after some deaths, here after the first: a located error, not a fault of ours."""
    distributed = pytest.importorskip("distributed")
    import dask

    from ffplan.studies.choose.sweep_run import SweepJob, on_cluster

    points = Points((axis("nodes[0].count=1..200000"), axis("site.pue=1.1,1.2")))
    text = (ROOT / "designs" / "pcie-a100-three-tier.yaml").read_text(encoding="utf-8")
    query = SweepQuery(text=text, file="x", overlays=(), points=points, metrics=("accelerators",))
    job = SweepJob(query, query.key, "csv", {})
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", worker_dashboard_address=None
        ) as cluster,
    ):
        parts = on_cluster(job, query.sweep(), 0, address=cluster.scheduler_address, security={}, workers=1)
        assert next(parts).count == 20_000
        next(iter(cluster.workers.values())).process.process.kill()
        with pytest.raises(UsageError, match=r"all workers that took one of the chunks died; .* `--resume` continues"):
            list(parts)


@pytest.mark.deep
def test_a_lost_scheduler_leaves_what_was_done(tmp_path: Path) -> None:
    """The scheduler goes away in the midst: a located error; then the sweep goes on to the same bytes as without it."""
    distributed = pytest.importorskip("distributed")
    from ffplan.cli.sweep_file import _PointsFile
    from ffplan.studies.choose.sweep_rows import header
    from ffplan.studies.choose.sweep_run import SweepJob, Total, here, on_cluster

    points = Points((axis("nodes[0].count=1..200000"), axis("site.pue=1.1,1.2")))
    text = (ROOT / "designs" / "pcie-a100-three-tier.yaml").read_text(encoding="utf-8")
    query = SweepQuery(text=text, file="x", overlays=(), points=points, metrics=("accelerators",))
    sweep, job = query.sweep(), SweepJob(query, query.key, "csv", {})
    whole, part = (
        _PointsFile(str(tmp_path / name), query.key, header(sweep, sweep.names, "csv")) for name in ("a", "b")
    )

    def take(target: _PointsFile, *, resume: bool, chunks: object) -> None:
        total = Total({})
        target.start(total, resume=resume)
        for found in chunks(total.chunks):  # type: ignore[operator]
            total.take(found)
            target.add(found.data, total)
        target.finish()

    take(whole, resume=False, chunks=lambda first: here(job, sweep, first))
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", worker_dashboard_address=None, processes=False
    )

    def broken(first: int) -> object:
        for found in on_cluster(job, sweep, first, address=cluster.scheduler_address, security={}, workers=1):
            yield found
            cluster.close()

    with pytest.raises(UsageError, match="the connection to the scheduler was lost"):
        take(part, resume=False, chunks=broken)
    assert 0 < part.path.stat().st_size < whole.path.stat().st_size
    take(part, resume=True, chunks=lambda first: here(job, sweep, first))
    assert part.path.read_bytes() == whole.path.read_bytes()


@pytest.mark.deep
def test_parquet_is_the_same_table(tmp_path: Path) -> None:
    """Against CSV, value by value; a second run goes on after whole parts, and a folder with other files is refused."""
    parquet = pytest.importorskip("pyarrow.parquet")
    lines, folder = tmp_path / "p.csv", tmp_path / "p.parquet"
    asked = (*ARGUMENTS, "--vary", "fabric.core_policy=minimal,equal-stripe")
    assert ffplan(*asked, "--points", str(lines), "-j", "1").code == 0
    assert ffplan(*asked, "--points", str(folder), "-j", "2").code == 0
    table = parquet.read_table(folder)
    rows = list(csv.DictReader(lines.read_text(encoding="utf-8").splitlines()))
    assert table.column_names == list(rows[0])
    for name in table.column_names:
        theirs = table[name].to_pylist()
        assert len(theirs) == len(rows)
        for place in (0, 1, 77_777, len(rows) - 1):
            text = rows[place][name]
            assert theirs[place] == (text or None) or float(text) == pytest.approx(theirs[place], rel=1e-11)
    parts = {item.name: item.read_bytes() for item in folder.iterdir()}
    assert len(parts) == 12
    again = tmp_path / "again.parquet"
    assert ffplan(*asked, "--points", str(again), "-j", "1").code == 0
    assert {item.name: item.read_bytes() for item in again.iterdir()} == parts
    (again / "notes.txt").write_text("mine")
    refused = ffplan(*asked, "--points", str(again))
    assert (refused.code, "has files in it" in refused.err) == (2, True)
    (tmp_path / "f.parquet").write_text("mine")
    file = ffplan(*asked, "--points", str(tmp_path / "f.parquet"))
    assert (file.code, "a file has this name" in file.err) == (2, True)


def test_a_folder_goes_on_after_whole_parts(tmp_path: Path) -> None:
    from ffplan.cli.sweep_file import _PointsFolder
    from ffplan.studies.choose.sweep_run import Total

    folder = _PointsFolder(str(tmp_path / "p.parquet"), "key")
    folder.start(Total({}), resume=False)
    total = Total({})
    total.chunks = 1
    folder.add(b"one", total)
    (folder.path / "part-000001.parquet").write_bytes(b"half")  # what a crash may leave
    again = _PointsFolder(str(tmp_path / "p.parquet"), "key")
    again.start(total, resume=True)
    total.chunks = 2
    again.add(b"two", total)
    assert [item.read_bytes() for item in sorted(folder.path.iterdir())] == [b"one", b"two"]
    again.finish()
    assert not again.note.exists()


def test_a_note_tells_of_whole_chunks(tmp_path: Path) -> None:
    """Chunks in quick succession share a note; one that is half taken when the sweep stops is not in it."""
    from ffplan.cli.sweep_file import _PointsFile
    from ffplan.studies.choose.sweep_run import Total

    target, total = _PointsFile(str(tmp_path / "p.csv"), "key", "head\n"), Total({})
    target.start(total, resume=False)
    for number in (1, 2, 3):
        total.chunks = number
        target.add(b"row\n", total)
    assert json.loads(target.note.read_text())["total"]["chunks"] == 1
    target.say(total)
    noted = json.loads(target.note.read_text())
    assert (noted["total"]["chunks"], noted["bytes"]) == (3, len("head\n") + 3 * len("row\n"))
    total.chunks = 4  # taken, and stopped before it was written
    target.say(total)
    assert json.loads(target.note.read_text()) == noted


def test_points_that_were_changed_are_not_continued(tmp_path: Path) -> None:
    """A digit of a row by another, and a row that is gone: the sweep would else end in a file of two minds."""
    from ffplan.cli.sweep_file import _PointsFile
    from ffplan.studies.choose.sweep_run import Total

    def open_again() -> _PointsFile:
        return _PointsFile(str(tmp_path / "p.csv"), "key", "head\n")

    target, total = open_again(), Total({})
    target.start(total, resume=False)
    total.chunks = 1
    target.add(b"1,2\n", total)
    for changed in ("head\n1,3\n", "head\n"):
        target.path.write_text(changed)
        with pytest.raises(UsageError, match="was changed since; run the sweep without --resume"):
            open_again().start(Total({}), resume=True)
        assert target.path.read_text() == changed
    target.path.unlink()
    with pytest.raises(UsageError, match="was changed since"):
        open_again().start(Total({}), resume=True)
    target.path.write_text("head\n1,2\nhalf")
    open_again().start(Total({}), resume=True)
    assert target.path.read_text() == "head\n1,2\n"


def test_what_charts_show_of_a_sweep() -> None:
    """The best over a grid against every point by itself; a long axis in forty cells; points spread evenly."""
    from ffplan.studies.choose.sweep_rows import _first_of_cells, _sampled, grid_axes, kept
    from ffplan.studies.choose.sweep_run import Total

    sweep = swept("nodes[0].count=100..900", "site.pue=1.1,1.2,1.3", "fabric.core_policy=minimal,equal-stripe")
    ways = {"power.facility_kw": "max", "accelerators": "min"}
    axes = grid_axes(sweep.points, sweep.names, ways)
    assert axes is not None
    assert (axes.across, axes.down, axes.metric, axes.largest) == (0, 1, "power.facility_kw", True)
    total, power = Total(ways, axes), np.full((3, 40), np.nan)
    for number in range(sweep.chunks):
        chunk = sweep.chunk(number)
        total.take(kept(sweep, chunk, sweep.names, None, ways))
        count, pue, _ = sweep.points.indices(chunk.first, chunk.first + len(chunk.reason))
        for row, value in enumerate(chunk.columns["power.facility_kw"].tolist()):
            place = int(pue[row]), int(count[row]) * 40 // 801
            power[place] = max(value, power[place]) if power[place] == power[place] else value
    assert total.cells.tolist() == power.tolist()
    assert [number for number, _ in total.sample] == _sampled(801 * 6).tolist()
    assert [at * 40 // 801 for at in _first_of_cells(801)] == list(range(40))
    assert grid_axes(Points((axis("a=1,2"),)), ("x",), {}) is None
    assert grid_axes(Points((axis("a=1,2"), axis("b=1,2")), zipped=True), ("x",), {}) is None


def test_prices_and_figures_vary_with_every_study() -> None:
    """127 servers at 20,000 USD more, and 48 switches at 1 kW more, beside a metric that arrays do not carry."""
    sweep = swept(
        *("prices.hgx-b200-8nic=400000,420000", "qm9700.power=1000,2000"),
        design="superpod-b200-4su",
        metrics=("cost.total", "power.it_kw", "tco.capex"),
    )
    assert sweep.by_array == [False, False]
    found = sweep.chunk(0)
    assert found.reason == [""] * 4
    cost, power = found.columns["cost.total"], found.columns["power.it_kw"]
    assert (cost[2] - cost[0], cost[1] - cost[0]) == (127 * 20_000, 0)
    assert (power[1] - power[0], power[2] - power[0]) == (pytest.approx(48.0), 0)
    assert found.columns["tco.capex"][2] > found.columns["tco.capex"][0]


def test_metrics_of_a_run() -> None:
    """The run of a workload is what `cost` says of it."""
    axes = ("workload.model=llama3-8b", "workload.tokens=1T", "workload.gpus=64")
    names = ("run.days.likely", "run.cost_per_million_tokens.likely")
    found = swept(*axes, design="superpod-b200-4su", metrics=names).chunk(0)
    asked = ("--model", "llama3-8b", "--tokens", "1T", "--gpus", "64", "--draws", "0", "-f", "json")
    run = json.loads(ffplan("cost", "superpod-b200-4su", *asked).out)["run"]
    assert found.columns[names[0]][0] == pytest.approx(run["days"]["likely"])
    assert found.columns[names[1]][0] == pytest.approx(run["cost_per_million_tokens"]["likely"])
    refused = ffplan("sweep", "superpod-b200-4su", "--vary", "workload.model=llama3-8b", "--metric", names[0])
    assert (refused.code, "`workload` with its `tokens`" in refused.err) == (2, True), refused.err


def test_quantiles_of_a_run_are_the_draws_of_its_cost() -> None:
    """A percentile of a sweep is the number that `cost` prints, by the same seed, and no likely value."""
    axes = ("workload.model=llama3-8b", "workload.tokens=1T", "workload.gpus=64")
    bands = ("run.days", "run.cost", "tco.purchase", "tco.per_accelerator_hour")
    names = tuple(f"{band}.{end}" for band in bands for end in ("likely", "p10", "p50", "p90"))
    found = swept(*axes, design="superpod-b200-4su", metrics=names).chunk(0)
    asked = ("--model", "llama3-8b", "--tokens", "1T", "--gpus", "64", "-f", "json")
    study = json.loads(ffplan("cost", "superpod-b200-4su", *asked).out)
    for name in names:
        section, field, end = name.split(".")
        assert found.columns[name][0] == pytest.approx(study[section][field][end]), name
    assert found.columns["run.cost.p10"][0] < found.columns["run.cost.p50"][0] < found.columns["run.cost.p90"][0]


def test_metrics_of_goodput() -> None:
    """What failures leave of a workload is what `goodput` says of it, of the same accelerators."""
    axes = ("workload.model=llama3-8b", "workload.gpus=64,128")
    names = ("goodput.goodput.likely", "goodput.ettr.likely", "goodput.interval_s", "goodput.checkpoint.stop_s")
    found = swept(*axes, design="superpod-b200-4su", metrics=(*names, "train.mfu")).chunk(0).columns
    asked = ("--model", "llama3-8b", "--gpus", "128", "--draws", "0", "-f", "json")
    one = json.loads(ffplan("operate goodput", "superpod-b200-4su", *asked).out)["reliability"]
    wanted = (one["goodput"]["likely"], one["ettr"]["likely"], one["interval_s"], one["checkpoint"]["stop_s"])
    assert [found[name][1] for name in names] == pytest.approx(wanted)
    assert found["goodput.goodput.likely"][0] > found["goodput.goodput.likely"][1]
    assert (found["train.mfu"] > 0.2).all()
    drawn = ffplan("sweep", "superpod-b200-4su", "--vary", "workload.model=llama3-8b", "--metric", "goodput.ettr.p10")
    assert (drawn.code, "did you mean `goodput.ettr`" in drawn.err) == (2, True), drawn.err


def test_figures_of_other_networks_vary_too() -> None:
    """A switch that the front-end network alone has, three leaves and a spine: 1 kW more of each."""
    sweep = swept("sn4600c.power=1000,2000", design="h100-1k-four-networks", metrics=("power.it_kw",))
    power = sweep.chunk(0).columns["power.it_kw"]
    assert power[1] - power[0] == pytest.approx(4.0)


def test_values_that_no_part_has() -> None:
    """Below 0, a fraction above 1, and a rate of 0, in sweeps of studies of single designs."""
    design = "h100-1k-four-networks"
    for axis_text, words in (
        ("connectx-7-400g.line_efficiency=0.5,5", "a fraction is at most 1"),
        ("prices.hgx-h100-8nic=1,-1", "not below 0"),
        ("connectx-7-400g.rate=50,0", "`0 GB/s` is out of range; write a bandwidth of 1e-06 to 1e+09 GB/s"),
        ("connectx-7-400g.rate=50,1e308", "`1e+308 GB/s` is out of range"),
    ):
        found = swept(axis_text, design=design, metrics=("cost.total",)).chunk(0)
        assert found.reason[0] == ""
        assert words in found.reason[1]


def test_a_front_may_have_points_without_a_cost(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        (ROOT / "catalogs" / "switches" / "nvidia" / "qm9700.yaml")
        .read_text(encoding="utf-8")
        .replace("id: qm9700", "id: x")
    )
    asked = ("--vary", "fabric.switch=x,qm9700", "--vary", "nodes[0].nics=8,4", "--catalog", str(tmp_path))
    front = ("--pareto", "fabric.bisection_gbyte_s:max,accelerators:min", "--metric", "cost.total")
    run = ffplan("sweep", "superpod-b200-4su", *asked, *front, "-f", "json")
    assert run.code == 0, run.err
    assert any("cost.total" not in point["metrics"] for point in json.loads(run.out)["front"])


def test_a_resumed_front_has_its_directions() -> None:
    query = swept("site.pue=1.1,1.2").query
    keys = {job_key(query, ways) for ways in ({}, {"a": "min", "b": "max"}, {"a": "max", "b": "min"})}
    assert len(keys) == 3


def test_a_part_that_has_changed_makes_another_sweep(tmp_path: Path) -> None:
    """`--resume` would else go on with prices or rates that the first chunks did not have."""
    overlay_part(tmp_path, "qm9700", ("ports: {value: 64", "ports: {value: 64"))
    points = Points((axis("site.pue=1.1,1.2"),))
    query = SweepQuery(text="name: x", file="x", overlays=(str(tmp_path),), points=points, metrics=())
    before = query.key
    assert query.key == before
    file = tmp_path / "qm9700.yaml"
    file.write_text(file.read_text().replace("ports: {value: 64", "ports: {value: 48"))
    assert query.key != before
    file.unlink()
    assert query.key not in (before, "")


# Full disks, and numbers that no figure has

LIMITED = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))\n"
)
LIMITED += "sys.argv = ['ffplan', *sys.argv[2:]]\nfrom ffplan.__main__ import main\nmain()"
"""Runs a command that cannot make a file larger than some bytes, as on a disk that is full."""


@pytest.mark.deep
@pytest.mark.parametrize("room", [0, 100, 2_000, 20_000, 200_000, 600_000])
def test_points_that_a_full_disk_cut_are_continued(tmp_path: Path, room: int) -> None:
    """Whenever a file of points is not whole its note is there; continued, it is as if the disk had had room."""
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    arguments = ("sweep", "pcie-a100-three-tier", "--vary", "nodes[0].count=1..50000", "-j", "1")
    assert ffplan(*arguments, "--points", str(whole)).code == 0
    assert whole.stat().st_size > room
    cut.write_text("of another day\n")
    command = [sys.executable, "-c", LIMITED, str(room), *arguments, "--points", str(cut)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2, done.stderr
    assert f"--points {cut}: cannot be written: File too large" in done.stderr
    noted = Path(f"{cut}.resume").exists()
    assert noted or cut.read_text() == "of another day\n"
    again = ffplan(*arguments, "--points", str(cut), "--resume")
    if noted:
        assert again.code == 0, again.err
        assert cut.read_bytes() == whole.read_bytes()
        assert not Path(f"{cut}.resume").exists()
    else:
        assert again.code == 2


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ("qm9700.power=1,1e308", "`qm9700.power`: `1e+308 W` is out of range; write a power of 0.001 to 1e+12 W"),
        ("qm9700.power=1e-300,1", "`1e-300 W` is out of range"),
        ("prices.qm9700=1,1e16", "`prices.qm9700`: `1e+16` is out of range; the number must be at most 1e+15"),
        ("connectx-7-400g.rate=0,50", "`0 GB/s` is out of range"),
        ("h100-sxm-80gb.memory=1e40,1", "is out of range; write an amount of data"),
    ],
)
def test_figures_stay_in_the_range_that_files_have(vary: str, words: str) -> None:
    """The whole sweep is refused where its first value is out of range, else the point that has one says so."""
    run = ffplan("sweep", "superpod-h100-4su", "--vary", vary, "-f", "json")
    assert run.code == (0 if "=1,1e" in vary else 2), run.err
    assert words in run.out + run.err


def test_figures_of_arrays_stay_in_the_range_that_files_have() -> None:
    design = swept("site.pue=1.1,1.2", design="fire-flyer-next").design
    part = design.parts.switch.id
    for path, values in (
        (f"{part}.power", [1, 1e308]),
        (f"prices.{part}", [1, 1e16]),
        ("site.electricity_price", [1e16]),
    ):
        with pytest.raises(UsageError, match=r"out of range|a price per kWh is at most 1e\+15"):
            design_grid(design, {path: values})


PATHS = [
    *("qm9700.power", "qm9700.ports", "prices.qm9700", "connectx-7-400g.rate", "h100-sxm-80gb.memory"),
    *("h100-sxm-80gb.power", "site.pue", "site.electricity_price", "fabric.oversubscription", "nodes[0].count"),
    *("hgx-h100-8nic.power.training", "400g-aoc.latency", "communication.message"),
]


@examples(40)
@given(
    st.sampled_from(PATHS),
    st.lists(st.sampled_from(["0", "1e-308", "1e-9", "0.5", "1", "7", "1e9", "1e15", "1e100", "1e308"]), max_size=3),
)
def test_no_number_ends_in_a_bug(path: str, values: list[str]) -> None:
    """Whatever is varied to whatever extent: points, reasons or a refusal."""
    listed = ",".join(dict.fromkeys(values)) or "1"
    result = CliRunner().invoke(build("sweep"), ["sweep", "superpod-h100-4su", "--vary", f"{path}={listed}", "-j", "1"])
    assert result.exception is None or isinstance(result.exception, SystemExit | FfplanError), result.exception


def test_points_that_cannot_train_or_serve_keep_their_reason(tmp_path: Path) -> None:
    file = tmp_path / "design.yaml"
    job = "workload: {model: llama3-70b, batch: 1024, gpus: 64}\nserving: {model: llama3.1-8b, rate: 5/s}\n"
    file.write_text(
        re.sub(r"^workload:.*\n(?:  .*\n)*", "", (ROOT / "designs" / "superpod-h100-4su.yaml").read_text(), flags=re.M)
        + job
    )
    for path, first, metric, said in (
        ("workload.gpus", "1", "train.mfu", "none of 960 plans can run on 1 accelerator"),
        ("serving.rate", "1000000", "serve.tpot_s", "1,000,000 requests a second arrive"),
    ):
        for values in (f"{first},64", f"64,{first}"):
            report = json.loads(ffplan(f"sweep {file} --vary {path}={values} --metric {metric} -f json").out)
            assert report["built"] == 1
            assert said in report["refused"][0]["reason"]


def test_metrics_of_serving_need_a_load() -> None:
    done = ffplan("sweep superpod-h100-4su --vary nodes.0.count=12,16 --metric serve.tpot_s")
    assert (done.code, "which it does not have" in done.err) == (2, True)


def test_a_page_has_the_columns_of_the_screen() -> None:
    """Texts of a page carry their origins, which take no room."""
    axes = ("--vary", "nodes.0.count=64..127:21", "--vary", "fabric.oversubscription=1,2")
    words = ("sweep", "superpod-h100-4su", *axes, "--pareto", "cost.total:min,fabric.bisection_gbyte_s:max")
    screen, page = ffplan(*words).out, ffplan(*words, "-f", "html").out
    assert "cost.total min" in screen
    for metric in ("cost.total min", "fabric.bisection_gbyte_s max"):
        assert metric in screen
        assert re.search(rf"<th[^>]*>{re.escape(metric)}", page)
    best = " ".join(screen.partition("Best at")[2].split())
    assert re.match(r"nodes.0.count 64, .*: cost.total; nodes.0.count 127, .*: fabric.bisection_gbyte_s", best)
