"""Fleets that serve a load: number and kind of accelerators."""
