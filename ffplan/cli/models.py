"""Models of the command line: ids of the catalogue, or files of other programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.catalog.models import Model
    from ffplan.catalog.store import Catalog


def model_part(parts: Catalog, name: str, command: str) -> Model:
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
