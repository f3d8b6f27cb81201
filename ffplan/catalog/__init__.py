"""What can be bought: part models with evidence, price books, lookup by id."""
