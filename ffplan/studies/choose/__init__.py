"""Searches for a design: sizes, sweeps, recommendations."""
