"""Everything documented, and nothing documented that is not there."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

import ffplan
from ffplan.check.input_rules import INPUT_RULES
from ffplan.check.rules import RULES
from ffplan.check.rules.limits import LIMITS
from ffplan.check.team_rules import TEAM_RULES
from ffplan.design.schema import Limits
from tests.pages import GENERATED, commands, paths_page
from tests.support import DESIGNS, ROOT, but_few, lines_of, syntax, valid
from tests.support import ffplan as run_ffplan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
FEW = ("fire-flyer-2", "gb200-nvl72-16", "site-h100-100k")
"""Designs whose reports meet their schemas in `make test` too."""
ROOMS = ("fabric", "node", "collectives", "training", "serving", "cost", "reliability")
FORMULA_ROOMS = tuple(f"ffplan.{room}" for room in ROOMS)


@pytest.mark.deep
@pytest.mark.parametrize("make", GENERATED)
def test_generated_files_are_current(make: Callable[[], dict[Path, str]]) -> None:
    for path, text in make().items():
        assert path.read_text() == text, f"{path.name} is out of date: run `make docs`"


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    for name, command in commands().items():
        assert f"## `ffplan {name}`" in page
        for parameter in command.params:
            assert getattr(parameter, "help", None) or parameter.name == "help", f"{name}: {parameter.name}"
            for option in parameter.opts:
                if option.startswith("-"):
                    assert option in page, f"{name}: {option}"


def formulas() -> list[tuple[str, Any]]:
    """Every public function whose docstring states an equation."""
    found = []
    for module in pkgutil.walk_packages(ffplan.__path__, "ffplan."):
        if module.name.startswith(FORMULA_ROOMS):
            for name, item in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction):
                if item.__module__ == module.name and "Equation:" in (item.__doc__ or ""):
                    found.append((name, item))
    return found


def test_the_formula_modules_hold_formulas() -> None:
    from ffplan.cost import capital, rent, run
    from ffplan.fabric.sizing import formulas as fabric_formulas

    names = {name for name, _ in formulas()}
    for module in (fabric_formulas, capital, rent, run):
        public = {n for n, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__}
        assert public <= names
    assert len(names) > 20


def test_every_formula_has_units_a_source_and_a_test() -> None:
    """Each number that it takes is described; a record says itself what it is."""
    tests = lines_of([*(ROOT / "tests" / "unit").rglob("*.py"), *(ROOT / "tests" / "published").glob("*.py")])
    called = set(re.findall(r"\b(\w+)\(", tests))
    wrong = []
    for name, item in formulas():
        doc = inspect.getdoc(item) or ""
        lacks = [] if "Source:" in doc else ["a source"]
        lacks += [] if re.search(r"\[[^\]]+\]|GB/s", doc) else ["a unit"]
        lacks += [] if name in called else ["a test"]
        numbers = [
            name
            for name, parameter in inspect.signature(item).parameters.items()
            if re.search(r"\b(Number|float|int|Floats|Ints)\b", str(parameter.annotation))
        ]
        lacks += [f"`{number}`" for number in numbers if not re.search(rf"^\s+{number}: ", doc, re.MULTILINE)]
        wrong += [f"{name} lacks {', '.join(lacks)}"] if lacks else []
    assert not wrong


def test_every_rule_raised_is_documented_and_every_documented_rule_is_raised() -> None:
    pattern = re.compile(
        r"""["']((?:file|yaml|schema|quantity|number|reference|catalog|server|design|currency|fabric|
        communication|price|serving|training|policy|waiver|measured|config)-[a-z-]+)["']""",
        re.VERBOSE,
    )
    modules = (ROOT / "ffplan").rglob("*.py")
    code = lines_of(path for path in modules if path.parent.name != "rules" and "rules" not in path.name)
    documented = {rule.id for rule in (*INPUT_RULES, *TEAM_RULES)} - {"regression"}
    not_rules = {"price-book", "file-system", "serving-calibration"}
    assert set(pattern.findall(code)) - not_rules == documented
    every = [rule.id for rule in (*INPUT_RULES, *RULES, *TEAM_RULES)]
    assert len(set(every)) == len(every)


def test_every_limit_of_a_design_has_a_row() -> None:
    assert {limit.field for limit in LIMITS} == set(Limits.model_fields)
    assert [limit.field for limit in LIMITS] == sorted(limit.field for limit in LIMITS)


def test_every_module_of_rules_is_loaded() -> None:
    """A rule registers where it is declared, so that a module that nobody imports would enforce nothing."""
    modules = {path.stem for path in (ROOT / "ffplan" / "check" / "rules").glob("[a-z]*.py")}
    declared = {rule.find.__module__.rpartition(".")[2] for rule in RULES if inspect.isfunction(rule.find)}
    assert declared | {"limits"} == modules


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_inside_the_project_lead_somewhere(path: Any) -> None:
    for token in MarkdownIt().parse(path.read_text()):
        for child in token.children or []:
            target = str(child.attrs.get("href", "")).partition("#")[0]
            if target and "://" not in target:
                assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_yaml_examples_that_are_whole_designs_work(path: Any, tmp_path: Any) -> None:
    for token in MarkdownIt().parse(path.read_text()):
        if token.type == "fence" and token.info == "yaml" and token.content.startswith("name:"):
            file = tmp_path / "example.yaml"
            file.write_text(token.content)
            done = run_ffplan("check", str(file))
            assert done.code == 0, done.out


CONTRACT = [
    "schema_version",
    "design.name",
    "design.sha256",
    "catalog[].id",
    "catalog[].path",
    "catalog[].sha256",
    "nodes",
    "accelerators",
    "fabric.planes",
    "fabric.zones",
    "fabric.tiers",
    "fabric.switches.leaf",
    "fabric.switches.spine",
    "fabric.switches.core",
    "fabric.switches.interzone",
    "fabric.switches.total",
    "fabric.links.endpoint",
    "fabric.links.leaf_spine",
    "fabric.links.spine_core",
    "fabric.links.interzone",
    "fabric.spare_ports",
    "fabric.oversubscription",
    "fabric.bisection_gbyte_s",
    "communication[].library",
    "communication[].operation",
    "communication[].algbw_gbyte_s",
    "communication[].busbw_gbyte_s",
    "communication[].limited_by",
    "communication[].time_s",
    "communication[].scales",
    "communication[].bound.algbw_gbyte_s",
    "communication[].bound.limited_by",
    "communication[].bound.runner_up",
    "communication[].bound.terms[].name",
    "communication[].bound.terms[].gbyte_s",
    "communication[].bound.terms[].derivation",
    "cost.currency",
    "cost.servers",
    "cost.network",
    "cost.storage",
    "cost.total",
    "cost.per_accelerator",
    "cost.lines",
    "power.it_kw",
    "power.facility_kw",
    "power.per_node_w",
    "assumptions",
    "findings",
    "findings[].rule",
    "findings[].severity",
    "findings[].file",
    "findings[].line",
    "findings[].column",
    "findings[].message",
    "findings[].remedy",
    "baseline",
    "designs",
    "ratios",
]
"""Paths that scripts rely on since 1.0."""


def test_the_contract_is_documented() -> None:
    page = paths_page()
    assert not [path for path in CONTRACT if f"| `{path}` |" not in page]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("site.purchase_p10", "site.purchase_p10 (number or null): Its tenth percentile"),
        ("tco.rents[0].hour", "(ffplan cost --format json)"),
        ("ratios.fire-flyer-2.switches", "ratios.<name>.switches (number or null): "),
    ],
)
def test_a_path_alone_is_explained(path: str, said: str) -> None:
    assert said in run_ffplan("explain", path).out
    assert "no rule, term or path" in run_ffplan("explain", f"{path}s").err


PAGE_LINES = 200
"""Most lines of a page that a person writes."""


def test_pages_are_short_or_generated() -> None:
    kept = [path for path in (ROOT / "docs").rglob("*.md") if "Generated by `make docs`" not in path.read_text()]
    assert len(kept) > 20
    assert [path.name for path in kept if len(path.read_text().splitlines()) > PAGE_LINES] == []
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("name", but_few(DESIGNS, *FEW))
def test_outputs_follow_their_schemas(name: str) -> None:
    valid(run_ffplan("design", name, "--format", "json").out, "assessment")
    valid(run_ffplan("check", name, "--format", "json").out, "findings")


def test_a_comparison_follows_its_schema() -> None:
    valid(run_ffplan("compare fire-flyer-2 pcie-a100-three-tier dgx-a100-10k --format json").out, "comparison")


def test_every_public_thing_has_a_docstring() -> None:
    for path in (ROOT / "ffplan").rglob("*.py"):
        for node in syntax(path).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            if "overload" not in map(ast.unparse, node.decorator_list):
                assert ast.get_docstring(node), f"{path}:{node.name}"
