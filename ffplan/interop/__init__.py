"""A fabric turned into something for another program, and back."""
