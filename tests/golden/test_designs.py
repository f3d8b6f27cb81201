"""Every shipped design in every format, to the letter."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from ffplan.cli.app import build
from tests.support import DESIGNS, ROOT, ffplan

EXPECTED = ROOT / "tests" / "golden" / "designs"
FORMATS = {"table": "txt", "json": "json", "markdown": "md", "csv": "csv"}
COMPARISON = ("fire-flyer-2", "pcie-a100-three-tier", "dgx-a100-10k", "--baseline", "dgx-a100-10k")

DRAWINGS = ("fire-flyer-2", "dgx-a100-10k", "dragonfly-a100")
"""Joined zones, many pods, and a circle of groups."""
COSTS = {
    "cost-run": ("cost", "superpod-h100-4su", "--model", "llama3-70b", "--tokens", "2T", "--draws", "1000"),
    "cost-phases": ("cost", "site-h100-100k", "--draws", "0"),
    "cost-rented": ("cost", "aws-p5-64", "--draws", "0"),
    "cost-relative": ("cost", "fire-flyer-2", "--draws", "0"),
    "cost-compared": (
        *("compare", "fire-flyer-2", "dgx-a100-10k", "--baseline", "dgx-a100-10k", "--model", "llama2-70b"),
        *("--tokens", "2T", "--gpus", "8192", "--draws", "1000"),
    ),
}
TRAININGS = {
    "train-scales": (
        "fire-flyer-2",
        "--model",
        "llama-13b",
        "--batch",
        "4096",
        "--pp",
        "4",
        "--gpus",
        "64..512",
        "--chart",
    ),
    "train-images": (
        "fire-flyer-2",
        "--model",
        "vgg16",
        "--micro-batch",
        "50",
        "--precision",
        "tf32",
        "--gpus",
        "32..512",
    ),
    "train-search": ("dgx-a100-10k", "--model", "megatron-529.6b", "--batch", "2520", "--gpus", "5128", "--search"),
    "train-experts": (
        "superpod-h100-4su",
        "--model",
        "deepseek-v3",
        "--batch",
        "15360",
        "--gpus",
        "1008",
        "--pp",
        "21",
        "--ep",
        "8",
        "--micro-batch",
        "2",
        "--recompute",
        "full",
        "--precision",
        "fp8",
    ),
}


def report(*arguments: str) -> str:
    """Return what a command prints on standard output."""
    result = CliRunner().invoke(build(), list(arguments))
    assert result.exception is None, repr(result.exception)
    return result.stdout


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", DESIGNS)
def test_design(name: str, form: str) -> None:
    expected = (EXPECTED / f"{name}.{FORMATS[form]}").read_text()
    assert report("design", f"designs/{name}.yaml", "--format", form) == expected


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawing(name: str) -> None:
    """To the last coordinate; `tests/integration` looks at them in a browser."""
    assert report("export", f"designs/{name}.yaml", "--to", "svg") == (EXPECTED / f"{name}.svg").read_text()


@pytest.mark.parametrize("form", FORMATS)
def test_compare(form: str) -> None:
    expected = (EXPECTED / f"comparison.{FORMATS[form]}").read_text()
    assert report("compare", *COMPARISON, "--format", form) == expected


@pytest.mark.parametrize("name", TRAININGS)
def test_train(name: str) -> None:
    assert report("train", *TRAININGS[name]) == (EXPECTED / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", COSTS)
def test_cost(name: str) -> None:
    assert report(*COSTS[name]) == (EXPECTED / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", DESIGNS)
def test_check(name: str) -> None:
    expected = (EXPECTED / f"{name}.check.txt").read_text()
    assert report("check", f"designs/{name}.yaml") == expected


def test_the_same_input_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    arguments = ("compare", *COMPARISON, "--format", "json")
    runs = [ffplan(*arguments, env={"PYTHONHASHSEED": seed}) for seed in ("0", "1", "4711")]
    assert len({run.out for run in runs}) == 1
    assert runs[0].out == (EXPECTED / "comparison.json").read_text()


def test_text_for_a_file_fits_80_columns() -> None:
    for path in EXPECTED.glob("*.txt"):
        if "check" not in path.name:
            longest = max(path.read_text().splitlines(), key=len)
            assert len(longest) <= 80 + 10 * (path.stem == "comparison"), (path.name, longest)
