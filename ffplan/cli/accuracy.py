"""`ffplan model accuracy`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.options import CatalogOption, OutputOption
from ffplan.cli.output import emit, write

if TYPE_CHECKING:
    from ffplan.results.accuracy import AccuracyReport

app = typer.Typer(no_args_is_help=True, help="Replay the model against measurements; print its errors.")


@app.callback()
def _group() -> None:
    """Replay the model against measurements; print its errors."""


def _percent(text: str) -> float:
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1000:
        raise UsageError(f"ffplan model accuracy: --max-mape: `{text}` is no percentage; write 10 or 10%")
    return value / 100


CasesOption = Annotated[
    list[str] | None,
    typer.Option("--cases", metavar="FILE", help="File of cases in place of the shipped ones. May be repeated."),
]
LimitOption = Annotated[
    str | None,
    typer.Option(
        "--max-mape", metavar="PERCENT", help="Exit with 1 where the mean error over measured rows is larger."
    ),
]
RowsOption = Annotated[
    bool, typer.Option("--rows", help="Print every row after the summaries; JSON and CSV hold the rows always.")
]


def _replayed(subject: str, cases: list[str] | None, catalog: list[str] | None) -> AccuracyReport:
    from ffplan.catalog.store import Catalog
    from ffplan.validation.replay import case_files, replay_files

    return replay_files(subject, case_files(subject, cases), Catalog(catalog or ()))


def _print(report: AccuracyReport, limit: float | None, form: ReportFormat, output: str | None, *, rows: bool) -> None:
    """Print a report; exit with 1 where its mean error is too large."""
    from ffplan.report.accuracy import accuracy_document, failed

    emit(accuracy_document(report, rows=rows), form, output)
    if limit is not None and report.total is None:
        raise UsageError("ffplan model accuracy: --max-mape: no row counts")
    if limit is not None and (message := failed(report, limit)):
        typer.echo(f"ffplan model accuracy: {message}", err=True)
        raise typer.Exit(EXIT_FINDINGS)


@app.command()
def communication(
    cases: CasesOption = None,
    max_mape: LimitOption = None,
    rows: RowsOption = False,
    chart: Annotated[
        str | None, typer.Option("--chart", metavar="FILE", help="Also draw model against measurement, as SVG.")
    ] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Replay measured collectives: n, MAPE, bias and largest error of each source; every row with --rows.

    Exit code 1 if the mean error exceeds --max-mape.
    """
    limit = None if max_mape is None else _percent(max_mape)
    if chart is not None and not chart.endswith(".svg"):
        raise UsageError(f"ffplan model accuracy: --chart {chart}: the chart is SVG; name a file that ends in .svg")
    report = _replayed("communication", cases, catalog)
    if chart is not None:
        from ffplan.report.accuracy import scatter

        write(scatter(report), chart)
    _print(report, limit, form, output, rows=rows)


class Left(StrEnum):
    """Group left out at a time."""

    SOURCE = "source"
    STACK = "stack"
    ACCELERATOR = "accelerator"
    CHIP = "chip"
    PROCESS = "process"


def _leave_one_out(
    by: Left, cases: list[str] | None, form: ReportFormat, output: str | None, catalog: list[str] | None
) -> None:
    from ffplan.calibration.calibrate import runs
    from ffplan.calibration.fit import FitError
    from ffplan.calibration.leave_one_out import leave_one_out
    from ffplan.catalog.store import Catalog
    from ffplan.cli.progress import Progress
    from ffplan.report.calibrate import left_out_document
    from ffplan.validation.replay import case_files

    progress = Progress("fitting without")
    files = tuple(path for path, _ in case_files("training", cases))
    try:
        report = leave_one_out(runs(Catalog(catalog or ()), files), progress.step, by.value)
    except FitError as error:
        raise UsageError(f"ffplan model accuracy: --leave-one-out: {error}") from None
    finally:
        progress.end()
    emit(left_out_document(report), form, output)


@app.command()
def training(
    cases: CasesOption = None,
    max_mape: LimitOption = None,
    rows: RowsOption = False,
    leave_one_out: Annotated[
        Left | None,
        typer.Option("--leave-one-out", help="Fit the constants without each in turn, and score it."),
    ] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Replay measured training runs, seconds or rates: the summaries; every row with --rows.

    Exit code 1 if the mean error exceeds --max-mape.
    """
    limit = None if max_mape is None else _percent(max_mape)
    if leave_one_out is not None:
        if limit is not None:
            raise UsageError("ffplan model accuracy: --max-mape has no effect with --leave-one-out; leave it out")
        if rows:
            raise UsageError("ffplan model accuracy: --rows has no effect with --leave-one-out; leave it out")
        _leave_one_out(leave_one_out, cases, form, output, catalog)
        return
    _print(_replayed("training", cases, catalog), limit, form, output, rows=rows)


def _plain(subject: str, summary: str) -> None:
    def command(
        cases: CasesOption = None,
        max_mape: LimitOption = None,
        rows: RowsOption = False,
        form: FormatOption = ReportFormat.TABLE,
        output: OutputOption = None,
        catalog: CatalogOption = None,
    ) -> None:
        limit = None if max_mape is None else _percent(max_mape)
        _print(_replayed(subject, cases, catalog), limit, form, output, rows=rows)

    end = "Exit code 1 if the mean error exceeds --max-mape."
    app.command(subject, help=f"{summary}: the summaries; every row with --rows.\n\n{end}")(command)


_plain("serving", "Replay measured serving runs, latencies and rates")
_plain("memory", "Replay measured device memory of training runs")
