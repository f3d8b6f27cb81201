"""`ffplan catalog schema`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ffplan.cli.options import CatalogOption, OutputOption
from ffplan.cli.output import write


class _SchemaName(StrEnum):
    """Files and outputs with a JSON Schema."""

    DESIGN = "design"
    CATALOG = "catalog"
    ASSESSMENT = "assessment"
    COMPARISON = "comparison"
    COST = "cost"
    FINDINGS = "findings"
    COMMUNICATION_CASES = "communication-cases"
    TRAINING_CASES = "training-cases"
    SERVING_CASES = "serving-cases"
    TRAINING_PLAN = "training-plan"
    PROJECT = "project"
    COLLECTIVE = "collective"
    TRAIN = "train"
    SERVE = "serve"
    CALIBRATION = "calibration"
    SERVING_CALIBRATION = "serving-calibration"
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
    FLEET_RECOMMENDATION = "fleet-recommendation"
    FLEET = "fleet"
    FLEET_PLAN = "fleet-plan"
    SERVE_COMPARISON = "serve-comparison"
    INIT = "init"
    EXPLANATION = "explanation"
    AUDIT = "audit"
    DIFF = "diff"
    AS_BUILT = "as-built"
    SLURM_TOPOLOGY = "slurm-topology"
    REPRODUCTION = "reproduction"


def schema(
    name: Annotated[_SchemaName, typer.Argument(help="File or output to describe.")],
    with_catalog: Annotated[
        bool, typer.Option("--with-catalog", help="Offer the ids of all parts, those of --catalog too, as choices.")
    ] = False,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Print the JSON Schema of design files, catalogue files, a project's `ffplan.toml`, or a JSON output.

    With --with-catalog an editor completes ids of parts, and underlines an id that no part has.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.report.formats.data import to_json
    from ffplan.schema.json_schema import json_schema

    ids_of = Catalog(catalog or ()).ids_of if with_catalog else None
    write(to_json(json_schema(name.value, ids_of)), output)
