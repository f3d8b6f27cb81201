"""Constants of training fitted anew to all published runs; `make constants` writes them into the catalogue.

The fits of chips of one process are drawn to each other: each to what the other gives by itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.calibration.calibrate import runs
from ffplan.calibration.joint import _joint_fit, _JointFit
from ffplan.calibration.leave_one_out import _Kin
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import SoftwareStack
from ffplan.catalog.store import Catalog
from tests.left_out import case_paths
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.validation.training_replay import TrainingReplay

OWN = ("matrix", "matrix_fp8", "memory")
"""Constants of an accelerator that are fitted; of a stack it is `memory`."""
SETS = ("a100-sxm", "h100-sxm", "blackwell")
"""Sets that are fitted jointly; the runs of A100 PCIe are fitted by `ffplan model calibrate`."""


def fits() -> dict[str, _JointFit]:
    """Return the fit of every set."""
    found: dict[str, list[TrainingReplay]] = {name: [] for name in SETS}
    for replay in runs(Catalog(), case_paths()):
        rates = replay.accelerator.training
        if rates is not None and rates.set in found:
            found[rates.set].append(replay)
    kin, made = _Kin(fits={}), {}
    for name, mine in found.items():
        others = [item for one, replays in found.items() if one != name for item in replays]
        made[name] = _joint_fit(mine, kin.of(mine[0].accelerator, others))
    return made


def constants(made: dict[str, _JointFit]) -> Iterator[tuple[str, str, str, float]]:
    """Return kind of file, id, set and name of a constant in one word, and its value."""
    catalog = Catalog()
    for name in catalog.ids_of("accelerator"):
        part = catalog.entry(name).part
        if not isinstance(part, Accelerator) or part.training is None or part.training.set not in made:
            continue
        moved = made[part.training.set].moved(part).values
        for item in OWN:
            if ("", item) in moved and getattr(part.training, item) is not None:
                yield "accelerator", name, item, moved["", item]
    for group, fit in made.items():
        for (stack, item), value in fit.values.items():
            known = catalog.entry(stack).part if stack else None
            if isinstance(known, SoftwareStack) and group in known.constants:
                yield "stack", stack, f"{group} {item}", value


def written(text: str, name: str, value: float) -> str:
    """Return the text of a file with a constant in place of the one that it has."""
    group, _, item = name.rpartition(" ")
    start = text.index(f"\n  {group}:" if group else "\ntraining:")
    head, tail = text[:start], text[start:]
    new, count = re.subn(rf"(\n +{item}: {{value: )[^,]*", rf"\g<1>{100 * value:.2f} %", tail, count=1)
    assert count == 1, name
    return head + new


def main() -> None:
    """Write every constant."""
    folders = {"accelerator": "accelerators", "stack": "stacks"}
    for kind, part, name, value in constants(fits()):
        (path,) = (ROOT / "catalogs" / folders[kind]).rglob(f"{part}.yaml")
        path.write_text(written(path.read_text(encoding="utf-8"), name, value), encoding="utf-8")


if __name__ == "__main__":
    main()
