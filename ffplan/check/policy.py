"""The policy of a team: severities, limits and waivers in a TOML file near the designs.

Of a limit in policy and design, the stricter counts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import Finding, InputError, Severity, UsageError, did_you_mean
from ffplan.base.files import text_lines
from ffplan.base.plain import steps
from ffplan.base.record import record
from ffplan.check.rule import _rule_of_limit
from ffplan.design.policy_schema import PolicyFields, policy_fields
from ffplan.inputs.document import read_bytes
from ffplan.inputs.quantities import Money, exchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ffplan.design.resolved import ResolvedDesign

UNWAIVABLE = ("waiver-invalid", "waiver-expired", "waiver-unused", "policy-invalid")
"""Rules about waivers themselves, which no waiver accepts."""
_NAMES = ("ffplan.toml", "pyproject.toml")
"""Files of a policy, the first of a folder counts; the second only with `[tool.ffplan]`."""
DEFAULTS = ("catalog", "prices")
"""Settings that replace options of every command."""
_RUN_CURRENCY = "cost_per_million_tokens"
"""Limit whose rule knows the currency of the run, which ownership or rent decides."""


@record
class Policy:
    """A policy with its file."""

    file: str
    """Name in messages; empty without a policy."""
    folder: Path
    """Folder that patterns start from."""
    fields: PolicyFields
    places: dict[int, int]
    """Line of each waiver, by its position."""

    def severity(self, finding: Finding) -> Severity | None:
        """Return the severity of a finding; None if its rule is off."""
        weight = self.fields.rules.get(finding.rule)
        return None if weight == "off" else Severity(weight) if weight else finding.severity


NO_POLICY = Policy(file="", folder=Path(), fields=PolicyFields.model_construct(), places={})


def _known_rules() -> list[str]:
    from ffplan.check.team_rules import every_rule  # few files have a policy or a waiver

    return [rule.id for rule in every_rule()]


def find_policy(folder: Path) -> Path | None:
    """Return the policy of the nearest folder upwards that has one."""
    here = folder.absolute()
    for place in (here, *here.parents):
        for name in _NAMES:
            path = place / name
            if path.is_file() and (name == _NAMES[0] or _table(path) is not None):
                return path
    return None


def _table(path: Path) -> dict[str, Any] | None:
    """Return `[tool.ffplan]` of a pyproject.toml; None without it, or without TOML."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        if "ffplan" not in text:
            return None
        import tomllib

        tool = tomllib.loads(text).get("tool")
    except (OSError, ValueError, RecursionError):
        return {} if "[tool.ffplan" in text else None  # `read_policy` says what is wrong
    table = tool.get("ffplan") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else None


def _fault(file: str, line: int, message: str, remedy: str) -> Finding:
    return Finding(
        rule="policy-invalid", severity=Severity.ERROR, file=file, line=line, column=1, message=message, remedy=remedy
    )


def _line_of(text: str, path: tuple[str | int, ...]) -> int:
    """Return the line of the last field of a path that the text names; each step is searched below the one before."""
    lines, row = text_lines(text), 0
    for position, step in enumerate(path):
        if isinstance(step, int):
            header = re.compile(rf"\s*\[\[.*\b{re.escape(str(path[position - 1]))}\s*\]\]")
            headers = [index for index, line in enumerate(lines) if header.match(line)]
            row = headers[step] if step < len(headers) else row
            continue
        key = re.compile(rf"""\s*(\[+.*\b{re.escape(step)}\s*\]+|["']?{re.escape(step)}["']?\s*=)""")
        row = next((index for index in range(row, len(lines)) if key.match(lines[index])), row)
    return row + 1


def _unknown_rules(fields: PolicyFields, text: str, file: str) -> Iterator[Finding]:
    known = set(_known_rules())
    named: list[tuple[tuple[str | int, ...], str]] = [(("rules", name), name) for name in fields.rules]
    named += [(("mandatory",), name) for name in fields.mandatory]
    named += [(("waivers", position, "rule"), waiver.rule) for position, waiver in enumerate(fields.waivers)]
    for path, name in named:
        if name not in known:
            remedy = did_you_mean(name, sorted(known), what="rule")
            yield _fault(file, _line_of(text, path), f"no rule `{name}`", remedy)
    for position, waiver in enumerate(fields.waivers):
        rule = waiver.rule
        why = "is mandatory" if rule in fields.mandatory else "is about waivers" if rule in UNWAIVABLE else ""
        if why:
            message = f"`{rule}` {why}: no waiver accepts it"
            yield _fault(file, _line_of(text, ("waivers", position)), message, "remove the waiver")


def _malformed_paths(fields: PolicyFields, text: str, file: str) -> Iterator[Finding]:
    for position, waiver in enumerate(fields.waivers):
        try:
            steps(waiver.path or "")
        except UsageError as error:
            yield _fault(file, _line_of(text, ("waivers", position, "path")), str(error), "name a field as findings do")


def _unknown_figures(fields: PolicyFields, text: str, file: str) -> Iterator[Finding]:
    named = fields.regressions.model_extra or {}
    if not named:
        return
    from ffplan.figures.address import NAMES, address_of  # few policies name figures

    for name in named:
        if address_of(name) not in NAMES.values():
            remedy = did_you_mean(name, [*type(fields.regressions).model_fields, *NAMES.values()], what="figure")
            yield _fault(file, _line_of(text, ("regressions", name)), f"no figure `{name}` is compared", remedy)


def _toml(path: Path, file: str) -> tuple[str, dict[str, Any]]:
    import tomllib

    raw = read_bytes(path, file)
    try:
        text = raw.decode("utf-8")
        return text, tomllib.loads(text)
    except UnicodeDecodeError:
        raise InputError(_fault(file, 1, "this is not UTF-8 text", "save the policy as UTF-8")) from None
    except (ValueError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        last = max(len(text_lines(text)), 1) if "end of document" in str(error) else 1
        at = int(line[1]) if line else last
        raise InputError(_fault(file, at, f"this is not TOML: {error}", "correct it")) from None


def read_policy(path: Path, file: str) -> Policy:
    """Return the policy of a file.

    Args:
        path: its place; of a `pyproject.toml`, the table `[tool.ffplan]` counts.
        file: its name in messages.

    Raises:
        InputError: with a located finding for every fault.
    """
    text, data = _settings(path, file)
    fields = _fields(text, data, file)
    checks = (_unknown_rules, _malformed_paths, _unknown_figures)
    wrong = [fault for check in checks for fault in check(fields, text, file)]
    if wrong:
        raise InputError(*wrong)
    places = {position: _line_of(text, ("waivers", position)) for position in range(len(fields.waivers))}
    return Policy(file=file, folder=path.parent, fields=fields, places=places)


def read_defaults(path: Path, file: str) -> PolicyFields:
    """Return the settings of a file that replace options; its policy is not read.

    Args:
        path: its place, as for `read_policy`.
        file: its name in messages.

    Raises:
        InputError: with a located finding for every fault of these settings.
    """
    text, data = _settings(path, file)
    return _fields(text, {name: value for name, value in data.items() if name in DEFAULTS}, file)


def _settings(path: Path, file: str) -> tuple[str, dict[str, Any]]:
    text, data = _toml(path, file)
    if path.name == _NAMES[1]:
        tool = data.get("tool")
        data = tool.get("ffplan", {}) if isinstance(tool, dict) else {}
        if not isinstance(data, dict):
            line = _line_of(text, ("ffplan",))
            raise InputError(_fault(file, line, "`tool.ffplan` is not a table", "write [tool.ffplan]"))
    return text, data


def _fields(text: str, data: dict[str, Any], file: str) -> PolicyFields:
    written = {name.replace("-", "_"): name for name in data}  # a message names a field as the file does
    fields = policy_fields({name.replace("-", "_"): value for name, value in data.items()})
    if not isinstance(fields, PolicyFields):
        faults = []
        for place, message, remedy in fields:
            if place:
                first = written.get(str(place[0]), place[0])
                message, place = message.replace(f"`{place[0]}`", f"`{first}`"), (first, *place[1:])
            faults.append(_fault(file, _line_of(text, place), message, remedy))
        raise InputError(*faults)
    return fields


def with_limits(design: ResolvedDesign, policy: Policy) -> tuple[ResolvedDesign, tuple[Finding, ...]]:
    """Return a design that is held to the limits of a policy too, and a finding for each that it cannot be held to.

    Of two currencies, `site.exchange` says which limit is the stricter. Without a rate into the currency of the
    design's prices, or of its own limit, a limit of money cannot be held.
    """
    team, limits = policy.fields.limits, design.spec.limits
    if not team.model_fields_set:
        return design, ()
    from ffplan.check.rules.limits import LIMITS

    minima = {limit.field for limit in LIMITS if limit.least}
    stricter: dict[str, Any] = {}
    remarks: list[Finding] = []
    for name in sorted(team.model_fields_set):
        ours, theirs = getattr(limits, name), getattr(team, name)
        why = _not_comparable(design, name, ours, theirs) if isinstance(theirs, Money) else ""
        if why:
            remarks.append(_other_currency(design, f"`{name}` of {policy.file}", theirs.currency, why))
        elif ours is None or _is_stricter(theirs, ours, design.spec.site.exchange, least=name in minima):
            stricter[name] = theirs
    if not stricter:
        return design, tuple(remarks)
    spec = design.spec.model_copy(update={"limits": limits.model_copy(update=stricter)})
    return replace(design, spec=spec), tuple(remarks)


def _not_comparable(design: ResolvedDesign, name: str, ours: Money | None, theirs: Money) -> str:
    """Return why a limit of money cannot be held, as the state of the design; empty if it can."""
    priced, rates = design.prices.currency if design.prices else design.spec.site.currency, design.spec.site.exchange
    if name != _RUN_CURRENCY:
        if priced is None:
            return "the design is not priced"
        if exchanged(theirs, priced, rates) is None:
            return f"the design is priced in {priced}"
    if ours is not None and exchanged(theirs, ours.currency, rates) is None:
        return f"the design's own in {ours.currency}"
    return ""


def _is_stricter(limit: float | Money, other: float | Money, rates: Mapping[str, Money], *, least: bool) -> bool:
    """Return whether a limit is stricter than another, or as strict; of two currencies without a rate neither is."""
    if isinstance(limit, Money) and isinstance(other, Money):
        amount = exchanged(limit, other.currency, rates)
        return amount is not None and _is_stricter(amount, other.amount, rates, least=least)
    assert not isinstance(limit, Money)
    assert not isinstance(other, Money)
    return (limit > other) == least


def named_limits(
    findings: tuple[Finding, ...], design: ResolvedDesign, held: ResolvedDesign, policy: Policy
) -> tuple[Finding, ...]:
    """Return findings with the policy named in those about its limits, which the design does not state.

    Args:
        findings: findings on the design.
        design: the current design.
        held: the design with the limits of the policy.
        policy: the policy.
    """
    before, after = design.spec.limits, held.spec.limits
    team = {name for name in after.model_fields_set if getattr(before, name) != getattr(after, name)}
    rules = {_rule_of_limit(name) for name in team}
    return tuple(
        replace(finding, message=f"{finding.message}, set by {policy.file}") if finding.rule in rules else finding
        for finding in findings
    )


def _other_currency(design: ResolvedDesign, limit: str, currency: str, why: str) -> Finding:
    return design.document.finding(
        "policy-limit",
        ("cost",),
        f"{limit} cannot be held: it is in {currency}, {why}",
        "price the design in that currency, state the rate under `site.exchange`, or turn the rule off for it with a "
        "waiver",
        severity=Severity.WARNING,
    )
