"""Limits against hostile or mistaken files."""

MAX_BYTES = 1 << 20
"""Largest file read, in bytes; a design of ten thousand lines is far below it."""

MAX_DEPTH = 40
"""Deepest nesting of lists and mappings, aliases followed."""

MAX_NODES = 100_000
"""Most values in one file, counted after every alias is expanded."""
