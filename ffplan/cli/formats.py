"""The option for the output format."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:

    class ReportFormat(StrEnum):
        """Formats of a report, as `report.formats` lists them."""

        TABLE = "table"
else:
    from ffplan.report.formats import FORMATS

    ReportFormat = StrEnum("ReportFormat", {name.upper(): name for name in FORMATS})

FormatOption = Annotated[ReportFormat, typer.Option("--format", "-f", help="Format of the report.")]
