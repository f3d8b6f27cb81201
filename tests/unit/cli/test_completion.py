"""What the shell offers for paths: fields that `sweep` varies, figures that `explain` derives, stacks."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from ffplan.cli.options import _by_comma, _complete_figure, _complete_part, _complete_varied


def context(**params: Any) -> typer.Context:
    found = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))
    found.params.update(params)
    return found


def test_fields_of_the_design_are_offered_with_their_equals_sign() -> None:
    offered = _complete_varied(context(file="superpod-h100-4su"), "fabric.o")
    assert offered == ["fabric.oversubscription="]
    assert "floor.racks_per_row=" in _complete_varied(context(file="superpod-h100-4su"), "floor.")


def test_fields_of_the_fleet_are_offered() -> None:
    offered = _complete_varied(context(file="two-sites"), "")
    assert {"clusters[2].count=", "demand[1].rate[3].likely=", "sites.east.power="} <= set(offered)
    assert not {"kind=", "site.pue=", "="} & set(offered)


@pytest.mark.parametrize("file", [None, "no-such-design", "-"])
def test_without_a_design_the_usual_fields_are_offered(file: str | None) -> None:
    assert _complete_varied(context(file=file), "nodes") == ["nodes[0].count="]


def test_figures_of_the_design_are_offered() -> None:
    offered = _complete_figure(context(what="superpod-h100-4su"), "cost.t")
    assert offered == ["cost.total", "cost.total_low", "cost.total_high"]
    assert "run.cost_per_million_tokens" in _complete_figure(context(what="superpod-h100-4su"), "run.")


@pytest.mark.parametrize("what", [None, "fat-tree", "no-such-design"])
def test_a_word_has_no_figures(what: str | None) -> None:
    assert _complete_figure(context(what=what), "") == []


def test_stacks_are_offered() -> None:
    assert _complete_part("stack")("torcht") == ["torchtitan-2024"]


def test_lists_with_commas() -> None:
    assert _by_comma(None) is None
    assert _by_comma(["a, b", "c"]) == ["a", "b", "c"]
