"""Where a figure comes from, and what moves it."""
