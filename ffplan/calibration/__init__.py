"""Constants fitted to measured runs, written as catalogue files."""
