"""Shared by commands that simulate: the check for SimPy, and the notice of a long run."""

from __future__ import annotations

import typer

from ffplan.base.errors import UsageError, lacking

LONG_S = 10.0
"""Shortest simulation time that is announced [s]."""


def _needs_simpy(what: str) -> None:
    """Refuse to run without SimPy.

    Args:
        what: the command, with the option that needs it.

    Raises:
        UsageError: if SimPy is missing.
    """
    try:
        import simpy  # noqa: F401
    except ImportError:
        raise UsageError(lacking(f"ffplan {what}", "SimPy", "simpy")) from None


def _announce(what: str, seconds: float) -> None:
    """Announce the expected time of a long simulation.

    Args:
        what: the command, with its long step.
        seconds: expected time [s].
    """
    if seconds > LONG_S:
        long = f"{seconds / 60:.0f} minutes" if seconds > 2 * 60 else f"{seconds:.0f} seconds"
        typer.echo(f"ffplan {what} takes about {long}; Ctrl-C keeps the runs done so far", err=True)
