"""Single values and comments of YAML files that ffplan writes, safe for any text."""

from __future__ import annotations

import re

import yaml

from ffplan.base.control_characters import visible
from ffplan.inputs.composer import _resolve_plain

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]*")


class _Quoting(yaml.SafeDumper):
    """Writes every text between double quotes, which YAML 1.1 and 1.2 read alike."""


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def quoted(text: str) -> str:
    """Return a text in double quotes, on one line, with hidden characters escaped."""
    written: str = yaml.dump(visible(text.replace("\n", " ")), Dumper=_Quoting, width=10**9, allow_unicode=True)
    return written.rstrip("\n")


def scalar(text: str) -> str:
    """Return a text as a YAML value: plain if every reader takes it for that text, else in double quotes."""
    plain = _PLAIN.fullmatch(text) and _resolve_plain(text) == text and isinstance(_resolve_plain(text), str)
    return text if plain and _loaded(text) == text else quoted(text)


def _loaded(text: str) -> object:
    """Load a plain text as other readers do; None if they fail, as on the date 2026-13-45."""
    try:
        return yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return None


def comment(text: str) -> str:
    """Return a text as a one-line comment behind `#`."""
    return visible(" ".join(text.split()))


def flow(value: object) -> str:
    """Return plain data on one line: mappings and lists between brackets, texts as `scalar` writes them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {flow(child)}" for name, child in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return scalar(value) if isinstance(value, str) else repr(value)
