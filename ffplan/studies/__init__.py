"""The one place where results are made: resolved inputs in, a result out."""
