"""The program that wrote a text: its form knows most of the lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.interop.asbuilt.cable_lists import _is_cable_table_line, _is_lab_line
from ffplan.interop.asbuilt.declared import _is_dot_line
from ffplan.interop.asbuilt.ibnetdiscover import _is_listing_line, _is_node_list_line, _is_report_line
from ffplan.interop.asbuilt.linkinfo import _is_linkinfo_line
from ffplan.interop.asbuilt.lldp_tables import _is_lldp_table_line
from ffplan.interop.asbuilt.model import _fault
from ffplan.interop.asbuilt.tables import _is_db_csv_line, _is_lst_line, _is_ndt_line, _is_topo_line
from ffplan.interop.pasted import _cleaned, _prefixes_of, without

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MOST_LINES = 40_000_000
"""Most lines of a text that is read line by line [1]; 500,000 endpoints have 4 million."""


def _lines_of(parts: Iterable[str], start: str, file: str) -> Iterator[str]:
    """Yield the lines of a large text without the prefixes that its start shows."""
    prefixes, count = _prefixes_of(start), 0
    for part in parts:
        lines = list(StringIO(_cleaned(part)))
        _refuse_long(lines, file, count + 1)
        count += len(lines)
        if count > _MOST_LINES:
            raise _fault(file, count, f"more than {_MOST_LINES:,} lines", "no fabric has as many")
        yield from without(prefixes, lines) if prefixes else lines


def _refuse_long_lines(text: str, file: str) -> None:
    """Refuse overlong lines: some line patterns take time with the square of the length."""
    if len(text) > _LONGEST_LINE:
        _refuse_long(list(StringIO(text)), file, 1)


def _refuse_long(lines: Sequence[str], file: str, first: int) -> None:
    if max(map(len, lines), default=0) <= _LONGEST_LINE:
        return
    number, line = next((number, line) for number, line in enumerate(lines, start=first) if len(line) > _LONGEST_LINE)
    message = f"a line of {len(line):,} characters"
    raise _fault(file, number, message, f"no such file has a line of more than {_LONGEST_LINE:,}")


_SAMPLE = 1_000
"""Lines from the start of a text that are asked first; where no form knows any of them, all are asked [1]."""
_LONGEST_LINE = 8_000
"""Longest line of a file that is no JSON or XML [1]."""
_JSON = re.compile(
    r"\s*(?:[{\[]\s*(?:$|[\"{\[\]}])"
    r'|"[^"]{0,200}"\s*:\s*(?:[\[{].*|"(?:[^"\\]|\\.)*+"|[-\w.]+)?\s*,?\s*$)'
    r'|.*"(?:lldp|lldpNeighbors|TABLE_nbor|DEVICE_NEIGHBOR|DEVICE_METADATA)"\s*:'
)
"""A line of JSON; neighbours' keys may follow a prompt. `[1]` starts a port, `[root@host]` a prompt."""
_XML = re.compile(r"\s*</?[?!A-Za-z]")
"""A line of XML; `< ` starts a line of a comparison."""


@record
class _Form:
    name: str
    knows: Callable[[str], bool]
    """True for a line that this program writes, and few others do."""


DB_CSV = _Form("ibdiagnet's db_csv", _is_db_csv_line)
LINKINFO = _Form("iblinkinfo", _is_linkinfo_line)
NDT = _Form("UFM's topology table", _is_ndt_line)
REPORT = _Form("ibnetdiscover -p", _is_report_line)
LST = _Form("ibdiagnet's .lst", _is_lst_line)
TOPO = _Form("an ibdm .topo file", _is_topo_line)
LISTING = _Form("ibnetdiscover", _is_listing_line)
NODE_LIST = _Form("ibnetdiscover -l", _is_node_list_line)
DOT = _Form("PTM's topology.dot", _is_dot_line)
LLDP_TABLE = _Form("show lldp neighbors", _is_lldp_table_line)
CABLES = _Form("a list of cables", _is_cable_table_line)
LAB = _Form("a lab of containerlab", _is_lab_line)
JSON = _Form("JSON", lambda line: _JSON.match(line) is not None)
XML = _Form("XML", lambda line: _XML.match(line) is not None)
_FORMS = (DB_CSV, LINKINFO, NDT, REPORT, LST, TOPO, LISTING, NODE_LIST, DOT, LLDP_TABLE, CABLES, LAB, JSON, XML)


def _lines_known(lines: Iterable[str], forms: Sequence[_Form] = _FORMS) -> dict[str, int]:
    counts = dict.fromkeys((form.name for form in forms), 0)
    for line in lines:
        shown = line.rstrip()[:_LONGEST_LINE]
        for form in forms:
            counts[form.name] += form.knows(shown)
    return counts


def _form_of(text: str, file: str, forms: Sequence[_Form] = _FORMS) -> _Form | None:
    """Pick the form that knows most lines of a text; None if no form knows any."""
    counts = _lines_known(islice(StringIO(text), _SAMPLE), forms)
    if not any(counts.values()) and text.count("\n", 0) >= _SAMPLE:
        counts = _lines_known(StringIO(text), forms)
    most = max(counts.values())
    if not most:
        return None
    first, *others = sorted((form for form in forms if counts[form.name] == most), key=lambda form: form.name)
    if others:
        message = f"the file reads as {first.name} and as {others[0].name} alike"
        raise _fault(file, 1, message, "give the output of one program, as it was written")
    return first
