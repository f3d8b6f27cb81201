"""Reuse of the memory of freed arrays."""

from __future__ import annotations

KEPT = 2**30
"""Free memory that a process keeps before returning any to the kernel [byte]."""
LARGEST = 2**25
"""Largest array taken from the kept memory, at glibc's limit [byte]."""
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Parameters of `mallopt`, in glibc's malloc.h."""


def keep_freed_memory() -> bool:
    """Let the C library keep the memory of freed arrays; return whether it does.

    Formulas over arrays free and take the same few megabytes hundreds of times a second. By default each array goes
    back to the kernel, which clears its pages anew: a quarter of the time of a sweep, and more on several cores.
    Peak memory stays the same. C libraries other than glibc are left as they are.
    """
    from ctypes import CDLL

    try:
        mallopt = CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
    settings = ((TRIM_THRESHOLD, KEPT), (MMAP_THRESHOLD, LARGEST), (ARENA_MAX, 1))
    taken = [mallopt(name, value) for name, value in settings]
    return all(taken)
