"""How much of a report a terminal shows, and what it does not."""

from __future__ import annotations

import functools
import inspect
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.options import _by_comma

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.report.document import View

_view: ContextVar[tuple[bool, tuple[str, ...]]] = ContextVar("view", default=(False, ()))


def _current_view() -> View:
    """Return how much of its report the command in progress shows."""
    from ffplan.report.document import View

    full, sections = _view.get()
    return View(full=full, sections=sections)


def _to_terminal(output: str | None) -> bool:
    """Return whether the report goes to a terminal."""
    return output is None and sys.stdout is not None and sys.stdout.isatty()


def _refuse_page(option: str, output: str | None, remedy: str = "add `-o page.html`") -> None:
    """Refuse to print a page of HTML on a terminal, before it is made.

    Args:
        option: what asks for the page.

    Raises:
        UsageError: if the page would go to a terminal.
    """
    if _to_terminal(output):
        raise UsageError(f"ffplan: {option} is a page for a browser, not for a terminal: {remedy}")


def _with_view(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with `--full` and `--section`, which `current_view` then returns."""

    @functools.wraps(command)
    def run(*, full: bool, section: list[str] | None, **options: Any) -> None:
        if options["form"].value == "html":  # before a search of minutes
            remedy = "add `-o page.html`" if "output" in options else "end the command with `> page.html`"
            _refuse_page("--format html", options.get("output"), remedy)
        token = _view.set((full, tuple(section or ())))
        try:
            command(**options)
        finally:
            _view.reset(token)

    parameters = [
        *inspect.signature(command, eval_str=True).parameters.values(),
        *inspect.signature(_options, eval_str=True).parameters.values(),
    ]
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def _options(
    *,
    full: Annotated[bool, typer.Option("--full", help="Print the whole report.")] = False,
    section: Annotated[
        list[str] | None,
        typer.Option("--section", metavar="NAME", help="Print one part, or several with commas.", callback=_by_comma),
    ] = None,
) -> None:
    """Declare the options of `with_view`."""
