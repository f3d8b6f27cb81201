"""An assessment turned into findings: broken rules, and points that a planner should look at."""
