"""What a report says of the design that it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.results.design import DesignInfo

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign


def design_info(design: ResolvedDesign) -> DesignInfo:
    """Return a design's name, purpose, file and hash."""
    return DesignInfo(
        name=design.spec.name,
        description=design.spec.description,
        file=design.document.file,
        sha256=design.document.sha256,
    )
