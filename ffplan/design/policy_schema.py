"""The fields of a team's policy."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, ValidationError

from ffplan.base.errors import did_you_mean
from ffplan.design.schema import Limits
from ffplan.inputs.model import Frozen, Many, Text, names_of
from ffplan.inputs.part_ids import PriceBookId
from ffplan.inputs.quantities import Share

Weight = Literal["off", "info", "warning", "error"]
_ADDRESSED = ("limits", "regressions")
"""Tables whose fields may be addresses of figures."""


class WaiverFields(Frozen):
    """Accepted findings."""

    rule: Text
    """Id of the rule."""
    files: Many[Text] = ("**",)
    """Patterns of the files, relative to the policy's folder; `**` matches any folders."""
    path: Text | None = None
    """Field of the file, such as `fabric.zones`, with all fields below; any if omitted."""
    reason: Text
    """Reason for accepting them."""
    until: date | None = None
    """Last day of acceptance; unlimited if omitted."""


class Regressions(Frozen):
    """Largest relative losses against the reference before `check --against` fails, by kind, or by the address of a
    figure, which counts before its kind."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Share]

    cost: Share = 0.05
    """Capital, cost per accelerator and per million tokens [1]."""
    power: Share = 0.05
    """IT and facility power [1]."""
    bandwidth: Share = 0.05
    """Bisection and allreduce [1]."""
    time: Share = 0.05
    """Step of the workload [1]."""


class PolicyFields(Frozen):
    """A team's settings and policy for its designs."""

    catalog: Many[Text] = ()
    """Folders of your own parts, relative to this file's folder; every command searches them, after the folders
    of `--catalog`."""
    prices: PriceBookId | None = None
    """Catalogue id of the price book of commands that take `--prices`, which replaces it."""
    fail_on: Literal["info", "warning", "error", "never"] | None = None
    """Least severity that makes the exit code 1; `--fail-on` replaces it."""
    rules: dict[Text, Weight] = Field(default_factory=dict)
    """Severity of a rule's findings, or `off`."""
    mandatory: Many[Text] = ()
    """Rules that allow neither waiver nor baseline."""
    limits: Limits = Limits.model_construct()
    """Limits of every design; the stricter of policy and design applies."""
    waivers: Annotated[Many[WaiverFields], Field(max_length=10_000)] = ()
    """Accepted findings."""
    regressions: Regressions = Regressions.model_construct()
    """Thresholds of `--against`."""


def _words(error: Any) -> tuple[str, str]:
    """Return (fault, remedy) of a validation error."""
    context, where = error.get("ctx") or {}, ".".join(map(str, error["loc"]))
    if "remedy" in context:
        return f"`{where}`: {context['message']}", context["remedy"]
    if error["type"] == "extra_forbidden":
        parent = Limits if "limits" in error["loc"] else WaiverFields if "waivers" in error["loc"] else PolicyFields
        return f"unknown field `{where}`", did_you_mean(str(error["loc"][-1]), names_of(parent), what="field")
    if error["type"] == "missing":
        return f"`{where}` is missing", f"add `{error['loc'][-1]}`"
    if error["type"] == "tuple_type":
        return f"`{where}` is not a list", f'write it in brackets: {error["loc"][-1]} = ["..."]'
    if error["type"].startswith("date"):
        return f"`{where}`: `{error['input']}` is not a date", "write it as 2027-03-31"
    return f"`{where}`: {error['msg'][:1].lower()}{error['msg'][1:]}", "see docs/ci.md for the fields of a policy"


def _dotted(table: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Return a table by addresses: TOML reads the key `run.days` as a table in a table."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _dotted(value, f"{above}{name}.") if isinstance(value, dict) else {f"{above}{name}": value}
    return flat


SCHEMAS = {
    "project": (PolicyFields, "Settings and policy of a project, `ffplan.toml`"),
}
"""Files and outputs of this module, with their titles."""


def policy_fields(data: dict[str, Any]) -> PolicyFields | list[tuple[tuple[str | int, ...], str, str]]:
    """Return a policy, or every fault of it as (path, fault, remedy)."""
    addressed = {name: _dotted(data[name]) for name in _ADDRESSED if isinstance(data.get(name), dict)}
    try:
        return PolicyFields.model_validate(data | addressed)
    except ValidationError as error:
        return [(fault["loc"], *_words(fault)) for fault in error.errors(include_url=False)]
