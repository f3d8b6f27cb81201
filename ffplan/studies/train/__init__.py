"""Steps, plans, memory and days of training."""
