"""`ffplan accuracy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.common import CatalogOption, FormatOption, OutputOption, ReportFormat, write
from ffplan.cli.wired import emit

if TYPE_CHECKING:
    from ffplan.inputs.document import Document
    from ffplan.results.collective import AccuracyReport

FOLDERS = {"memory": "training"}
"""Subjects whose cases are among those of another."""
app = typer.Typer(no_args_is_help=True, help="Replay the model against measurements; print the error of every row.")


@app.callback()
def _group() -> None:
    """Replay the model against measurements; print the error of every row."""


def _percent(text: str) -> float:
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1000:
        raise UsageError(f"ffplan accuracy: --max-mape: `{text}` is no percentage; write 10 or 10%")
    return value / 100


def files_of(subject: str, cases: list[str] | None) -> list[tuple[str, str]]:
    """Return path and name of every file of cases: the user's, or those that ship."""
    if cases:
        return [(name, name) for name in cases]
    from ffplan.base.paths import data_folder

    kind = FOLDERS.get(subject, subject)
    folder = data_folder("catalogs") / "measurements" / kind
    return [(str(path), f"catalogs/measurements/{kind}/{path.name}") for path in sorted(folder.glob("*.yaml"))]


def _expect_cases(document: Document, subject: str) -> None:
    """Refuse a file that is something else, before its every field is called wrong.

    Raises:
        InputError: where its `kind` is another, or missing.
    """
    from ffplan.base.errors import InputError

    data = document.data
    kind = data.get("kind") if isinstance(data, dict) else None
    wanted = f"{FOLDERS.get(subject, subject)}-cases"
    if kind != wanted:
        what = f"this file is of kind `{kind}`" if kind else "this is no file of measured cases"
        remedy = f"write `kind: {wanted}`; `ffplan schema {wanted}` describes the format"
        raise InputError(document.finding(wanted, ("kind",), what, remedy))


def replay_files(subject: str, files: list[tuple[str, str]], catalogs: list[str] | None) -> AccuracyReport:
    """Return the report over files of cases.

    Raises:
        InputError: where a file is wrong.
        UsageError: where two files have one id.
    """
    from pathlib import Path

    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import read_document
    from ffplan.inputs.validate import validate
    from ffplan.results.design import SCHEMA_VERSION
    from ffplan.validation.communication_cases import CaseFile
    from ffplan.validation.communication_replay import replay
    from ffplan.validation.scores import report
    from ffplan.validation.training_cases import SIZES, TIMES, TrainingFile
    from ffplan.validation.training_rows import replay_training

    catalog = Catalog(catalogs or ())
    measured = {"training": TIMES, "memory": SIZES}
    rows, titles = [], {}
    for path, name in files:
        document = read_document(Path(path), name)
        _expect_cases(document, subject)
        found: CaseFile | TrainingFile
        if subject in measured:
            found = validate(TrainingFile, document)
            made = replay_training(found, document, catalog, measured[subject])
        else:
            found = validate(CaseFile, document)
            made = replay(found, document, catalog)
        if found.id in titles:
            raise UsageError(f"ffplan accuracy: two files of cases have the id `{found.id}`; the second is {name}")
        titles[found.id] = found.name
        rows += made
    if not rows:
        raise UsageError(f"ffplan accuracy {subject}: nothing in these files was measured of it")
    return report(SCHEMA_VERSION, subject, titles, rows)


CasesOption = Annotated[
    list[str] | None,
    typer.Option("--cases", metavar="FILE", help="File of cases in place of those that ship. May be repeated."),
]
LimitOption = Annotated[
    str | None,
    typer.Option("--max-mape", metavar="PERCENT", help="Exit with 1 where the mean error over all rows is larger."),
]


def _print(report: AccuracyReport, limit: float | None, form: ReportFormat, output: str | None) -> None:
    """Print a report; exit with 1 where its mean error is too large."""
    from ffplan.report.collective import accuracy_blocks, failed

    head = f"accuracy: {report.subject}"
    emit(report, list(report.rows), head, lambda: accuracy_blocks(report), form, output)
    if limit is not None and report.total is None:
        raise UsageError("ffplan accuracy: --max-mape: no row counts")
    if limit is not None and (message := failed(report, limit)):
        typer.echo(f"ffplan accuracy: {message}", err=True)
        raise typer.Exit(EXIT_FINDINGS)


@app.command()
def communication(
    cases: CasesOption = None,
    max_mape: LimitOption = None,
    chart: Annotated[
        str | None, typer.Option("--chart", metavar="FILE", help="Also draw model against measurement, as SVG.")
    ] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Replay measured collectives: every row, then n, MAPE, bias and largest error of each source.

    Exit code 1 where the mean error exceeds --max-mape.
    """
    limit = None if max_mape is None else _percent(max_mape)
    if chart is not None and not chart.endswith(".svg"):
        raise UsageError(f"ffplan accuracy: --chart {chart}: the chart is SVG; name a file that ends in .svg")
    report = replay_files("communication", files_of("communication", cases), catalog)
    if chart is not None:
        from ffplan.report.scatter import scatter

        write(scatter(report), chart)
    _print(report, limit, form, output)


def _leave_one_out(cases: list[str] | None, form: ReportFormat, output: str | None, catalog: list[str] | None) -> None:
    """Fit without each source in turn and print how it is met.

    Raises:
        UsageError: where SciPy is missing.
    """
    from ffplan.calibration.calibrate import runs
    from ffplan.calibration.fit import FitError
    from ffplan.calibration.leave_one_out import leave_one_out
    from ffplan.catalog.store import Catalog
    from ffplan.cli.wired import Progress
    from ffplan.report.calibrate import leave_blocks
    from ffplan.results.design import SCHEMA_VERSION
    from ffplan.results.training import LeaveOneOutReport

    progress = Progress("fitting without")
    files = tuple(path for path, _ in files_of("training", cases))
    try:
        rows = leave_one_out(runs(Catalog(catalog or ()), files), progress.step)
    except FitError as error:
        raise UsageError(f"ffplan accuracy: --leave-one-out: {error}") from None
    finally:
        progress.end()
    report = LeaveOneOutReport(SCHEMA_VERSION, tuple(rows))
    emit(report, rows, "accuracy: training, one source left out", lambda: leave_blocks(report), form, output)


@app.command()
def training(
    cases: CasesOption = None,
    max_mape: LimitOption = None,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Fit the constants without each source in turn, and score it.")
    ] = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Replay measured training runs, seconds or rates: every row, then the summaries.

    Exit code 1 where the mean error exceeds --max-mape.
    """
    limit = None if max_mape is None else _percent(max_mape)
    if leave_one_out:
        if limit is not None:
            raise UsageError("ffplan accuracy: --max-mape has no effect with --leave-one-out; leave it out")
        _leave_one_out(cases, form, output, catalog)
        return
    _print(replay_files("training", files_of("training", cases), catalog), limit, form, output)


@app.command()
def memory(
    cases: CasesOption = None,
    max_mape: LimitOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Replay measured device memory of training runs: every row, then the summaries.

    Exit code 1 where the mean error exceeds --max-mape.
    """
    limit = None if max_mape is None else _percent(max_mape)
    _print(replay_files("memory", files_of("memory", cases), catalog), limit, form, output)
