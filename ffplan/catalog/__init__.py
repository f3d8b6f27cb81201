"""The catalogue: part models with evidence, price books, lookup by id."""
