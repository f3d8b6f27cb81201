"""`python -m tests.fuzz`; the work is in `run`, whose functions other processes can import."""

from __future__ import annotations

import sys

from tests.fuzz.run import main

if __name__ == "__main__":
    sys.exit(main())
