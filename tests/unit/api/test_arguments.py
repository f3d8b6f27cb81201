"""Wrong arguments of every function of the package are refused by their names; texts are read as commands read them."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ffplan as api
from ffplan.api import keywords

if TYPE_CHECKING:
    from collections.abc import Callable

_DESIGN = "superpod-h100-4su"
_JOB = {"design": _DESIGN, "model": "llama3-8b", "gpus": 64, "batch": 256}
CALLS: dict[str, dict[str, Any]] = {
    "load": {"source": _DESIGN},
    "assess": {"design": _DESIGN},
    "assess_many": {"designs": _DESIGN, "axes": {"site.pue": [1.1, 1.2]}},
    "collective": {"design": _DESIGN, "operation": "dispatch", "gpus": 64},
    "compare": {"designs": "dgx-a100-10k"},
    "costs": {"design": _DESIGN},
    "fleet": {"file": "two-sites"},
    "goodput": {"design": _DESIGN, "model": "llama3-8b", "gpus": 64},
    "recommend": {"model": "llama3-8b", "tokens": 1e11, "days": 30, "allowed": "h100-sxm-80gb"},
    "search": _JOB,
    "serve": {"accelerator": "h100-sxm-80gb", "gpus": 4, "model": "llama3.1-8b", "concurrency": 4, "ttft": 1.0},
    "size": {"endpoints": 64, "switch": "qm9700"},
    "storage": {"design": "fire-flyer-2"},
    "sweep": {"design": _DESIGN, "vary": {"site.pue": [1.1, 1.2]}},
    "train": _JOB,
    "wire": {"design": _DESIGN},
}
"""Right arguments of every function."""
WRONG = (
    object(),
    b"x",
    float("nan"),
    float("-inf"),
    -1,
    [object()],
    [[-1]],
    {1: 2},
    "no such \udc80",
    np.array([-1.5]),
)
"""Values that no argument takes."""


def _arguments() -> list[tuple[str, str]]:
    """Return each function with each name that it takes."""
    found = []
    for function in CALLS:
        for name, parameter in inspect.signature(getattr(api, function)).parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                passed_on = getattr(keywords, str(parameter.annotation).removeprefix("Unpack[").removesuffix("]"))
                found += [(function, keyword) for keyword in passed_on.__annotations__]
            else:
                found.append((function, name))
    return found


def _call(function: str, arguments: dict[str, Any]) -> Any:
    if function == "compare":
        arguments = dict(arguments)
        return api.compare(_DESIGN, arguments.pop("designs"), **arguments)
    return getattr(api, function)(**arguments)


def test_every_function_is_tried() -> None:
    assert set(CALLS) == {name for name in api.__all__ if inspect.isfunction(getattr(api, name))}


@pytest.mark.parametrize(("function", "name"), _arguments())
def test_a_wrong_argument_is_named(function: str, name: str) -> None:
    """A fault of a value is an error for people that names the argument, wherever it would show inside."""
    for value in WRONG:
        with pytest.raises(api.FfplanError) as refused:
            _call(function, {**CALLS[function], name: value})
        text = str(refused.value)
        named = name in text.replace("-", "_") or (isinstance(value, str) and "no file and no shipped" in text)
        assert named or isinstance(refused.value, api.InputError), (value, text)


@pytest.mark.parametrize("function", CALLS)
def test_a_call_with_a_wrong_keyword_is_refused(function: str) -> None:
    with pytest.raises(api.UsageError, match=f"{function}: .*colour"):
        _call(function, {**CALLS[function], "colour": "red"})
    if function not in ("compare", "serve"):
        with pytest.raises(api.UsageError, match=f"{function}: missing a required argument"):
            getattr(api, function)()


@pytest.mark.parametrize("value", WRONG)
def test_changes_and_catalogues_too(value: Any) -> None:
    design = api.load(_DESIGN)
    for change in (lambda: design.vary(value), lambda: design.vary({"description": value}), lambda: api.Catalog(value)):
        with pytest.raises(api.FfplanError):
            change()
    with pytest.raises(api.FfplanError):
        api.load(f"name: {value}\n")
    with contextlib.suppress(api.FfplanError):
        assert all(api.sweep(design, {"nodes[0].server": value}).reason)


@pytest.mark.parametrize(
    ("function", "changed", "same"),
    [
        ("serve", {"concurrency": "4,8..16"}, {"concurrency": (4, 8, 16)}),
        ("serve", {"concurrency": (), "rate": "300/min, 10"}, {"concurrency": (), "rate": (5, 10.0)}),
        ("serve", {"concurrency": (), "rate": ["2/s", np.int64(3)]}, {"concurrency": (), "rate": np.array([2, 3])}),
        ("serve", {"ttft": "200 ms", "tpot": "50ms"}, {"ttft": 0.2, "tpot": 0.05}),
        ("serve", {"prefix_hit": "50%"}, {"prefix_hit": 0.5}),
        ("serve", {"speculate": "mtp:3:0.8"}, {"speculate": ("mtp", 3, 0.8)}),
        ("costs", {"years": "18 months"}, {"years": 1.5}),
        (
            "costs",
            {"model": "llama3-8b", "tokens": "100B", "gpus": 64},
            {"model": "llama3-8b", "tokens": 1e11, "gpus": 64},
        ),
        ("collective", {"gpus": "8..64"}, {"gpus": np.array([8, 16, 32, 64])}),
        (
            "collective",
            {"operation": "allreduce", "sizes": "1MiB,2G"},
            {"operation": "allreduce", "sizes": [2**20, 2**31]},
        ),
        (
            "train",
            {"tensor": 2, "gpus": "64,128", "memory": "76GiB"},
            {"tensor": 2, "gpus": [64, 128], "memory": 76 * 2**30},
        ),
        ("size", {"tiers": "2,3"}, {"tiers": (2, 3)}),
        ("sweep", {"metrics": "site.purchase,accelerators"}, {"metrics": ["site.purchase", "accelerators"]}),
        ("sweep", {"vary": {"site.pue": 1.1}}, {"vary": {"site.pue": [1.1]}}),
        ("recommend", {"tokens": "100B", "capex": "$40M", "watts": "5MW"}, {"capex": 40e6, "watts": 5e6}),
    ],
)
def test_texts_are_read_as_commands_and_files_read_them(
    function: str, changed: dict[str, Any], same: dict[str, Any]
) -> None:
    found, wanted = (_call(function, {**CALLS[function], **arguments}) for arguments in (changed, same))
    assert found.to_dict() == wanted.to_dict()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: api.recommend(**CALLS["recommend"], capex="EUR 4M"), "recommend: capex is in EUR, the price book"),
        (lambda: api.size(64, "qm9700", link="400g-dr4"), "link have an effect with prices only"),
        (lambda: api.size(64, "qm9700", link="400g", prices="usd-2026"), "size: link: "),
        (
            lambda: api.load(_DESIGN, catalogs=["no-such"]),
            r"load: source|load: a design|load: catalogs no-such: cannot",
        ),
        (lambda: _call("serve", {**CALLS["serve"], "tensor": "8"}), "tensor: `8`, a text: give a whole number"),
        (
            lambda: api.sweep(_DESIGN, {"site.pue": [1.1]}, metrics="sit.purchase"),
            "sweep: metrics sit.purchase: no such",
        ),
    ],
)
def test_words_of_refusals(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(api.UsageError, match=words):
        call()
