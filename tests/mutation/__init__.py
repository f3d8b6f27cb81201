"""Mutation tests: small changes of the code that some test must notice; see `python -m tests.mutation --help`."""
