"""Models and training plans from the arguments and settings that other programs are started with."""
