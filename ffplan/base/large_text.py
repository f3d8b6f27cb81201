"""Texts too large to hold in memory: their start, then their parts in order."""

from __future__ import annotations

import codecs
from functools import partial
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ffplan.base.files import _encoding_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK = 2**20
"""Size of a part [byte]."""
_LATIN = "ffplan-latin-1"


def _latin(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8 as Latin-1, as in names of old devices."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_LATIN, _latin)


class TooLargeError(Exception):
    """A text exceeds its limit."""


class LargeText(NamedTuple):
    """A text that is read once, front to back."""

    raw: bytes
    """Bytes read so far."""
    rest: BinaryIO
    most: int
    """Largest size [byte]."""

    @property
    def start(self) -> str | None:
        """Whole lines of the first part; None for binary data."""
        raw = self.raw[:CHUNK]
        encoding = _encoding_of(raw)
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(raw)
        except UnicodeDecodeError:
            return text_of(raw)
        return text[: text.rfind("\n") + 1] or text

    def parts(self) -> Iterator[str]:
        """Yield parts of whole lines; a line longer than a part is split.

        Raises:
            TooLargeError: if the text exceeds its limit.
        """
        decoder = codecs.getincrementaldecoder(_encoding_of(self.raw))(_LATIN)
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
