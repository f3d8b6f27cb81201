"""Formulas of serving: weights and caches in memory, time of a step, queues of requests."""
