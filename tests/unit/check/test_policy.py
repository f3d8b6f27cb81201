"""Policies, waivers, baselines and regressions of `ffplan check`."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError, Severity
from ffplan.check.policy import read_policy
from ffplan.check.waivers import comment_waivers
from tests.support import Run, document, ffplan, overlay_part, valid, vary_design

if TYPE_CHECKING:
    from pathlib import Path

TODAY = ("--today", "2026-11-22")


def policy(folder: Path, text: str) -> Path:
    path = folder / "ffplan.toml"
    path.write_text(text)
    return path


def check(folder: Path, *options: str) -> Run:
    return ffplan("check", str(folder), *TODAY, *options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one design, 10 % of whose limits are broken by nobody."""
    vary_design(tmp_path, "fire-flyer-2")
    return tmp_path


def test_severities_and_rules_that_are_off(folder: Path) -> None:
    assert "[fabric-full]" in check(folder).out
    policy(folder, 'fail-on = "warning"\n[rules]\nfabric-full = "off"\nzone-bottleneck = "warning"\n')
    done = check(folder)
    assert "[fabric-full]" not in done.out
    assert "warning: the zones share one link" in done.out
    assert done.code == 1
    assert check(folder, "--fail-on", "error").code == 0
    assert check(folder, "--isolated").code == 0
    assert "[fabric-full]" in check(folder, "--isolated").out


def test_the_stricter_of_two_limits_holds(folder: Path) -> None:
    policy(folder, '[limits]\nit_power = "3 MW"\nallreduce_bandwidth = "4 GB/s"\noversubscription = "2:1"\n')
    done = check(folder)
    assert "is 3,317 kW, above the limit of at most 3,000 kW, set by" in done.out
    assert "ffplan.toml [limit-it-power]" in done.out
    assert "limit-allreduce" not in done.out  # the design wants 5 GB/s and gets 5.56
    assert done.code == 1
    policy(folder, '[limits]\nallreduce_bandwidth = "6 GB/s"\n')
    assert "[limit-allreduce-bandwidth]" in check(folder).out


def test_a_limit_in_another_currency_cannot_be_held(folder: Path) -> None:
    policy(folder, '[limits]\ncapex = "EUR 100M"\n')
    done = check(folder)
    assert "cannot be held: it is in EUR, the design is priced in paper-unit [policy-limit]" in done.out
    assert done.code == 0


@pytest.mark.parametrize("own", ["", "capex: $900 M\n  ", "capex: 900 paper-unit\n  "])
def test_a_limit_in_a_currency_with_a_rate_is_held(tmp_path: Path, own: str) -> None:
    """The purchase is 11,989 units, 157 million dollars; a design's own limit in another currency hides none."""
    vary_design(tmp_path, "fire-flyer-2", ("limits:\n  ", f"limits:\n  {own}"))
    for limit, shown in (("$100 M", "100,000,000 USD"), ("1000 paper-unit", "1,000 paper-unit")):
        policy(tmp_path, f'[limits]\ncapex = "{limit}"\n')
        done = check(tmp_path)
        assert done.code == 1
        assert "[policy-limit]" not in done.out
        assert "[limit-capex]" in done.out
        assert (shown in done.out) is ("900 paper-unit" not in own)
    policy(tmp_path, '[limits]\ncapex = "$158 M"\n')
    assert check(tmp_path).code == ("900 paper-unit" in own)


def test_a_policy_waives_by_file_and_field(folder: Path) -> None:
    waiver = '[[waivers]]\nrule = "{}"\nfiles = ["{}"]\npath = "{}"\nreason = "agreed"\n'
    policy(folder, waiver.format("fabric-full", "fire-*.yaml", "fabric"))
    assert "[fabric-full]" not in (done := check(folder)).out
    assert "(1 waived)" in done.out
    policy(folder, waiver.format("fabric-full", "dgx-*.yaml", "fabric"))
    assert "[fabric-full]" in check(folder).out
    policy(folder, waiver.format("fabric-full", "**", "nodes"))
    done = check(folder)
    assert "[fabric-full]" in done.out
    assert "ffplan.toml:1:1: warning: nothing breaks `fabric-full` here any more [waiver-unused]" in done.out


def test_a_broken_pyproject_with_a_policy_is_no_silence(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.x]\na = \n[tool.ffplan]\nfail-on = "info"\n')
    done = check(folder)
    assert done.code == 2
    assert "this is not TOML" in done.out


@pytest.mark.parametrize("text", ["tool = 1\n", "[tool]\nffplan = 3\n", f"x = {'[' * 3000}\n", f"x = {'9' * 5000}\n"])
def test_odd_policies_are_faults_or_nothing(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    assert ffplan("check", str(folder), "--policy", str(folder / "pyproject.toml")).code in (0, 2)


def test_regressions_can_be_weighed_and_waived(repository: Path) -> None:
    design = repository / "fire-flyer-2.yaml"
    design.write_text(design.read_text().replace("pue: 1.25", "pue: 1.5"))
    policy(repository, '[rules]\nregression = "off"\n')
    assert check(repository, "--against", "main").code == 0
    waivers = [
        f'[[waivers]]\nrule = "regression"\npath = "facility_{name}"\nreason = "a hotter room"\n'
        for name in ("training", "peak")
    ]
    policy(repository, "\n".join(waivers))
    done = check(repository, "--against", "main")
    assert done.code == 0
    assert "(2 waived)" in done.out
    assert "waiver-unused" not in done.out


def test_a_version_that_cannot_be_assessed_is_said(repository: Path) -> None:
    design = repository / "fire-flyer-2.yaml"
    right = design.read_text()
    design.write_text(right.replace("tiers: 2", "tier: 2"))
    git(repository, "commit", "-qam", "broken")
    design.write_text(right)
    assert (
        "not held against what it was: the version of `main` cannot be assessed"
        in check(repository, "--against", "main").out
    )


def test_a_missing_price_is_no_cheap_token(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    overlay_part(parts, "usd-2026", ("  hgx-h100-8nic:", "  hgx-h100-8nix:"))
    job = "workload: {model: llama3-8b, batch: 512, gpus: 64, tokens: 1T}\n"
    limit = "limits: {cost_per_million_tokens: $0.50}\n"
    vary_design(tmp_path, "superpod-h100-4su", ("site:\n", f"{job}{limit}site:\n"))
    design = tmp_path / "superpod-h100-4su.yaml"
    done = ffplan("check", str(design), "--catalog", str(parts), "--isolated")
    assert "the limit cannot be checked: a million tokens of the workload is at least" in done.out
    assert done.code == 1


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# ffplan: waive", "a waiver without rule or reason"),
        ("# ffplan: waive fabric-full", "a waiver without rule or reason"),
        ("# ffplan: waive fabric-ful: x", "no rule `fabric-ful`"),
        ("# ffplan: waive fabric-full until soon: x", "`soon` is not a date"),
    ],
)
def test_comments_that_are_no_waivers(comment: str, message: str) -> None:
    waivers, (fault,) = comment_waivers(f"a: 1\n{comment}\n", "a.yaml", None)
    assert not waivers
    assert (fault.message, fault.line, fault.severity, fault.rule) == (message, 2, Severity.ERROR, "waiver-invalid")


WAIVE = "# ffplan: waive fabric-full: x"


@pytest.mark.parametrize(
    "text",
    [
        f'name: "{WAIVE}"\n',
        f"name: '{WAIVE}'\n",
        f'"{WAIVE}": 1\n',
        f'name: "one\n  {WAIVE}"\n',
        f"name: |\n  one\n  {WAIVE}\n",
        f"name: >-\n  {WAIVE}\n\n  two\nother: 1\n",
        f'["{WAIVE}", 1]\n',
        f'name: "\u00e9\u4e2d {WAIVE}"\n',
        f"name: |\r  one\r  {WAIVE}\r",
        f"name: |\u2028  one\u2028  {WAIVE}\n",
    ],
)
def test_words_inside_a_value_waive_nothing(text: str) -> None:
    assert comment_waivers(text, "a.yaml", document(text).root) == ([], [])


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (f'name: "{WAIVE}" {WAIVE}\n', 1),
        (f'name: "\u00e9\u4e2d" {WAIVE}\n', 1),
        (f"name: | {WAIVE}\n  one\n", 1),
        (f"name: |\n  one\n{WAIVE}\nother: 1\n", 3),
        (f"name: one\r\n{WAIVE}\r\nother: 1\r\n", 2),
        (f"name: 1 {WAIVE}", 1),
        (f"name: [1, {WAIVE}\n  2]\n", 1),
        (f"name: '\u2028'\nother: 1 {WAIVE}\n", 2),
        (f"# a\u2028# b\n# c\x85# f\u2029# g\nother: 1 {WAIVE}\n", 3),
        (f"name: one\rother: |\r  two\rlast: 1 {WAIVE}\r", 4),
    ],
)
def test_comments_beside_values_waive(text: str, row: int) -> None:
    """Lines are those of an editor, as in every finding, whatever else ends a line to Python or to YAML."""
    (waiver,), faults = comment_waivers(text, "a.yaml", document(text).root)
    assert not faults
    assert waiver.line == row


def test_what_keeps_a_file_from_being_read_is_not_waived(tmp_path: Path) -> None:
    vary_design(tmp_path, "fire-flyer-2", ("tiers: 2", "tier: 2  # ffplan: waive schema-unknown-field: typo"))
    done = check(tmp_path)
    assert done.code == 2
    assert "[schema-unknown-field]" in done.out


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        ("x = [", 1, "this is not TOML", "correct it"),
        ("\n[rule]\na = 1\n", 2, "unknown field `rule`", "`rules`"),
        ('[rules]\nfabric-ful = "off"\n', 2, "no rule `fabric-ful`", "`fabric-full`"),
        ('[rules]\nfabric-full = "no"\n', 2, "`rules.fabric-full`", "docs/ci.md"),
        ('[limits]\nit_power = "3 GB"\n', 2, "`limits.it_power`: `3 GB` is an amount of data", "write a power"),
        ('mandatory = ["x"]\n', 1, "no rule `x`", "known rule"),
        ('[[waivers]]\nrule = "fabric-full"\n', 1, "`waivers.0.reason` is missing", "add `reason`"),
        (
            '[[waivers]]\nrule = "fabric-full"\nreason = "a"\n[[waivers]]\nrule = "nope"\nreason = "a"\n',
            5,
            "no rule `nope`",
            "",
        ),
        ('[[waivers]]\nrule = "fabric-full"\nreason = "a"\nuntil = "soon"\n', 4, "`soon` is not a date", "2027-03-31"),
        ("[regressions]\ncost = 5\n", 2, "`regressions.cost`", ""),
        ("[regressions]\nrun.day = 0.1\n", 2, "no figure `run.day` is compared", "`run.days`"),
        ("[regressions]\nrun.days = 5\n", 2, "`regressions.run.days`", ""),
        ("[limits]\nrun.day = 5\n", 2, "unknown field `limits.run.day`", "`run.days`"),
        ("[limits]\nrun.days = -5\n", 2, "`limits.run.days`", ""),
    ],
)
def test_faults_of_a_policy_are_located(tmp_path: Path, text: str, line: int, message: str, remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        read_policy(policy(tmp_path, text), "ffplan.toml")
    (fault,) = caught.value.findings
    assert (fault.rule, fault.line) == ("policy-invalid", line)
    assert message in fault.message
    assert remedy in fault.remedy


def test_a_baseline_keeps_what_was_there(folder: Path) -> None:
    file = str(folder / "baseline.json")
    first = check(folder, "--baseline", file, "--update-baseline", "--fail-on", "info")
    assert first.code == 0
    assert "in the baseline)" in first.out
    saved = json.loads((folder / "baseline.json").read_text())
    keys = [(item["file"], item["rule"], item["path"]) for item in saved["findings"]]
    assert keys == sorted(keys)
    design = folder / "fire-flyer-2.yaml"
    design.write_text("# moved\n" + design.read_text().replace("count: 1250", "count: 1249"))
    second = check(folder, "--baseline", file, "--fail-on", "info")
    assert second.code == 1
    assert second.out.count("[") == 1  # the new finding alone, though all lines moved
    assert "[zones-uneven]" in second.out
    assert "1 entry of the baseline fixed" in second.out  # ports are free now
    report = valid(ffplan("check", str(folder), "--baseline", file, "-f", "json").out, "findings")
    assert (report["known"], report["fixed"], report["waived"]) == (len(keys) - 1, 1, 0)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2, "findings": []}', '{"format": 1, "findings": [1]}'])
def test_files_that_are_no_baseline(folder: Path, text: str) -> None:
    (folder / "b.json").write_text(text)
    done = check(folder, "--baseline", str(folder / "b.json"))
    assert (done.code, done.out) == (2, "")
    assert "this is not a baseline; write one with --update-baseline" in done.err


def test_a_baseline_loses_what_is_no_longer_there(tmp_path: Path) -> None:
    """A folder that is checked answers for the files that were in it."""
    design, file = vary_design(tmp_path, "fire-flyer-2"), str(tmp_path / "b.json")
    check(tmp_path, "--baseline", file, "--update-baseline")
    entries = len(json.loads((tmp_path / "b.json").read_text())["findings"])
    design.rename(tmp_path / "new.yaml")
    report = valid(check(tmp_path, "--baseline", file, "-f", "json").out, "findings")
    assert (report["known"], report["fixed"]) == (0, entries)
    alone = valid(ffplan("check", str(tmp_path / "new.yaml"), *TODAY, "--baseline", file, "-f", "json").out, "findings")
    assert (alone["known"], alone["fixed"]) == (0, 0)  # of the folder it says nothing
    check(tmp_path, "--baseline", file, "--update-baseline")
    assert {one["file"] for one in json.loads((tmp_path / "b.json").read_text())["findings"]} == {
        str(tmp_path / "new.yaml")
    }


def test_a_baseline_of_a_warning_accepts_no_error(folder: Path) -> None:
    file = str(folder / "b.json")
    policy(folder, '[rules]\nfabric-full = "warning"\n')
    check(folder, "--baseline", file, "--update-baseline")
    policy(folder, '[rules]\nfabric-full = "error"\n')
    done = check(folder, "--baseline", file)
    assert done.code == 1
    assert done.out.count("[fabric-full]") == 1
    assert "fixed" not in done.out


def test_waivers_of_a_policy_that_accept_nothing_are_said(folder: Path) -> None:
    """Wherever a checked folder has all of their files, though none of them is there; those of `regression` apart."""
    design = folder / "d" / "x.yaml"
    design.parent.mkdir()
    (folder / "fire-flyer-2.yaml").rename(design)
    waiver = '[[waivers]]\nrule = "{}"\nfiles = ["{}"]\nreason = "agreed"\n'
    policy(folder, waiver.format("no-spares", "d/typo.yaml") + waiver.format("regression", "d/*"))
    for place in (folder, folder / "d"):
        done = check(place)
        assert done.out.count("[waiver-unused]") == 1
        assert "ffplan.toml:1:1: warning: nothing breaks `no-spares` here any more [waiver-unused]" in done.out
    assert "[waiver-unused]" not in ffplan("check", str(design), *TODAY).out


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_regressions_against_a_revision(repository: Path) -> None:
    assert "[regression]" not in check(repository, "--against", "main").out
    design = repository / "fire-flyer-2.yaml"
    design.write_text(design.read_text().replace("pue: 1.25", "pue: 1.5"))
    done = check(repository, "--against", "main")
    assert done.code == 1
    assert re.search(r"facility power in training went from 4,1[0-9.]+ to 4,9[0-9.]+ kW, \+20 %", done.out)
    assert "beyond the 5 % allowed against main [regression]" in done.out
    assert done.out.count("[regression]") == 2
    policy(repository, '[regressions]\npower = "21 %"\n')
    assert "[regression]" not in check(repository, "--against", "main").out
    policy(repository, '[regressions]\npower = "21 %"\nsite.facility_peak_kw = "19 %"\n')
    done = check(repository, "--against", "main")
    assert done.out.count("[regression]") == 1
    assert "facility peak went from" in done.out
    (repository / "ffplan.toml").unlink()
    (repository / "new.yaml").write_text(design.read_text())
    assert "new.yaml:1:1: error" not in check(repository, "--against", "main").out  # nothing was there before


def test_regressions_against_a_saved_report(folder: Path) -> None:
    design, saved = folder / "fire-flyer-2.yaml", folder / "saved.json"
    assert ffplan("design", str(design), "-f", "json", "-o", str(saved)).code == 0
    assert "[regression]" not in check(folder, "--against", str(saved)).out
    report = json.loads(saved.read_text())
    report["site"]["purchase_p50"] /= 1.06
    saved.write_text(json.dumps(report))
    done = check(folder, "--against", str(saved))
    assert "purchase went from" in done.out
    assert "+6 %, beyond the 5 % allowed" in done.out
    report["design"]["file"] = "other.yaml"
    saved.write_text(json.dumps(report))
    assert "it is of no design that is checked" in check(folder, "--against", str(saved)).err


JOB = "workload: {model: llama3-8b, batch: 512, gpus: 64, tokens: 1T}\n"


def test_a_figure_that_disappears_is_a_regression(tmp_path: Path) -> None:
    """Each figure that a threshold holds is named as soon as the design no longer has it."""
    design = vary_design(tmp_path, "superpod-h100-4su", ("site:\n", f"{JOB}site:\n"))
    text = design.read_text()
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    design.write_text(text.replace(JOB, ""))
    done = check(tmp_path, "--against", "main")
    assert done.code == 1
    for label in ("step of the workload", "tokens a second", "days of the run", "a million tokens"):
        assert re.search(rf"error: no longer known: {label}, [0-9].* in main \[regression\]", done.out)
    design.write_text(re.sub(r"cost:\n(  .*\n)+", "", text))
    done = check(tmp_path, "--against", "main")
    assert done.code == 1
    assert re.search(r"error: no longer known: purchase, [0-9].* USD in main \[regression\]", done.out)
    policy(tmp_path, '[[waivers]]\nrule = "regression"\nreason = "unpriced for now"\n')
    assert check(tmp_path, "--against", "main").code == 0


def test_what_a_saved_report_does_not_say_is_said(tmp_path: Path) -> None:
    """A report holds no workload: its step and its run are held against nothing."""
    design, saved = vary_design(tmp_path, "superpod-h100-4su", ("site:\n", f"{JOB}site:\n")), tmp_path / "saved.json"
    assert ffplan("design", str(design), "-f", "json", "-o", str(saved)).code == 0
    done = check(tmp_path, "--against", str(saved))
    assert re.search(r"warning: not held against .*, which does not say what they were: .*step", done.out)
    assert done.out.count("[regression]") == 1
    policy(tmp_path, '[[waivers]]\nrule = "regression"\npath = "report"\nreason = "timed elsewhere"\n')
    assert "[regression]" not in check(tmp_path, "--against", str(saved)).out


@pytest.mark.parametrize("saved", [False, True])
def test_a_broken_design_says_why_though_it_is_held_against_what_it_was(repository: Path, saved: bool) -> None:
    design, report = repository / "fire-flyer-2.yaml", repository / "saved.json"
    assert ffplan("design", str(design), "-f", "json", "-o", str(report)).code == 0
    design.write_text(design.read_text().replace("count: 1250", "cuont: 1250"))
    done = check(repository, "--against", str(report) if saved else "main")
    assert (done.code, done.err) == (2, "")
    assert "fire-flyer-2.yaml:11:48: error: the field `cuont` is not known here" in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--against", "nowhere"), "git knows no revision `nowhere`"),
        (("--against", "a...b...c"), "is neither a revision nor a pair of them"),
        (("--against", "x" * 300), "git knows no revision"),
        (("--against", "--exec=x"), "git knows no revision"),
        (("--update-baseline",), "--update-baseline needs --baseline FILE"),
        (("--isolated", "--policy", "x.toml"), "--isolated leaves no policy"),
    ],
)
def test_options_that_cannot_be_met(repository: Path, options: tuple[str, ...], words: str) -> None:
    done = check(repository, *options)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_days_that_are_none(folder: Path) -> None:
    done = ffplan("check", str(folder), "--today", "tomorrow")
    assert done.code == 2
    assert "`tomorrow` is no day; write it as 2026-08-31" in done.err


@pytest.mark.deep
def test_several_processes_find_the_same(tmp_path: Path) -> None:
    text = vary_design(tmp_path, "fire-flyer-2").read_text()
    for number in range(9):
        (tmp_path / f"d{number}.yaml").write_text(text.replace("count: 1250", f"count: {1240 + number}"))
    one, two = (check(tmp_path, "--jobs", jobs, "-f", "json") for jobs in ("1", "3"))
    assert one == two
    assert one.code == 0


def test_a_baseline_keeps_the_files_that_are_not_checked(tmp_path: Path) -> None:
    text = vary_design(tmp_path, "fire-flyer-2").read_text()
    other, file = tmp_path / "other.yaml", str(tmp_path / "b.json")
    other.write_text(text)
    check(tmp_path, "--baseline", file, "--update-baseline")
    entries = json.loads((tmp_path / "b.json").read_text())["findings"]
    alone = ffplan("check", str(other), *TODAY, "--baseline", file, "--update-baseline")
    assert "fixed" not in alone.out
    assert json.loads((tmp_path / "b.json").read_text())["findings"] == entries


def test_a_policy_judges_figures_and_changes_none(tmp_path: Path) -> None:
    job = "workload: {model: llama3-8b, batch: 512, gpus: 64, tokens: 1T}\n"
    limit = "limits: {cost_per_million_tokens: $0.000001}\n"
    vary_design(tmp_path, "superpod-h100-4su", ("site:\n", f"{job}{limit}site:\n"))

    def said() -> str:
        return next(line for line in check(tmp_path).out.splitlines() if "cost-per-million" in line)

    before = said()
    policy(tmp_path, '[limits]\npower_per_rack = "10 kW"\n')
    assert said() == before
    assert "[limit-power-per-rack]" in check(tmp_path).out


def test_a_fault_names_the_field_as_the_policy_writes_it(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("\n\nfail-on = 3\n")
    done = ffplan("check fire-flyer-2 --policy", str(tmp_path / "own.toml"))
    assert done.code == 2
    assert "own.toml:3:1: error: `fail-on`: " in done.out
