"""How far the models are from what was measured."""
