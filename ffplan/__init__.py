"""ffplan plans GPU clusters: fabric, bounds, cost and power from one YAML design."""

__version__ = "0.1.0"
