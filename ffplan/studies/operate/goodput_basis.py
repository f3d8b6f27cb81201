"""What of a design failures and checkpoints rest on: hazards, storage and spares. It is light: `design` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.design.ownership_sizing import ownership_sizing
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.family import plan_fabric
from ffplan.fabric.sizing.plan import FabricPlan
from ffplan.studies.operate.reliability import Hazards, hazards_beside, hazards_of
from ffplan.studies.operate.storage_basis import StorageBasis, storage_basis

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog


@record
class GoodputBasis:
    """A design with its hazards and its storage."""

    design: ResolvedDesign
    fabric: FabricPlan
    hazards: Hazards
    storage: StorageBasis | None
    bought_spares: int
    beside: Hazards | None = None
    """Hazards of the profile whose mean time between interruptions stands beside that of its own."""


def goodput_basis(
    design: ResolvedDesign, catalog: Catalog, fabric: FabricPlan | None = None, *, beside: bool = True
) -> GoodputBasis:
    """Return what of a design failures and checkpoints rest on.

    Args:
        fabric: its fabric, where it is sized already.
        beside: read the profile that stands beside its own too.

    Raises:
        InputError: where the fabric cannot hold the design, or its ownership or reliability is wrong.
    """
    fabric = fabric or plan_fabric(design)
    sizing = ownership_sizing(design, catalog.fork())
    hazards = hazards_of(design, catalog)
    return GoodputBasis(
        design=design,
        fabric=fabric,
        hazards=hazards,
        beside=hazards_beside(design, catalog, hazards) if beside else None,
        storage=storage_basis(design, fabric, sizing.storage, sizing.storage_gbyte_s),
        bought_spares=sizing.spare_nodes,
    )


def spares_there(basis: GoodputBasis, nodes: float) -> int:
    """Return the spares that the ownership buys, and nodes that a job leaves [1].

    Args:
        nodes: nodes of the job [1].
    """
    return basis.bought_spares + max(basis.design.compute.group.count - int(nodes), 0)


def spares_of(basis: GoodputBasis, nodes: float) -> int:
    """Return the nodes that can stand in for those of a job: what the design says, or spares and what the job leaves.

    Args:
        basis: the design with its hazards.
        nodes: nodes of the job [1].
    """
    own = basis.hazards.section.spare_nodes
    return own if own is not None else spares_there(basis, nodes)
