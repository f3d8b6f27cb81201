"""An assessment turned into something for a reader: text, JSON, Markdown, CSV."""
