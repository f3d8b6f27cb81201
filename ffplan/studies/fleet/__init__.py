"""Fleets that serve a load: how many accelerators, of which kind."""
