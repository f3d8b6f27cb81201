"""Routes over a wired fabric: loads, traffic, rank order, failures of switches and links."""
