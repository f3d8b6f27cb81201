"""The base of all rooms: errors, the record decorator, array maths, number formatting, paths."""
