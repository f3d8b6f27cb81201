"""What failures leave of a job, and what would give more of it."""
