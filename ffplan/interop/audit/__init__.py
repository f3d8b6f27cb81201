"""A fabric as built against its design: differences, their causes, what to do, and what they cost."""
