"""YAML 1.2 core schema: meaning of a plain scalar (§10.3.2 of the YAML 1.2.2 specification).

Unlike YAML 1.1, `NO`, `on` and `yes` are text, `3:1` is text and not 181, and `1e3` is a number.
"""

from __future__ import annotations

import re

Scalar = None | bool | int | float | str

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NAN = {".nan", ".NaN", ".NAN"}

MAX_NUMBER_LENGTH = 100
"""Longest number we read; longer ones stay text and fail as text."""


def _resolve_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar under the YAML 1.2 core schema."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if text[0] not in "0123456789+-." or len(text) > MAX_NUMBER_LENGTH:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text) or _INFINITE.fullmatch(text):
        return float(text.replace(".inf", "inf").replace(".Inf", "inf").replace(".INF", "inf"))
    return float("nan") if text in _NAN else text
