"""The model replayed against published measurements: cases as data, every row with its error."""
