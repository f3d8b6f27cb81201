"""The commands, and what happens to errors that leave them."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ffplan.cli import catalog, check, compare, design, schema
from ffplan.errors import EXIT_BUG, FfplanError

app = typer.Typer(
    name="ffplan",
    help="Plan a GPU cluster: the fabric it needs, what binds its bandwidth, what it costs, how it compares.",
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from ffplan import __version__

        print(f"ffplan {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Plan a GPU cluster: the fabric it needs, what binds its bandwidth, what it costs, how it compares."""


app.command("design")(design.design)
app.command("compare")(compare.compare)
app.command("check")(check.check)
app.add_typer(catalog.app, name="catalog")
app.command("schema")(schema.schema)


def _report_bug(error: BaseException) -> int:
    print(
        f"ffplan: this is a bug of ours: {type(error).__name__}: {error}\n"
        "    please report it with the command and the files; FFPLAN_DEBUG=1 prints the traceback",
        file=sys.stderr,
    )
    if os.environ.get("FFPLAN_DEBUG"):
        import traceback

        traceback.print_exception(error)
    return EXIT_BUG


def run() -> int:
    """Run the command line; return the exit code."""
    try:
        app()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except FfplanError as error:
        print(str(error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("ffplan: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        return _report_bug(error)
    return 0
