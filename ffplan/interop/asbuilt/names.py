"""Match the names of devices as built to the design: the forms that tools write, and a user's map of names."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.interop.asbuilt.ethernet import _plain_name
from ffplan.interop.asbuilt.model import _fault, _rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.interop.asbuilt.matching import _Matched
    from ffplan.interop.asbuilt.model import _BuiltDevice

_MANAGED = re.compile(r"^(?:MF[0-9]+;)?([^;:/]+):[^/:;]+(?:/\S+)?$")
"""Description of a managed switch, such as MF0;leaf-01:MQM9700/U1."""
_ADAPTER = re.compile(r"^([^\s/]+)[\s/]+([A-Za-z][\w.-]*?)([0-9]{1,4})((?:f[0-9]+)?(?:np[0-9]+)?(?:p[0-9]+)?)$")
"""Description of an adapter: host and its name, such as `node01 mlx5_0`, `node01/mlx5_0` or `node01 HCA-1`."""
_DIGITS = re.compile(r"([0-9]{1,4})(?:p([0-9]{1,4}))?$")
_PORT = re.compile(r"(?<!n)p([0-9]{1,2})$")
_Adapter = tuple[tuple[int, int], int]
"""Number and port of an adapter, and its device."""
_PATTERN = "~"
"""Begins a regular expression in a map."""


@record
class _NameRule:
    """A row of a map: names as built, and the name of the design."""

    found: str
    pattern: re.Pattern[str] | None
    designed: str
    line: int


_LONGEST, _MOST_REPEATS = 200, 4
"""Longest expression, and longest name that one is held against [1]; most repeats in one [1]."""
_REPEAT = re.compile(r"(?<!\\)[*+{]")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[*+{]")


def _compiled(text: str, file: str, line: int) -> re.Pattern[str]:
    """Compile an expression of a map; refuse one that could take forever."""
    shown = f"`~{text[:50]}`"
    if len(text) > _LONGEST:
        raise _fault(file, line, f"{shown} has {len(text):,} characters", f"write at most {_LONGEST}")
    if _REPEATED_GROUP.search(text) or len(_REPEAT.findall(text)) > _MOST_REPEATS:
        problem = "repeats a group, or repeats more than four times, which can take for ever"
        raise _fault(file, line, f"{shown} {problem}", "write simple expressions, such as `~rack([0-9]+)-node([0-9]+)`")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(text)
    except (re.error, OverflowError, RecursionError, FutureWarning, DeprecationWarning) as error:
        raise _fault(file, line, f"{shown} is not a regular expression: {error}", "correct it") from None


def read_map(text: str, file: str) -> list[_NameRule]:
    """Return the rows of a map: a name as built, and the name in the design, in CSV.

    A name that begins with `~` is a regular expression; the design's name may use its groups, as in `compute-\\1`.

    Args:
        text: the map; a first row of `found,designed` is passed over.

    Raises:
        InputError: located, where a row is not a pair of names, an expression is none, or a name stands twice.
    """
    rules: list[_NameRule] = []
    seen: dict[str, int] = {}
    for number, row in _rows_of(text, file):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#") or [cell.lower() for cell in cells[:2]] == ["found", "designed"]:
            continue
        if len(cells) != 2 or not all(cells):
            message = f"`{','.join(cells)[:50]}` is not a pair of names"
            raise _fault(file, number, message, "write the name as built, a comma, and the name in the design")
        name, designed = cells
        pattern = None
        if name.startswith(_PATTERN):
            pattern = _compiled(name[1:], file, number)
        if name in seen:
            raise _fault(file, number, f"`{name[:50]}` appears twice, first in line {seen[name]}", "keep one")
        seen[name] = number
        rules.append(_NameRule(found=name, pattern=pattern, designed=designed, line=number))
    return rules


def _mapped(name: str, rules: Sequence[_NameRule], file: str) -> str | None:
    """Return the design's name of a device by a map; None where no row has it."""
    for rule in rules:
        if rule.pattern is None:
            if rule.found == name:
                return rule.designed
        elif len(name) <= _LONGEST and (match := rule.pattern.fullmatch(name)):
            try:
                return match.expand(rule.designed)
            except (re.error, IndexError):
                message = f"`{rule.designed[:50]}` refers to a group that `{rule.found[:50]}` lacks"
                raise _fault(file, rule.line, message, "write groups as \\1, \\2") from None
    return None


def _forms_of(name: str) -> list[str]:
    """List the names of a device to try: as written, without model and unit, without domain, in lower case."""
    managed = _MANAGED.match(name)
    base = managed[1] if managed else name
    return list(dict.fromkeys([name, base, _plain_name(base), _plain_name(base).lower()]))


def _adapter_of(name: str) -> tuple[str, tuple[int, int]] | None:
    """Return host, number and port of an adapter from its description; None for any other description.

    `HCA-1` counts from 1, all others from 0; the ports of an adapter count from 1, and 0 is its only port.
    """
    match = _ADAPTER.match(name)
    if match is None:
        return None
    number, port = int(match[3]), _PORT.search(match[4])
    counted = match[2].upper().startswith("HCA") and number > 0
    return match[1], (number - 1 if counted else number, int(port[1]) if port else 0)


def _slot(name: str) -> tuple[int, int]:
    """Return number and port of an endpoint of the design, such as (0, 2) of `compute-1/nic0p2`."""
    match = _DIGITS.search(name)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _by_slot(ends: Sequence[int], designed: Sequence[str]) -> list[int]:
    """Return the endpoints of a host in the order in which programs count adapters: NIC by NIC, port by port.

    Args:
        ends: numbers of its endpoints.
        designed: names of all devices.
    """
    return sorted(ends, key=lambda end: _slot(designed[end]))


def _hosts(designed: Sequence[str]) -> dict[str, list[int]]:
    """Return the endpoints of every host of the design, in order, by its name in lower case."""
    hosts: dict[str, list[int]] = {}
    for number, name in enumerate(designed):
        host, slash, _ = name.partition("/")
        if slash:
            hosts.setdefault(host.lower(), []).append(number)
    return hosts


def named(
    devices: Sequence[_BuiltDevice], designed: Sequence[str], rules: Sequence[_NameRule], file: str
) -> dict[int, int]:
    """Return which devices as built are which of the design, by their names.

    Args:
        rules: rows of a map, which stand before all else.

    Raises:
        InputError: where the map leads two devices to one, or to a name that the design has not.
    """
    place = {name: number for number, name in enumerate(designed)}
    folded = {name.lower(): number for number, name in enumerate(designed)}
    hosts, matched = _hosts(designed), _by_map(devices, designed, rules, file)
    taken = set(matched.values())
    adapters: dict[str, list[_Adapter]] = {}
    for number, device in enumerate(devices):
        if number in matched:
            continue
        if (target := place.get(device.name)) is not None and target not in taken:
            matched[number] = target
            taken.add(target)
        elif device.kind == "host" and (adapter := _adapter_of(device.name)):
            designed_name = _mapped(adapter[0], rules, file)
            names = (
                [designed_name.lower()]
                if designed_name is not None
                else [form.lower() for form in _forms_of(adapter[0])]
            )
            host = next((name for name in names if name in hosts), None)
            if host is not None:
                adapters.setdefault(host, []).append((adapter[1], number))
        else:
            _by_form(number, device, folded, hosts, matched, taken)
    usual = _usual(adapters, hosts)
    for host, items in adapters.items():
        _by_adapter(items, hosts[host], designed, usual, matched, taken)
    return matched


def _usual(adapters: dict[str, list[_Adapter]], hosts: dict[str, list[int]]) -> list[tuple[int, int]]:
    """Return the numbers of adapters that most hosts with all of them have, in order; empty where no host has all.

    Where an adapter is missing, the numbers of complete hosts tell which.
    """
    told = Counter(
        tuple(sorted(slot for slot, _ in items)) for host, items in adapters.items() if len(items) == len(hosts[host])
    )
    return list(told.most_common(1)[0][0]) if told else []


def _by_map(
    devices: Sequence[_BuiltDevice], designed: Sequence[str], rules: Sequence[_NameRule], file: str
) -> dict[int, int]:
    if not rules:
        return {}
    place = {name: number for number, name in enumerate(designed)}
    hosts = _hosts(designed)
    matched: dict[int, int] = {}
    taken: dict[int, str] = {}
    for number, device in enumerate(devices):
        designed_name = next(
            (to for form in _forms_of(device.name) if (to := _mapped(form, rules, file)) is not None), None
        )
        if designed_name is None:
            continue
        target = place.get(designed_name)
        alone = hosts.get(designed_name.lower(), [])
        if target is None and len(alone) == 1:
            target = alone[0]
        if target is None:
            message = f"`{device.name[:50]}` maps to `{designed_name[:50]}`, which is not in the design"
            raise _fault(file, 1, message, f"the design has names such as `{designed[0]}` and `{designed[-1]}`")
        if target in taken:
            message = f"`{taken[target][:50]}` and `{device.name[:50]}` both map to `{designed_name[:50]}`"
            raise _fault(file, 1, message, "map each device to a different name")
        taken[target] = device.name
        matched[number] = target
    return matched


def _by_form(
    number: int,
    device: _BuiltDevice,
    folded: dict[str, int],
    hosts: dict[str, list[int]],
    matched: dict[int, int],
    taken: set[int],
) -> None:
    """Match a switch, or a host with one NIC, by the forms of its name."""
    for form in _forms_of(device.name):
        target = folded.get(form.lower())
        if target is None and device.kind == "host" and len(alone := hosts.get(form.lower(), [])) == 1:
            target = alone[0]
        if target is not None and target not in taken:
            matched[number] = target
            taken.add(target)
            return


def _by_adapter(
    items: list[_Adapter],
    endpoints: list[int],
    designed: Sequence[str],
    usual: list[tuple[int, int]],
    matched: dict[int, int],
    taken: set[int],
) -> None:
    """Match the adapters of a host to its NICs: by the numbers that complete hosts have, else by the design's own.

    Adapters that neither tells are left to their wiring.
    """
    ordered = _by_slot(endpoints, designed)
    by_design = {_slot(designed[endpoint]): endpoint for endpoint in ordered}
    place = dict(zip(usual, ordered, strict=True)) if len(usual) == len(ordered) else {}
    if not place or not all(slot in place for slot, _ in items):
        place = by_design if len(by_design) == len(ordered) and all(slot in by_design for slot, _ in items) else {}
    if len({slot for slot, _ in items}) != len(items):
        return
    for slot, device in items:
        endpoint = place.get(slot)
        if endpoint is not None and endpoint not in taken:
            matched[device] = endpoint
            taken.add(endpoint)


def together(where: _Matched, devices: Sequence[_BuiltDevice], designed: Sequence[str]) -> _Matched:
    """Put all adapters of a node at one node of the design: the one that most of them were matched to.

    One cable at another port would make its adapter seem another node's.
    """
    groups: dict[str, list[_Adapter]] = {}
    for number, device in enumerate(devices):
        if device.kind == "host" and number not in where.known and (adapter := _adapter_of(device.name)):
            groups.setdefault(adapter[0], []).append((adapter[1], number))
    chosen: dict[str, str] = {}
    for name, items in groups.items():
        told = Counter(
            designed[endpoint].partition("/")[0].lower() for _, n in items if (endpoint := int(where.place[n])) >= 0
        )
        best = told.most_common(1)
        if len(items) > 1 and best and best[0][1] > len(items) / 2:  # a tie would move adapters at random
            chosen[name] = best[0][0]
    if not chosen:
        return where
    hosts, place = _hosts(designed), where.place.copy()
    claims = Counter(chosen.values())
    moved = {name for name, host in chosen.items() if claims[host] == 1}
    for name in moved:
        place[[number for _, number in groups[name]]] = -1
    taken = set(place[place >= 0].tolist())
    usual = _usual({chosen[name]: groups[name] for name in moved}, hosts)
    for name in sorted(moved):
        matched: dict[int, int] = {}
        _by_adapter(groups[name], hosts[chosen[name]], designed, usual, matched, taken)
        kept = matched if len(matched) == len(groups[name]) else {n: int(where.place[n]) for _, n in groups[name]}
        for number, endpoint in kept.items():
            place[number] = endpoint
            taken.add(endpoint)
    return replace(where, place=place)
