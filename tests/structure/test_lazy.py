"""Heavy imports only where they are used: what each command may not load."""

from __future__ import annotations

import pytest

from tests.support import modules_loaded

CASES = {
    ("--version",): {"typer", "pydantic", "yaml", "numpy", "networkx", "rich", "jinja2", "json", "dataclasses"},
    ("--help",): {"pydantic", "yaml", "numpy", "networkx", "rich", "jinja2", "ffplan.design", "ffplan.catalog.parts"},
    ("check", "fire-flyer-2"): {"numpy", "networkx", "rich", "jinja2", "ffplan.report"},
    ("design", "fire-flyer-2", "--format", "json"): {"networkx", "rich", "jinja2"},
    ("design", "fire-flyer-2"): {"networkx", "rich", "jinja2"},
    ("compare", "fire-flyer-2", "dgx-a100-10k"): {"networkx", "rich", "jinja2"},
    ("cost", "fire-flyer-2"): {
        "networkx",
        "rich",
        "jinja2",
        "ffplan.studies.train.plan_search",
        "ffplan.training.group_collectives",
    },
}


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_command_leaves_heavy_modules_alone(arguments: tuple[str, ...]) -> None:
    loaded = modules_loaded(*arguments)
    assert not CASES[arguments] & loaded
    assert "ffplan" in loaded
