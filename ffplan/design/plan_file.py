"""Training plans from a file and from options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from ffplan.catalog.launch.read import LaunchSize
    from ffplan.design.training import PlanFields
    from ffplan.inputs.document import Document


_KIND = re.compile(rb"(?m)^kind:[ \t]*[\"']?training-plan\b")


class PlanFieldsError(Exception):
    """Fields of a plan contradict each other."""

    def __init__(self, field: str, fault: str) -> None:
        """Keep the wrong field, and the fault with its remedy after a semicolon."""
        super().__init__(fault)
        self.field, self.fault = field, fault


def plan_document(file: str | None, job: LaunchSize | None = None) -> tuple[Document | None, tuple[str, ...]]:
    """Return the document of a plan by path or shipped name, if given; a pipe is read once.

    Args:
        job: what fills the batch of another program's arguments that state none.

    Returns:
        The document, with assumptions and omissions from another program's arguments, which are read as
        `ffplan fabric import model` reads them.
    """
    from ffplan.catalog.launch.read import read_launch
    from ffplan.inputs.design_files import find_plan
    from ffplan.inputs.document import parse_document, read_bytes

    if file is None:
        return None, ()
    path, label = find_plan(file)
    raw = read_bytes(path, label)
    launch = None if _KIND.search(raw) else read_launch(raw, label, job)
    return (parse_document(raw, label), ()) if launch is None else (launch.document(), launch.of_plan)


def read_plan(
    file: str | None, options: dict[str, Any], gpus: int | None = None, most: int | None = None
) -> PlanFields:
    """Return the plan in a file, or the default plan, as `plan_of` does.

    Args:
        gpus: accelerators of the job, if stated [1].
        most: accelerators of a job where nobody says [1].
    """
    from ffplan.catalog.launch.read import LaunchSize

    return plan_of(plan_document(file, LaunchSize(gpus, most, options))[0], options)


def plan_of(document: Document | None, options: dict[str, Any]) -> PlanFields:
    """Return the plan in a document, or the default plan, overridden by the command line.

    A preset fills the fields that both omit.

    Raises:
        InputError: if the document is wrong, or contradicts the options.
        UsageError: if the options contradict each other.
    """
    from ffplan.design.training import PlanFields, PlanFile
    from ffplan.inputs.validate import validate

    base = PlanFields() if document is None else validate(PlanFile, document)
    fields = {name: getattr(base, name) for name in base.model_fields_set if name != "kind"}
    fields |= options
    try:
        return with_preset(fields)
    except PlanFieldsError as error:
        refuse_fields(document, options, (error.field,), error.fault)
        raise UsageError(f"ffplan train: {error.fault}") from None


def with_preset(fields: dict[str, Any]) -> PlanFields:
    """Fill the omitted fields of a plan from its preset.

    Raises:
        PlanFieldsError: if the fields contradict each other.
    """
    from pydantic_core import ValidationError

    from ffplan.design.training import PRESETS, PlanFields

    name = fields.get("preset")
    preset = PRESETS.get(name, {}) if isinstance(name, str) else {}
    try:
        return PlanFields.model_validate({**preset, **fields})
    except ValidationError as error:
        field = (error.errors()[0].get("ctx") or {}).get("field")
        raise PlanFieldsError(str(field), _words(error)) from None


def refuse_fields(document: Document | None, options: Container[str], names: Iterable[str], message: str) -> None:
    """Refuse a plan at the first of some fields in its file that no option replaces.

    Args:
        message: the fault, and its remedy after a semicolon.

    Raises:
        InputError: located, if the file has one of the fields.
    """
    from ffplan.base.errors import InputError

    if document is None:
        return
    field = next((name for name in names if name in document.data and name not in options), None)
    if field is not None:
        fault, _, remedy = message.partition("; ")
        raise InputError(document.finding("training-plan", (field,), fault, remedy))


def _words(error: Any) -> str:
    first = error.errors()[0]
    context = first.get("ctx") or {}
    if "message" in context:
        return f"{context['message']}; {context['remedy']}"
    name = "--" + "-".join(str(part) for part in first["loc"][:1]).replace("_", "-")
    return f"{name}: {first['input']!r}: {first['msg'][:1].lower()}{first['msg'][1:]}"
