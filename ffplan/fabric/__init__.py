"""Fabrics: sizing in closed form, wiring port by port, routing over the wires."""
