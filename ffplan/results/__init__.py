"""The output contracts, one module per family of commands: plain data, no formulas."""
