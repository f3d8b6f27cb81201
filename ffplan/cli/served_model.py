"""What `compare --serve` and `recommend --serve` ask of a served model, read from their options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.catalog.engines import Engine
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeTargets

SERVING = ("isl", "osl", "ttft", "tpot", "at", "engine", "precision", "kv")
"""Options that say it."""


@record
class _ServedModel:
    """What is asked to be served, as written."""

    lengths: tuple[int, int]
    """Tokens of a prompt and of an answer."""
    targets: tuple[str | None, str | None, str]
    """Most time to the first token and of each further one, and their statistic."""
    plan: tuple[str, str | None, str | None]
    """Engine, and precision of weights and of keys and values."""

    def engine_and_targets(self, parts: Catalog, who: str) -> tuple[Engine, ServeTargets | None]:
        """Return the engine, and the latency targets if there are any.

        Args:
            parts: the catalogue.
            who: the command, for messages.

        Raises:
            UsageError: if an engine, a precision, a statistic or a time is wrong.
        """
        from ffplan.cli.serve import _seconds_of
        from ffplan.studies.serve.answer import refuse_precisions
        from ffplan.studies.serve.links import ServeError
        from ffplan.studies.serve.serve import targets_of
        from ffplan.studies.serve.setup import PlanRequest, engine_of

        (ttft, tpot, at), (software, precision, kv) = self.targets, self.plan
        try:
            refuse_precisions(PlanRequest(precision=precision, kv=kv))
            engine = engine_of(parts, software)
            return engine, targets_of(_seconds_of(ttft, "--ttft", who), _seconds_of(tpot, "--tpot", who), at)
        except ServeError as error:
            raise UsageError(f"{who}: {error}") from None
