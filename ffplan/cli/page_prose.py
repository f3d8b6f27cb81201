"""Where the figures in the sentences of a page come from: each sentence names the paths that it is made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.report.chart import Origin
from ffplan.report.design import design_words
from ffplan.report.train import verdict_words
from ffplan.results.comparison import Comparison
from ffplan.results.cost import CostStudy
from ffplan.results.design import Assessment
from ffplan.results.training import TrainReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.cli.page_figures import Figures
    from ffplan.results.comparison import MoneyComparison, TrainingComparison
    from ffplan.results.run import RunReport

Said = tuple[str, str, list[str]]
"""A sentence, its path in JSON, and patterns of the paths behind it."""
BANDS = ("days", "cost", "cost_per_million_tokens", "energy_mwh", "carbon_t")
RUN = ("gpus", "tokens", *(f"{name}.{end}" for name in BANDS for end in ("p50", "p10", "p90")))
OFFERED = ("price", "hour", "owned_hour", "break_even_months", "break_even_months_from_order")
"""Figures of an offer that a sentence on it may have."""
MEASURES = {
    "purchase": ("designs[*].cost.total", "designs[*].cost.per_accelerator", "ratios.*.cost_total"),
    "switches": ("designs[*].fabric.switches.total", "ratios.*.switches"),
    "IT power": ("designs[*].power.it_kw", "ratios.*.it_power"),
    "bisection": ("designs[*].fabric.bisection_gbyte_s", "ratios.*.bisection"),
    "allreduce": (
        *(f"designs[*].communication[0].{name}" for name in ("algbw_gbyte_s", "message_bytes")),
        "ratios.*.allreduce",
    ),
    "accelerators: what": ("designs[*].accelerators",),
}
"""Paths by the words of a sentence on two designs without a job."""


def prose_notes(value: object, figures: Figures) -> tuple[Origin, ...]:
    """Return where the figures in the sentences of a page come from.

    Args:
        value: the result.
        figures: its figures.
    """
    found: Iterable[Said] = ()
    if isinstance(value, Comparison):
        found = _compared(value)
    elif isinstance(value, CostStudy):
        found = _costed(value)
    elif isinstance(value, TrainReport):
        found = _trained(value)
    elif isinstance(value, Assessment):
        found = _assessed(value)
    return tuple(note for said in found for note in _note(said, figures))


def _note(said: Said, figures: Figures) -> Iterator[Origin]:
    """Yield the note of a sentence; nothing where the result has none of its figures."""
    sentence, path, patterns = said
    paths = list(dict.fromkeys(name for pattern in patterns for name in _matching(pattern, figures)))
    if paths:
        yield Origin(
            table="",
            row=sentence,
            column=0,
            design="",
            path=path,
            value="",
            meaning="These figures of the result are behind the sentence.",
            formula="",
            source="",
            parts=tuple(_meant(name, figures) for name in paths),
        )


def _meant(path: str, figures: Figures) -> str:
    """Return a figure with its value and its meaning."""
    return f"{path} = {figures.shown(path)}: {figures.found[path][1]}"


def _matching(pattern: str, figures: Figures) -> list[str]:
    """Return the paths of a result that a pattern names; `*` stands for a name, a label or a number."""
    wanted = re.compile(re.escape(pattern).replace(r"\*", ".*"))
    return [path for path in figures.found if wanted.fullmatch(path)]


def _run(path: str) -> list[str]:
    return [f"{path}.{name}" for name in RUN]


def _compared(found: Comparison) -> Iterator[Said]:
    if found.training is not None:
        yield found.training.size_basis, "training.size_basis", ["training.gpus", "training.own_sizes[*].gpus"]
    if found.money is not None:
        yield from _money(found.money, found.training)
    elif found.training is not None:
        for at, sentence in enumerate(found.verdicts):
            sides = [f"[{place}]" for place, label in enumerate(found.labels) if label in sentence]
            of = [f"training.sizes[*].sides{side}.{name}" for side in sides for name in ("capital_ratio", "error_band")]
            yield sentence, f"verdicts[{at}]", ["training.gpus", "training.sizes[*].batch", *of]
    else:
        for at, sentence in enumerate(found.verdicts):
            paths = [path for words, paths in MEASURES.items() if words in sentence for path in paths]
            yield sentence, f"verdicts[{at}]", [*paths, *(["designs[*].accelerators"] if paths else [])]
    for at, sentence in enumerate(found.notes):
        for place, label in enumerate(found.labels):
            if sentence.startswith(f"{label}: ") and "`core_policy" in sentence:
                yield sentence, f"notes[{at}]", [f"designs[{place}].fabric.switches_by_core_policy.*"]
            elif label in sentence and sentence.startswith("Power in training"):
                yield sentence, f"notes[{at}]", ["designs[*].power.per_node_w"]


def _money(found: MoneyComparison, training: TrainingComparison | None) -> Iterator[Said]:
    """Yield the sentences on a run on every design; those on two designs follow their verdict."""
    pair = -1
    for at, sentence in enumerate(found.headline):
        path = f"money.headline[{at}]"
        side = next((n for n, item in enumerate(found.sides) if sentence.startswith(f"{item.label}: ")), None)
        if side is not None:
            yield sentence, path, _run(f"money.sides[{side}].run")
            continue
        if " for a million tokens" in sentence or sentence.endswith("cost the same for a token."):
            pair += 1
        of = f"money.differences[{pair}]"
        if " for a million tokens" in sentence:
            yield sentence, path, [f"{of}.difference.*", f"{of}.ratio.*", f"{of}.cheaper_share"]
        elif sentence.startswith("The step of ") and training is not None:
            size = next(n for n, item in enumerate(training.sizes) if item.batch == training.batch)
            yield sentence, path, [f"training.sizes[{size}].sides[*].{name}" for name in ("step_s", "parts[*].seconds")]
        elif sentence.startswith("What decides"):
            yield sentence, path, [f"{of}.tornado[{n}].{end}" for n in range(3) for end in ("at_low", "at_high")]
        elif sentence.startswith("The verdict flips"):
            rows = enumerate(found.differences[pair].break_even)
            named = [n for n, row in rows if f"{row.label} at " in sentence]
            yield sentence, path, [f"{of}.break_even[{n}].{end}" for n in named for end in ("likely", "break_even")]
        elif sentence.startswith("The first job runs after"):
            yield sentence, path, [f"money.sides[*].waiting.{name}" for name in ("months", "value")]
        elif " tried" in sentence:
            yield sentence, path, [f"money.scales[*].{name}" for name in ("gpus", "batch", "cost_per_million_tokens")]


def _costed(study: CostStudy) -> Iterator[Said]:
    rents = study.tco.rents if study.tco else ()
    starts = {
        "The cluster costs": ["tco.purchase.*", "tco.per_accelerator_hour.*", "tco.year", "tco.years"],
        "The rented fleet costs": ["tco.per_accelerator_hour.*", "tco.year"],
        "What decides": [f"uncertainty.tornado[{n}].{end}" for n in range(3) for end in ("at_low", "at_high")],
        "The first job runs": [f"tco.waiting.{name}" for name in ("months", "lead_months", "value")],
        "Recalled and unverified": ["bom.recalled_share"],
        "The run takes": ["run.days.likely", "tco.years"],
    }
    for at, sentence in enumerate(study.headline):
        if study.run is not None and sentence == study.run.words:
            yield sentence, f"headline[{at}]", _run("run")
            continue
        paths = next((paths for start, paths in starts.items() if sentence.startswith(start)), [])
        if sentence.startswith("Owning costs"):
            named = [n for n, row in enumerate(rents) if f" {row.offer}" in sentence]
            paths = [f"tco.rents[{n}].{name}" for n in named for name in OFFERED]
        yield sentence, f"headline[{at}]", paths
    lines = study.bom.lines if study.bom else ()
    for at, sentence in enumerate(study.assumptions):
        named = [n for n, line in enumerate(lines) if line.part and re.search(rf"[ `]{line.part}[`,. ]", sentence)]
        named = named if sentence.startswith(("The design plans no", "The ", "Spares")) else []
        paths = [f"bom.lines[{n}].quantity" for n in named]
        paths += ["run.error_band"] if "model's error of the speed" in sentence else []
        yield sentence, f"assumptions[{at}]", paths


def _trained(report: TrainReport) -> Iterator[Said]:
    run: RunReport | None = report.run
    if run is not None:
        yield run.words, "run.words", _run("run")
    last = max(range(len(report.rows)), key=lambda at: report.rows[at].plan.gpus)
    for sentence in verdict_words(report):
        if sentence.startswith("What binds it"):
            yield sentence, "rows[0]", ["rows[0].gains[0].faster"]
        elif sentence.startswith("Memory is"):
            names = ("memory_gib", "limit_gib", "reserved_low_gib", "reserved_high_gib", "transient_gib")
            yield sentence, "rows[0].memory_verdict", [f"rows[0].{name}" for name in names]
        elif sentence.startswith("The fastest that fits"):
            yield sentence, "sure", [f"sure.{name}" for name in ("step_s", "slower", "memory_gib")]
        elif sentence.startswith("On "):
            yield (
                sentence,
                f"rows[{last}]",
                [f"rows[{last}].{name}" for name in ("plan.gpus", "efficiency", "tokens_s")],
            )
        else:
            names = ("step_s", "tokens_s", "mfu", "plan.gpus", "idle")
            yield sentence, "rows[0]", [*(f"rows[0].{name}" for name in names), "feasible", "searched"]


def _assessed(found: Assessment) -> Iterator[Said]:
    starts = {
        "An allreduce": [f"communication[0].{name}" for name in ("message_bytes", "time_s", "algbw_gbyte_s")],
        "What binds it": ["communication[0].bound.algbw_gbyte_s"],
        "The purchase": ["site.purchase", "site.per_accelerator"],
    }
    size = [
        "accelerators",
        "fabric.switches.total",
        "power.it_kw",
        "site.facility_training_kw",
        "site.facility_peak_kw",
    ]
    for sentence in design_words(found):
        yield sentence, "", next((of for start, of in starts.items() if sentence.startswith(start)), size)
    for at, sentence in enumerate(found.assumptions):
        nodes = [n for n, node in enumerate(found.power.nodes) if f"`{node.server}`" in sentence]
        paths = [f"power.nodes[{n}].training_w" for n in nodes if "power" in sentence]
        paths += ["power.pue"] if "PUE" in sentence else []
        yield sentence, f"assumptions[{at}]", paths
