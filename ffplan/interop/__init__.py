"""A fabric exported to another program, and read back."""
