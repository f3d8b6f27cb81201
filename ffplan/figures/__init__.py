"""Every figure of a result once: how it follows, and from what."""
