"""The commands, and handling of their errors."""

from __future__ import annotations

import errno
import os
import re
import sys
from importlib import import_module
from typing import Annotated

import typer

from ffplan.base.errors import EXIT_BUG, FfplanError

COMMANDS = (
    "init",
    "design",
    "compare",
    "check",
    "size",
    "sweep",
    "recommend",
    "collective",
    "train",
    "cost",
    "goodput",
    "storage",
    "utilization",
    "acceptance",
    "explain",
    "accuracy",
    "calibrate",
    "measure",
    "route",
    "place",
    "faults",
    "cabling",
    "export",
    "import",
    "audit",
    "diff",
    "verify",
    "catalog",
    "reproduce",
    "schema",
)
"""Commands in the order of the help; each lives in a module of its name."""


_REFUSED: type[typer.BadParameter] = typer.BadParameter.__mro__[2]
"""Typer's usage error, whose module has moved between versions."""


def _version(requested: bool) -> None:
    if requested:
        from ffplan.base.version import __version__

        print(f"ffplan {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Plan a GPU cluster: fabric, bandwidth and the resource that limits it, cost, and comparison of designs."""


def build(only: str | None = None) -> typer.Typer:
    """Return the command line.

    Args:
        only: name of the one command to load; all of them if omitted.
    """
    app = typer.Typer(
        name="ffplan",
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for name in COMMANDS:
        if only in (None, name):
            module = import_module(f"ffplan.cli.{name}_" if name == "import" else f"ffplan.cli.{name}")
            if hasattr(module, "app"):
                app.add_typer(module.app, name=name)
            else:
                app.command(name)(getattr(module, name))
    return app


def _invoked() -> str | None:
    """Return the command if it is the first argument, so that only its module is loaded."""
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    return first if first in COMMANDS and not os.environ.get("_FFPLAN_COMPLETE") else None


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


_FORMER = {
    f"{program}-{table}": f"--to {program} --table {table}"
    for program in ("netbox", "nautobot")
    for table in ("devices", "interfaces", "cables")
}
"""Choices that went, and what to write in their place."""


def _choice_words(text: str) -> str:
    """Rephrase the message of a refused choice like our other messages; return any other message unchanged."""
    match = re.fullmatch(r"'(.*)' is not one of (.+?)\.?", text, re.DOTALL)
    if match is None:
        return text
    from ffplan.inputs.suggest import did_you_mean

    if match[1] in _FORMER:
        return f"no `{match[1]}`; write `{_FORMER[match[1]]}`"
    known = re.findall(r"'([^']*)'", match[2])
    return f"no `{match[1]}`; {did_you_mean(match[1], known, what='choice')}"


def _report_usage(error: typer.BadParameter) -> int:
    """Print why the command line is refused: refused values in our wording, the rest in Typer's."""
    if type(error) is not typer.BadParameter or error.ctx is None or error.param is None:
        error.show()
        return error.exit_code
    command = error.ctx.command_path.split()
    first = next((number for number, word in enumerate(command) if word in COMMANDS), len(command))
    options = [name for name in error.param.opts if name.startswith("--")]
    text = error.message.removeprefix("Value error, ")
    text = _choice_words(text[:1].lower() + text[1:])
    print(": ".join([" ".join(["ffplan", *command[first:]]), *options[:1], text]), file=sys.stderr)
    return error.exit_code


def run() -> int:
    """Run the command line; return the exit code."""
    try:
        code = build(_invoked())(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except _REFUSED as error:
        return _report_usage(error)
    except FfplanError as error:
        print(str(error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("ffplan: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EPIPE):
            raise  # the help found no room on standard output
        return _report_bug(error)
    except Exception as error:
        return _report_bug(error)
    return 0
