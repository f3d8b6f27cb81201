"""First screens: the answer of a report in 24 lines of 80 columns."""
