"""What every study starts from: the files, facts, ranks and assumptions of a design."""
