"""Several designs side by side."""
