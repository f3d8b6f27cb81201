"""What exports of a whole fabric start from."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.wiring.names import Names
from ffplan.fabric.wiring.wiring import WiredFabric


@record
class Exported:
    """A design with its wired fabric."""

    design: ResolvedDesign
    fabric: WiredFabric
    names: Names
