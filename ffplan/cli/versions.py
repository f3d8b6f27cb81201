"""Versions of a design: a file, the file of a revision, standard input, or a saved report."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError
from ffplan.base.files import MAX_BYTES, is_regular
from ffplan.base.record import record
from ffplan.catalog.store import Catalog
from ffplan.cli.loading import _read_text
from ffplan.inputs.design_files import find_design
from ffplan.inputs.document import parse_document, read_document

if TYPE_CHECKING:
    from ffplan.inputs.document import Document
    from ffplan.studies.explain.reproduce import Values, Version

_BUILT = re.compile(r"^(vendid=|(Switch|Ca|Hca)\s+\d+\s+\"|# Topology file)", re.MULTILINE)
"""Lines of ibnetdiscover output."""


@record
class _Assessor:
    catalog: Catalog
    """Current parts."""
    workload: Any = None
    """A `Workload` in place of the designs' own."""
    tokens: float | None = None
    """Tokens in place of the designs' own [1]."""

    def figures(self, document: Document) -> Values:
        from ffplan.check.examined import Examined
        from ffplan.design.resolve import resolve
        from ffplan.studies.design.design import study_design
        from ffplan.studies.explain.reproduce import values_of
        from ffplan.studies.train.default_job import with_tokens

        catalog = self.catalog.fork()
        design = resolve(document, catalog)
        if self.workload is not None:
            design = replace(design, workload=self.workload)
        design = with_tokens(design, self.tokens)
        examined = Examined(study_design(design, catalog, all_scales=False), catalog)
        return values_of(examined.assessment.to_dict(), examined.timed, examined.run)

    def version(self, document: Document) -> Version:
        from ffplan.results.result import DesignInfo
        from ffplan.studies.explain.reproduce import Version

        figures = self.figures(document)
        info = DesignInfo(
            name=str(document.data["name"]),
            description=document.data.get("description"),
            file=document.file,
            sha256=document.sha256,
        )
        return Version(info=info, figures=figures, document=document)


def _saved_version(file: str, command: str) -> Version:
    from ffplan.results.result import DesignInfo
    from ffplan.studies.explain.reproduce import NoReportError, Version, read_report, values_of

    try:
        saved = read_report(_read_text(file, 16 * MAX_BYTES))
    except NoReportError as error:
        line, column = error.place
        raise UsageError(f"ffplan {command}: {file}:{line}:{column}: {error}") from None
    if len(saved.designs) > 1:
        raise UsageError(f"ffplan {command}: {file}: a comparison of several designs; save one with `ffplan design`")
    report = saved.designs[0]
    stated = report["design"]
    info = DesignInfo(
        name=str(stated.get("name", "")),
        description=stated.get("description"),
        file=stated["file"],
        sha256=stated["sha256"],
    )
    return Version(info=info, figures=values_of(report), document=None)


def _design_document(name: str) -> Document:
    if name == "-":
        raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise UsageError(f"ffplan: standard input: larger than {MAX_BYTES // 1024} KiB")
        return parse_document(raw, "-")
    path, file = find_design(name)
    if is_regular(path) and not path.suffix.lower().startswith(".y") and _is_built(path):
        raise UsageError(
            f"ffplan: {name}: this is a fabric as built; `ffplan fabric audit DESIGN {name}` compares it with a design"
        )
    return read_document(path, file)


def _is_built(path: Path) -> bool:
    try:
        with path.open("rb") as source:
            return _BUILT.search(source.read(65_536).decode("utf-8", "replace")) is not None
    except OSError:
        return False


def _revision_document(name: str, revision: str) -> Document:
    from ffplan.inputs.revision import at_revision

    return parse_document(*at_revision(Path(name), revision))
