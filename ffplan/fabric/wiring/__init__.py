"""A fabric port by port, as arrays: network, names, floor plan, cabling."""
