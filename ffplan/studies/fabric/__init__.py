"""Cables, links, routes and faults of a design's networks."""
