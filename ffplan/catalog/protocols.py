"""Protocols of communication libraries."""

from __future__ import annotations

from typing import Literal

Protocol = Literal["ll", "ll128", "simple"]
