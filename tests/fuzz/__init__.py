"""Inputs made by chance: files and command lines that are nearly right; see `python -m tests.fuzz --help`."""
