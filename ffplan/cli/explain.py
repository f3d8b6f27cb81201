"""`ffplan explain`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import TokensOption
from ffplan.cli.loading import MOST
from ffplan.cli.options import CatalogOption, OutputOption, _complete_design, _complete_figure, _part_option
from ffplan.cli.output import emit, write
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from ffplan.check.rule import Rule
    from ffplan.design.training import PlanFields
    from ffplan.results.training import TrainReport


def _rule_text(rule: Rule) -> str:
    bad, good = ("\n".join(f"    {line}" for line in text.splitlines()) for text in (rule.example, rule.good))
    head = f"{rule.id} ({rule.severity})\n{rule.title}.\n\nWhy: {rule.why}\n\n"
    return f"{head}Breaks it:\n{bad}\n\nKeeps it:\n{good}\n\nFix: {rule.fix}\n"


def _glossary() -> dict[str, list[tuple[str, str]]]:
    from ffplan.base.files import data_folder

    rows: dict[str, list[tuple[str, str]]] = {}
    title = ""
    folder = data_folder("docs")
    pages = [(folder / name).read_text(encoding="utf-8") for name in ("nomenclature.md", "symbols.md")]
    for line in "\n".join(pages).splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if len(cells) >= 2 and cells[1] not in ("definition", "meaning") and not cells[0].startswith("-"):
            meaning = cells[1] + (f" [{cells[2]}]" if len(cells) > 2 and cells[2] else "")
            for name in cells[0].split(", "):
                rows.setdefault(name.strip("`"), []).append((f"{cells[0]}: {meaning}", title))
    return {name: sorted(entries, key=lambda entry: entry[1].startswith("Symbols")) for name, entries in rows.items()}


def _bare(name: str) -> str:
    """Normalise a term: lower case, without hyphens, blanks and plural `s`."""
    return re.sub("[ -]", "", name.lower()).removesuffix("s")


def _word(name: str) -> str:
    from ffplan.base.errors import did_you_mean
    from ffplan.base.formatting import ids_listed
    from ffplan.check.team_rules import every_rule

    rules = {rule.id: rule for rule in every_rule()}
    if name in rules:
        return _rule_text(rules[name])
    terms = _glossary()
    key = name if name in terms else next((term for term in terms if _bare(term) == _bare(name)), None)
    if key is not None:
        return "".join(f"{row}\n({title})\n" for row, title in terms[key])
    from ffplan.schema.json_paths import path_words

    if words := path_words(name):
        return words
    from ffplan.catalog.store import Catalog

    parts = Catalog()
    called = [name] if parts.locate(name) else parts.switches_called(name)
    if called:
        raise UsageError(
            f"ffplan explain: `{name}` names parts of the catalogue: {ids_listed(called)}; "
            f"`ffplan catalog show {called[0]}` describes one"
        )
    hint = did_you_mean(name, sorted([*rules, *terms]), what="rule or term")
    fault = f"no rule, term or path `{name}`; {hint}; a design needs a PATH, such as cost.total"
    raise UsageError(f"ffplan explain: {fault}")


def _meaning(document: Any, path: str) -> str:
    from ffplan.results.design import Assessment
    from ffplan.schema.json_paths import described
    from ffplan.schema.json_schema import field_docs

    if not isinstance(document, Assessment):
        kind: type = type(document)
        return " ".join(field_docs(kind)[path].split())
    return next((text for place, _, text in described(document, "assessment") if place == path), "")


def _kept(report: TrainReport, plan: PlanFields) -> Any:
    """Return the plan of a report to be timed unchanged, with what a row does not show from the plan as written."""
    from ffplan.cli.train_options import _plan_text
    from ffplan.design.plan_file import plan_of
    from ffplan.inputs.document import parse_document

    return plan_of(parse_document(_plan_text(plan, report.rows[0].plan).encode(), "plan"), {})


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="DESIGN|WORD", help="A design; a rule, a term or a path alone.", autocompletion=_complete_design
        ),
    ],
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH", help="Figure, such as cost.network or train.step_s.", autocompletion=_complete_figure
        ),
    ] = None,
    model: Annotated[
        str | None, _part_option("model", "Model, in place of the design's `workload`.", "--model")
    ] = None,
    tokens: TokensOption = None,
    batch: Annotated[int | None, typer.Option("--batch", min=1, max=MOST, help="Sequences of a step.")] = None,
    gpus: Annotated[int | None, typer.Option("--gpus", min=1, max=MOST, help="Accelerators of the job.")] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Derive one figure of a design: formula, values, sources, its limit, and the effect of a tenth of each input.

    PATH is a path of the JSON output, or communication.LIBRARY, train.step_s, train.tokens_s, train.mfu, run.cost,
    run.cost_per_million_tokens, run.days, run.energy_mwh, run.carbon_t, run.effort, run.effective; of a design with
    `serving`, serve.tpot_s, serve.ttft_s.p99, serve.cost.per_million_output and the like. A rule, a term or a path
    alone: its meaning.
    """
    if path is None:
        if form is not ReportFormat.TABLE:
            raise UsageError(f"ffplan explain: --format has an effect with a design and a PATH; `{what}` alone is text")
        write(_word(what), output)
        return
    from ffplan.catalog.store import Catalog
    from ffplan.cli.job import _own_tokens, _workload_of
    from ffplan.cli.versions import _design_document
    from ffplan.report.explain import explanation_document
    from ffplan.studies.explain.path import Question
    from ffplan.studies.explain.path import explain as study

    parts = Catalog(catalog or ())
    workload = _workload_of("explain", parts, model, tokens, batch, gpus)
    question = Question(
        document=_design_document(what),
        catalog=parts,
        path=path,
        workload=workload,
        tokens=_own_tokens("explain", model, tokens),
    )
    progress = Progress("a tenth of each input")
    report = study(question, _meaning, _kept, progress.step)
    progress.end()
    emit(explanation_document(report), form, output)
