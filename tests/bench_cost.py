"""Speed of money: `cost` and `compare` against `design`, and draws a second. Printed, not asserted."""

from __future__ import annotations

import time

from ffplan.catalog.store import Catalog
from ffplan.cost.account import account_year
from ffplan.cost.draws import sample
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.cost.ledger import _ledger_of
from tests.bench import compared
from tests.support import ROOT

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
    compared(CASES, ROUNDS)
    ledgers = []
    for name in ("superpod-h100-4su", "fire-flyer-next"):
        catalog = Catalog()
        ledgers.append(_ledger_of(resolve(read_document(ROOT / "designs" / f"{name}.yaml"), catalog), catalog))
    start = time.process_time()
    for ledger in ledgers:
        account_year(ledger.account, sample(ledger.inputs, DRAWS, 0))
    print(f"{DRAWS:,} draws of two designs: {time.process_time() - start:.2f} s")


if __name__ == "__main__":
    main()
