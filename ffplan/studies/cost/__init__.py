"""Purchase, ownership, power and price of a run."""
