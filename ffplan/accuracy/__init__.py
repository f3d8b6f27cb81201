"""How far the model is from measurements: cases as data, replayed, every row with its error."""
