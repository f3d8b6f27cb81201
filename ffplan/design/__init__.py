"""What is planned: the design schema, and its resolution against the catalogue."""
