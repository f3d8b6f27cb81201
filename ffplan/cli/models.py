"""Models of the command line: ids of the catalogue, or files of other programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.catalog.models import Model
    from ffplan.catalog.store import Catalog


def _model_part(parts: Catalog, name: str, command: str) -> Model:
    """Return the model given by `--model`; of a file, say once what was assumed and left out.

    Args:
        parts: the catalogue, which takes a model read from a file.
        command: for messages.

    Raises:
        UsageError: if the catalogue has no such model.
        InputError: if the file holds none.
    """
    from ffplan.catalog.models import Model
    from ffplan.catalog.named import names_file, part_of

    name = str(name)
    first = names_file(name) and parts.admitted(name) is None
    part = part_of(parts, Model, name, f"ffplan {command}: --model")
    if first and part.note:
        print(f"ffplan {command}: `{part.id}`: {part.note}", file=sys.stderr)
    return part


def _refuse_own_file(parts: Catalog, name: str, command: str) -> None:
    """Refuse a model read from a file where designs are written: they would name one that no catalogue has.

    Raises:
        UsageError: if the model is in no catalogue.
    """
    from ffplan.base.errors import UsageError

    part = _model_part(parts, name, command)
    if parts.admitted(str(name)) == part.id:
        raise UsageError(
            f"ffplan {command}: --model {name}: the designs would name `{part.id}`, which no catalogue has; write it "
            f"with `ffplan fabric import model {name} -o parts/{part.id}.yaml`, then --catalog parts --model {part.id}"
        )
