"""Any part: the content of a catalogue file."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field

from ffplan.catalog.kinds import KINDS, _model_of

_MODELS: Any = sorted(map(_model_of, KINDS), key=lambda model: model.__name__)

SCHEMAS = {
    "catalog": (Annotated[reduce(or_, _MODELS), Field(discriminator="kind")], "An ffplan catalogue file"),
}
"""Files and outputs of this module, with their titles."""
