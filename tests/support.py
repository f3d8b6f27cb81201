"""Helpers of the tests."""

from __future__ import annotations

import ast
import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, settings

from ffplan.__main__ import entry
from ffplan.base.files import data_folder
from ffplan.catalog.store import Catalog
from ffplan.check.run import examine
from ffplan.design.resolve import resolve
from ffplan.inputs.composer import compose
from ffplan.inputs.document import Document, parse_document, read_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.base.array_math import Number
    from ffplan.base.outcomes import Term
    from ffplan.catalog.library import Library
    from ffplan.catalog.models import Model, Transformer
    from ffplan.catalog.read import Entry
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.node.host import Host
    from ffplan.results.collective import CollectiveReport
    from ffplan.results.design import Assessment
    from ffplan.studies.fabric.cabling import WiredDesign

ROOT = Path(__file__).resolve().parent.parent
DESIGNS = sorted(path.stem for path in (ROOT / "designs").glob("*.yaml"))
SMALL = ROOT / "tests" / "golden" / "small"
"""Designs of fabrics small enough to count by hand, with their parts; see `tests/golden/test_small.py`."""


def examine_file(path: Path, file: str, catalog: Catalog) -> Assessment:
    """Return the assessment of a design file, which messages call `file`."""
    return examine(resolve(read_document(path, file), catalog), catalog)


def shipped_design(name: str) -> Path:
    """Return the file of a shipped design."""
    return ROOT / "designs" / f"{name}.yaml"


def design_of(name: str) -> ResolvedDesign:
    """Return a shipped design with its parts."""
    return resolve(read_document(shipped_design(name)), Catalog())


def assess_file(path: Path | str, *overlays: str) -> Assessment:
    """Return the assessment of a design file, or of a shipped design by name."""
    file = Path(path) if Path(path).suffix else shipped_design(str(path))
    return examine_file(file, str(path), Catalog(overlays))


def collective(assessment: Assessment, library: str) -> CollectiveReport:
    """Return the report of one library."""
    return next(item for item in assessment.communication if item.library == library)


def wired(path: Path | str, *overlays: str) -> WiredDesign:
    """Return a design file, or a shipped design by name, wired port by port; a shipped one is wired once."""
    return _wired_shipped(str(path)) if not Path(path).suffix and not overlays else _wired(Path(path), overlays)


@lru_cache(maxsize=6)
def _wired_shipped(name: str) -> WiredDesign:
    return _wired(shipped_design(name), ())


def _wired(file: Path, overlays: tuple[str, ...]) -> WiredDesign:
    from ffplan.studies.fabric.cabling import wire_design

    file = file if file.suffix else shipped_design(str(file))
    return wire_design(resolve(read_document(file, str(file)), Catalog(overlays)))


def term(report: CollectiveReport, name: str) -> Term:
    """Return the tightest term of one kind."""
    return next(item for item in report.bound.terms if item.name == name)


def host_named(name: str) -> Host:
    """Return the inside of a shipped server."""
    from ffplan.validation.cases import System
    from ffplan.validation.measured_system import CaseParts

    return CaseParts(Catalog(), document("{}")).host(System(server=name), ())


def library_named(name: str) -> Library:
    """Return a shipped communication library."""
    from ffplan.catalog.library import Library

    part = Catalog().entry(name).part
    assert isinstance(part, Library)
    return part


def model_named(name: str) -> Model:
    """Return a shipped model."""
    from ffplan.catalog.models import Model

    part = Catalog().entry(name).part
    assert isinstance(part, Model)
    return part


def shape_named(name: str, **replaced: Number) -> Transformer:
    """Return the dimensions of a shipped transformer, some replaced."""
    from ffplan.training.model_flops import shape_of

    found = model_named(name).transformer
    assert found is not None
    return shape_of(found, **replaced)


def document(text: str, file: str = "test.yaml") -> Document:
    """Return a document from text."""
    return Document(file, "0" * 64, compose(text, file))


DEEP = bool(os.environ.get("FFPLAN_DEEP"))
"""Whether tests of properties look at many examples, as `make deep` has them, or at few."""
FEWER = 10
"""Examples of `make deep` for one of `make test` [1]."""


def but_few(values: Iterable[Any], *few: Any) -> list[Any]:
    """Return values of a parameter: `make test` has a few of them, and `make deep` all others."""
    return [value if value in few else pytest.param(value, marks=pytest.mark.deep) for value in values]


def examples(most: int, **more: Any) -> settings:
    """Return the settings of a test of a property.

    Args:
        most: examples of `make deep` [1].
        more: further settings of Hypothesis.
    """
    if DEEP:
        return settings(max_examples=most, deadline=None, **more)
    few = {HealthCheck.filter_too_much, *more.pop("suppress_health_check", ())}  # a few say little of the others
    return settings(max_examples=max(most // FEWER, 3), deadline=None, suppress_health_check=few, **more)


WITHOUT_PRICES = (
    ("cost:\n  price_book: fire-flyer-2-relative\n", ""),
    ("  exclude: [storage, endpoint-links]  # the paper prices neither\n", ""),
)
"""Changes of Fire-Flyer 2 that leave it without a price book."""
ZONES_APART = (("  inter_zone:\n", "  # "), ("    switches: 2 ", "  # "), ("    links_per_zone: 40", "  #"))
"""Changes of Fire-Flyer 2 that leave its zones without links between them."""


def overlay_part(folder: Path, name: str, *changes: tuple[str, str]) -> None:
    """Copy a shipped part into `folder` with texts replaced, each of which must occur."""
    source = next(data_folder("catalogs").rglob(f"{name}.yaml"))
    text = source.read_text()
    for old, new in changes:
        assert old in text, f"{old!r} is not in {source}"
        text = text.replace(old, new)
    (folder / f"{name}.yaml").write_text(text)


def vary_design(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    """Copy a shipped design into `folder` with texts replaced, each of which must occur."""
    text = (ROOT / "designs" / f"{name}.yaml").read_text()
    for old, new in changes:
        assert old in text, f"{old!r} is not in {name}"
        text = text.replace(old, new)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


PROFILE = re.compile(r"^reliability: \{profile: ([a-z0-9-]+)\}$", re.MULTILINE)
"""Section of a shipped design that names its reliability profile and states no more."""


def with_reliability(text: str, fields: str) -> str:
    """Return a shipped design whose section on reliability states more than its profile.

    Args:
        text: the design.
        fields: fields in flow style, without braces.
    """
    found, count = PROFILE.subn(lambda match: f"reliability: {{profile: {match[1]}, {fields}}}", text)
    assert count == 1, text
    return found


@dataclass(frozen=True)
class Run:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@contextmanager
def parts_read_once() -> Iterator[None]:
    """Let all catalogues share what they read of the shipped files, which is half of the time of most commands.

    A part of any other folder is taken apart once as well; designs are not, as tests change what they read of them.
    """
    read, known = Catalog._part, dict[Path, "Entry"]()

    def shared(self: Catalog, path: Path, label: str, *, shipped: bool) -> Entry:
        if not shipped:
            return read(self, path, label, shipped=False)
        if path not in known:
            known[path] = read(self, path, label, shipped=True)
        return known[path]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "_part", shared)
        patch.setattr("ffplan.catalog.store.parse_document", lru_cache(maxsize=1024)(parse_document))
        yield


def ffplan(*arguments: str, env: dict[str, str] | None = None) -> Run:
    """Run the command line in this process; the first argument may be several words, split at blanks.

    Streams, environment and what a process sets for itself are as before when it returns.
    """
    _forget()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    collecting = gc.get_threshold()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["ffplan", *" ".join(arguments[:1]).split(), *arguments[1:]])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        patch.setattr(os, "_exit", _leave)
        patch.setattr("ffplan.base.processes.listen", lambda: None)
        late = signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        try:
            entry()
        except _LeftError as left:
            code = left.code
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, late)
            gc.set_threshold(*collecting)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return Run(code, *texts)


@lru_cache(maxsize=256)
def _once(arguments: tuple[str, ...]) -> Run:
    return ffplan(*arguments)


def ffplan_once(*arguments: str) -> Run:
    """Return what a command prints, which runs once where it reads nothing but what ships: no path is named."""
    return ffplan(*arguments) if any("/" in word for word in arguments) else _once(arguments)


PATIENCE = 240.0
"""Longest time of a command [s]."""


def _too_long(_number: int, _frame: object) -> None:
    pytest.fail(f"the command takes longer than {PATIENCE:g} s")


def _forget() -> None:
    """Empty what a command keeps for the length of its process: policies, and the parts of folders."""
    module = sys.modules.get("ffplan.cli.checked_files")
    for kept in list(vars(module).values()) if module else ():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()


class _LeftError(BaseException):
    """The command is over."""

    def __init__(self, code: int) -> None:
        self.code = code


def _leave(code: int) -> None:
    """Stand for the end of the process."""
    raise _LeftError(code)


def invoked(*words: str) -> Any:
    """Return the result of a command with its exception, whatever the name that it goes by."""
    from typer.testing import CliRunner

    from ffplan.cli.app import build
    from ffplan.cli.commands import _current_names

    names, _ = _current_names(list(words))
    return CliRunner().invoke(build(names[0]), names)


def ffplan_process(*arguments: str, env: dict[str, str] | None = None) -> Run:
    """Run the command line in a process of its own, where that is what is tested; words as in `ffplan`."""
    done = subprocess.run(
        [sys.executable, "-m", "ffplan", *" ".join(arguments[:1]).split(), *arguments[1:]],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(env or {})},
        timeout=120,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def modules_loaded(*arguments: str) -> set[str]:
    """Return the names of the modules that a command imports."""
    code = (
        "import sys, io, contextlib\n"
        f"sys.argv = ['ffplan', *{list(arguments)!r}]\n"
        "from ffplan.__main__ import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "print('\\n'.join(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


def read_yaml(text: str) -> Any:
    """Return the content of a YAML text by libyaml, ten times as fast as by Python."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


@cache
def syntax(path: Path) -> ast.Module:
    """Return a Python file as a tree; tests of its form share it."""
    return ast.parse(path.read_text())


def lines_of(paths: Iterable[Path]) -> str:
    """Return the text of several files."""
    return "\n".join(path.read_text() for path in paths)


@cache
def checker(schema: str) -> jsonschema.Draft202012Validator:
    """Return what judges by a schema that is kept; a test holds that each is a schema."""
    return jsonschema.Draft202012Validator(json.loads((ROOT / "schema" / f"{schema}.schema.json").read_text()))


def valid(text: str, schema: str) -> dict[str, object]:
    """Return a report that meets its schema."""
    report: dict[str, object] = json.loads(text)
    checker(schema).validate(report)
    return report


def reported(command: str, schema: str) -> dict[str, Any]:
    """Return the report of a command that succeeds, which meets its schema."""
    run = ffplan(f"{command} --format json")
    assert run.code == 0, run.err
    return dict(valid(run.out, schema))


def exactly(value: Any) -> Any:
    """Return a number to compare with, to a part in a thousand million however small it is."""
    return pytest.approx(value, rel=1e-9, abs=0)
