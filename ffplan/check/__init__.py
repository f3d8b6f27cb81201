"""An assessment turned into findings: what a design breaks, and what a planner should look at."""
