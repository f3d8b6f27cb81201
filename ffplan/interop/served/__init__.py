"""Results of programs that load a serving engine and time it, read into measured runs."""
