"""Topology XML of NCCL and RCCL: the inside of a server, read and written."""
