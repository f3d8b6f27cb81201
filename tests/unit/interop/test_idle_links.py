"""Links that are up and that no subnet manager has made active: they carry nothing, whoever lists them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from ffplan.interop.asbuilt.read import read_as_built
from tests.support import ffplan
from tests.unit.interop.test_as_built_forms import POD, audit_of, db_csv, lst, pod
from tests.unit.interop.test_forms_of_files import linkinfo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ffplan.results.as_built import DiffReport
    from tests.unit.interop.seeded import Listing

    Form = Callable[[Listing, list[tuple[str, int]]], str]


def lst_of(built: Listing, idle: list[tuple[str, int]]) -> str:
    """Both ends of a link stand in one line."""
    rows, wanted = [], {(own, f"{port:02x}") for own, port in idle}
    for row in lst(built).splitlines():
        down = wanted & set(re.findall(r"NodeGUID:(\S+) [^}]*}[^}]*PN:(\w+) }", row))
        rows.append(row.replace("LOG=ACT", "LOG=INI") if down else row)
    return "\n".join(rows) + "\n"


def db_csv_of(built: Listing, idle: list[tuple[str, int]]) -> str:
    """States as codes: 2 initialised, 4 active."""
    text = db_csv(built).replace("LinkSpeedActv\n", "LinkSpeedActv,PortState\n").replace(",2,2048\n", ",2,2048,4\n")
    guids = {name: number for number, name in enumerate(built.links)}
    wanted = {f"0x{guids[own]:016x},{port},2,2048,4" for own, port in idle}
    return "".join(f"{row[:-1]}2\n" if row in wanted else f"{row}\n" for row in text.splitlines())


def linkinfo_of(built: Listing, idle: list[tuple[str, int]]) -> str:
    rows, device = [], ""
    lines = {(built.title(own), port) for own, port in idle}
    for row in linkinfo(built).splitlines():
        if row.endswith(":"):
            device = row.partition("CA: ")[2].rstrip(":") or row.split(" ", 2)[2].rstrip(":")
        elif (device, int(row.partition("[")[0].split()[-1])) in lines:
            row = row.replace("Active/", "Initialize/")
        rows.append(row)
    return "\n".join(rows) + "\n"


FORMS = [lst_of, db_csv_of, linkinfo_of]


def audited(form: Form, idle: list[tuple[str, int]], built: Listing | None = None) -> DiffReport:
    own = pod() if built is None else built
    return audit_of(read_as_built([("x", form(own, idle))]))


@pytest.mark.parametrize("form", FORMS)
def test_a_link_that_is_up_and_not_active_is_a_finding(form: Form) -> None:
    """One link; all of one leaf to the spines; and most. With all, no subnet manager has run: cables are compared."""
    assert audited(form, []).causes == ()
    built = pod()
    leaf = built.of("leaf")[1]
    (cause,) = audited(form, [(leaf, 3)]).causes
    assert (cause.kind, cause.severity, cause.links) == ("inactive-link", "error", 1)
    assert cause.effect.startswith("a job with compute-")
    assert any(end.startswith(leaf) for end in cause.where)
    (cause,) = audited(form, [(leaf, port) for port in built.up(leaf)]).causes
    assert (cause.kind, cause.links) == ("inactive-link", len(built.up(leaf)))
    assert f"at {leaf} up, but not active" in cause.what
    assert cause.effect == f"{leaf} keeps 0 % of the bandwidth to the tier above"
    every = [(own, port) for own, ports in built.links.items() for port in ports]
    spared = built.up(leaf)[0]
    spared_ends = ((leaf, spared), built.links[leaf][spared][:2])
    (cause,) = audited(form, [end for end in every if end not in spared_ends]).causes
    assert (cause.kind, cause.do) == ("inactive-link", ("see whether a subnet manager runs",))
    report = audited(form, every)
    assert report.causes == ()
    assert any("no link is active" in remark for remark in report.remarks)


def test_an_inactive_link_at_another_port_is_a_finding_of_its_cable_alone() -> None:
    """A wrong cable is to be moved first."""
    built = pod()
    leaf = built.of("leaf")[0]
    one, two = built.up(leaf)[:2]
    built.rewire(leaf, [one, two], [two, one])
    assert [cause.kind for cause in audited(lst_of, [(leaf, one)], built).causes] == ["swapped-cables"]


@pytest.mark.parametrize("form", FORMS)
def test_an_import_says_so(form: Form, tmp_path: Path) -> None:
    built = pod()
    file = tmp_path / "built.txt"
    file.write_text(form(built, [(built.of("leaf")[0], 1)]))
    remarks = json.loads(ffplan("fabric import ibnetdiscover", str(file)).out)["remarks"]
    (words,) = [remark for remark in remarks if "not active" in remark]
    assert words.startswith("1 link up, but not active, so without traffic: first ")
    assert ffplan("fabric audit", POD, str(file)).code == 1
