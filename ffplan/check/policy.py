"""The policy of a team: severities, limits and waivers in a TOML file near the designs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import Finding, InputError, Severity
from ffplan.base.record import record
from ffplan.design.policy_schema import PolicyFields, policy_fields
from ffplan.inputs.document import read_bytes
from ffplan.inputs.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

ABOUT = ("waiver-invalid", "waiver-expired", "waiver-unused", "policy-invalid")
"""Rules about waivers themselves, which none waives."""
NAMES = ("ffplan.toml", "pyproject.toml")
"""Files of a policy, the first that a folder has; the second counts where it has `[tool.ffplan]`."""


@record
class Policy:
    """A policy with its file."""

    file: str
    """Name in messages; empty where there is none."""
    folder: Path
    """Folder that patterns start from."""
    fields: PolicyFields
    places: dict[int, int]
    """Line of each waiver, by its position."""

    def severity(self, item: Finding) -> Severity | None:
        """Return the severity of a finding; None where its rule is off."""
        weight = self.fields.rules.get(item.rule)
        return None if weight == "off" else Severity(weight) if weight else item.severity


NO_POLICY = Policy(file="", folder=Path(), fields=PolicyFields.model_construct(), places={})


def known_rules() -> list[str]:
    """Return the ids of all rules."""
    from ffplan.check.every_rule import every_rule  # few files have a policy or a waiver

    return [rule.id for rule in every_rule()]


def find_policy(folder: Path) -> Path | None:
    """Return the policy of a folder: that of the nearest folder upwards that has one.

    Args:
        folder: where the checked file lies.
    """
    here = folder.absolute()
    for place in (here, *here.parents):
        for name in NAMES:
            path = place / name
            if path.is_file() and (name == NAMES[0] or _table(path) is not None):
                return path
    return None


def _table(path: Path) -> dict[str, Any] | None:
    """Return `[tool.ffplan]` of a pyproject.toml; None where it has none, or is no TOML."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        if "ffplan" not in text:
            return None
        import tomllib

        tool = tomllib.loads(text).get("tool")
    except (OSError, ValueError, RecursionError):
        return {} if "[tool.ffplan" in text else None  # whoever reads it says what is wrong
    found = tool.get("ffplan") if isinstance(tool, dict) else None
    return found if isinstance(found, dict) else None


def _fault(file: str, line: int, message: str, remedy: str) -> Finding:
    return Finding(
        rule="policy-invalid", severity=Severity.ERROR, file=file, line=line, column=1, message=message, remedy=remedy
    )


def _line_of(text: str, path: tuple[str | int, ...]) -> int:
    """Return the line of the last field of a path that the text names, each looked for below the one before."""
    lines, at = text.splitlines(), 0
    for position, step in enumerate(path):
        if isinstance(step, int):
            header = re.compile(rf"\s*\[\[.*\b{re.escape(str(path[position - 1]))}\s*\]\]")
            rows = [row for row, line in enumerate(lines) if header.match(line)]
            at = rows[step] if step < len(rows) else at
            continue
        key = re.compile(rf"""\s*(\[+.*\b{re.escape(step)}\s*\]+|["']?{re.escape(step)}["']?\s*=)""")
        at = next((row for row in range(at, len(lines)) if key.match(lines[row])), at)
    return at + 1


def _unknown_rules(fields: PolicyFields, text: str, file: str) -> Iterator[Finding]:
    """Yield rules that do not exist."""
    known = set(known_rules())
    named: list[tuple[tuple[str | int, ...], str]] = [(("rules", name), name) for name in fields.rules]
    named += [(("mandatory",), name) for name in fields.mandatory]
    named += [(("waivers", at, "rule"), item.rule) for at, item in enumerate(fields.waivers)]
    for path, name in named:
        if name not in known:
            remedy = did_you_mean(name, sorted(known), what="rule")
            yield _fault(file, _line_of(text, path), f"no rule `{name}`", remedy)
    for at, item in enumerate(fields.waivers):
        why = "is mandatory" if item.rule in fields.mandatory else "is about waivers" if item.rule in ABOUT else ""
        if why:
            message = f"`{item.rule}` {why}: no waiver accepts it"
            yield _fault(file, _line_of(text, ("waivers", at)), message, "remove the waiver")


def read_policy(path: Path, file: str) -> Policy:
    """Return the policy of a file.

    Args:
        path: where it lies; of a `pyproject.toml`, its table `[tool.ffplan]` counts.
        file: its name in messages.

    Raises:
        InputError: with a located finding for every fault.
    """
    import tomllib

    raw = read_bytes(path, file)
    try:
        text = raw.decode("utf-8")
        data = tomllib.loads(text)
    except UnicodeDecodeError:
        raise InputError(_fault(file, 1, "this is no UTF-8 text", "save the policy as UTF-8")) from None
    except (ValueError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        last = max(len(text.splitlines()), 1) if "end of document" in str(error) else 1
        raise InputError(
            _fault(file, int(found[1]) if found else last, f"this is no TOML: {error}", "mend it")
        ) from None
    if path.name == NAMES[1]:
        tool = data.get("tool")
        own = tool.get("ffplan", {}) if isinstance(tool, dict) else {}
        if not isinstance(own, dict):
            raise InputError(
                _fault(file, _line_of(text, ("ffplan",)), "`tool.ffplan` is no table", "write [tool.ffplan]")
            )
        data = own
    own_names = tuple(data)
    data = {name.replace("-", "_"): value for name, value in data.items()}
    fields = policy_fields(data)
    if not isinstance(fields, PolicyFields):
        written = {name.replace("-", "_"): name for name in own_names}  # a message names a field as the file does
        faults = []
        for where, message, remedy in fields:
            first = written.get(str(where[0]), where[0]) if where else ""
            said = message.replace(f"`{where[0]}`", f"`{first}`") if where else message
            faults.append(_fault(file, _line_of(text, (first, *where[1:]) if where else where), said, remedy))
        raise InputError(*faults)
    wrong = list(_unknown_rules(fields, text, file))
    if wrong:
        raise InputError(*wrong)
    places = {at: _line_of(text, ("waivers", at)) for at in range(len(fields.waivers))}
    return Policy(file=file, folder=path.parent, fields=fields, places=places)
