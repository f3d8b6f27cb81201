"""Collective communication: the bottleneck solver, one module per family of algorithms, latency, expert dispatch."""
