"""What commands that simulate share: SimPy has to be there, and a long wait is said before it begins."""

from __future__ import annotations

import typer

from ffplan.base.errors import UsageError
from ffplan.base.extras import lacking

LONG_S = 10.0
"""Time of a simulation that is said before it starts [s]."""


def needs_simpy(what: str) -> None:
    """Refuse to go on without SimPy.

    Args:
        what: the command, with the option that needs it.

    Raises:
        UsageError: without it.
    """
    try:
        import simpy  # noqa: F401
    except ImportError:
        raise UsageError(lacking(f"ffplan {what}", "SimPy", "simpy")) from None


def announce(what: str, seconds: float) -> None:
    """Say how long a simulation takes, where it takes long.

    Args:
        what: the command, with what takes long.
        seconds: expected time [s].
    """
    if seconds > LONG_S:
        long = f"{seconds / 60:.0f} minutes" if seconds > 2 * 60 else f"{seconds:.0f} seconds"
        typer.echo(f"ffplan {what} takes about {long}; Ctrl-C keeps the runs done so far", err=True)
