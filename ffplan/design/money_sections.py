"""Optional sections of a design file: ownership and rent, which share faults, and independent ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError
from ffplan.design.schema import Design
from ffplan.inputs.model import OnDemand
from ffplan.inputs.validate import validate_section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

    from ffplan.base.errors import Finding
    from ffplan.design.ownership_schema import Ownership, Rent
    from ffplan.inputs.document import Document
    from ffplan.inputs.part_ids import PartNaming


def _money_sections(spec: Design, document: Document, naming: PartNaming) -> tuple[Ownership | None, Rent | None]:
    """Return the validated `ownership` and `rent` sections; None for a missing one."""
    if spec.ownership is None and spec.rent is None:
        return None, None
    from ffplan.design.ownership_schema import Ownership, Rent

    faults: list[Finding] = []
    owned, rent = None, None
    try:
        owned = validate_section(Ownership, document, "ownership", naming) if spec.ownership is not None else None
    except InputError as error:
        faults += error.findings
    try:
        rent = validate_section(Rent, document, "rent", naming) if spec.rent is not None else None
    except InputError as error:
        faults += error.findings
    if rent is not None:
        faults += _rent_faults(spec, rent, document)
    if faults:
        raise InputError(*faults)
    return owned, rent


def _plain_section(name: str, spec: Design, document: Document, naming: PartNaming) -> Any:
    """Return a validated independent section, such as `workload`; None if the design has none."""
    if getattr(spec, name) is None:
        return None
    section = _marker(Design.model_fields[name])
    assert section is not None, name
    return validate_section(section.model(), document, name, naming)


def _marker(field: FieldInfo) -> OnDemand | None:
    """Return the marker that locates a field's model; None for a field that is read at once."""
    return next((marker for marker in field.metadata if isinstance(marker, OnDemand)), None)


def _section_faults(document: Document, naming: PartNaming) -> Iterator[Finding]:
    """Yield the faults of single sections, for a document that is not a valid design."""
    for name, field in Design.model_fields.items():
        section = _marker(field)
        if section is None or not isinstance(document.data, dict) or document.data.get(name) is None:
            continue
        try:
            validate_section(section.model(), document, name, naming)
        except InputError as error:
            yield from error.findings


def _rent_faults(spec: Design, rent: Rent, document: Document) -> Iterator[Finding]:
    if spec.cost is not None:
        yield document.finding(
            "design-rent",
            ("cost",),
            "a rented fleet has no price book: nothing of it is bought",
            "remove `cost`, or remove `rent`",
            key=True,
        )
    if (rent.offer is None) == (rent.price is None):
        yield document.finding(
            "design-rent",
            ("rent",),
            "the rent has both an offer and a price" if rent.offer else "the rent has neither an offer nor a price",
            "name an `offer` of the rent book, or give a `price` with its `term`",
            key=True,
        )
    elif (rent.price is None) != (rent.term is None):
        lacks = rent.term is None
        yield document.finding(
            "design-rent",
            ("rent", "price" if lacks else "term"),
            "the price has no `term`" if lacks else "the offer brings its own term",
            "add `term: on-demand`, or the term that is paid for" if lacks else "remove `term`",
            key=True,
        )
    if spec.phases:
        yield document.finding(
            "design-phases", ("phases",), "a rented fleet buys nothing in phases", "remove `phases`", key=True
        )
