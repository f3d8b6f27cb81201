"""From a design to the machine that a training run takes: a node, libraries, and the links that groups cross."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.catalog.library import Library
from ffplan.fabric.family import fabric_cuts, plan_fabric
from ffplan.fabric.sizing.plan import reachable_nodes, zones_of
from ffplan.node.host import host
from ffplan.studies.basis.job_layout import own_library
from ffplan.training.group_collectives import Cluster, cut_fraction

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import LinkCut
    from ffplan.training.group_collectives import GroupPlacement


def _reducer_of(design: ResolvedDesign, reducer: str | None) -> str:
    """Return the library that reduces gradients: the one asked for, or the design's first."""
    if reducer is not None:
        return reducer
    communication = design.spec.communication
    return communication.libraries[0] if communication else own_library(design)


def cluster_of(design: ResolvedDesign, catalog: Catalog, reducer: str | None = None) -> Cluster:
    """Return the machine of a design's compute nodes.

    All groups of a node cross the fabric at the same time, each with a fraction of the links; a group takes as many
    nodes as its ranks need.

    Args:
        catalog: where the libraries are.
        reducer: library for gradients; the design's first if omitted.
    """
    plan, node = plan_fabric(design), host(design.compute, design.port_gbyte_s * design.stripes)
    name, library_id = _reducer_of(design, reducer), own_library(design)
    names = (library_id, library_id if name == "nccl" else name.removesuffix("-nvlink"))
    libraries = [catalog.get(Library, library, design.document, ()) for library in names]

    def crossed(placement: GroupPlacement) -> tuple[Any, tuple[LinkCut, ...]]:
        boxes = np.asarray(placement.nodes) * node.domain_nodes
        span = np.minimum(
            boxes * placement.apart, np.maximum(boxes, reachable_nodes(design))
        )  # from its first node to its last
        zones = np.minimum(np.asarray(zones_of(design, span), dtype=float), boxes)
        cuts = []
        held = placement.nodes * np.minimum(
            np.maximum(placement.per_node, 1), node.domain_nodes
        )  # nodes with a rank of the group
        for cut in fabric_cuts(design, plan, span, zones):
            share = cut_fraction(node.domain_gpus, node.domain_nics, placement, cut.below / node.domain_nodes)
            cuts.append(replace(cut, sets=np.minimum(cut.sets, held), gbyte_s=cut.gbyte_s * share))
        return zones, tuple(cuts)

    return Cluster(
        host=node,
        library=libraries[0],
        reducer=libraries[1],
        crossed=crossed,
        nvlink=name.endswith("-nvlink"),
        paths=design.stripes,
    )
