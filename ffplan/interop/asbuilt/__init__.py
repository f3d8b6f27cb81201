"""Fabrics as they were built, from what tools of InfiniBand and Ethernet say of them."""
