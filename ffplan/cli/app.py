"""The commands, and handling of their errors."""

from __future__ import annotations

import errno
import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.base.errors import EXIT_BUG, FfplanError, UsageError
from ffplan.cli.commands import FORMER, HEADINGS, PANELS, TOP, _Command, _current_names
from ffplan.cli.progress import LINE

if TYPE_CHECKING:
    from collections.abc import Callable

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


class _TopGroup(typer.core.TyperGroup):
    """The top of the command line, whose help needs no module of a command."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer passes it
        for heading, commands in PANELS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(_LONGEST), command.summary) for name, command in commands.items()])


_LONGEST = max(map(len, TOP))
"""Letters of the longest name of a command [1]."""


_UNDER_ONE_HEADING = 12
"""Most options of a help that stand under one heading [1]."""


class _PanelCommand(typer.core.TyperCommand):
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, and how to see the rare ones if they are left out."""
        shown, rare = self._shown(ctx)
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in shown:
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(self._heading(param, len(shown)), []).append(record)
        order = {name: place for place, name in enumerate(("Arguments", "Options", *HEADINGS))}
        for heading in sorted(sections, key=lambda name: order[name]):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])
        if rare:
            formatter.write_paragraph()
            formatter.write_text(f"{rare} rarer options: --help-all")

    def _shown(self, ctx: Any) -> tuple[list[Any], int]:
        return self.get_params(ctx), 0

    def _heading(self, param: Any, shown: int) -> str:
        """Return the heading of an argument or option: one for few options, else by what they are about."""
        if param.param_type_name == "argument":
            return "Arguments"
        if shown <= _UNDER_ONE_HEADING:
            return "Options"
        return next((name for name, options in HEADINGS.items() if {*param.opts} & {*options}), "Options")


class _BriefCommand(_PanelCommand):
    def _shown(self, ctx: Any) -> tuple[list[Any], int]:
        common = TOP[self.name].common if self.name in TOP else ()
        params = [param for param in self.get_params(ctx) if not getattr(param, "hidden", False)]
        kept = [
            param
            for param in params
            if not common or param.param_type_name == "argument" or {*param.opts} & {*common, "--help"}
        ]
        return kept, len(params) - len(kept)


def build(only: str | None = None, name: str | None = None, *, brief: bool = False) -> typer.Typer:
    """Return the command line.

    Args:
        only: name of the one command or group to load; all of them if omitted.
        name: name of the one command to load of that group; all of it if omitted.
        brief: the help of a command with many options shows the common ones.
    """
    app = typer.Typer(
        name="ffplan",
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        cls=_TopGroup,
    )
    app.callback()(_main)
    for key, command in TOP.items():
        if only in (None, key):
            _add(app, key, command, name, _BriefCommand if brief else _PanelCommand)
    return app


def _add(
    app: typer.Typer,
    name: str,
    command: _Command,
    only: str | None,
    cls: type[typer.core.TyperCommand] | None = None,
) -> None:
    place, _, function = command.module.partition(":")
    module: Any = import_module(f"ffplan.cli.{place}") if place else None
    if command.commands is None:
        if hasattr(module, "app") and not function:
            app.add_typer(module.app, name=name, short_help=command.summary)
        else:
            app.command(name, cls=cls, short_help=command.summary)(_viewed(getattr(module, function or place)))
        return
    summary = f"{command.summary[:1].upper()}{command.summary[1:]}."
    group = typer.Typer(help=summary, no_args_is_help=True, rich_markup_mode=None)
    for key, child in command.commands.items():
        if only in (None, key):
            _add(group, key, child, None)
    if module is not None:
        group.registered_commands += module.app.registered_commands
    app.add_typer(group, name=name)


def _viewed(command: Callable[..., None]) -> Callable[..., None]:
    if command.__annotations__.get("form") != "FormatOption":
        return command
    from ffplan.cli.output import _with_view

    return _with_view(command)


def _invoked(words: list[str]) -> tuple[str | None, str | None]:
    """Return the command and subcommand that words name, so that only their modules are loaded."""
    if os.environ.get("_FFPLAN_COMPLETE"):
        return None, None
    first, second = [*words, "", ""][:2]
    if first in TOP:
        return first, second if second in (TOP[first].commands or {}) else None
    if first and not first.startswith("-"):
        from ffplan.base.errors import did_you_mean

        raise UsageError(f"ffplan: no command `{first}`; {did_you_mean(first, [*TOP, *FORMER], what='command')}")
    return "", None


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
    from ffplan.base.errors import did_you_mean

    if match[1] in _FORMER:
        return f"no `{match[1]}`; write `{_FORMER[match[1]]}`"
    known = re.findall(r"'([^']*)'", match[2])
    return f"no `{match[1]}`; {did_you_mean(match[1], known, what='choice')}"


SAME = (
    "capex budget price cost max-cost money spend",
    "power power-limit max-power megawatts mw",
    "gpus gpu num-gpus ngpus n-gpus accelerators ranks world-size nodes",
    "accelerator gpu gpu-type gpu-model chip device hardware",
    "batch batch-size global-batch global-batch-size gbs",
    "micro-batch micro-batch-size mbs",
    "sequence seq seq-len seq-length sequence-length context-length",
    "isl input input-length input-tokens prompt prompt-length",
    "osl output-length output-tokens max-tokens answer",
    "tp tensor tensor-parallel tensor-parallel-size",
    "pp pipeline pipeline-parallel pipeline-parallel-size",
    "dp data data-parallel",
    "cp context context-parallel",
    "ep expert expert-parallel",
    "precision dtype quantization quant weights",
    "size message message-size bytes",
    "op collective",
    "concurrency users streams",
    "rate qps rps requests",
    "days deadline time duration",
    "chance confidence probability sure",
    "prices price-book price",
    "model llm network",
    "output out file save",
    "format json csv html markdown",
    "full verbose all long details",
)
"""Options, each with other words for it."""


def _unknown_option(name: str, command: str, options: list[str]) -> str:
    """Return why an option is refused, with the one of the command that means the same, or the nearest."""
    from ffplan.base.errors import _containing, listed_names, nearest

    word = name.lstrip("-").lower().replace("_", "-")
    same = [f"--{row.split()[0]}" for row in SAME if word in row.split()]
    matches = [option for option in same if option in options]
    if not matches and len(word) > 1:
        close = nearest(name, options)
        matches = _containing(name, options) or ([close] if close else [])
    remedy = f"did you mean {listed_names(matches)}?" if matches else f"`{command} -h` lists them"
    return f"{command}: no option `{name}`; {remedy}"


def _report_usage(error: Any) -> int:
    if type(error).__name__ == "NoSuchOption" and error.ctx is not None:
        options = [option for param in error.ctx.command.params for option in param.opts if option.startswith("--")]
        name = " ".join(["ffplan", *error.ctx.command_path.split()[1:]])
        print(_unknown_option(error.option_name, name, options), file=sys.stderr)
        return int(error.exit_code)
    if type(error) is not typer.BadParameter or error.ctx is None or error.param is None:
        error.show()
        return int(error.exit_code)
    command = error.ctx.command_path.split()
    options = [name for name in error.param.opts if name.startswith("--")]
    text = error.message.removeprefix("Value error, ")
    text = _choice_words(text[:1].lower() + text[1:])
    print(": ".join([" ".join(["ffplan", *command[1:]]), *options[:1], text]), file=sys.stderr)
    return int(error.exit_code)


def run() -> int:
    """Run the command line; return the exit code."""
    words, note = _current_names(sys.argv[1:])
    if note is not None:
        print(note, file=sys.stderr)
    try:
        whole = "--help-all" in words
        words = ["--help" if word == "--help-all" else word for word in words]
        only, child = _invoked(words)
        with LINE.waiting(" ".join(word for word in ("ffplan", only, child) if word)):
            code = build(only, child, brief=not whole)(words, standalone_mode=False, prog_name="ffplan")
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
