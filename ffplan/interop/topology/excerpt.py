"""The `system` element of a file that is no clean XML: NCCL's own reader takes such files."""

from __future__ import annotations

import re

from ffplan.base.formatting import plural

_OPEN = re.compile(r"<system(?=[\s>])")
_CLOSE = "</system>"
_BARE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _blank(text: str) -> str:
    """Return blanks in place of a text; its lines stay, so that places of what follows do."""
    return re.sub(r"[^\n]", " ", text)


def _without_comments(text: str) -> str:
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts += [text[at:start], _blank(text[start : end + 3])]
        at = end + 3
    return "".join([*parts, text[at:]])


def excerpt(data: bytes) -> tuple[bytes, tuple[str, ...]] | None:
    """Return the first `system` element of a file with what was passed over, in words; None without one.

    Text around it, such as lines of a log, comments with two hyphens, a bare `&` and control characters go; lines keep
    their numbers. A file that declares a document type is not touched.

    Args:
        data: the file.
    """
    upper = data.upper()
    if b"<!DOCTYPE" in upper or b"<!ENTITY" in upper:
        return None
    remarks = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        remarks.append("the file is no UTF-8; it is read as Latin-1")
    text = _without_comments(text)
    found = _OPEN.search(text)
    end = text.find(_CLOSE, found.end()) if found else -1
    if found is None or end < 0:
        return None
    end += len(_CLOSE)
    around = [line for line in (text[: found.start()] + "\n" + text[end:]).splitlines() if line.strip(" \t\0\ufeff")]
    around = [line for line in around if not line.lstrip("\ufeff ").startswith("<?xml")]
    if _OPEN.search(text, end):
        remarks.append("the file has several `system` elements; the first is read")
    elif around:
        remarks.append(f"{plural(len(around), 'line')} around the `system` element are passed over")
    body = _CONTROL.sub(" ", _BARE.sub("&amp;", text[found.start() : end]))
    return (_blank(text[: found.start()]) + body).encode(), tuple(remarks)
