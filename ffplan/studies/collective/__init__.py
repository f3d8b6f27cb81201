"""Times of collectives on a design's nodes and fabric."""
