"""First screens fit a terminal, and `--full` and `--section` show the rest."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from ffplan.inputs.design_files import shipped_designs
from ffplan.report.document import LINES
from tests.support import ROOT, ffplan

POD, FF2, DGX = "superpod-h100-4su", "fire-flyer-2", "dgx-a100-10k"
RUN = ("--model", "llama2-70b", "--tokens", "2T", "--batch", "1024")
SCREENS = {
    "compare": ("compare", FF2, DGX, *RUN),
    "compare-three": ("compare", POD, "superpod-b200-4su", FF2, "--model", "llama2-70b", "--batch", "1024"),
    "compare-bare": ("compare", POD, FF2, "l40s-8-roce", "gb200-nvl72-16"),
    "cost-run": ("cost", POD, *RUN),
    "train": ("train", POD, "--model", "llama3-70b", "--batch", "1016", "--search"),
    "goodput": ("goodput", FF2, "--model", "llama-13b"),
    "acceptance": ("acceptance", POD),
    "diff": ("diff", POD, "superpod-b200-4su"),
    "sweep": ("sweep", POD, "--vary", "site.pue=1.1,1.2", "--vary", "nodes[0].count=64..100"),
    "sweep-fleet": (
        *("sweep", "two-sites", "--vary", "clusters[2].order=2027-01,2027-07", "--vary", "clusters[1].count=1,2"),
        *("--vary", "demand[1].rate[3].likely=200..300#2", "--pareto", "totals.cash.p50:min,totals.met:max"),
    ),
}


def fits(*words: str) -> list[str]:
    """Return the lines of a command that prints a first screen of 80 columns and says how to see the rest."""
    lines = ffplan(*words).out.splitlines()
    assert len(lines) <= LINES, "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("More: --full, or --section ") for line in lines)
    return lines


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_fits(name: str) -> None:
    fits(*SCREENS[name])


@pytest.mark.parametrize("design", shipped_designs())
@pytest.mark.parametrize("command", ["design", "cost", "storage"])
def test_every_design_fits(command: str, design: str) -> None:
    fits(command, design)


def test_sections_make_the_whole() -> None:
    full = ffplan("cost", POD, "--full").out.splitlines()
    names = ffplan("cost", POD).out.replace("\n", " ").partition("--section ")[2].strip().split(", ")
    shown = [line for name in names for line in ffplan("cost", POD, "--section", name).out.splitlines()[1:]]
    assert len(names) > 5
    assert shown == full[len(full) - len(shown) :]


def test_an_unknown_section_names_the_nearest() -> None:
    done = ffplan("design", POD, "--section", "fabrik")
    assert (done.code, done.err.strip()) == (2, "ffplan: --section fabrik: did you mean `fabric`?")


def test_machines_get_everything() -> None:
    for form in ("json", "csv", "markdown"):
        assert ffplan("cost", POD, "-f", form).out == ffplan("cost", POD, "-f", form, "--full").out


def test_an_index_below_owning_is_told_beside_the_rent_that_can_be_signed() -> None:
    """As of `cost`'s JSON: the verdict alone would pass over the market."""
    report = json.loads(ffplan("cost", POD, "-f", "json").out)
    below = [row for row in report["tco"]["rents"] if row["index"] and row["hour"] < row["owned_hour"]]
    assert below
    even = next(row["break_even"] for row in report["uncertainty"]["break_even"] if row["input"] == "rent")
    said = " ".join(ffplan("cost", POD).out.split())
    assert f"A 3-year rent below {even:.2f} USD an hour is cheaper" in said
    assert f"and {below[0]['offer']} stands at {below[0]['price']:.2f}: ask for a quote." in said


def test_a_rent_at_which_owning_is_even_is_where_the_verdict_turns(tmp_path: Path) -> None:
    """Whoever can sign a rent below it is told to rent, above it to own."""
    report = json.loads(ffplan("cost", POD, "-f", "json").out)
    even = next(row["break_even"] for row in report["uncertainty"]["break_even"] if row["input"] == "rent")
    book = yaml.safe_load((ROOT / "catalogs/rents/rents-2026.yaml").read_text())
    for price, said in ((even * 0.95, "% more per GPU-hour"), (even * 1.05, "% less per GPU-hour")):
        offer = book["offers"][report["uncertainty"]["against"]]
        offer["price"] |= {"value": price}
        (tmp_path / "rents-2026.yaml").write_text(yaml.safe_dump(book))
        assert said in " ".join(ffplan("cost", POD, "--catalog", str(tmp_path)).out.split())
    # the rented cluster is set against the same one bought, at a quote of one's own
    for price, said in ((even * 0.95, "% less per GPU-hour than owning"), (even * 1.05, "% more per GPU-hour than")):
        assert said in " ".join(ffplan("cost", POD, "--rent", f"{price:.4f}:3-year").out.split())


@pytest.mark.parametrize(
    ("quote", "said"),
    [
        ("2.1", "a price needs a term; write 2.1: and one of on-demand"),
        ("2.1:5-year", "`5-year` is no term"),
        ("2.1x:3-year", "is not an amount of money"),
        ("0:3-year", "write a price above 0"),
    ],
)
def test_a_quote_that_cannot_be_read_says_what_would(quote: str, said: str) -> None:
    done = ffplan("cost", POD, "--rent", quote)
    assert done.code == 2
    assert said in done.err


def test_a_comparison_names_the_cheapest_of_three_whatever_their_order() -> None:
    """The verdict, the first row and the large figures are of the design with the least cost per token."""
    names = (POD, "superpod-b200-4su", "gb200-nvl72-16")
    job = ("--model", "llama3-70b", "--tokens", "2T")
    sides = json.loads(ffplan("compare", *names, *job, "-f", "json").out)["money"]["sides"]
    best = min(sides, key=lambda side: side["run"]["cost_per_million_tokens"]["likely"])["label"]
    for first in range(len(names)):
        lines = ffplan("compare", *names[first:], *names[:first], *job).out.splitlines()
        assert lines[1].startswith(f"{best} trains llama3-70b cheapest per token")
        assert next(line for line in lines if line.startswith("  ") and line.split()[0] in names).split()[0] == best
        assert len(lines) <= LINES


def test_three_designs_are_as_close_as_two(tmp_path: Path) -> None:
    """Draws are paired: a lead of 3 % may be sure, and then it is called, beside a third design too."""
    files = []
    for pue in ("1.25", "1.6", "3"):
        text = (ROOT / "designs" / f"{POD}.yaml").read_text()
        file = tmp_path / f"pue-{pue}.yaml"
        file.write_text(re.sub(r"pue: [0-9.]+", f"pue: {pue}", text).replace(f"name: {POD}", f"name: pue-{pue}"))
        files.append(str(file))
    job = ("--model", "llama3-8b", "--tokens", "1T", "--gpus", "64")
    two = ffplan("compare", files[1], files[0], *job).out
    three = ffplan("compare", files[1], files[0], files[2], *job).out
    assert "over 99 % sure" in two
    assert "Too close to call" not in two
    assert "too close to call" not in three


def test_rents_that_nobody_can_sign_are_no_benchmark() -> None:
    """A market level is named as one, beside the statement that no rent of years can be signed."""
    said = " ".join(ffplan("cost", "gb200-nvl72-16").out.split())
    assert "none of 1 or 3 years can be signed for its accelerators. The lowest market level, market-gb200" in said


def test_a_sustained_rate_is_no_number_of_days() -> None:
    out = ffplan("recommend --model llama3-8b -a h100-sxm-80gb --best 1 --sustained", "10 PFLOP/s").out
    assert ("keeps up" in out, "done in" in out, "Limits  days" in out) == (True, False, False)


MANY = (
    *(POD, "superpod-b200-4su", FF2, DGX, "l40s-8-roce", "h100-1k-four-networks", "gb200-nvl72-16"),
    *("dragonfly-a100", "hpn-dual-plane", "mi355x-pod"),
)


@pytest.mark.parametrize(
    ("count", "job"),
    [
        (6, ("--model", "llama3-70b")),
        (10, ()),
        (10, ("--model", "llama3-70b")),
        (10, ("--model", "llama3-70b", "--tokens", "2T")),
    ],
)
def test_many_designs_fit_by_rows(count: int, job: tuple[str, ...]) -> None:
    lines = fits("compare", *MANY[:count], *job, *(("--batch", "1024") if job else ()))
    assert {line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in MANY} == set(MANY[:count])


def test_the_cheapest_of_many_leads() -> None:
    words = ("compare", *MANY[:6], "--model", "llama3-70b", "--tokens", "2T", "--batch", "1024")
    sides = json.loads(ffplan(*words, "-f", "json").out)["money"]["sides"]
    costs = {side["label"]: side["run"]["cost_per_million_tokens"]["likely"] for side in sides}
    order = sorted(costs, key=costs.__getitem__)
    lines = ffplan(*words).out.splitlines()
    assert lines[1].startswith(f"{order[0]} trains llama3-70b cheapest per token")
    assert [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in costs] == order


@pytest.mark.parametrize("design", [POD, FF2, "dgx-a100-10k"])
def test_a_purchase_reads_the_same_on_every_screen(design: str) -> None:
    """The likely value, then P10 to P90."""

    def purchase(label: str, *words: str) -> str:
        line = next(line for line in ffplan(*words).out.splitlines() if line.strip().startswith(label))
        found = re.search(r"([0-9.,]+ mn)(?: USD)? (\([0-9.,]+ to [0-9.,]+\))", line)
        assert found is not None
        return " ".join(found.groups())

    assert purchase("purchase", "design", design) == purchase("to commit", "cost", design)


def test_cells_and_ratio_agree() -> None:
    """The ratio of two cells is the one that stands beside them, to their digits."""
    rows = {line[:25].strip(): line for line in ffplan(*SCREENS["compare"]).out.splitlines() if line.endswith(" %")}
    for label in ("a million tokens, USD", "GPU-hour in use, USD", "purchase, USD"):
        cells = [float(cell) for cell in re.findall(r"([0-9.]+)(?: mn)? \(", rows[label])]
        ratio = float(rows[label].split()[-2])
        assert len(cells) == 2
        assert abs(100 * (cells[1] / cells[0] - 1) - ratio) < 2, rows[label]


def test_the_catalogue_fits_by_kind() -> None:
    """Every kind with its count; `--full` has every part."""
    lines = ffplan("catalog list").out.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= 80
    parts = json.loads(ffplan("catalog list -f json").out)["parts"]
    counts = Counter(part["kind"] for part in parts)
    assert {line.split()[0]: int(line.split()[1]) for line in lines[1:-1]} == counts
    assert lines[-1].startswith(f"{len(parts)} parts. More: ffplan catalog list KIND")
    full = ffplan("catalog list --full").out
    assert all(part["id"] in full for part in parts)


@pytest.mark.parametrize(
    "command",
    [
        "design {design}",
        "cost {design} --draws 0",
        "train {design} --model {model} --batch 64 --gpus 8 --search",
        "compare {design} superpod-b200-4su --model {model} --batch 64 --gpus 8",
        "operate storage {design}",
    ],
)
def test_the_command_that_a_first_screen_proposes_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a design and a model in files of the user's own, whose names no catalogue has."""
    monkeypatch.chdir(tmp_path)
    design, model = Path("mine.yaml"), Path("own.yaml")
    design.write_text((ROOT / "designs" / "superpod-h100-4su.yaml").read_text().replace("name: superpod", "name: my"))
    shipped = (ROOT / "catalogs" / "models" / "meta" / "llama3-8b.yaml").read_text()
    model.write_text(shipped.replace("id: llama3-8b", "id: own"))
    shown = ffplan(*command.format(design=design, model=model).split()).out
    (proposed,) = re.findall(r"^  Next +((?:.+\n)(?: {8,}.+\n)*)", shown, re.MULTILINE)
    asked = {"T": "1T", "ID": str(model), "OTHER": "superpod-b200-4su", "OFFER": "market-h100-3-year"}
    again = [asked.get(word, word) for word in proposed.partition(";")[0].split()]
    assert again[0] == "ffplan"
    done = ffplan(*again[1:], *(("--draws", "0") if again[1] in ("cost", "compare") else ()))
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    "command", ["cost superpod-h100-4su", "train superpod-h100-4su --model llama3-8b --batch 64 --gpus 8 --tp 8"]
)
def test_effort_without_a_run_is_refused(command: str) -> None:
    done = ffplan(*command.split(), "--effort", "first-run")
    assert (done.code, "--effort has an effect on a run; give --tokens" in done.err) == (2, True)


def test_a_comparison_names_effort_where_it_alone_differs(tmp_path: Path) -> None:
    text = (ROOT / "designs" / f"{POD}.yaml").read_text()
    tuned = tmp_path / "tuned.yaml"
    tuned.write_text(f"{text}\nownership: {{effort: tuned}}\n")
    run = ("--model", "llama3-8b", "--tokens", "1T", "--gpus", "64")
    shown = ffplan("compare", POD, str(tuned), *run).out
    assert "the effort decides" in " ".join(shown.split())
