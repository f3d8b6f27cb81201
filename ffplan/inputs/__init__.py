"""Reading what people write: YAML 1.2 with places, quantities with units, limits on hostile files."""
