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
    beside: tuple[Exported, ...] = ()
    """The networks beside the compute fabric, for lists that have all of them."""

    @property
    def networks(self) -> tuple[Exported, ...]:
        """The compute fabric, then the networks beside it."""
        return (self, *self.beside)
