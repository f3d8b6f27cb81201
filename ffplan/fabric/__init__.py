"""What is wired: closed-form sizing of fabrics."""
