"""Failures, checkpoints, goodput, storage, and the use of a cluster."""
