"""What everything stands on: errors, the record decorator, array maths, numbers as people read them, paths."""
