"""Single kernels timed on an accelerator at hand, and the recording that holds their times."""
