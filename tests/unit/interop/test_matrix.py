"""A matrix of traffic: which NICs carry a row's bytes, by hand on shipped designs; and files that are none."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.interop import workloads
from ffplan.interop.workloads import read_matrix
from tests.support import wired

if TYPE_CHECKING:
    from ffplan.fabric.wiring.names import Names

HEAD = "src,dst,bytes\n"


@cache
def names(design: str) -> Names:
    return wired(design).names


def carried(design: str, row: str) -> list[tuple[str, str, float]]:
    """Return host/NIC, host/NIC and bytes of every flow of a row."""
    own = names(design)
    flows = read_matrix(HEAD + row + "\n", "t.csv", own)
    return [
        ("/".join(own.endpoint(a)), "/".join(own.endpoint(b)), c)
        for a, b, c in zip(flows.src.tolist(), flows.dst.tolist(), flows.nbytes.tolist(), strict=True)
    ]


def test_the_rails_of_two_hosts_share_the_bytes() -> None:
    """Eight NICs a node: each sends an eighth to the NIC of its own number."""
    found = carried("dgx-a100-10k", "compute-0001,compute-0700,80")
    assert [(a.partition("/")[0], b.partition("/")[0]) for a, b, _ in found] == [("compute-0001", "compute-0700")] * 8
    assert [a.partition("/")[2] for a, _, _ in found] == [b.partition("/")[2] for _, b, _ in found]
    assert len({a for a, _, _ in found}) == 8
    assert {nbytes for _, _, nbytes in found} == {10.0}


def test_a_host_of_every_zone_answers_in_the_zone_of_the_other() -> None:
    """Storage nodes have a port in each of the two zones; a node of the second zone reads from the second."""
    own = names("fire-flyer-2")
    zone, hosts = own.network.endpoints.zone, own.hosts()
    for host in ("compute-0001", "compute-1250"):
        ((a, b, nbytes),) = carried("fire-flyer-2", f"storage-001,{host},7")
        assert nbytes == 7.0
        (end,) = hosts[host]
        (start,) = [number for number in hosts["storage-001"] if zone[number] == zone[end]]
        assert (a, b) == ("/".join(own.endpoint(start)), "/".join(own.endpoint(end)))
    assert zone[hosts["compute-0001"]] != zone[hosts["compute-1250"]]


def test_two_hosts_of_every_zone_use_both() -> None:
    found = carried("fire-flyer-2", "storage-001,storage-002,8")
    assert {nbytes for _, _, nbytes in found} == {4.0}
    assert len({a for a, _, _ in found}) == len({b for _, b, _ in found}) == 2


def test_rows_keep_their_order_and_add_up() -> None:
    own = names("fire-flyer-2")
    rows = ["storage-001,storage-002,8", "compute-0001,compute-1250,1", "compute-0002,storage-001,3"]
    flows = read_matrix(HEAD + "\n".join(rows) + "\n", "t.csv", own)
    assert flows.nbytes.tolist() == [4.0, 4.0, 1.0, 3.0]
    back = read_matrix(HEAD + "\n\n".join(reversed(rows)), "t.csv", own)
    assert back.nbytes.tolist() == [3.0, 1.0, 4.0, 4.0]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "t.csv:1", "the first line is not `src,dst,bytes`"),
        (HEAD, "t.csv:1", "no row has any bytes"),
        (HEAD + "compute-0001,compute-0002,0\n", "t.csv:1", "no row has any bytes"),
        (HEAD + "\ncompute-0001,compute-0001,1\n", "t.csv:3", "sends to itself"),
        (HEAD + "compute-0001,compute-0002,1e400\n", "t.csv:2", "1e400"),
        (HEAD + "compute-0001,compute-0002,nan\n", "t.csv:2", "nan"),
        (HEAD + '"compute-0001,compute-0002,1\n' + "x" * 200_000, "t.csv:", "not valid CSV"),
        (HEAD + "compute-0001,compute-0002,1e22\n", "t.csv:2", "1e22"),
        (HEAD + "compute-0001,compute-0002,1_000\n", "t.csv:2", "1_000"),
        (HEAD + "compute-0001,compute-0002,٣\n", "t.csv:2", "not a number of bytes"),
        (HEAD + '"x\n\n",compute-0002,1\n', "t.csv:2", "unknown host"),
        (HEAD + "storage-001,storage-02,1\n", "t.csv:2", "unknown host `storage-02`"),
    ],
)
def test_what_is_no_traffic_is_refused_at_its_line(text: str, place: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_matrix(text, "t.csv", names("fire-flyer-2"))
    assert str(caught.value).startswith(place)
    assert words in str(caught.value)


def test_too_many_flows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_FLOWS", 15)
    rows = "compute-0001,compute-0002,1\ncompute-0003,compute-0004,1\n"
    with pytest.raises(InputError, match="more than 15 flows between NICs"):
        read_matrix(HEAD + rows, "t.csv", names("dgx-a100-10k"))
    monkeypatch.setattr(workloads, "MOST_FLOWS", 16)
    assert len(read_matrix(HEAD + rows, "t.csv", names("dgx-a100-10k"))) == 16


def test_the_mark_of_spreadsheets_is_no_part_of_the_header() -> None:
    assert len(read_matrix("\ufeff" + HEAD + "compute-0001,compute-0002,1\n", "t.csv", names("fire-flyer-2"))) == 1
