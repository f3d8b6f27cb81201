"""Values of the fields of a config, checked as they are read; faults are collected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.catalog.configs.config_file import shown
from ffplan.inputs.model import MOST_COUNT

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.catalog.configs.architectures import Default
    from ffplan.catalog.configs.config_file import FieldPath, _ConfigFile


class _ConfigFields:
    """Fields of a language model, with the defaults of its architecture."""

    def __init__(self, config: _ConfigFile, inside: FieldPath, defaults: dict[str, Default]) -> None:
        """Take a file.

        Args:
            inside: path of the object that holds the language model.
            defaults: values of fields that the file may leave out.
        """
        self.config, self.inside, self.defaults = config, inside, defaults
        self.faults: list[Finding] = []
        self.assumed: dict[str, Default] = {}
        """Defaults that were taken."""

    def path(self, name: str) -> FieldPath:
        """Return the path of a field: the first of several names that the file has."""
        names = [(*self.inside, *one.split(".")) for one in name.split("|")]
        return next((path for path in names if path in self.config.places), names[0])

    def stated(self, name: str) -> Any:
        """Return what the file states of a field, without its defaults; None where it has none, or null."""
        value: Any = self.config.data
        for step in self.path(name):
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def value(self, name: str) -> Any:
        """Return the value of a field: the one stated, else the default; None if it has neither."""
        if not name:
            return None
        stated = self.stated(name)
        first = name.split("|")[0]
        # a null is a value of its own, such as of no window
        if stated is None and self.path(name) not in self.config.places and self.defaults.get(first) is not None:
            self.assumed[first] = self.defaults[first]
            return self.defaults[first]
        return stated

    def refuse(self, rule: str, name: str, message: str, remedy: str) -> None:
        """Note a fault of a field."""
        fault = self.config.finding(rule, self.path(name), message, remedy)
        if fault not in self.faults:
            self.faults.append(fault)

    def whole(self, name: str, least: int = 1, *, most: int = MOST_COUNT, needed: bool = True) -> int | None:
        """Return a whole number; None if it is wrong or missing, which is a fault where it is needed.

        Args:
            least: the smallest it may be.
            most: the largest.
        """
        value = self.value(name)
        label = name.split("|")[0]
        if value is None:
            if needed:
                self.refuse("config-field", name, f"the field `{label}` is missing", f'add `"{label}":` and its number')
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            wanted = f"a whole number from {least:,} to {most:,}"
            self.refuse("config-value", name, f"`{label}` is `{shown(value, quotes=True)}`", f"write {wanted}")
            return None
        return value

    def flag(self, name: str) -> bool:
        """Return a truth value; false if missing."""
        value = self.value(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.refuse("config-value", name, f"`{name}` is `{shown(value, quotes=True)}`", "write true or false")
        return False

    def trait(self, name: bool | str) -> bool:
        """Return a trait: a truth value, or that of a field, the opposite behind `!`."""
        if isinstance(name, bool):
            return name
        return not self.flag(name[1:]) if name.startswith("!") else self.flag(name)

    def numbers(self, name: str) -> list[int] | None:
        """Return a list of whole numbers; None if missing."""
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(item, int) and not isinstance(item, bool) for item in value):
            return value
        self.refuse(
            "config-value", name, f"`{name}` is `{shown(value, quotes=True)}`", "write a list of numbers of layers"
        )
        return None

    def texts(self, name: str) -> list[str] | None:
        """Return a list of texts; None if missing."""
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        self.refuse("config-value", name, f"`{name}` is `{shown(value, quotes=True)}`", "write a list of texts")
        return None
