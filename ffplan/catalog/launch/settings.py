"""Settings of a training program by name, with their lines; what is wrong or missing is collected as they are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import Finding, Severity
from ffplan.base.record import record
from ffplan.catalog.configs.config_file import shown as short_text
from ffplan.inputs.model import MOST_COUNT

if TYPE_CHECKING:
    import re
    from collections.abc import Container, Iterator, Mapping

_NOTHING = ("none", "null", "")
_NO = ("false", "0", "no", "off")


def shown(value: object) -> str:
    """Return a value for a message: on one line, and short."""
    return short_text(" ".join(str(value).split()))


@record
class Setting:
    """One setting as written."""

    value: object
    """What it is set to; True for an argument without a value."""
    line: int
    unknown: str = ""
    """Why its value is not known, such as of a variable that the file does not set."""
    again: tuple[object, int] | None = None
    """Another value of the same name, and its line."""


def _noted(found: dict[str, Setting], name: str, setting: Setting) -> None:
    """Add a setting; of a name with two values, keep both."""
    first = found.setdefault(name, setting)
    if first is not setting and first.value != setting.value and first.again is None:
        found[name] = replace(first, again=(setting.value, setting.line))


def leaves(
    table: Mapping[Any, Any], left_out: Container[str] = (), path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the path and the value of every setting of a nested table.

    Args:
        left_out: names of tables that are passed over.
        path: where the table stands.
    """
    for key, value in table.items():
        steps = (*path, str(key))
        if not isinstance(value, dict):
            yield steps, value
        elif str(key) not in left_out:
            yield from leaves(value, left_out, steps)


class Settings:
    """The settings of one file."""

    def __init__(self, program: str, file: str, values: dict[str, Setting], prefix: str = "") -> None:
        """Take settings.

        Args:
            program: whose they are.
            values: by name in the form `num_layers`.
            prefix: what stands before names in the file.
        """
        self.program, self.file, self.values, self.prefix = program, file, values, prefix
        self.strict = False
        """Whether an unknown value is always a fault, as of a dimension."""
        self.used: set[str] = set()
        self.faults: list[Finding] = []
        self.remarks: list[str] = []
        self.assumed: list[str] = []
        self.each = 0
        """Sequences of a step on each data-parallel rank, where no batch is stated; 0 where it is, or where unknown."""
        self.world: int | None = None
        """Accelerators that the file starts the job on, if it says so."""
        """Values of settings that the file leaves to the program."""

    def label(self, name: str) -> str:
        """Return a name as the file writes it."""
        return f"{self.prefix}{name.replace('_', '-') if self.prefix else name}"

    def line(self, *names: str) -> int:
        """Return the line of the first of some settings that the file has; else 1."""
        return next((self.values[name].line for name in names if name in self.values), 1)

    def fault(self, rule: str, name: str, message: str, remedy: str) -> None:
        """Note a fault of a setting."""
        self.faults.append(
            Finding(
                rule=rule,
                severity=Severity.ERROR,
                file=self.file,
                line=self.line(name),
                column=1,
                message=message,
                remedy=remedy,
                path=name,
            )
        )

    def remark(self, text: str) -> None:
        """Note what has no equivalent, or is missing; once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def stated(self, *names: str, needed: bool = False) -> object | None:
        """Return the value of the first of some names that the file has; None if none has one.

        Args:
            needed: an unknown value is a fault, else a remark.
        """
        self.used.update(names)
        name = next((name for name in names if name in self.values), None)
        if name is None:
            return None
        setting = self.values[name]
        if setting.again is not None:
            value, line = setting.again
            message = f"`{self.label(name)}` is set to {shown(setting.value)}, and to {shown(value)} at line {line}"
            self.fault("config-value", name, message, "keep one of them")
            return None
        if setting.unknown:
            message = f"`{self.label(name)} {shown(setting.value)}`: {setting.unknown}"
            if needed or self.strict:
                self.fault("config-field", name, message, f"write `{self.label(name)}` with its value")
            else:
                self.remark(f"{message}; left out")
            return None
        return None if str(setting.value).lower() in _NOTHING or setting.value is None else setting.value

    def whole(self, *names: str, least: int = 1, needed: bool = False) -> int | None:
        """Return a whole number; None if it is missing or wrong, which is a fault.

        Args:
            needed: a missing one is a fault too.
        """
        faults = len(self.faults)
        value = self.stated(*names, needed=needed)
        number = value if isinstance(value, int) and not isinstance(value, bool) else _whole(value)
        if number is not None and least <= number <= MOST_COUNT:
            return number
        first = next((name for name in names if name in self.values), names[0])
        if value is not None:
            message = f"`{self.label(first)}` is `{shown(value)}`"
            self.fault("config-value", first, message, f"write a whole number from {least:,} to {MOST_COUNT:,}")
        elif needed and len(self.faults) == faults:
            message = f"`{self.label(first)}` is missing"
            self.fault("config-field", first, message, f"add `{self.label(first)}` and its number")
        return None

    def flag(self, *names: str) -> bool:
        """Return whether one of some settings is on; an argument is, whatever stands behind it."""
        self.used.update(names)
        found = [self.values[name] for name in names if name in self.values]
        return any(str(setting.value).lower() not in (*_NO, *_NOTHING) for setting in found)

    def off(self, *names: str) -> bool:
        """Return whether one of some settings is stated as off."""
        self.used.update(names)
        return any(str(self.values[name].value).lower() in _NO for name in names if name in self.values)

    def word(self, *names: str) -> str:
        """Return a text in lower case; empty if missing."""
        value = self.stated(*names)
        return "" if value is None else str(value).strip().lower()

    def unread(self, ignored: re.Pattern[str]) -> list[str]:
        """Return the names that nothing has asked for, without those whose beginning is ignored."""
        return sorted(name for name in self.values if name not in self.used and ignored.match(name) is None)


def _whole(value: object) -> int | None:
    """Return a number written as text, or a whole float; None if it is none."""
    try:
        number = float(str(value).replace("_", "")) if value is not None and not isinstance(value, bool) else 0.5
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None
