"""Which program wrote a text: the one whose form knows most of its lines, in whatever order the forms are asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.interop.asbuilt.ibdiagnet import is_db_csv_line, is_lst_line
from ffplan.interop.asbuilt.ibnetdiscover import is_listing_line, is_node_list_line, is_report_line
from ffplan.interop.asbuilt.linkinfo import is_linkinfo_line
from ffplan.interop.asbuilt.lldp_table import is_lldp_table_line
from ffplan.interop.asbuilt.model import fault
from ffplan.interop.asbuilt.ptm import is_dot_line
from ffplan.interop.asbuilt.topo_files import is_ndt_line, is_topo_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SAMPLE = 1_000
"""Lines from the start of a text that are asked first; where no form knows any of them, all are asked [1]."""
LONGEST_LINE = 8_000
"""Longest line of a file that is no JSON or XML [1]."""
_JSON = re.compile(
    r"\s*(?:[{\[]\s*(?:$|[\"{\[\]}])"
    r'|"[^"]{0,200}"\s*:\s*(?:[\[{].*|"(?:[^"\\]|\\.)*+"|[-\w.]+)?\s*,?\s*$)'
    r'|.*"(?:lldp|lldpNeighbors|TABLE_nbor|DEVICE_NEIGHBOR|DEVICE_METADATA)"\s*:'
)
"""A line of JSON; the keys of neighbours may stand behind a prompt. `[1]` starts a port, `[root@host]` a prompt."""
_XML = re.compile(r"\s*</?[?!A-Za-z]")
"""A line of XML; `< ` starts a line of a comparison."""


@record
class Form:
    """How a program writes."""

    name: str
    knows: Callable[[str], bool]
    """True for a line that this program writes, and few others do."""


DB_CSV = Form("ibdiagnet's db_csv", is_db_csv_line)
LINKINFO = Form("iblinkinfo", is_linkinfo_line)
NDT = Form("UFM's topology table", is_ndt_line)
REPORT = Form("ibnetdiscover -p", is_report_line)
LST = Form("ibdiagnet's .lst", is_lst_line)
TOPO = Form("an ibdm .topo file", is_topo_line)
LISTING = Form("ibnetdiscover", is_listing_line)
NODE_LIST = Form("ibnetdiscover -l", is_node_list_line)
DOT = Form("PTM's topology.dot", is_dot_line)
LLDP_TABLE = Form("show lldp table", is_lldp_table_line)
JSON = Form("JSON", lambda line: _JSON.match(line) is not None)
XML = Form("XML", lambda line: _XML.match(line) is not None)
FORMS = (DB_CSV, LINKINFO, NDT, REPORT, LST, TOPO, LISTING, NODE_LIST, DOT, LLDP_TABLE, JSON, XML)


def lines_known(lines: Iterable[str], forms: Sequence[Form] = FORMS) -> dict[str, int]:
    """Return how many lines each form knows, by its name [1]."""
    counts = dict.fromkeys((form.name for form in forms), 0)
    for line in lines:
        shown = line.rstrip()[:LONGEST_LINE]
        for form in forms:
            counts[form.name] += form.knows(shown)
    return counts


def form_of(text: str, file: str, forms: Sequence[Form] = FORMS) -> Form | None:
    """Return the form that knows most lines of a text; None where none knows any.

    Args:
        text: content of a file.
        file: its name in messages.
        forms: the forms, in any order.

    Raises:
        InputError: where two forms know as many.
    """
    counts = lines_known(islice(StringIO(text), SAMPLE), forms)
    if not any(counts.values()) and text.count("\n", 0) >= SAMPLE:
        counts = lines_known(StringIO(text), forms)
    most = max(counts.values())
    if not most:
        return None
    first, *others = sorted((form for form in forms if counts[form.name] == most), key=lambda form: form.name)
    if others:
        words = f"the file reads as {first.name} and as {others[0].name} alike"
        raise fault(file, 1, words, "give the output of one program, as it was written")
    return first
