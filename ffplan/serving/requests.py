"""Requests as formulas of serving take them."""

from __future__ import annotations

from dataclasses import replace

from ffplan.base.array_math import Number, maximum
from ffplan.base.record import record


@record
class Requests:
    """Requests as formulas take them: lengths, and what speculation and a prefix cache save."""

    prompt: Number
    """Tokens of a prompt."""
    output: Number
    """Tokens of an answer."""
    hit: Number = 0.0
    """Fraction of a prompt whose keys and values are cached."""
    drafted: Number = 0.0
    """Tokens that a draft proposes for a step."""
    accepted: Number = 0.0
    """Chance that a drafted token is accepted."""
    draft: Number = 0.0
    """Time of a drafted token, as a fraction of a step."""
    chunk: Number = 8192
    """Most prompt tokens of a step."""
    variation: Number = 0.0
    """Squared coefficient of variation of answer lengths, which makes a closed loop's requests follow each other
    unevenly."""
    held: Number | None = None
    """Tokens that a request under way holds on average, of unlike ones weighted by their time, without the shared
    prefix; those of a request of mean lengths in the middle of its answer if None."""
    reserved: Number | None = None
    """The same with its whole answer; of a request of mean lengths if None."""

    @property
    def computed(self) -> Number:
        """Tokens of a prompt that are computed; the last is never cached."""
        return maximum(self.prompt * (1 - self.hit), 1.0)

    @property
    def shared(self) -> Number:
        """Tokens of a prompt that are cached, which all requests share and which are held once."""
        return self.prompt - self.computed

    def prompts_alone(self) -> Requests:
        """Return the requests without their answers but for the first token."""
        return replace(self, output=1.0, held=None, reserved=None)

    def kept(self, *, whole: bool) -> Number:
        """Return the tokens of a request under way for which there must be room, without the shared prefix [1].

        Args:
            whole: its whole answer has room from the start; else what it holds on average.
        """
        stated = self.reserved if whole else self.held
        return self.computed + self.output * (1.0 if whole else 0.5) if stated is None else stated
