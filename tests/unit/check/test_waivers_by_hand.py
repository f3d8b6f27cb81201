"""Waivers, policies and baselines on findings of a hand: what each accepts, until when, and what is left of it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import date
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.errors import Finding, InputError, Severity
from ffplan.check.policy import NO_POLICY, Policy, find_policy, read_policy
from ffplan.check.waivers import (
    Waiver,
    _Entry,
    _matches,
    against,
    comment_waivers,
    others,
    policy_waivers,
    read_baseline,
    settled_waivers,
    unused,
    waive,
    weighed,
    write_baseline,
)
from tests.support import document

if TYPE_CHECKING:
    from pathlib import Path

DAY = date(2026, 11, 22)


def item(rule: str = "fabric-full", line: int = 5, path: str = "fabric", file: str = "a.yaml") -> Finding:
    return Finding(
        rule=rule, severity=Severity.INFO, file=file, line=line, column=1, message="m", remedy="r", path=path
    )


def waiver(**changed: Any) -> Waiver:
    fields: dict[str, Any] = {"rule": "fabric-full", "reason": "why", "until": None, "file": "w.toml", "line": 1}
    return Waiver(**{**fields, "path": None, "rows": (), **changed})


def entry(file: str = "a.yaml", path: str = "fabric") -> _Entry:
    return _Entry(file, "fabric-full", path, "info", unchecked=False)


def policy(folder: Path, text: str, name: str = "ffplan.toml") -> Policy:
    (folder / name).write_text(text)
    return read_policy(folder / name, name)


@pytest.mark.parametrize(
    ("own", "found", "covered"),
    [
        ({}, item(), True),  # a waiver of a policy without a field: the rule anywhere
        ({"rule": "zones-uneven"}, item(), False),
        ({"path": "fabric"}, item(), True),
        ({"path": "fabric"}, item(path="fabric.zones"), True),
        ({"path": "fabric.zones"}, item(), False),
        ({"path": "fab"}, item(), False),
        ({"rows": (5, 6)}, item(), True),  # a comment covers its line, and the next field's
        ({"rows": (4, 5)}, item(), True),
        ({"rows": (4, 6)}, item(), False),
        ({"rows": (4, 6), "path": "fabric"}, item(), True),
        ({"rows": (4, 5), "path": "nodes"}, item(), True),
        ({"rows": (4, 6), "path": "nodes"}, item(), False),
        ({"rows": (5, 5), "rule": "zones-uneven"}, item(), False),
    ],
)
def test_what_a_waiver_covers(own: dict[str, Any], found: Finding, covered: bool) -> None:
    assert waiver(**own).covers(found) is covered


DESIGN = """\
name: x  # ffplan: waive zones-uneven: one
# ffplan: waive fabric-full until 2027-03-31: grown later

# of the plan
fabric:
  tiers: 2
  zones: [1, 2]
nodes:
  # ffplan: waive no-spares: none
  - role: compute
  - role: storage
# ffplan:waive price-missing:  why not
"""


def test_where_comments_stand_says_what_they_cover() -> None:
    """A comment beside a value covers its line; one alone the next line that says something; the last covers itself."""
    found, faults = comment_waivers(DESIGN, "a.yaml", document(DESIGN).root)
    assert not faults
    assert [(own.rule, own.reason, own.line, own.rows, own.path) for own in found] == [
        ("zones-uneven", "one", 1, (1, 1), "name"),
        ("fabric-full", "grown later", 2, (2, 5), "fabric"),
        ("no-spares", "none", 9, (9, 10), "nodes.0"),
        ("price-missing", "why not", 12, (12, 12), None),
    ]
    assert [own.until for own in found] == [None, date(2027, 3, 31), None, None]
    assert all(own.file == "a.yaml" for own in found)


def test_a_comment_is_read_though_the_file_is_no_yaml() -> None:
    (found,), _ = comment_waivers(DESIGN.splitlines()[0], "a.yaml", None)
    assert (found.path, found.rows) == (None, (1, 1))


def test_a_fault_of_a_comment_leaves_the_next_to_be_read() -> None:
    found, (fault,) = comment_waivers(f"a: 1  # ffplan: waive waiver-unused: x\n{DESIGN}", "a.yaml", None)
    assert len(found) == 4
    assert fault.message == "`waiver-unused` is about waivers: no waiver accepts it"
    assert (fault.remedy, fault.line, fault.severity) == ("remove the waiver", 1, Severity.ERROR)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a.yaml", "a.yaml", "b/a.yaml a.yaml2 xa.yaml a.yam"),
        ("*.yaml", "a.yaml .yaml", "b/a.yaml a.yml"),
        ("?.yaml", "a.yaml", ".yaml ab.yaml /.yaml"),
        ("b/*", "b/a b/", "b/c/a b"),
        ("b/**", "b/a b/c/a b/", "b a/b"),
        ("**", "a b/a b/c/a", ""),
        ("**/a", "a b/a b/c/a", "xa b/xa b/a/c"),
        ("b/**/a", "b/a b/c/a b/c/d/a", "b/xa ba a"),
        ("*a*", "a xa ax xax", "b x/a"),
        ("[a].yaml", "[a].yaml", "a.yaml"),
    ],
)
def test_patterns_of_files(pattern: str, yes: str, no: str) -> None:
    """`?` is a letter and `*` any number of a name; `**` passes folders, and `**/` is any number of them, or none."""
    assert [path for path in f"{yes} {no}".split() if _matches(pattern, path)] == yes.split()


def test_a_pattern_full_of_stars_takes_no_time() -> None:
    start = monotonic()
    for stars in ("*", "**", "x*/**/"):
        assert not _matches(f"{stars}a" * 300 + "b", "a" * 3000)
    assert monotonic() - start < 20.0  # a place for each letter from each other one took minutes


def test_waivers_of_a_policy_are_those_of_the_file(tmp_path: Path) -> None:
    """Paths count from the folder of the policy; of a file elsewhere the whole path counts."""
    own = policy(
        tmp_path,
        '[[waivers]]\nrule = "fabric-full"\nreason = "a"\nfiles = ["x/*"]\npath = "fabric"\nuntil = 2027-01-01\n'
        '[[waivers]]\nrule = "no-spares"\nreason = "b"\n[[waivers]]\nrule = "zones-uneven"\nreason = "c"\n'
        'files = ["y", "/else/*"]\n',
    )

    def found(path: Path) -> list[str]:
        return [one.reason for one in policy_waivers(own, path)]

    assert found(tmp_path / "x" / "a.yaml") == ["a", "b"]
    assert found(tmp_path / "y") == ["b", "c"]
    assert found(tmp_path.parent.parent / "x" / "a.yaml") == ["b"]
    assert found(type(tmp_path)("/else/x")) == ["b", "c"]
    first = policy_waivers(own, tmp_path / "x" / "a.yaml")[0]
    assert (first.file, first.line, first.path, first.until) == ("ffplan.toml", 1, "fabric", date(2027, 1, 1))
    assert [one.line for one in policy_waivers(own, tmp_path / "y")] == [7, 10]


@pytest.mark.parametrize("path", ["nodes[0].server", "nodes.0.server", "nodes[0]", "nodes"])
def test_a_waiver_of_a_policy_names_a_field_in_either_form(tmp_path: Path, path: str) -> None:
    own = policy(tmp_path, f'[[waivers]]\nrule = "fabric-full"\nreason = "a"\npath = "{path}"\n')
    (found,) = policy_waivers(own, tmp_path / "a.yaml")
    assert found.covers(item(path="nodes.0.server"))
    assert not found.covers(item(path="nodes.1.server")) or path == "nodes"


def test_which_waivers_of_a_policy_are_settled(tmp_path: Path) -> None:
    """Those of which a checked folder holds all files, whether or not one answers to the pattern; no broken one's."""
    patterns = ["**", "d/**", "d/x.yaml", "d/*/y.yaml", "e/*", "d?/*", "x.yaml", "d/z.yaml"]
    own = policy(
        tmp_path, "".join(f'[[waivers]]\nrule = "no-spares"\nreason = "{one}"\nfiles = ["{one}"]\n' for one in patterns)
    )

    def settled(*folders: str, broken: tuple[str, ...] = ()) -> list[str]:
        found = settled_waivers(own, [tmp_path / folder for folder in folders], [tmp_path / name for name in broken])
        return [one.reason for one in found]

    assert settled("") == settled(".", "d") == patterns
    assert settled("d") == ["d/**", "d/x.yaml", "d/*/y.yaml", "d/z.yaml"]
    assert settled("d", "e") == ["d/**", "d/x.yaml", "d/*/y.yaml", "e/*", "d/z.yaml"]
    assert settled() == []
    assert settled("d", broken=("d/x.yaml",)) == ["d/*/y.yaml", "d/z.yaml"]


@pytest.mark.parametrize(("until", "stands"), [(None, False), (DAY, False), (date(2026, 11, 21), True)])
def test_a_waiver_holds_to_the_end_of_its_day(until: date | None, stands: bool) -> None:
    left = waive((item(), item("zones-uneven")), [waiver(until=until)], NO_POLICY, DAY)
    assert [one.rule for one in left.kept] == (["fabric-full"] if stands else []) + ["zones-uneven"] + (
        ["waiver-expired"] if stands else []
    )
    assert [one.rule for one, _ in left.waived] == ([] if stands else ["fabric-full"])
    assert len(left.used) == 1
    for one in left.kept[2:]:
        assert (one.severity, one.file, one.line) == (Severity.WARNING, "w.toml", 1)
        assert one.message == "the waiver of `fabric-full` expired on 2026-11-21: why"


def test_one_expired_waiver_is_said_once_and_another_may_still_hold() -> None:
    """Two findings of one expired waiver; a second waiver that holds accepts one of them."""
    old, new = waiver(until=date(2026, 1, 1)), waiver(line=2, path="fabric", until=DAY)
    left = waive((item(), item(path="nodes")), [old, new], NO_POLICY, DAY)
    assert [(one.rule, one.path) for one in left.kept] == [("fabric-full", "nodes"), ("waiver-expired", "")]
    assert [one.line for _, one in left.waived] == [2]


def test_mandatory_rules_and_those_that_are_off(tmp_path: Path) -> None:
    own = policy(tmp_path, 'mandatory = ["fabric-full"]\n[rules]\nno-spares = "off"\nzones-uneven = "error"\n')
    items = (item(), item("no-spares"), item("zones-uneven"), item("fewer-tiers"))
    weighty = weighed(items, own)
    assert [(one.rule, one.severity.value) for one in weighty] == [
        ("fabric-full", "info"),
        ("zones-uneven", "error"),
        ("fewer-tiers", "info"),
    ]
    all_rules = [waiver(rule=rule) for rule in ("fabric-full", "no-spares", "zones-uneven")]
    left = waive(items, all_rules, own, DAY)
    assert [one.rule for one in left.kept] == ["fabric-full", "fewer-tiers"]
    assert [one.rule for one in left.used] == ["fabric-full", "zones-uneven"]  # what is off breaks nowhere


def test_an_expired_waiver_may_be_off(tmp_path: Path) -> None:
    own = policy(tmp_path, '[rules]\nwaiver-expired = "off"\n')
    left = waive((item(),), [waiver(until=date(2026, 1, 1))], own, DAY)
    assert [one.rule for one in left.kept] == ["fabric-full"]


def test_waivers_that_accept_nothing_are_said_once_each() -> None:
    every = [waiver(), waiver(line=2), waiver(line=2, rule="no-spares"), waiver(file="v.toml")]
    found = unused(every, [every[0]])
    assert [(one.file, one.line, one.rule) for one in found] == [
        ("w.toml", 2, "waiver-unused"),
        ("v.toml", 1, "waiver-unused"),
    ]
    assert all(one.severity is Severity.WARNING for one in found)
    assert unused(every, every) == []


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a/ffplan.toml": ""}, "a/ffplan.toml"),
        ({"ffplan.toml": "", "a/pyproject.toml": "[tool.ffplan]\n"}, "a/pyproject.toml"),
        ({"ffplan.toml": "", "a/pyproject.toml": "[tool.other]\n"}, "ffplan.toml"),
        ({"ffplan.toml": "", "a/pyproject.toml": "[tool]\nffplan = 3\n"}, "ffplan.toml"),
        ({"ffplan.toml": "", "a/pyproject.toml": "tool = 3\n"}, "ffplan.toml"),
        ({"ffplan.toml": "", "a/pyproject.toml": "x = [\n"}, "ffplan.toml"),  # somebody else's trouble
        ({"ffplan.toml": "", "a/pyproject.toml": "x = [\n[tool.ffplan]\n"}, "a/pyproject.toml"),
        ({"a/ffplan.toml": "", "a/pyproject.toml": "[tool.ffplan]\n"}, "a/ffplan.toml"),
        ({"ffplan.toml": "", "a/ffplan.toml/x": ""}, "ffplan.toml"),  # a folder is no policy
    ],
)
def test_which_policy_is_the_nearest(tmp_path: Path, files: dict[str, str], found: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert find_policy(tmp_path / "a") == tmp_path / found


def fault(folder: Path, text: str, name: str = "ffplan.toml") -> Finding:
    with pytest.raises(InputError) as caught:
        policy(folder, text, name)
    (found,) = caught.value.findings
    assert (found.column, found.severity, found.file) == (1, Severity.ERROR, name)
    return found


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a = 1\n\nb = [\n", 3, "this is not TOML"),
        ('fail-on = "info"\n[rules]\nfabric-full = "off"\n"no-spare" = "off"\n', 4, "no rule `no-spare`"),
        ('# mandatory = 1\nmandatory = ["fabric-fall"]\n', 2, "no rule `fabric-fall`"),
        (
            'mandatory = ["no-spares"]\n[[waivers]]\nrule = "fabric-full"\nreason = "a"\n\n[[ waivers ]]\n'
            'rule = "no-spares"\nreason = "b"\n',
            6,
            "`no-spares` is mandatory: no waiver accepts it",
        ),
        ('[[waivers]]\nrule = "waiver-unused"\nreason = "a"\n', 1, "`waiver-unused` is about waivers: no waiver"),
        ('waivers = [{rule = "x", reason = "a"}]\n', 1, "no rule `x`"),
        (
            '[[waivers]]\nrule = "no-spares"\nreason = "a"\npath = "nodes[x]"\n',
            4,
            "`nodes[x]` is not a path; write one such as `nodes[0].count`",
        ),
        ('# a\u2028b\u2029c\n[rules]\nfabric-fool = "off"\n', 3, "no rule `fabric-fool`"),
        (f"\n\nx = {'9' * 5000}\n", 1, "this is not TOML"),  # Python says no line
    ],
)
def test_a_fault_of_a_policy_stands_at_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    found = fault(tmp_path, text)
    assert words in found.message
    assert found.line == line


def test_a_policy_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "ffplan.toml").write_bytes(b"# \xe4\n")
    with pytest.raises(InputError) as caught:
        read_policy(tmp_path / "ffplan.toml", "p")
    assert [one.message for one in caught.value.findings] == ["this is not UTF-8 text"]


def test_of_a_pyproject_only_its_table_counts(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\n[tool.ffplan]\nfail-on = "info"\n[tool.ffplan.rules]\nno-spares = "off"\n'
    own = policy(tmp_path, text, "pyproject.toml")
    assert (own.fields.fail_on, own.severity(item("no-spares")), own.severity(item())) == ("info", None, Severity.INFO)
    assert (own.file, own.folder, own.places) == ("pyproject.toml", tmp_path, {})
    assert policy(tmp_path, '[project]\nname = "x"\n', "pyproject.toml").fields.rules == {}
    assert policy(tmp_path, "tool = 3\n", "pyproject.toml").fields.rules == {}
    found = fault(tmp_path, "[tool]\n\nffplan = 3\n", "pyproject.toml")
    assert (found.message, found.line) == ("`tool.ffplan` is not a table", 3)
    assert fault(tmp_path, "[tool.ffplan]\n[rules]\n[tool.ffplan.rules]\nx = 'off'\n", "pyproject.toml").line == 4


def test_a_baseline_accepts_each_entry_once() -> None:
    """Two at one field and one elsewhere: of three findings there, one is new; the entry elsewhere is fixed."""
    old = [item(line=1), item(line=2), item(path="nodes")]
    saved = read_baseline(write_baseline(old, frozenset()), "b.json")
    assert saved == Counter({entry(): 2, entry(path="nodes"): 1})
    now = [item(line=at) for at in (7, 8, 9)]
    found = against(now, saved, frozenset())
    assert (found.new, found.known, found.fixed) == ((now[2],), 2, 1)
    assert against([], saved, frozenset()).fixed == 3
    forced = against(now, saved, frozenset({"fabric-full"}))
    assert (len(forced.new), forced.known, forced.fixed) == (3, 0, 3)


def test_a_baseline_is_sorted_and_leaves_out_what_it_may_not_hold() -> None:
    found = [item(file="./b.yaml"), item("no-spares"), item("waiver-unused"), item("zones-uneven")]
    kept = Counter({entry("c.yaml", path="x"): 2})
    text = write_baseline(found, frozenset({"no-spares"}), kept)
    rows = [(one["file"], one["rule"], one["path"]) for one in json.loads(text)["findings"]]
    assert rows == [
        ("a.yaml", "zones-uneven", "fabric"),
        ("b.yaml", "fabric-full", "fabric"),
        ("c.yaml", "fabric-full", "x"),
        ("c.yaml", "fabric-full", "x"),
    ]
    assert len(text.splitlines()) == len(rows) + 5  # one entry a line
    assert write_baseline([], frozenset()) == '{\n  "format": 1,\n  "findings": []\n}\n'


def test_entries_of_files_that_are_not_checked_now() -> None:
    saved = Counter({entry(): 1, entry("b.yaml"): 2})
    assert others(saved, ["./a.yaml"]) == Counter({entry("b.yaml"): 2})
    assert others(saved, ["a.yaml", "b.yaml"]) == Counter()


@pytest.mark.parametrize("folder", ["d", "d/", "./d/e/..", "/d"])
def test_what_is_gone_from_a_checked_folder_leaves_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Removed and renamed files; not what is beside the folder, nor what it holds and leaves out, as hidden files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d" / "e").mkdir(parents=True)
    for name in ("d/now.yaml", "d/.hidden.yaml"):
        (tmp_path / name).write_text("")
    names = ("d/now.yaml", "d/gone.yaml", "d/e/gone.yaml", "d/.hidden.yaml", "gone.yaml", "de/gone.yaml", "d/\0.yaml")
    saved = Counter([entry(name) for name in names])
    left = others(saved, ["d/now.yaml"], [f"{tmp_path}{folder}" if folder[0] == "/" else folder])
    assert sorted(one.file for one in left) == ["d/.hidden.yaml", "de/gone.yaml", "gone.yaml"]
    assert len(others(saved, ["d/now.yaml"])) == len(names) - 1
    assert [one.file for one in others(saved, ["d/now.yaml"], ["."])] == ["d/.hidden.yaml"]


@pytest.mark.parametrize("accepted", Severity)
@pytest.mark.parametrize("found", Severity)
def test_an_entry_accepts_nothing_graver(accepted: Severity, found: Severity) -> None:
    saved = read_baseline(write_baseline([replace(item(), severity=accepted)], frozenset()), "b.json")
    now = replace(item(), severity=found)
    held = against([now], saved, frozenset())
    assert held.new == ((now,) if found.rank > accepted.rank else ())
    assert held.fixed == 0  # it is worse, and not fixed


def test_an_entry_of_a_limit_that_cannot_be_checked_accepts_no_broken_one() -> None:
    broken, unknown = item("limit-capex"), replace(item("limit-capex"), unchecked=True)
    for first, second in ((broken, unknown), (unknown, broken)):
        saved = read_baseline(write_baseline([first], frozenset()), "b.json")
        assert against([first], saved, frozenset()).known == 1
        assert against([second], saved, frozenset()).new == (second,)
        assert against([second, first], saved, frozenset()).new == (second,)


def test_the_gravest_finding_takes_the_entry_that_accepts_it() -> None:
    """An error and a warning were accepted, in either order; a second error is new, and a second warning too."""
    error, warning = (replace(item(), severity=weight) for weight in (Severity.ERROR, Severity.WARNING))
    saved = read_baseline(write_baseline([error, warning], frozenset()), "b.json")
    assert against([warning, error], saved, frozenset()).new == ()
    assert against([warning, error, error], saved, frozenset()).new == (error,)
    assert against([warning, warning, error], saved, frozenset()).new == (warning,)


def test_an_entry_without_a_severity_accepts_any() -> None:
    """As it did when it was written, by an ffplan that knew none."""
    old = '{"format": 1, "findings": [{"file": "a.yaml", "rule": "limit-capex", "path": "fabric"}]}'
    for weight in Severity:
        for unchecked in (False, True):
            found = replace(item("limit-capex"), severity=weight, unchecked=unchecked)
            assert against([found], read_baseline(old, "b"), frozenset()).known == 1
    exact = write_baseline([item("limit-capex")], frozenset(), read_baseline(old, "b"))
    assert len(read_baseline(exact, "b")) == 2


@pytest.mark.parametrize(
    "entry",
    [
        '{"file": "f", "rule": "r", "path": "", "severity": "grave"}',
        '{"file": "f", "rule": "r", "path": "", "severity": null}',
        '{"file": "f", "rule": "r", "path": "", "unchecked": 1}',
        '["file"]',
        '{"file": 1, "rule": "r", "path": ""}',
        '{"file": "f", "rule": "r"}',
        '{"file": "f", "rule": "r", "path": 1}',
    ],
)
def test_an_entry_that_is_none(entry: str) -> None:
    from ffplan.base.errors import UsageError

    right = '{"file": "f", "rule": "r", "path": ""}'
    assert read_baseline(f'{{"format": 1, "findings": [{right}]}}', "b")
    with pytest.raises(UsageError, match="--baseline b: this is not a baseline"):
        read_baseline(f'{{"format": 1, "findings": [{right}, {entry}]}}', "b")


def test_a_finding_about_the_whole_file_is_not_below_a_field() -> None:
    whole = replace(item(), path="")
    assert not waiver(path="fabric").covers(whole)
    assert waiver().covers(whole)
