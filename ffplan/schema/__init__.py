"""JSON Schemas of what ffplan reads and writes."""
