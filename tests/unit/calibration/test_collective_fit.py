"""Rates of an accelerator's links, fitted on collectives: known ones are found again, and what rows do not tell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.calibration.collective_fit import (
    _collective_runs,
    _fit_collectives,
    _overlay_text,
    _with_rates,
    of_collectives,
)
from ffplan.calibration.fit import FitError
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.validation.communication_replay import CaseReplay, collective_rows
from ffplan.validation.measured_system import CaseParts
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """kind: communication-cases
id: ours
name: our node
source: {title: nccl-tests, date: "2026-11-22", grade: measured, status: V}
collectives:
"""
SIZES = ("64 KiB", "1 MiB", "64 MiB", "1 GiB", "8 GiB")
TRUE = {"ring": 320.0, "alltoall": 300.0, "nvls": 430.0, "launch": 20e-6}
H100 = "h100-sxm-80gb"


def h100() -> Accelerator:
    part = Catalog().entry(H100).part
    assert isinstance(part, Accelerator)
    return part


def written(path: Path, operations: tuple[str, ...], values: dict[str, list[float]] | None = None) -> Path:
    """Write cases of eight H100 in a node."""
    text = HEAD
    for name in operations:
        rates = ", ".join(f"{value:.6g}" for value in (values or {}).get(name, [100.0] * len(SIZES)))
        text += f"  - {{id: {name}, system: {{server: hgx-h100-8nic}}, operation: {name}, gpus: [8], "
        text += f"sizes: [{', '.join(SIZES)}], metric: busbw_gbyte_s, values: [[{rates}]]}}\n"
    path.write_text(text)
    return path


def made_up(path: Path, operations: tuple[str, ...]) -> Path:
    """Write cases as the model has them with other constants."""
    written(path, operations)
    runs = _collective_runs(Catalog(), (str(path),), H100)
    values: dict[str, list[float]] = {}
    for run in runs:
        bench = CaseParts(run.bench.catalog, run.bench.document, instead=_with_rates(h100(), TRUE))
        rows = collective_rows(CaseReplay(bench, run.file), run.case, ("collectives", run.position))
        values[run.case.operation] = [row.model for row in rows]
    return written(path, operations, values)


def test_constants_that_made_the_rows_are_found_again(tmp_path: Path) -> None:
    file = made_up(tmp_path / "ours.yaml", ("allreduce", "all-gather", "all-to-all"))
    made = _fit_collectives(h100(), _collective_runs(Catalog(), (str(file),), H100), None)
    assert made.values == pytest.approx(TRUE, rel=0.01)
    assert not made.notes
    assert abs(made.after).max() < 0.005 < 0.05 < abs(made.before).mean()


def test_a_time_from_call_to_start_is_found_where_the_catalogue_has_none(tmp_path: Path) -> None:
    file = made_up(tmp_path / "ours.yaml", ("all-gather",))
    part = h100()
    assert part.collectives is not None
    bare = part.model_copy(update={"collectives": part.collectives.model_copy(update={"launch": None})})
    runs = _collective_runs(Catalog(), (str(file),), H100)
    assert _fit_collectives(bare, runs, None).values == pytest.approx({"ring": 320.0, "launch": 20e-6}, rel=0.01)


def test_rows_tell_what_they_rest_on_alone(tmp_path: Path) -> None:
    file = str(made_up(tmp_path / "ours.yaml", ("all-gather",)))
    runs = _collective_runs(Catalog(), (file,), H100)
    found = _fit_collectives(h100(), runs, None).values
    assert set(found) == {"ring", "launch"}
    assert found["ring"] == pytest.approx(320, rel=0.01)
    with pytest.raises(FitError, match="cannot tell nvls"):
        _fit_collectives(h100(), runs, ("ring", "nvls"))
    with pytest.raises(FitError, match="no collective in these files ran on `h100-sxm-80gb`"):
        _fit_collectives(h100(), (), None)
    assert _collective_runs(Catalog(), (file,), "a100-sxm-80gb") == ()


def test_one_row_does_not_tell_two_constants(tmp_path: Path) -> None:
    text = HEAD + "  - {id: a, system: {server: hgx-h100-8nic}, operation: all-gather, gpus: [8], sizes: [64 MiB], "
    file = tmp_path / "one.yaml"
    file.write_text(text + "metric: time_us, values: [[230]]}\n")
    runs = _collective_runs(Catalog(), (str(file),), H100)
    with pytest.raises(FitError, match="1 different row cannot tell ring, launch apart"):
        _fit_collectives(h100(), runs, None)
    made = _fit_collectives(h100(), runs, ("launch",))
    assert abs(made.after).max() < 0.01
    far = HEAD + "  - {id: a, system: {server: hgx-h100-8nic}, operation: all-gather, gpus: [8], sizes: [8 GiB], "
    file.write_text(far + "metric: busbw_gbyte_s, values: [[20]]}\n")
    ended = _fit_collectives(h100(), _collective_runs(Catalog(), (str(file),), H100), ("ring",))
    assert ended.values["ring"] == pytest.approx(370 / 4, rel=0.01)
    assert ended.notes == {"ring": "at the end of its range"}


def near(path: Path, *sizes: str) -> str:
    """Write all-gathers of these sizes over eight GPUs, of 230 us each."""
    text = HEAD
    for number, size in enumerate(sizes):
        text += f"  - {{id: a{number}, system: {{server: hgx-h100-8nic}}, operation: all-gather, gpus: [8], "
        text += f"sizes: [{size}], metric: time_us, values: [[230]]}}\n"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("sizes", [("64 MiB",) * 6, ("64 MiB", "64.5 MiB", "63.5 MiB")])
def test_rows_of_one_size_tell_one_constant(sizes: tuple[str, ...], tmp_path: Path) -> None:
    """Copies, and sizes that are nearly the same: rate and time from call to start are one number."""
    runs = _collective_runs(Catalog(), (near(tmp_path / "near.yaml", *sizes),), H100)
    with pytest.raises(FitError, match="cannot tell ring, launch apart"):
        _fit_collectives(h100(), runs, ("ring", "launch"))
    if len(set(sizes)) == 1:
        with pytest.raises(FitError, match="1 different row cannot tell ring, launch apart"):
            _fit_collectives(h100(), runs, None)
        return
    found = _fit_collectives(h100(), runs, None)
    assert (set(found.values), found.kept) == ({"ring"}, ("launch",))


def test_what_rows_do_not_tell_stays_and_is_said(tmp_path: Path) -> None:
    """Messages that take 200 us and more: the few microseconds from call to start are nothing of it."""
    text = HEAD + "  - {id: a, system: {server: hgx-h100-8nic}, operation: all-gather, gpus: [8], "
    file = tmp_path / "large.yaml"
    file.write_text(text + "sizes: [64 MiB, 128 MiB, 8 GiB], metric: busbw_gbyte_s, values: [[255, 290, 330]]}\n")
    run = ffplan("model calibrate", H100, "--cases", str(file), "-f", "json")
    assert run.code == 0, run.err
    report = json.loads(run.out)
    assert [item["name"] for item in report["constants"]] == ["ring"]
    assert report["assumptions"] == ["These rows do not determine `launch`: it stays at 8 us."]


def test_a_constant_beyond_the_catalogues_range_is_written_on_request_only(tmp_path: Path) -> None:
    """20 us from call to start, where the catalogue has 0 to 15 us."""
    file, own = made_up(tmp_path / "ours.yaml", ("all-gather",)), tmp_path / "own"
    command = ("model calibrate", H100, "--cases", str(file), "--write", str(own))
    run = ffplan(*command)
    assert run.code == 1
    assert "launch is outside of the catalogue's range, 0 us to 15 us" in " ".join(run.err.split())
    assert not own.exists()
    assert ffplan(*command, "--force").code == 0
    assert (own / f"{H100}.yaml").exists()


def test_a_file_counts_once(tmp_path: Path) -> None:
    file = str(made_up(tmp_path / "ours.yaml", ("all-gather",)))
    run = ffplan("model calibrate", H100, "--cases", file, "--cases", file)
    assert (run.code, run.out) == (2, "")
    assert "two files of cases have the id `ours`" in run.err


def test_the_file_keeps_what_was_not_fitted(tmp_path: Path) -> None:
    file = made_up(tmp_path / "ours.yaml", ("allreduce", "all-gather"))
    made = _fit_collectives(h100(), _collective_runs(Catalog(), (str(file),), H100), None)
    place = Catalog().locate(H100)
    assert place is not None
    text = place[0].read_text()
    once = _overlay_text(text, "a.yaml", made)
    assert _overlay_text(once, "a.yaml", made) == once  # a second fit takes the place of the first
    gone = [line for line in text.splitlines() if line not in once.splitlines()]
    assert [line.split(":")[0].strip() for line in gone] == ["ring", "busbw", "launch"]
    assert 'title: "ffplan model calibrate on our node: 10 rows, mean error 0.0%", date: "2026-11-22"' in once
    with pytest.raises(FitError, match="add these lines by hand"):
        _overlay_text("kind: accelerator\n", "a.yaml", made)


def test_what_acceptance_saves_is_what_calibrate_takes(tmp_path: Path) -> None:
    """A log of nccl-tests over a node, saved as cases, fitted, written and replayed with the written catalogue."""
    ranks = "".join(f"#  Rank {n} Group 0 Pid {n} on node00 device {n} [0000:0{n}:00] H100\n" for n in range(8))
    log = ranks + "# size count type redop root time algbw busbw #wrong\n"
    for size, busbw in ((2**20, 44.0), (2**26, 330.0), (2**30, 405.0), (2**33, 420.0)):
        algbw = busbw / 1.75
        log += f"{size} {size // 4} float sum -1 {size / algbw / 1e3:.1f} {algbw:.2f} {busbw:.2f} 0\n"
    (tmp_path / "all_reduce_perf.txt").write_text(log)
    cases, own = tmp_path / "cases.yaml", tmp_path / "own"
    measured = ("--measured", str(tmp_path / "all_reduce_perf.txt"), "--save", str(cases), "--date", "2026-11-22")
    assert ffplan("fabric accept", "superpod-h100-4su", *measured).code in (0, 1)
    run = ffplan("model calibrate", H100, "--cases", str(cases), "--write", str(own))
    assert run.code == 0, run.err
    assert "Mean error of the collectives" in run.out
    assert "nvls" in run.out
    assert "wrote" in run.err
    plain, fitted = (
        ffplan("model accuracy", "communication", "--cases", str(cases), "--max-mape", "3 %", *more)
        for more in ((), ("--catalog", str(own)))
    )
    assert (plain.code, fitted.code) == (1, 0)


def test_what_calibrate_refuses_of_collectives(tmp_path: Path) -> None:
    file = str(written(tmp_path / "ours.yaml", ("all-gather",)))
    runs = str(ROOT / "catalogs" / "measurements" / "training" / "bloom.yaml")
    with pytest.raises(FitError, match="one after the other"):
        of_collectives((file, runs))
    for arguments, words in (
        (("--cases", file, "--launches"), "no effect on files of collectives"),
        (("--cases", file, "--units", "3"), "no effect on files of collectives"),
        (("--cases", file, "--only", "matrix"), "no `matrix`; known choice: `alltoall`"),
        (("--cases", file, "--cases", runs), "one after the other"),
        (("--cases", file, "--only", "alltoall"), "cannot tell alltoall"),
    ):
        found = ffplan("model calibrate", H100, *arguments)
        assert (found.code, found.out) == (2, "")
        assert words in " ".join(found.err.split())
