"""`ffplan catalog schema`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ffplan.cli.options import OutputOption
from ffplan.cli.output import write


class SchemaName(StrEnum):
    """Files and outputs with a JSON Schema."""

    DESIGN = "design"
    CATALOG = "catalog"
    ASSESSMENT = "assessment"
    COMPARISON = "comparison"
    COST = "cost"
    FINDINGS = "findings"
    COMMUNICATION_CASES = "communication-cases"
    TRAINING_CASES = "training-cases"
    TRAINING_PLAN = "training-plan"
    COLLECTIVE = "collective"
    TRAIN = "train"
    CALIBRATION = "calibration"
    LEAVE_ONE_OUT = "leave-one-out"
    KERNEL_RECORDING = "kernel-recording"
    MEASURE_PLAN = "measure-plan"
    MEASURE_FIT = "measure-fit"
    ACCURACY = "accuracy"
    SIZE = "size"
    ROUTE = "route"
    PLACEMENT = "placement"
    FAULTS = "faults"
    CABLING = "cabling"
    VERIFY = "verify"
    GOODPUT = "goodput"
    STORAGE = "storage"
    ACCEPTANCE = "acceptance"
    UTILIZATION = "utilization"
    SWEEP = "sweep"
    RECOMMENDATION = "recommendation"
    INIT = "init"
    EXPLANATION = "explanation"
    AUDIT = "audit"
    DIFF = "diff"
    AS_BUILT = "as-built"
    SLURM_TOPOLOGY = "slurm-topology"
    REPRODUCTION = "reproduction"


def schema(
    name: Annotated[SchemaName, typer.Argument(help="File or output to describe.")],
    output: OutputOption = None,
) -> None:
    """Print the JSON Schema of design files, catalogue files, or a JSON output."""
    from ffplan.report.formats.data import to_json
    from ffplan.schema.json_schema import json_schema

    write(to_json(json_schema(name.value)), output)
