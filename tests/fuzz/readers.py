"""One input to one reader: what it returns does not matter, what it raises does."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import FfplanError
from tests.fuzz import files, forms

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

NAME = "fuzzed"


def _document(kind: str) -> Callable[[Random], Any]:
    def read(chance: Random) -> Any:
        from ffplan.cli.checked_files import OTHER_KINDS, _kind
        from ffplan.inputs.document import parse_document

        document = parse_document(files.text(files.tree(kind, chance), chance), NAME)
        own = _kind(document)
        if own is None:
            from ffplan.design.schema import Design
            from ffplan.inputs.validate import validate

            return validate(Design, document)
        if own in OTHER_KINDS:
            from importlib import import_module

            from ffplan.inputs.validate import validate

            module, model = OTHER_KINDS[own]
            return validate(getattr(import_module(module), model), document)
        from ffplan.catalog.read import read_part

        return read_part(document)

    return read


def _yaml(chance: Random) -> Any:
    from ffplan.inputs.document import parse_document

    signs = "ab:-#&*!|>{}[],?'\"%@` \n\t\\~=<.01e+\x00\x85\u2028é\ufeff"
    return parse_document("".join(chance.choices(signs, k=chance.randrange(40))).encode(), NAME)


def _nccl(chance: Random) -> Any:
    from ffplan.inputs.document import parse_document
    from ffplan.interop.topology.model import _KnownParts
    from ffplan.interop.topology.reading import read_server
    from ffplan.interop.topology.server_file import server_file

    text = files.nccl(chance).decode("utf-8", "surrogateescape")
    found = read_server(forms.pasted(text, chance).encode("utf-8", "surrogateescape"), NAME)
    written = server_file(found, _KnownParts({}, {}, {}, {}), name="fuzzed", file=NAME, date="2026-11-23").text
    document = parse_document(written.encode(), NAME)  # what we write can be read
    assert document.data["kind"] == "server"


def _policy(chance: Random) -> Any:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from ffplan.check.policy import read_policy

    with TemporaryDirectory() as folder:
        path = Path(folder) / "ffplan.toml"
        path.write_bytes(files.policy(chance))
        return read_policy(path, NAME)


def _waivers(chance: Random) -> Any:
    from ffplan.check.waivers import comment_waivers

    words = ("# ffplan: waive ", "fewer-tiers", " until ", "2027-01-01", "2027-13-01", ": ", "why", "\n", "a: 1", "x")
    return comment_waivers("".join(chance.choices(words, k=chance.randrange(20))), NAME, None)


def _as_built(chance: Random) -> Any:
    from ffplan.interop.asbuilt.model import as_built_report
    from ffplan.interop.asbuilt.read import read_as_built

    text = files.ibnetdiscover(chance).decode("utf-8", "replace")
    return as_built_report(read_as_built([(NAME, forms.pasted(text, chance))]), NAME)


@cache
def _names() -> Any:
    from tests.support import wired

    return wired("fire-flyer-2").names


def _traffic(chance: Random) -> Any:
    from ffplan.interop.workloads import read_matrix

    return read_matrix(files.traffic(chance).decode("utf-8", "replace"), NAME, _names())


def _quantity(chance: Random) -> Any:
    from pydantic_core import PydanticCustomError

    from ffplan.inputs import dimensions as d
    from ffplan.inputs import quantities as q

    unit = chance.choice((*files.UNITS, "", "mi", "GHz", "KiB", "MB/s", "€", "k", "bn"))
    number = "".join(chance.choices("0123456789.,eE+- ²٣", k=chance.randrange(1, 8)))
    text = chance.choice((f"{number} {unit}", f"{number}{unit}", f"{unit}{number}", f"{number}:{number}"))
    dimension = chance.choice([item for item in vars(d).values() if isinstance(item, d.Dimension)])
    reader: Any = chance.choice(
        (lambda value: q.parse_quantity(value, dimension), q.parse_ratio, q._parse_fraction, q.parse_money)
    )
    try:
        return reader(text)
    except PydanticCustomError as error:
        return str(error)


def _series(chance: Random) -> Any:
    from ffplan.cli.loading import series

    sizes = chance.random() < 0.5
    usual = ("1K", "8 B", "1 MiB", "1GiB", "1e3 GB") if sizes else ("8", "16", "64", "512", "10000000")
    parts = [chance.choice(usual) + chance.choice((",", "..", ", ")) + chance.choice(usual) for _ in range(2)]
    if chance.random() < 0.4:
        parts.append(chance.choice(("", "0", "-1", "9" * 20, "x", " ", "²", "..", "..8", "inf B", "nan B")))
    return series(chance.choice((",", "..")).join(parts), "fuzz --size", sizes=sizes)


def _hosts(chance: Random) -> Any:
    from ffplan.base.hostlist import fold, unfold

    names = [f"n{chance.choice(('', '0', '00'))}{chance.randrange(40)}" for _ in range(chance.randrange(20))]
    assert sorted(unfold(fold(names))) == sorted(set(names))
    try:
        return unfold("".join(chance.choices(("n", "[", "]", "1", "-", ",", "99", "0"), k=8)))
    except ValueError as error:
        return str(error)


def _fabrics(chance: Random) -> Any:
    from ffplan.interop.asbuilt.model import as_built_report
    from ffplan.interop.asbuilt.read import read_as_built

    files = [(NAME, forms.pasted(forms.damaged(text, chance), chance)) for text in chance.sample(forms.FABRICS, 2)]
    return as_built_report(read_as_built(files[: chance.choice((1, 1, 1, 2))]), NAME)


def _slurm(chance: Random) -> Any:
    from ffplan.interop.slurm_files import read_slurm

    text = forms.pasted(forms.damaged(chance.choice(forms.SLURM), chance), chance)
    return read_slurm(text.encode("utf-8", "surrogateescape"), NAME)


def _launch(chance: Random) -> Any:
    """Read arguments of a training program; the plan that comes of them can be read."""
    from ffplan.catalog.launch.read import read_launch
    from ffplan.design.training import PlanFile
    from ffplan.inputs.document import parse_document
    from ffplan.inputs.validate import validate

    text = forms.damaged(forms.pasted(chance.choice(forms.LAUNCHES), chance, forms.LAUNCHES), chance)
    launch = read_launch(text.encode("utf-8", "surrogateescape"), NAME)
    if launch is None:
        return None
    read = validate(PlanFile, launch.document())
    assert read == validate(PlanFile, parse_document(launch.text.encode(), NAME))
    return read


def _logs(chance: Random) -> Any:
    from ffplan.interop.logs.read import read_log

    return read_log(forms.pasted(forms.damaged(chance.choice(forms.LOGS), chance), chance), NAME)


def _served(chance: Random) -> Any:
    """Read results of serving benchmarks."""
    from ffplan.interop.served.read import read_results
    from tests.unit.interop import test_served

    result = json.dumps(chance.choice((test_served.VLLM, test_served.SGLANG)), indent=chance.choice((None, 2)))
    return read_results(forms.pasted(forms.damaged(result, chance), chance), NAME)


def _requests(chance: Random) -> Any:
    from ffplan.inputs.requests import read_requests

    return read_requests(forms.pasted(forms.damaged(chance.choice(forms.REQUESTS), chance), chance), NAME)


def _hours(chance: Random) -> Any:
    from ffplan.inputs.requests import read_hours

    return read_hours(forms.pasted(forms.damaged(chance.choice(forms.HOURS), chance), chance), NAME)


def _jobs(chance: Random) -> Any:
    from ffplan.interop.workloads import read_jobs

    return read_jobs(forms.pasted(forms.damaged(forms.JOBS, chance), chance), NAME, 64)


def _map(chance: Random) -> Any:
    from ffplan.interop.asbuilt.names import _mapped, read_map

    rules = read_map(forms.pasted(forms.damaged(forms.MAP, chance), chance), NAME)
    return [_mapped(name, rules, NAME) for name in ("node01 mlx5_0", "rack7-leaf", "a" * 60 + "!")]


def _axis(chance: Random) -> Any:
    from ffplan.studies.choose.sweep_axes import axis

    number = ("1", "64", "1.5", "1e3", "-2", *forms.NUMBERS)
    how = chance.choice(("", ":", "*", "#"))
    values = f"{chance.choice(number)}..{chance.choice(number)}{how}{chance.choice(number) if how else ''}"
    found = axis(f"nodes[0].count={chance.choice((values, forms.damaged('64,128,256', chance)))}")
    return [found.text(at) for at in range(min(3, len(found)))]


@cache
def _shipped() -> Any:
    from ffplan.catalog.store import Catalog

    return Catalog()


def _recording(chance: Random) -> Any:
    """Read a recording and fit it; a fit that cannot be made is refused."""
    from ffplan.base.errors import UsageError
    from ffplan.calibration.fit import FitError
    from ffplan.calibration.measured_fit import MeasuredRequest, fit_recording
    from ffplan.inputs.document import parse_document
    from ffplan.inputs.validate import validate
    from ffplan.measuring.recording import Recording

    document = parse_document(files.recording(chance), NAME)
    part = chance.choice(("h100-sxm-80gb", "b200", "a100-pcie-40gb", "mi300x"))
    asked = MeasuredRequest(accelerator=part, only=None, stack=chance.choice((None, "nemo-2025")))
    try:
        return fit_recording(_shipped(), validate(Recording, document), document, asked)
    except FitError as error:
        raise UsageError(str(error)) from None


READERS: dict[str, Callable[[Random], Any]] = {
    "design": _document("design"),
    "part": _document("part"),
    "cases": _document("cases"),
    "plan": _document("training-plan"),
    "yaml": _yaml,
    "nccl": _nccl,
    "ibnetdiscover": _as_built,
    "traffic": _traffic,
    "quantity": _quantity,
    "series": _series,
    "hosts": _hosts,
    "policy": _policy,
    "waivers": _waivers,
    "fabrics": _fabrics,
    "slurm": _slurm,
    "launch": _launch,
    "logs": _logs,
    "served": _served,
    "hours": _hours,
    "requests": _requests,
    "jobs": _jobs,
    "map": _map,
    "axis": _axis,
    "recording": _recording,
}
"""Every reader by name."""


def execute(name: str, chance: Random) -> int:
    """Give a reader one input; return the exit code that a command would have, 0 or 2."""
    try:
        READERS[name](chance)
    except FfplanError as error:
        if not str(error):
            raise AssertionError("an error that says nothing") from error
        return error.exit_code
    return 0
