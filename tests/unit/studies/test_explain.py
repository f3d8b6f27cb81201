"""`ffplan explain`: the value is that of the other commands, its parts make it, and a tenth does what it should."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from ffplan import load, search, train
from ffplan.base.plain import steps, value_at
from ffplan.catalog.store import Catalog
from ffplan.figures.figure import equation
from ffplan.inputs.document import read_document
from ffplan.studies.explain.derivation import POLICIES, ROLES
from ffplan.studies.explain.explain import _figure_at, _scaled
from ffplan.studies.explain.path import known_figures
from ffplan.studies.explain.serving import SERVED_FIGURES
from ffplan.studies.serve.answer import path_in_row
from tests.support import ROOT, assess_file, collective, ffplan, ffplan_once, shipped_design, valid, vary_design

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def explained(*arguments: str) -> dict[str, Any]:
    done = ffplan_once("explain", *arguments, "-f", "json")
    assert done.code == 0, done.err
    return valid(done.out, "explanation")


def influence(found: dict[str, Any], name: str) -> dict[str, Any]:
    (row,) = [row for row in found["influences"] if row["input"] == name]
    assert isinstance(row, dict)
    return row


def test_a_cost_is_the_sum_of_its_lines() -> None:
    found = explained("fire-flyer-2", "cost.network")
    report = assess_file("fire-flyer-2")
    assert report.cost is not None
    assert found["root"]["value"] == pytest.approx(report.cost.network)
    steps = found["root"]["steps"]
    assert sum(step["value"] for step in steps) == pytest.approx(found["root"]["value"])
    for step in steps:
        quantity, price = step["steps"]
        assert quantity["value"] * price["value"] == pytest.approx(step["value"])
        assert price["source"].startswith("price book fire-flyer-2-relative, a price of ")
    assert [step["steps"][1]["source"].partition("a price ")[2].partition(";")[0] for step in steps] == [
        "of 2024-08",
        "of an unknown date",  # the cable's is recalled
    ]
    assert [step["label"] for step in steps if step["binds"]] == ["122 x qm8700"]
    switch = influence(found, "fire-flyer-2-relative: items.qm8700")
    share = steps[0]["value"] / found["root"]["value"]
    assert (switch["less"], switch["more"]) == pytest.approx((-0.1 * share, 0.1 * share))
    assert switch["status"] == "R"
    assert influence(found, "nodes.0.count")["place"] == "designs/fire-flyer-2.yaml:11"
    assert influence(found, "nodes.0.count")["more"] is None  # the zones are full
    assert not [row for row in found["influences"] if "memory" in row["input"]]


@pytest.mark.deep
def test_an_allreduce_is_taken_into_its_time_and_its_bound() -> None:
    found = explained("fire-flyer-2", "communication.hfreduce")
    report = collective(assess_file("fire-flyer-2"), "hfreduce")
    assert found["root"]["value"] == pytest.approx(report.algbw_gbyte_s)
    time, message, bound, ledger = found["root"]["steps"]
    operations = [step["value"] for step in ledger["steps"]]
    assert operations == [8, 8, 1, 2, 2, 1, 2]  # arXiv 2408.14158, section IV-D3: D2H, reduce-add, IB, H2D
    assert ledger["value"] == sum(operations) == 24
    assert sum(step["value"] for step in time["steps"]) == pytest.approx(time["value"])
    assert message["value"] / time["value"] / 1e9 == pytest.approx(found["root"]["value"])
    assert [step["label"] for step in bound["steps"] if step["binds"]] == [report.bound.limited_by_label]
    port = influence(found, "epyc-7502: root_port.one_way")
    assert port["less"] < -0.05 < 0 < port["more"]


@pytest.mark.deep
def test_switches_are_counted_by_role() -> None:
    found = explained("dgx-a100-10k", "fabric.switches.total")
    roles = {step["label"]: step for step in found["root"]["steps"]}
    assert {name: step["value"] for name, step in roles.items()} == {
        "leaf switches": 500,
        "spine switches": 500,
        "core switches": 320,
    }
    assert roles["core switches"]["place"].endswith("core_per_rail_whole_pods")
    assert roles["leaf switches"]["formula"].startswith("leaf = ceil(E / d)")


@pytest.mark.deep
def test_power_adds_up() -> None:
    found = explained("fire-flyer-2", "power.facility_kw")
    *parts, pue = found["root"]["steps"]
    assert sum(step["value"] for step in parts) * pue["value"] == pytest.approx(found["root"]["value"])
    assert influence(found, "site.pue")["more"] == pytest.approx(0.1)


JOB = ("--model", "llama3-8b", "--batch", "512", "--gpus", "64")


@pytest.mark.deep
def test_electricity_is_in_the_currency_of_its_tariff() -> None:
    found = explained("superpod-h100-4su", "power.electricity_per_year")
    assert found["root"]["unit"] == "USD per year"


@pytest.mark.deep
def test_a_step_is_taken_into_its_parts() -> None:
    found = explained("superpod-h100-4su", "training.step_s", *JOB)
    row = json.loads(ffplan("train superpod-h100-4su --search -f json", *JOB).out)["rows"][0]
    assert found["root"]["value"] == row["step_s"]
    parts = [step for step in found["root"]["steps"] if step["unit"] == "s"]
    assert sum(step["value"] for step in parts) == pytest.approx(row["step_s"])
    peak = influence(found, "h100-sxm-80gb: peak.bf16")
    assert peak["more"] == pytest.approx(1 / (1 + row["gains"][0]["faster"]) - 1, rel=0.15)  # its largest gain


@pytest.mark.deep
def test_a_token_is_hours_times_their_price() -> None:
    found = explained("superpod-h100-4su", "run.cost_per_million_tokens", *JOB, "--tokens", "1T")
    cost = json.loads(ffplan("cost superpod-h100-4su --tokens 1T --draws 0 -f json", *JOB).out)
    assert found["root"]["value"] == cost["run"]["cost_per_million_tokens"]["likely"]
    hours, price, tokens = found["root"]["steps"]
    assert hours["value"] * price["value"] / tokens["value"] * 1e6 == pytest.approx(found["root"]["value"])
    assert influence(found, "PUE")["more"] > 0
    speed = next(row for row in found["influences"] if row["input"].startswith("effective"))
    assert speed["less"] == pytest.approx(1 / 0.9 - 1, rel=1e-6)


def line_at(place: str) -> str:
    file, _, line = place.partition(":")
    return (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]


@pytest.mark.deep
def test_inputs_of_a_run_are_placed_and_graded() -> None:
    found = explained("superpod-h100-4su", "run.cost_per_million_tokens", *JOB, "--tokens", "1T")
    assert all(row["place"] for row in found["influences"])
    rows = {row["input"]: row for row in found["influences"]}
    assert line_at(rows["utilisation"]["place"]).startswith("utilisation: ")
    assert line_at(rows["price of qm9700"]["place"]).strip().startswith("qm9700: ")
    assert line_at(rows["PUE"]["place"]).strip().startswith("pue: ")
    assert line_at(rows["electricity price"]["place"]).strip().startswith("electricity_price: ")
    speed = next(row for name, row in rows.items() if name.startswith("model error"))
    assert line_at(speed["place"]).startswith("| stack left out |")
    effective = next(row for name, row in rows.items() if name.startswith("effective"))
    assert line_at(effective["place"]) == "  accelerator:"  # the first of its hazards
    assert effective["less"] > 0
    assert effective["more"] is None  # no job gives more than all of its time
    assert (rows["depreciation life"]["grade"], rows["PUE"]["grade"]) == ("estimate", "")
    days = found["root"]["steps"][0]["steps"][1]
    (share,) = [step for step in days["steps"] if step["label"].startswith("effective")]
    assert (share["place"], share["source"]) == (effective["place"], f"{effective['source']}, status D")


@pytest.mark.parametrize(("effort", "likely", "ends"), [("", 1.22, [0.96, 1.37]), ("effort: tuned, ", 1.0, [])])
def test_inputs_of_a_run_are_explained(effort: str, likely: float, ends: list[float], tmp_path: Path) -> None:
    """Value, class, range and place, as a run's days have them."""
    file = vary_design(tmp_path, "superpod-h100-4su", ("cost:\n", f"ownership: {{{effort}effective: 90 %}}\n\ncost:\n"))
    job = ("--model", "llama3-8b", "--tokens", "2T", "--gpus", "512")
    root = explained(str(file), "run.effort", *job)["root"]
    assert root["label"] == f"time of a run over its plan's ({'tuned' if effort else 'typical'})"
    assert root["value"] == likely
    assert [step["value"] for step in root["steps"]] == ends
    assert ("superpod-h100-4su.yaml:" if effort else "catalogs/ownership/owned-2026.yaml:") in root["place"]
    assert root in explained(str(file), "run.days", *job)["root"]["steps"]
    stated = explained(str(file), "run.effective", *job)["root"]
    assert (stated["value"], Path(stated["place"]).name.partition(":")[0]) == (0.9, "superpod-h100-4su.yaml")


MADE_OF: dict[str, Callable[..., float]] = {
    "days": lambda tokens, rate, effective, effort: tokens / (rate * effective) * effort / 86_400,
    "energy_mwh": lambda hours, watts, pue: hours * watts * pue / 1e6,
    "carbon_t": lambda energy, hardware: energy + hardware,
    "cost": lambda hours, price, _: hours * price,
}
"""A figure of a run from what it is made of, in the order in which they are named."""


def every(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for inner in step["steps"]:
        yield inner
        yield from every(inner)


@pytest.mark.parametrize("field", MADE_OF)
def test_a_figure_of_a_run_is_made_of_its_parts_and_not_of_itself(field: str, tmp_path: Path) -> None:
    file = vary_design(tmp_path, "superpod-h100-4su", ("cost:\n", "ownership: {effective: 90 %}\n\ncost:\n"))
    job = ("--model", "llama3-8b", "--tokens", "2T", "--gpus", "512")
    root = explained(str(file), f"run.{field}", *job)["root"]
    assert MADE_OF[field](*(step["value"] for step in root["steps"])) == pytest.approx(root["value"])
    labels = [step["label"] for step in every(root)]
    assert root["label"] not in labels
    assert ("an accelerator-hour in use" in labels) == (field == "cost")


def test_a_tenth_of_nothing_shows_the_range_that_it_changes() -> None:
    """A discount of nothing moves the median by its high end alone."""
    found = explained("superpod-h100-4su", "site.purchase_p50")
    discount = influence(found, "owned-2026: discount")
    assert (discount["at_less"], discount["at_more"]) == ("0 (0 to 0.135)", "0 (0 to 0.165)")
    for row in found["influences"]:
        assert row["at_less"] != row["at_more"], row["input"]


@pytest.mark.deep
def test_inputs_of_the_step_move_a_run() -> None:
    """A figure of the step does to a token's cost what it does to the time of a step: hours are paid alike."""
    run = explained("superpod-h100-4su", "run.cost_per_million_tokens", *JOB, "--tokens", "1T")
    step = explained("superpod-h100-4su", "training.step_s", *JOB)
    for name in ("h100-sxm-80gb: training.matrix", "h100-sxm-80gb: memory_bandwidth"):
        one, two = influence(run, name), influence(step, name)
        assert one["place"] == two["place"]
        assert one["less"] == pytest.approx(two["less"], rel=1e-6)
    assert influence(step, "h100-sxm-80gb: training.matrix")["less"] > 0.01
    batch = influence(step, "batch")
    assert batch["place"] == "the command line"
    assert batch["value"] == "512"
    assert batch["more"] > 0.05  # a step of more sequences takes longer
    count = influence(run, "nodes.0.count")  # the account and the step change with it
    assert line_at(count["place"]).strip().startswith("- {role: compute")


@pytest.mark.deep
@pytest.mark.parametrize("field", ["matrix", "memory"])
def test_what_moves_a_run_is_the_difference_of_two_runs(field: str, tmp_path: Path) -> None:
    """The plan of `tight` leaves 64 of 320 accelerators idle; two runs of that plan, one on an accelerator whose figure
    is a tenth lower, lie apart as `explain` says: days go with the inverse of tokens a second."""
    tight = ROOT / "tests" / "golden" / "tight.yaml"
    moved = influence(explained(str(tight), "run.days"), f"h100-sxm-80gb: training.{field}")["less"]
    entry = Catalog().entry("h100-sxm-80gb")
    data = yaml.safe_load(Path(ROOT / entry.document.file).read_text())
    figure = data["training"][field]
    lower = float(str(figure["value"]).removesuffix("%")) * 0.9
    data["training"][field] = {"value": f"{lower} %", "source": figure["source"]}
    (tmp_path / "slower.yaml").write_text(yaml.safe_dump(data))
    rates = []
    for catalogs in ((), (str(tmp_path),)):
        design = load(tight, catalogs=catalogs)
        plan = asdict(search(load(tight), "llama3-8b", batch=512, top=1).rows[0].plan)
        fields = {name: plan[name] for name in ("data", "micro_batch", "batch", "zero", "recompute")}
        fields |= {"overlap": list(plan["overlap"]), "grad_dtype": "bf16", "optimizer_dtype": "bf16"}
        assert plan["gpus"] == 256
        rates.append(train(design, "llama3-8b", gpus=256, **fields).rows[0].tokens_s)
    assert moved == pytest.approx(rates[0] / rates[1] - 1, rel=1e-6)
    assert moved > 0.01


SERVED = "\nserving: {model: llama3.1-8b, engine: vllm, isl: 512, osl: 128, concurrency: 32, tp: 1, pp: 1}\n"


@pytest.mark.deep
@pytest.mark.parametrize("field", ["serve.tpot_s", "serve.ttft_s.p99", "serve.cost.per_million_output"])
def test_what_moves_a_load_is_the_difference_of_two_loads(field: str, tmp_path: Path) -> None:
    text = (ROOT / "designs" / "l40s-8-roce.yaml").read_text()
    path = tmp_path / "served.yaml"

    def value(section: str) -> float:
        path.write_text(text + section)
        row = json.loads(ffplan(f"serve {path} --format json").out)["rows"][0]
        for step in ("mean" if field == "serve.tpot_s" else field).removeprefix("serve.").split("."):
            row = row["tpot_s"]["mean"] if step == "mean" else row[step]
        assert isinstance(row, float)
        return row

    longer, as_stated = value(SERVED.replace("osl: 128", "osl: 141")), value(SERVED)
    found = explained(str(path), field)
    assert found["root"]["value"] == as_stated
    assert influence(found, "serving.osl")["more"] == pytest.approx(longer / as_stated - 1, rel=1e-6)
    moving = " ".join(row["input"] for row in found["influences"])
    assert "memory_bandwidth" in moving
    assert "vllm-2026: rates.l40s.weights" in moving or "vllm-2026: rates.any.weights" in moving


def test_a_token_of_a_load_is_its_terms(tmp_path: Path) -> None:
    path = tmp_path / "served.yaml"
    path.write_text((ROOT / "designs" / "l40s-8-roce.yaml").read_text() + SERVED)
    mean = explained(str(path), "serve.tpot_s")["root"]
    terms = mean["steps"]
    assert sum(step["value"] for step in terms) == pytest.approx(mean["value"])
    assert [step["binds"] for step in terms] == [True] + [False] * (len(terms) - 1)
    for constant in (inner for step in terms for inner in step["steps"]):
        file, _, line = constant["place"].rpartition(":")
        assert constant["label"].replace(" ", "_") in Path(ROOT / file).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize(
    ("field", "unit"),
    [
        ("accelerator_hour", "USD"),
        ("per_million_output", "USD"),
        ("per_million_input", "USD"),
        ("per_million_output_all", "USD per million"),
    ],
)
def test_money_of_a_load_is_in_the_currency_of_the_design(
    field: str, unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ffplan.studies.explain.serving.influences", lambda *_: ((), 0))
    path = tmp_path / "served.yaml"
    path.write_text((ROOT / "designs" / "l40s-8-roce.yaml").read_text() + SERVED)
    found = json.loads(ffplan(f"explain {path} serve.cost.{field} --format json").out)
    assert found["root"]["unit"] == unit
    assert f"[{unit}]" in found["meaning"]
    assert "currency" not in ffplan(f"explain {path} serve.cost.{field}").out


def test_weights_at_8_bits_without_such_units_take_the_constant_of_16(tmp_path: Path) -> None:
    path = tmp_path / "served.yaml"
    section = SERVED.replace("pp: 1}", "pp: 1, precision: fp8}")
    path.write_text((ROOT / "designs" / "pcie-a100-three-tier.yaml").read_text() + section)
    terms = explained(str(path), "serve.tpot_s")["root"]["steps"]
    names = {constant["label"] for term in terms for constant in term["steps"]}
    assert "matrix" in names
    assert not {"matrix fp8", "quantised layer"} & names


def test_a_load_needs_a_section_and_a_figure(tmp_path: Path) -> None:
    assert "add `serving` to the design" in ffplan("explain superpod-h100-4su serve.tpot_s").err
    path = tmp_path / "served.yaml"
    path.write_text((ROOT / "designs" / "l40s-8-roce.yaml").read_text() + SERVED)
    done = ffplan(f"explain {path} serve.tpto_s")
    assert (done.code, "did you mean" in done.err) == (2, True)


@pytest.mark.deep
def test_inputs_that_a_design_states_stand_in_the_design(tmp_path: Path) -> None:
    own = (
        "ownership: {life: 5 years, effective: 90 %}\nworkload: {model: llama3-8b, batch: 512, gpus: 64, tokens: 1T}\n"
    )
    design = vary_design(tmp_path, "superpod-h100-4su", ("site:\n", f"{own}site:\n"))
    found = explained(str(design), "run.cost")
    rows = {row["input"]: row for row in found["influences"]}
    text = design.read_text(encoding="utf-8").splitlines()
    for name, words in {"depreciation life": "ownership", "effective training time": "ownership"}.items():
        file, _, line = rows[name]["place"].rpartition(":")
        assert (file, rows[name]["status"], rows[name]["grade"]) == (str(design), "given", "")
        assert text[int(line) - 1].startswith(words)


def test_the_plan_of_a_workload_is_timed_again_as_it_is_written(tmp_path: Path) -> None:
    """What a row does not show (precision, stack, dispatcher) stays: energy moves no step, DeepEP's fixed time does."""
    plan = "precision: fp8, stack: deepseek-2024, dispatcher: deepep, expert: 64, pipeline: 16, recompute: full"
    own = f"workload: {{model: deepseek-v3, batch: 2048, gpus: 1024, plan: {{{plan}}}}}\n"
    design = vary_design(tmp_path, "deepseek-v3-2048", ("site:\n", f"{own}site:\n"))
    found = explained(str(design), "train.step_s", "--full")
    assert not [row["input"] for row in found["influences"] if row["input"].startswith("site.")]
    fixed = influence(found, "deepep: fixed")
    assert 0 < fixed["more"] < 0.01
    assert fixed["less"] == pytest.approx(-fixed["more"], rel=0.01)


@pytest.mark.deep
def test_figures_of_parts_and_prices_have_their_line() -> None:
    found = explained("fire-flyer-2", "cost.network")
    price = influence(found, "fire-flyer-2-relative: items.qm8700")
    assert line_at(price["place"]).strip().startswith("qm8700: ")
    assert found["root"]["steps"][0]["steps"][1]["place"] == price["place"]
    assert line_at(influence(found, "qm8700: ports")["place"]).startswith("ports: ")
    text = ffplan("explain fire-flyer-2 cost.network").out
    assert f"{price['place']};" in " ".join(text.split()).replace("- ", "-").replace("/ ", "/")
    message = explained("fire-flyer-2", "communication.hfreduce")["root"]["steps"][1]
    assert message["place"] == "" or "message_size" in line_at(message["place"])


def test_a_price_of_an_extended_book_stands_in_that_book(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "kind: price-book\nid: own\nname: Own\nvendor: us\ncurrency: USD\ndate: 2026-10-01\nextends: usd-2026\n"
        "sources:\n"
        '  q: {title: "quote", date: "2026-10", grade: datasheet, status: V}\n'
        "items:\n  400g-aoc: {value: 900, source: q}\n"
    )
    entry = Catalog([str(tmp_path)]).entry("own")
    assert _figure_at(entry, "items", "400g-aoc").endswith("own.yaml:11")
    assert line_at(_figure_at(entry, "items", "qm9700")).strip().startswith("qm9700: ")


@pytest.mark.deep
def test_a_workload_of_the_design_is_enough(tmp_path: Path) -> None:
    job = "workload: {model: llama3-8b, batch: 512, gpus: 64}\n"
    design = vary_design(tmp_path, "superpod-h100-4su", ("site:\n", f"{job}site:\n"))
    assert explained(str(design), "training.mfu")["root"]["formula"] == "operations / (seconds x accelerators)"


@pytest.mark.parametrize("place", sorted({*POLICIES.values(), *ROLES.values()}))
def test_every_equation_that_is_named_exists(place: str) -> None:
    stated, source = equation(place)
    assert stated
    assert source


def test_a_figure_is_scaled_with_its_range_and_nothing_else() -> None:
    entry = Catalog().entry("epyc-7502")
    made = _scaled(entry.part, ("root_port", "both_way_share"), 1.1)
    before, after = entry.part.root_port, made.root_port  # type: ignore[attr-defined]
    assert after.both_way_share.value == pytest.approx(1.1 * before.both_way_share.value)
    assert after.both_way_share.high == pytest.approx(1.1 * before.both_way_share.high)
    assert after.one_way == before.one_way
    assert _scaled(entry.part, ("memory_channels",), 1.1).memory_channels.value == 9  # whole numbers stay whole


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("fire-flyer-2 cost.netwrk", "did you mean `cost.network`?"),
        ("fire-flyer-2 communication.rccl", "did you mean `nccl`?"),
        ("fire-flyer-2 training.step_s", "needs a job: add `workload` to the design, or name --model"),
        ("fire-flyer-2 run.cost --model llama3-8b", "needs tokens: add `tokens` to `workload`, or name --tokens"),
        ("fire-flyer-2 run.cost --tokens 1T", "needs a job"),
        ("fire-flyer-2 run.cost --batch 8", "--model only"),
        ("fire-flyer-2 design.name", "is no figure of this design"),
        ("fire-flyer-2 goodput.goodput", "`ffplan operate goodput` prints the figures of `goodput`"),
        ("fire-flyer-2 tco.total", "`ffplan cost` prints the figures of `tco` with what moves them"),
        ("fire-flyer-2 power.facility_peak_kw", "did you mean `site.facility_peak_kw`?"),
        ("mfx", "did you mean `MFU`?"),
        ("mfu --format json", "--format has an effect with a design and a PATH; `mfu` alone is text"),
    ],
)
def test_questions_without_an_answer(arguments: str, words: str) -> None:
    done = ffplan("explain", *arguments.split())
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_words_are_explained() -> None:
    assert "model FLOP utilisation" in ffplan("explain MFU").out
    assert ffplan("explain mfu").out == ffplan("explain MFU").out
    assert "Fix: Plan spares" in ffplan("explain no-spares").out
    assert "ports of a switch, after breakout (radix)" in ffplan("explain k").out
    assert ffplan("explain no-spares").out.index("Breaks it:") < ffplan("explain no-spares").out.index("Keeps it:")


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("rail", "rail: NIC r of every compute node"),  # the term, before the symbol of that name
        ("V", "V: seen in the source itself"),
        ("micro-batch", "microbatch: the sequences that pass the model together"),
        ("Fat-Trees", "fat tree: a tree of switches"),
        ("status", "status: how closely the source of a figure was seen"),
        ("opex", "opex: what running the cluster costs in a year"),
    ],
)
def test_terms_come_before_symbols_and_forgive_spelling(word: str, first: str) -> None:
    assert ffplan("explain", word).out.startswith(first)


def test_figures_of_a_load_are_completed_and_explained(tmp_path: Path) -> None:
    path = tmp_path / "served.yaml"
    path.write_text((ROOT / "designs" / "l40s-8-roce.yaml").read_text() + SERVED)
    document = read_document(path)
    assert set(SERVED_FIGURES) < set(known_figures(document, Catalog()))
    assert not {*SERVED_FIGURES} & {*known_figures(read_document(shipped_design("l40s-8-roce")), Catalog())}
    row = json.loads(ffplan(f"serve {path} --format json").out)["rows"][0]
    assert all(value_at(row, steps(path_in_row(name))) is not None for name in SERVED_FIGURES)
