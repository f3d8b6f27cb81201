"""Serving a model: latency, throughput, power and cost of a load."""
