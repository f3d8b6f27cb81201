"""Texts that are too large to hold: their start, and their parts one after the other."""

from __future__ import annotations

import codecs
from functools import partial
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ffplan.base.files import encoding_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK = 2**20
"""Size of a part [byte]."""
_LATIN = "ffplan-latin-1"


def _latin(error: UnicodeError) -> tuple[str, int]:
    """Return what no UTF-8 is as Latin-1, in which names of old devices are."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_LATIN, _latin)


class TooLargeError(Exception):
    """A text that does not end within its limit."""


class LargeText(NamedTuple):
    """A text that is read once, from its start to its end."""

    raw: bytes
    """What was read of it already."""
    rest: BinaryIO
    most: int
    """Most that is read [byte]."""

    @property
    def start(self) -> str | None:
        """The whole lines of its first part; None where it is no text."""
        raw = self.raw[:CHUNK]
        encoding = encoding_of(raw)
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(raw)
        except UnicodeDecodeError:
            return text_of(raw)
        return text[: text.rfind("\n") + 1] or text

    def parts(self) -> Iterator[str]:
        """Yield its parts, each of whole lines; a line that is longer than a part comes in pieces.

        Raises:
            TooLargeError: where it does not end within its limit.
        """
        decoder = codecs.getincrementaldecoder(encoding_of(self.raw))(_LATIN)
        tail, left = "", self.most
        for raw in chain(*(iter(partial(stream.read, CHUNK), b"") for stream in (BytesIO(self.raw), self.rest))):
            left -= len(raw)
            if left < 0:
                raise TooLargeError
            text = tail + decoder.decode(raw)
            end = text.rfind("\n") + 1 or (len(text) if len(text) > CHUNK else 0)
            if end:
                yield text[:end]
            tail = text[end:]
        if tail := tail + decoder.decode(b"", final=True):
            yield tail
