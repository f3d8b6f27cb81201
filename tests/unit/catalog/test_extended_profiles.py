"""Reliability profiles that extend another: what they take of it, and what is refused, at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from ffplan.base.errors import InputError
from ffplan.catalog.read import holds
from ffplan.catalog.reliability import ReliabilityProfile
from ffplan.catalog.store import Catalog
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.catalog.read import Entry

GROWTH = "{until: {value: 8, source: llama3}, exponent: {value: 1, source: llama3}}"
HEAD = "kind: reliability\nid: mine\n"


def written(folder: Path, text: str, name: str = "mine") -> Catalog:
    (folder / f"{name}.yaml").write_text(text)
    return Catalog([str(folder)])


def test_a_profile_takes_all_that_it_does_not_state(tmp_path: Path) -> None:
    own = "sources: {ours: {title: our fleet, date: '2026', grade: measured, status: V}}\n"
    own += "fleet: {value: 2, source: ours}\n"
    entry = written(tmp_path, f"{HEAD}extends: fire-flyer\n{own}without: [bridge]\n").entry("mine")
    base = Catalog().entry("fire-flyer").part
    assert isinstance(entry.part, ReliabilityProfile)
    assert isinstance(base, ReliabilityProfile)
    assert float(entry.part.fleet.value) == 2.0
    assert set(base.hazards) - set(entry.part.hazards) == {"bridge"}
    assert "nic" not in entry.part.hazards  # left out two profiles up
    changed = {"id", "extends", "without", "fleet", "sources", "hazards"}
    assert entry.part.model_dump(exclude=changed) == base.model_dump(exclude=changed)
    assert entry.part.sources == {**base.sources, "ours": entry.part.sources["ours"]}
    assert entry.document_of(("fleet",)).file.endswith("mine.yaml")
    assert entry.document_of(("hazards", "link")).file.endswith("fire-flyer.yaml")
    assert entry.document_of(("detect",)).file.endswith("reliability-2026.yaml")


@pytest.mark.parametrize(
    ("text", "rule", "line", "words"),
    [
        ("extends: mine\n", "catalog-cycle", 3, "`mine` extends itself"),
        ("extends: rsc1\n", "reference-unknown", 3, "did you mean `rsc-1`?"),
        ("extends: usd-2026\n", "reference-kind", 3, "a reliability profile is wanted here"),
        ("extends: rsc-1\nwithout: [nick]\n", "catalog-reliability", 4, "`rsc-1` has no hazard `nick` to leave out"),
        ("extends: rsc-1\nbeside: rsc\n", "reference-unknown", 4, "`rsc` matches more than one reliability profile"),
        ("extends: [rsc-1]\n", "schema-type", 3, "text"),
        (
            "extends: rsc-1\nsources: {own: {title: t, date: '2026', grade: measured, status: V}}\n",
            "catalog-source",
            4,
            "has another source of the name `own`",
        ),
    ],
)
def test_what_a_profile_cannot_extend_is_refused_at_its_place(
    text: str, rule: str, line: int, words: str, tmp_path: Path
) -> None:
    written(tmp_path, HEAD + text)
    run = ffplan("design", "fire-flyer-2", "--profile", "mine", "--catalog", str(tmp_path))
    assert (run.code, run.out) == (2, "")
    assert f"mine.yaml:{line}:" in run.err
    assert rule in run.err
    assert words in " ".join(run.err.split())
    if "beside" not in text:  # which only a design's hazards ask for
        assert ffplan("check", str(tmp_path / "mine.yaml")).code == 2


def test_profiles_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "kind: reliability\nid: other\nextends: mine\n", "other")
    catalog = written(tmp_path, f"{HEAD}extends: other\n")
    with pytest.raises(InputError, match="`mine` extends itself through `other`"):
        catalog.entry("mine")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("beside: rsc-1\n", "beside: rsc-1\nwithout: [nic]\n", "it extends none"),
        (
            "    label: host\n    unit: node\n",
            f"    label: host\n    unit: node\n    growth: {GROWTH}\n",
            "`growth` is of jobs",
        ),
    ],
)
def test_fields_of_another_kind_of_profile_are_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    text = Catalog().locate("reliability-2026")
    assert text is not None
    whole = text[0].read_text()
    assert old in whole
    catalog = written(tmp_path, whole.replace(old, new).replace("id: reliability-2026", "id: mine"))
    with pytest.raises(InputError, match=words):
        catalog.entry("mine")


SHIPPED = sorted(path.stem for path in (ROOT / "catalogs/reliability/profiles").glob("*.yaml"))
"""Profiles that extend `reliability-2026`."""
OTHER = {"title": "our own fleet", "date": "2026", "grade": "estimate", "status": "R"}


def _as_ours(value: Any) -> Any:
    """Return data with every figure from the source `ours`."""
    if isinstance(value, dict):
        return {key: "ours" if key == "source" else _as_ours(child) for key, child in value.items()}
    return [_as_ours(child) for child in value] if isinstance(value, list) else value


def _replaced(folder: Path, **changed: Any) -> Catalog:
    """Write a profile of the shipped one's id, with its figures from sources of our own."""
    place = Catalog().locate("reliability-2026")
    assert place is not None
    data = _as_ours(yaml.safe_load(place[0].read_text()))
    named = dict.fromkeys(changed.pop("named", ()), OTHER)
    content = {**data, "sources": {"ours": OTHER, **named}, **changed}
    (folder / "reliability-2026.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return Catalog([str(folder)])


def _figures(profile: ReliabilityProfile, entry: Entry) -> dict[str, tuple[object, str]]:
    """Return value and title of the source of each figure that a shipped profile states itself."""
    return {
        ".".join(map(str, path)): (figure.value, profile.sources[figure.source].title)
        for path, figure in profile.figures()
        if holds(entry.document.data, path)
    }


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("named", [(), ("recalled", "nodes", "rsc-sizes", "llama3", "own")])
def test_shipped_profiles_keep_their_sources_over_a_base_of_the_user(
    name: str, named: tuple[str, ...], tmp_path: Path
) -> None:
    """The user's file may lack the names of their sources, or give them to others; what it states counts for all."""
    shipped = Catalog().entry(name)
    theirs = _replaced(tmp_path, named=named, repair={"value": "604800 s", "source": "ours"}).entry(name)
    assert isinstance(shipped.part, ReliabilityProfile)
    assert isinstance(theirs.part, ReliabilityProfile)
    assert _figures(theirs.part, theirs) == _figures(shipped.part, shipped)
    if "repair" not in shipped.document.data:
        assert (theirs.part.repair.value, theirs.part.sources[theirs.part.repair.source].title) == (
            7 * 86_400,
            OTHER["title"],
        )


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profiles_leave_out_only_what_is_there(name: str, tmp_path: Path) -> None:
    """A base without links, switches and bridges: none of them is missed."""
    data = yaml.safe_load((ROOT / "catalogs/reliability/reliability-2026.yaml").read_text())
    few = {key: hazard for key, hazard in _as_ours(data["hazards"]).items() if key in ("accelerator", "software")}
    assert _replaced(tmp_path, hazards=few).entry(name).part.id == name


def test_a_profile_of_the_user_may_extend_such_a_shipped_one(tmp_path: Path) -> None:
    _replaced(tmp_path)
    catalog = written(tmp_path, f"{HEAD}extends: rsc-1\nname: ours\nvendor: us\n")
    mine, theirs = catalog.entry("mine").part, catalog.entry("rsc-1").part
    assert isinstance(mine, ReliabilityProfile)
    assert isinstance(theirs, ReliabilityProfile)
    assert mine.hazards == theirs.hazards
    job = "operate goodput superpod-h100-4su --model llama3.1-70b --draws 20 --profile rsc-1"
    done = ffplan(f"{job} --catalog {tmp_path}")
    assert done.code == 0, done.err
