"""What a person reads first: pages of some designs, of comparisons, costs and training, to the letter.

Figures of every design and of many more settings are kept as numbers; see `test_numbers.py`. Prices are shown on few
pages, so that a new one changes few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.golden.commands import printed
from tests.golden.pages import page, sections
from tests.support import DESIGNS, ROOT, SMALL, ffplan_process

if TYPE_CHECKING:
    from pathlib import Path

EXPECTED = ROOT / "tests" / "golden" / "designs"
SHOWN = (
    *("fire-flyer-2", "dgx-a100-10k", "superpod-h100-4su", "aws-p5-64", "gb200-nvl72-16", "dragonfly-a100"),
    *("hpn-dual-plane", "h100-1k-four-networks", "mi355x-pod", "tpu-v6e-pod"),
)
"""Designs whose page is kept: every family of fabrics, and owned and rented nodes of every maker."""
WITH_PRICES = "superpod-h100-4su"
"""The one whose page is kept with its sections on costs."""
COSTS = ("Whole site", "Cost of what the design plans")
"""Beginnings of the headings of these sections."""
DRAWINGS = ("fire-flyer-2", "dgx-a100-10k", "dragonfly-a100")
"""Joined zones, many pods, and a circle of groups."""
PAGES = {
    "cost-run": ("cost", "superpod-h100-4su", "--model", "llama3-70b", "--tokens", "2T", "--draws", "1000"),
    "cost-rented": ("cost", "aws-p5-64", "--draws", "0"),
    "cost-compared": (
        *("compare", "fire-flyer-2", "dgx-a100-10k", "--baseline", "dgx-a100-10k", "--model", "llama2-70b"),
        *("--tokens", "2T", "--gpus", "8192", "--draws", "1000"),
    ),
    "train-scales": (
        *("train", "fire-flyer-2", "--model", "llama-13b", "--batch", "4096", "--pp", "4", "--gpus", "64..512"),
        "--chart",
    ),
    "train-images": (
        *("train", "fire-flyer-2", "--model", "vgg16", "--micro-batch", "50", "--precision", "tf32"),
        *("--gpus", "32..512"),
    ),
    "train-search": (
        *("train", "dgx-a100-10k", "--model", "megatron-529.6b", "--batch", "2520", "--gpus", "5128", "--search"),
    ),
    "train-experts": (
        *("train", "superpod-h100-4su", "--model", "deepseek-v3", "--batch", "15360", "--gpus", "1008"),
        *("--pp", "21", "--ep", "8", "--micro-batch", "2", "--recompute", "full", "--precision", "fp8"),
    ),
}
"""Commands by the name of the page that keeps what they print."""
PARTS = ("--catalog", str(SMALL / "parts"))
COMPARED = tuple(str(SMALL / f"{name}.yaml") for name in ("pods", "planes", "racks"))
RESULTS = {
    "design": ("design", str(SMALL / "joined.yaml"), *PARTS),
    "compare": ("compare", *COMPARED, *PARTS),
    "check": ("check", str(SMALL / "racks.yaml"), *PARTS, "--today", "2026-11-23"),
}
"""Three results without prices, kept in every form."""
SCREENS = {
    **{f"design {name}": ("design", f"designs/{name}.yaml") for name in ("superpod-h100-4su", "fire-flyer-2")},
    **{name: PAGES[name] for name in ("cost-run", "cost-rented", "cost-compared", "train-search")},
    "compare": ("compare", "superpod-h100-4su", "superpod-b200-4su", "fire-flyer-2"),
    "goodput": ("goodput", "fire-flyer-2", "--model", "llama-13b"),
    "storage": ("storage", "superpod-h100-4su", "--model", "llama3-70b"),
    "accept": ("acceptance", "superpod-h100-4su"),
    "diff": ("diff", "superpod-h100-4su", "superpod-b200-4su"),
    "serve": ("serve", "superpod-h100-4su", "--model", "llama3.1-70b", "--ttft", "2s", "--tpot", "50ms"),
    "sweep": ("sweep", "fire-flyer-2", "--vary", "nodes[0].count=64..70", "-j", "1"),
}
"""First screens, all in one file: a price is on most of them."""
PLAIN = ("table", "json", "markdown", "csv")
FORMS = {"design": PLAIN, "compare": PLAIN, "check": ("text", "json", "markdown", "sarif", "junit", "github", "gitlab")}
KEPT_FORMS = [(result, form) for result, forms in FORMS.items() for form in forms]


def shown(name: str) -> str:
    """Return the page of a design; without its sections on costs, but for one design."""
    text = printed("design", f"designs/{name}.yaml", "--full")
    if name == WITH_PRICES:
        return text
    lines, dropped = [], False
    for line in text.splitlines(keepends=True):
        if not line.startswith(" "):
            dropped = line.startswith(COSTS)
        if not dropped:
            lines.append(line)
    return "".join(lines)


def in_form(result: str, form: str) -> str:
    """Return one of the three results in a form, without the folder it lies in."""
    return printed(*RESULTS[result], *(["--full"] if form == "table" else []), "--format", form).replace(
        f"{SMALL}/", ""
    )


def checks() -> dict[str, str]:
    """Return what a check says of every shipped design."""
    return {name: printed("check", f"designs/{name}.yaml") for name in DESIGNS}


def drawing(name: str) -> str:
    """Return the drawing of a design."""
    return printed("export", f"designs/{name}.yaml", "--to", "svg")


def expected() -> dict[Path, str]:
    """Return every page by where it is kept."""
    return {
        **{EXPECTED / f"{name}.txt": shown(name) for name in SHOWN},
        **{EXPECTED / f"{name}.svg": drawing(name) for name in DRAWINGS},
        **{EXPECTED / f"{name}.txt": printed(*words, "--full") for name, words in PAGES.items()},
        **{EXPECTED / f"form-{result}.{form}": in_form(result, form) for result, form in KEPT_FORMS},
        EXPECTED / "checks.txt": page(checks()),
        EXPECTED / "first-screens.txt": page({name: printed(*words) for name, words in SCREENS.items()}),
    }


@pytest.mark.parametrize("name", SHOWN)
def test_design(name: str) -> None:
    assert shown(name) == (EXPECTED / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawing(name: str) -> None:
    """To the last coordinate; `tests/integration` looks at them in a browser."""
    assert drawing(name) == (EXPECTED / f"{name}.svg").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str) -> None:
    assert printed(*PAGES[name], "--full") == (EXPECTED / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", SCREENS)
def test_first_screen(name: str) -> None:
    assert printed(*SCREENS[name]) == sections(EXPECTED / "first-screens.txt")[name]


@pytest.mark.parametrize(("result", "form"), KEPT_FORMS)
def test_form(result: str, form: str) -> None:
    assert in_form(result, form) == (EXPECTED / f"form-{result}.{form}").read_text()


@pytest.mark.deep
@pytest.mark.parametrize("name", DESIGNS)
def test_check(name: str) -> None:
    assert printed("check", f"designs/{name}.yaml") == sections(EXPECTED / "checks.txt")[name]


def test_every_page_has_its_command() -> None:
    texts = {f"{name}.txt" for name in (*SHOWN, *PAGES, "checks", "first-screens")}
    others = {f"{name}.svg" for name in DRAWINGS} | {f"form-{result}.{form}" for result, form in KEPT_FORMS}
    assert {path.name for path in EXPECTED.iterdir()} == texts | others


@pytest.mark.deep
def test_the_same_input_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    words = ("compare", "fire-flyer-2", "pcie-a100-three-tier", "dgx-a100-10k", "--format", "json")
    runs = [ffplan_process(*words, env={"PYTHONHASHSEED": seed}) for seed in ("0", "1", "4711")]
    assert len({(run.code, run.out) for run in runs}) == 1
    assert runs[0].code == 0


def test_text_for_a_file_fits_80_columns() -> None:
    for name in (*SHOWN, *PAGES):
        longest = max((EXPECTED / f"{name}.txt").read_text().splitlines(), key=len)
        assert len(longest) <= 80, (name, longest)
