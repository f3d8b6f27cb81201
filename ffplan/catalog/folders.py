"""Kinds of parts, and folders of them: the file of each part.

The shipped catalogue names every file after its part. A user's file is placed by the `kind` and `id` that it
states, under any name; a file that cannot be placed is refused, since skipping it would change the answer.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, UsageError, did_you_mean, located
from ffplan.base.formatting import first_few
from ffplan.base.record import record
from ffplan.inputs.document import parse_document, read_bytes
from ffplan.inputs.model import IDENTIFIER
from ffplan.inputs.validate import pattern_remedy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Part
    from ffplan.inputs.document import Document

KINDS = {
    "accelerator": "parts.Accelerator",
    "cpu": "parts.Cpu",
    "nic": "parts.Nic",
    "switch": "parts.Switch",
    "link": "parts.Link",
    "server": "parts.Server",
    "storage-server": "parts.StorageServer",
    "file-system": "library.FileSystem",
    "price-book": "prices.PriceBook",
    "rent-book": "prices.RentBook",
    "token-book": "prices.TokenBook",
    "ownership": "ownership.OwnershipProfile",
    "failure-study": "reliability.FailureStudy",
    "xid-table": "reliability.XidTable",
    "reliability": "reliability.ReliabilityProfile",
    "job-mix": "reliability.JobMix",
    "library": "library.Library",
    "attention-rates": "stacks.AttentionRates",
    "runtime": "stacks.Runtime",
    "stack": "stacks.SoftwareStack",
    "engine": "engines.Engine",
    "model": "models.Model",
}
"""Module with the model of each kind, imported on demand."""
OTHER_WORDS = {
    "gpu": "accelerator",
    "tpu": "accelerator",
    "processor": "cpu",
    "adapter": "nic",
    "hca": "nic",
    "router": "switch",
    "cable": "link",
    "optic": "link",
    "transceiver": "link",
    "host": "server",
    "node": "server",
    "storage": "storage-server",
    "filesystem": "file-system",
    "object-store": "file-system",
    "price": "price-book",
    "rent": "rent-book",
    "token": "token-book",
    "api": "token-book",
    "tco": "ownership",
    "failure": "failure-study",
    "xid": "xid-table",
    "goodput": "reliability",
    "job": "job-mix",
    "trace": "job-mix",
    "kernel": "attention-rates",
    "allocator": "runtime",
    "framework": "stack",
    "software": "stack",
}
"""Kinds of part by synonym."""
OTHER_FILES = {
    "design": "design",
    "communication-cases": "case file",
    "training-cases": "case file",
    "serving-cases": "case file",
    "training-plan": "plan",
    "fleet": "fleet",
    "kernel-recording": "recording",
}
"""Names of files other than parts, by stated kind; a design may omit its kind."""


def kind_hint(name: str) -> str:
    """Return the remedy for an unknown kind of part: the kind meant, or the nearest."""
    meant = OTHER_WORDS.get(name.lower().removesuffix("s"))
    return f"did you mean `{meant}`?" if meant else did_you_mean(name, KINDS, what="kind")


def model_of(kind: str) -> type[Part]:
    """Return the model of a kind of part."""
    module, name = KINDS[kind].split(".")
    model: type[Part] = getattr(import_module(f"ffplan.catalog.{module}"), name)
    return model


MAX_FILES = 20_000
"""Most files a catalogue folder may hold; more means the wrong folder was named."""
MEASUREMENTS = "measurements"
"""Folder of the shipped catalogue with measured cases instead of parts."""
_KIND = re.compile(rb"^kind:[ \t]*([^\s#]+)[ \t\r]*(?:#.*)?$", re.MULTILINE)
_ID = re.compile(rb"^id:[ \t]*([^\s#]+)[ \t\r]*(?:#.*)?$", re.MULTILINE)
_DESIGN_KEYS = {"nodes", "fabric"}
"""Keys that make a file without `kind` a design."""


@record
class Root:
    """One catalogue folder; `label` names it in reports."""

    folder: Path
    label: str

    def named(self, path: str) -> str:
        """Return the name of a file in messages and reports; as it is without a label."""
        if not self.label:
            return path
        return f"{self.label.rstrip('/')}/{Path(path).relative_to(self.folder).as_posix()}"


@record
class Index:
    """Parts of a folder, with their files."""

    files: dict[str, tuple[str, ...]]
    """Files of each part by id; several are reported as a fault when that id is looked up."""
    kinds: dict[str, str]
    """Kind of the part in each file; empty for the shipped catalogue, whose files are read on demand."""


def _walk(root: Root, skipped: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield (name without ending, path) of every YAML file below a folder; links to folders are followed once.

    Hidden files, such as editors' locks, are skipped, and so are pipes and devices; a broken link is kept, since it may
    have been a part.
    """
    waiting, walked, seen = [str(root.folder)], set(), 0
    while waiting:
        folder = waiting.pop()
        place = os.path.realpath(folder)
        if place in walked:
            continue
        walked.add(place)
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda file: file.name):
                seen += 1
                if seen > MAX_FILES:
                    raise UsageError(
                        f"ffplan: --catalog {root.label}: more than {MAX_FILES:,} files; name a smaller folder"
                    )
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    waiting += [entry.path] if entry.name != skipped else []
                    continue
                name, dot, ending = entry.name.rpartition(".")
                if dot and ending.lower() in ("yaml", "yml") and (entry.is_file() or not Path(entry.path).exists()):
                    yield name, entry.path


def _walked(root: Root, skipped: str | None = None) -> list[tuple[str, str]]:
    try:
        return list(_walk(root, skipped))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"ffplan: --catalog {root.label}: cannot be read: {reason}") from None


def _shipped_index(root: Root) -> Index:
    """Index the shipped catalogue by file names, without reading any file."""
    return Index({name: (path,) for name, path in _walked(root, MEASUREMENTS)}, {})


def _placed_index(root: Root, content: Callable[[Path, str], bytes] = read_bytes, *, strict: bool = True) -> Index:
    """Index a user's folder by the kinds and ids that its files state."""
    index = Index({}, {})
    faults: list[Finding] = []
    files = _walked(root)
    if strict and not files:
        _refuse_others(root)
    for _, path in files:
        file = root.named(path)
        try:
            raw = content(Path(path), file)
            stated = None if not strict and _is_no_part(raw) else _stated(raw, file)
        except InputError as error:
            faults += error.findings
            continue
        if stated is not None:
            kind, name = stated
            index.files[name] = (*index.files.get(name, ()), path)
            index.kinds[path] = kind
    if faults and strict:
        raise InputError(*faults)
    return index


def _listed_index(paths: Iterable[str], content: Callable[[Path, str], bytes]) -> Index:
    """Index the parts among files of any kind; of two with one id the first counts."""
    index = Index({}, {})
    for path in paths:
        try:
            raw = content(Path(path), path)
            stated = None if _is_no_part(raw) else _stated(raw, path)
        except InputError:  # whoever checks the file is told
            continue
        if stated is not None and stated[1] not in index.files:
            index.files[stated[1]] = (path,)
            index.kinds[path] = stated[0]
    return index


def _is_no_part(raw: bytes) -> bool:
    """Return whether a file is none of a part without doubt: it has the word nowhere, or states another kind."""
    if b"kind" not in raw:
        return True
    kinds = _KIND.findall(raw)
    return len(kinds) == 1 and kinds[0].decode("utf-8", "replace") in OTHER_FILES


def _refuse_others(root: Root) -> None:
    """Refuse a folder whose files are all no YAML: they would be ignored in silence. An empty folder may still fill."""
    with os.scandir(root.folder) as entries:
        others = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    if others:
        raise UsageError(
            f"ffplan: --catalog {root.label}: no .yaml file, only {first_few(others)}; name the folder of the parts"
        )


def _stated(raw: bytes, file: str) -> tuple[str, str] | None:
    """Return the kind and id that a file states; None for other ffplan files."""
    kinds, names = _KIND.findall(raw), _ID.findall(raw)
    if len(kinds) == len(names) == 1:  # as nearly all files have them: what else is in a file is for whoever reads it
        kind, name = kinds[0].decode("utf-8", "replace"), names[0].decode("utf-8", "replace")
        if kind in KINDS and IDENTIFIER.fullmatch(name):
            return kind, name
    return _of_document(parse_document(raw, file))


def _of_document(document: Document) -> tuple[str, str] | None:
    data: Any = document.data
    fields = data if isinstance(data, dict) else {}
    kind, name = fields.get("kind"), fields.get("id")
    if kind is None and fields.keys() & _DESIGN_KEYS:
        return None
    if isinstance(kind, str) and kind in OTHER_FILES:
        return None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(_unknown_kind(document, kind))
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name):
        message = f"the {kind} has no `id`" if name is None else f"`{str(name)[:40]}` is not an id of the {kind}"
        remedy = pattern_remedy(IDENTIFIER.pattern)
        raise InputError(document.finding("catalog-id", ("id",), message, f"write `id:` and its name: {remedy}"))
    return kind, name


def _unknown_kind(document: Document, kind: object) -> Finding:
    what = f"`kind` is `{kind}`" if kind is not None else "the field `kind` is missing"
    message = f"{what}; a catalogue file needs a known kind"
    return document.finding("schema-choice", ("kind",), message, kind_hint(str(kind)))


def _other_id(file: str, stated: str, name: str) -> InputError:
    """Return the fault of a shipped file whose id differs from its name."""
    message = f"the id `{stated}` differs from the file name `{name}`"
    return located("catalog-id", file, (1, 1), message, "name the file after the id")
