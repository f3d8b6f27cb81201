"""What `fabric size` prices, against the bill of the same fabric as a design."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

DESIGN = """
name: sized
nodes: [{{role: compute, server: hgx-h100-8nic, count: {nodes}}}]
fabric:
  family: fat-tree
  switch: qm9700
  link: {{endpoint: 400g-dac, inter_switch: 400g-dr4}}
  tiers: 2
  oversubscription: {ratio}:1
  breakout: {breakout}
communication: {{libraries: [nccl], message_size: 1 GiB}}
site: {{pue: 1.3}}
cost: {{price_book: usd-2026}}
"""


@pytest.mark.parametrize(("nodes", "ratio", "breakout"), [(127, 1, 1), (127, 1, 2), (64, 3, 2), (32, 1, 2)])
def test_split_ports_share_their_cable(nodes: int, ratio: int, breakout: int, tmp_path: Path) -> None:
    """127 nodes, split in two: 24 x 50,000 + 508 x 250 + 512 x 1,240 USD, a cable for two links."""
    file = tmp_path / "sized.yaml"
    file.write_text(DESIGN.format(nodes=nodes, ratio=ratio, breakout=breakout), encoding="utf-8")
    bill = json.loads(ffplan("design", str(file), "-f", "json").out)["cost"]
    kinds = ("switches", "endpoint-links", "inter-switch-links")
    network = sum(line["total"] for line in bill["lines"] if line["category"] in kinds)
    links = ("--endpoint-link", "400g-dac", "--link", "400g-dr4")
    asked = ("-n", str(8 * nodes), "--switch", "qm9700", "--breakout", str(breakout), "--tiers", "2")
    rest = ("--oversubscription", f"{ratio}:1", "--prices", "usd-2026", "-f", "json")
    run = ffplan("fabric", "size", *asked, *links, *rest)
    assert run.code == 0, run.err
    (option,) = (one for one in json.loads(run.out)["options"] if one["family"] == "fat-tree, two tiers")
    assert option["cost"] == pytest.approx(network)
    if (nodes, breakout) == (127, 2):
        assert network == 1_961_880
