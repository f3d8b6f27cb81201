"""Logs of benchmarks and diagnostics of other programs, read into measured values."""
