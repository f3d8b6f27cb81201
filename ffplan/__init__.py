"""ffplan plans GPU clusters: fabric, bounds, cost and power from one YAML design.

In Python: `import ffplan`, then `ffplan.assess("fire-flyer-2")`; see docs/python.md. Everything is imported when it is
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.version import __version__ as __version__

if TYPE_CHECKING:
    from ffplan.api.compare import compare, costs
    from ffplan.api.designs import Design, load
    from ffplan.api.fabric import wire
    from ffplan.api.many import assess_many
    from ffplan.api.recovery import fleet, goodput, storage
    from ffplan.api.search import recommend, sweep
    from ffplan.api.serving import serve
    from ffplan.api.studies import assess, collective, search, size, train
    from ffplan.base.errors import FfplanError, InputError, UsageError
    from ffplan.catalog.store import Catalog

_HOMES = {
    "Catalog": "ffplan.catalog.store",
    "Design": "ffplan.api.designs",
    "FfplanError": "ffplan.base.errors",
    "InputError": "ffplan.base.errors",
    "UsageError": "ffplan.base.errors",
    "assess": "ffplan.api.studies",
    "assess_many": "ffplan.api.many",
    "collective": "ffplan.api.studies",
    "compare": "ffplan.api.compare",
    "costs": "ffplan.api.compare",
    "fleet": "ffplan.api.recovery",
    "goodput": "ffplan.api.recovery",
    "load": "ffplan.api.designs",
    "recommend": "ffplan.api.search",
    "search": "ffplan.api.studies",
    "serve": "ffplan.api.serving",
    "size": "ffplan.api.studies",
    "storage": "ffplan.api.recovery",
    "sweep": "ffplan.api.search",
    "train": "ffplan.api.studies",
    "wire": "ffplan.api.fabric",
}
__all__ = [
    "Catalog",
    "Design",
    "FfplanError",
    "InputError",
    "UsageError",
    "assess",
    "assess_many",
    "collective",
    "compare",
    "costs",
    "fleet",
    "goodput",
    "load",
    "recommend",
    "search",
    "serve",
    "size",
    "storage",
    "sweep",
    "train",
    "wire",
]


def __getattr__(name: str) -> object:
    """Return a public name, imported when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ffplan' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*globals(), *__all__])
