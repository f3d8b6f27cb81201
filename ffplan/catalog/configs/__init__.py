"""Models from the `config.json` of Hugging Face: what each architecture calls its dimensions, and how they are read."""
