"""JSON Schemas of ffplan's inputs and outputs."""
