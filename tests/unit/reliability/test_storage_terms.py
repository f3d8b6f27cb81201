"""Limits of moving data to and from storage, by hand."""

from __future__ import annotations

from ffplan.reliability.storage import CLIENTS, NICS, NODE_NICS, WHOLE, ServiceRates, server_terms, transfer_terms

SERVICE = ServiceRates(efficiency=0.5, client=10.0, whole=70.0, checkpoint=None)
SERVERS = {NICS: 100.0, "drives": 80.0}


def test_servers_by_hand() -> None:
    """Half of 100 GB/s of NICs, drives whole, and the file system's own 70."""
    assert server_terms(SERVERS, SERVICE) == {NICS: 50.0, "drives": 80.0, WHOLE: 70.0}


def test_nodes_by_hand() -> None:
    """Three nodes: half of 75 GB/s of NICs, and 10 GB/s of each client."""
    terms = transfer_terms(SERVERS, SERVICE, nodes=3, nics_gbyte_s=75.0)
    assert (terms[NODE_NICS], terms[CLIENTS], min(terms.values())) == (37.5, 30.0, 30.0)
