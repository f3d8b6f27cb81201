"""The Python door: designs in, results out, for scripts and notebooks; `import ffplan` reaches it lazily."""
