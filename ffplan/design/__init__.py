"""The design: its schema, and its resolution against the catalogue."""
