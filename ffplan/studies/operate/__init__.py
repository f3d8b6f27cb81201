"""Failures, checkpoints, storage and acceptance of a cluster in use."""
