"""Speed of money: `cost` and `compare` against `design`, and draws a second. Printed, not asserted."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from ffplan.catalog.store import Catalog
from ffplan.cost.account import account_year
from ffplan.cost.draws import sample
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.ledger import ledger_of
from tests.bench import seconds
from tests.support import ROOT

COMMAND = str(Path(sys.executable).parent / "ffplan")
ROUNDS = 9
JOB = ["--model", "llama3-70b", "--tokens", "2T"]
CASES = {
    "design": ["design", "superpod-h100-4su"],
    "cost, no draws": ["cost", "superpod-h100-4su", "--draws", "0"],
    "cost, 10,000 draws": ["cost", "superpod-h100-4su"],
    "cost of a run, no draws": ["cost", "superpod-h100-4su", *JOB, "--draws", "0"],
    "cost of a run, 10,000 draws": ["cost", "superpod-h100-4su", *JOB],
    "compare of a run": ["compare", "superpod-h100-4su", "fire-flyer-next", *JOB],
}
DRAWS = 100_000


def main() -> None:
    """Time every command in turn, and the draws of two designs in one process."""
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(ROUNDS):
        for name, arguments in CASES.items():
            taken[name].append(seconds([COMMAND, *arguments]))
    base = statistics.median(taken["design"])
    for name, found in taken.items():
        median = statistics.median(found)
        print(f"{name:32} {median * 1e3:6.0f} ms {median / base:6.2f} x design")
    ledgers = []
    for name in ("superpod-h100-4su", "fire-flyer-next"):
        catalog = Catalog()
        ledgers.append(ledger_of(resolve(read_document(ROOT / "designs" / f"{name}.yaml"), catalog), catalog))
    start = time.process_time()
    for ledger in ledgers:
        account_year(ledger.account, sample(ledger.inputs, DRAWS, 0))
    print(f"{DRAWS:,} draws of two designs: {time.process_time() - start:.2f} s")


if __name__ == "__main__":
    main()
