"""Models from the `config.json` of Hugging Face: names of dimensions by architecture, and how they are read."""
