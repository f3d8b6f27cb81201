"""A figure has one address, with one number and one unit, whatever shows, compares, varies, limits or explains it."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.plain import number_at, steps
from ffplan.design.schema import LIMITED
from ffplan.figures.address import (
    COMPARED,
    NAMES,
    PRICED,
    ROOTS,
    address_of,
    addresses,
    figure_at_address,
    path_of,
    place_of,
)
from ffplan.figures.figure import Figure
from ffplan.figures.origins import FIGURES, unit_of
from ffplan.schema.json_schema import field_docs
from tests.support import ROOT, but_few, ffplan

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "--model llama3-8b --batch 1024 --gpus 64 --tokens 1T"
JOB = """\
workload: {model: llama3-8b, batch: 1024, gpus: 64, tokens: 1T}
serving: {model: llama3.1-8b, rate: 5/s, osl: 128}
"""
NAMED = ("superpod-h100-4su", "fire-flyer-2", "gb200-nvl72-16", "dragonfly-a100", "h100-1k-four-networks", "aws-p5-64")
WORDS = ("MW", "W", "to", "of", "tokens/s")
"""What a finding says where the unit alone does not read well."""
Shown = dict[str, tuple[float, str]]
"""Number and unit by address."""


def near(one: float, two: float) -> bool:
    return abs(one - two) <= 1e-9 * max(abs(one), abs(two))


def answer(words: str) -> Any:
    return json.loads(ffplan(*words.split(), "--format", "json").out)


def printed(file: str) -> dict[str, Any]:
    """Return what the commands print of a design, by the root of addresses."""
    cost, train = answer(f"cost {file} --draws 0"), answer(f"train {file}")
    return {
        "": answer(f"design {file}"),
        "tco": cost["tco"],
        "run": cost["run"],
        "train": train["rows"][0],
        "serve": answer(f"serve {file}")["rows"][0],
        "goodput": answer(f"goodput {file} --draws 0")["reliability"],
    }


def number(results: dict[str, Any], address: str) -> float | None:
    """Return the number at an address, by hand."""
    head, *rest = steps(path_of(address))
    return number_at(results[str(head)], rest) if head in results else number_at(results[""], [head, *rest])


def of_diff(file: str) -> Shown:
    rows = answer(f"diff {file} {file}")["figures"]
    return {row["address"]: (row["before"], row["unit"]) for row in rows}


def of_compare(file: str, other: str) -> Shown:
    text = ffplan(*f"compare {file} {other} {MODEL} --draws 0 --format csv".split()).out
    rows = [row for row in csv.DictReader(text.splitlines()) if row["value"]]
    first = [row for row in rows if row["design"] == rows[0]["design"]]
    known = {**COMPARED, **PRICED}
    return {
        known[row["metric"]]: (float(row["value"]), row["unit"].removeprefix("1"))
        for row in first
        if row["metric"] in known
    }


def of_sweep(file: str, pue: str, names: list[str]) -> Shown:
    words = " ".join(f"--metric {name}" for name in names)
    metrics = answer(f"sweep {file} --vary site.pue={pue} {words}")["metrics"]
    return {address_of(row["path"]): (row["mean"], "") for row in metrics}


def unit(results: dict[str, Any], address: str) -> str:
    """Return the unit of an address, with the currency of what it stands in."""
    head = address.partition(".")[0]
    section = results.get(head, results[""].get(head))
    if isinstance(section, dict) and "currency" not in section:  # of a served load, where its cost stands
        section = section.get(address.split(".")[1], section)
    currency = str(section.get("currency")) if isinstance(section, dict) else ""
    return figure_at_address(address).unit.replace("currency", currency)


def of_limits(file: Path, results: dict[str, Any]) -> Shown:
    """Return the figures that findings state of limits that no design meets, each written with its address."""
    currency = results["run"]["currency"]
    impossible = {
        "": "1e12",
        "s": "0.001 ms",
        "kW": "1 W",
        "GB/s": "900 TB/s",
        "1/s": "1e12",
        "days": "0.001",
        "currency": f"0.000001 {currency}",
    }
    mixed = results[""]["cost"] is None or results[""]["cost"]["currency"] != currency
    lines = ["limits:"]
    for field, address in LIMITED.items():
        of = figure_at_address(address).unit
        if of == "currency" and mixed:  # what is bought is limited in the currency of the price book
            continue
        value = {"goodput": "99.9999 %", "oversubscription": "1:1"}.get(field)
        lines.append(f"  {address}: {value or impossible[of]}")
    text = re.sub(r"^limits:\n(?:  .*\n)*", "", file.read_text(), flags=re.MULTILINE)
    held = file.with_name(f"held-{file.name}")
    held.write_text(text + "\n".join(lines) + "\n")
    shown: Shown = {}
    stated = re.compile(r" is (?:at least )?([0-9][0-9,.e+-]*) ([A-Za-z/]+)[ a-z]*, (?:above|below) the limit")
    for finding in answer(f"check {held}")["findings"]:
        found = stated.search(finding["message"])
        if found and finding["path"].startswith("limits."):
            shown[finding["path"].removeprefix("limits.")] = (float(found[1].replace(",", "")), found[2])
    return shown


@pytest.mark.parametrize("name", but_few(NAMED, "superpod-h100-4su"))
def test_every_door_shows_the_same_number_and_unit(name: str, tmp_path: Path) -> None:
    text = (ROOT / "designs" / f"{name}.yaml").read_text()
    text = re.sub(r"^workload:.*\n(?:  .*\n)*", "", text, flags=re.MULTILINE)
    file = tmp_path / f"{name}.yaml"
    file.write_text(text + "\n" + JOB)
    results = printed(str(file))
    diff, compare = of_diff(str(file)), of_compare(str(file), "superpod-b200-4su")
    limits = of_limits(file, results)
    served = [address for address in limits if address.startswith("serve.")]
    asked = [*diff, *served, *(address for address in compare if not address.startswith("tco.waiting.value"))]
    sweep = of_sweep(str(file), str(results[""]["power"]["pue"]), list(dict.fromkeys(asked)))
    assert len(diff) >= 12
    assert len(compare) >= 12
    assert served
    assert {"run.days", "train.step_s", "site.facility_peak_kw", *served} <= sweep.keys()
    assert {"run.days", "train.step_s", "site.facility_peak_kw"} <= limits.keys() & diff.keys() & sweep.keys()
    for address, (value, shown) in [*diff.items(), *compare.items()]:
        assert near(value, number(results, address) or 0.0), address
        assert shown == unit(results, address), address
    for address, (value, _) in sweep.items():
        assert near(value, number(results, address) or 0.0), address
    for address, (value, shown) in limits.items():
        scale = {"kW": 1.0, "MW": 1e3, "W": 1e-3}.get(shown, 1.0)  # findings round powers to four digits
        assert value * scale == pytest.approx(number(results, address), rel=5e-4), address
        assert shown in (unit(results, address), *WORDS), address


@pytest.mark.parametrize(
    "path", but_few(("run.days", "train.step_s", "fabric.bisection_gbyte_s", "cost.total"), "fabric.bisection_gbyte_s")
)
def test_explain_has_the_number_and_the_unit_of_diff(path: str, tmp_path: Path) -> None:
    file = tmp_path / "design.yaml"
    file.write_text((ROOT / "designs" / "superpod-h100-4su.yaml").read_text() + "\n" + JOB)
    root = answer(f"explain {file} {path}")["root"]
    value, unit = {**of_compare(str(file), "superpod-b200-4su"), **of_diff(str(file))}[path]
    assert near(root["value"], value)
    assert root["unit"] == unit


def test_a_unit_is_that_of_the_meaning() -> None:
    """The table names the units of what is compared; the docstring of a field may name its unit too."""
    for owner, table in FIGURES.items():
        for field, figure in table.items():
            meaning = field_docs(owner).get(field, "")
            if isinstance(figure, Figure) and figure.unit and "[" in meaning:
                documented = re.search(r"\[([^\]]+)\]", meaning)
                assert documented is not None
                assert documented[1] == figure.unit, (owner, field)
            if isinstance(figure, Figure) and figure.label and not figure.unit:
                assert unit_of(meaning) == "", (owner, field)


@pytest.mark.parametrize("table", [NAMES, COMPARED, PRICED, LIMITED])
def test_every_address_in_use_is_one_of_a_figure_with_a_sense(table: dict[str, str]) -> None:
    for address in table.values():
        assert place_of(address) is not None, address
        assert address_of(address) == address
        assert address_of(path_of(address)) == address
    for address in LIMITED.values():
        assert figure_at_address(address).better, address


def test_older_names_are_addresses_still() -> None:
    assert address_of("run_days") == address_of("run.days.likely") == "run.days"
    assert address_of("training.step_s") == address_of("step") == "train.step_s"
    assert address_of("capex") == "site.purchase_p50"
    assert path_of("run_days") == "run.days.likely"
    assert path_of("run.days.p90") == "run.days.p90"
    assert path_of("no.such") == address_of("no.such") == "no.such"
    assert place_of("run.days[") is None
    known = list(addresses())
    assert all(place_of(address) for address in known)
    assert {address.partition(".")[0] for address in known} >= {*ROOTS} - {"bom"}
