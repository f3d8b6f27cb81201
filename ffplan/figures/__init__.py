"""Every figure of a result once, with its derivation and inputs."""
