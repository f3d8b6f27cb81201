"""The assessment of one design."""
