"""Parts of the market: every server gives a full report, and figures of racks agree with those of their parts."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, TypeVar

import pytest

from ffplan.catalog.parts import Accelerator, Cpu, Nic, Part, Server, Switch
from ffplan.catalog.store import Catalog
from ffplan.node.host import memory_bandwidth
from ffplan.studies.explain.catalog import audit
from tests.support import assess_file, collective, ffplan

if TYPE_CHECKING:
    from pathlib import Path

P = TypeVar("P", bound=Part)

CATALOG = Catalog()
TODAY = date(2026, 11, 28)
PARTS = [CATALOG.entry(name).part for name in CATALOG.ids()]
SERVERS = [server.id for server in PARTS if isinstance(server, Server) and server.accelerators]
FABRICS = {
    15: ("sn4600c", "100g-dac"),
    100: ("sn4600c", "100g-dac"),
    200: ("sn4600", "hdr-dac"),
    400: ("th4-64x400g", "400g-dr4"),
    800: ("th5-64x800g", "800g-2xdr4"),
    1600: ("sn6600", "800g-2xdr4"),
}
"""A switch and a link by the rate of the server's NICs [Gb/s]."""


def part(model: type[P], name: str) -> P:
    found = CATALOG.entry(name).part
    assert isinstance(found, model)
    return found


def small_design(folder: Path, name: str) -> Path:
    """Write a design of a few servers, two scale-up domains where a switch joins several servers."""
    server = part(Server, name)
    rate = round(part(Nic, server.nics[0].part).rate.value * 8)
    switch, link = FABRICS[rate]
    joined = server.nvlink.nodes if server.nvlink else 1
    count = 8 if joined == 1 else 2 * joined if joined < 64 else joined
    text = f"""
name: few
nodes:
  - {{role: compute, server: {name}, count: {count}}}
fabric:
  family: fat-tree
  switch: {switch}
  link: {{endpoint: {link}, inter_switch: {link}}}
  tiers: {3 if count > 1000 else 2}
communication: {{libraries: [nccl], message_size: 1 GiB}}
site: {{pue: 1.2, currency: USD}}
cost: {{price_book: usd-2026}}
"""
    path = folder / "few.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", SERVERS)
def test_every_server_gives_a_full_report(name: str, tmp_path: Path) -> None:
    found = assess_file(small_design(tmp_path, name))
    assert all(row.bound.algbw_gbyte_s > 0 for row in found.communication)
    assert found.reliability is not None
    assert found.power.it_kw > 0
    assert found.cost is not None
    unknown = [socket.memory.capacity is None for socket in part(Server, name).sockets]
    named = [item.path for item in found.hardware.missing]
    assert ("sockets.0.memory.capacity" in named) == any(unknown)


@pytest.mark.parametrize("name", ["gaudi2-8gpu", "gaudi3-8gpu"])
def test_nics_inside_an_accelerator_never_cross_pcie(name: str, tmp_path: Path) -> None:
    """Three ports of 200 Gb/s of a Gaudi3 carry 75 GB/s, more than the 55 GB/s of its PCIe link."""
    server = part(Server, name)
    port, ranks = part(Nic, server.nics[0].part), 8 * len(server.accelerators)
    assert len(server.nics) == 3 * len(server.accelerators)
    bound = collective(assess_file(small_design(tmp_path, name)), "nccl").bound
    assert not [item for item in bound.terms if item.name.startswith("pcie")]
    nics = next(item for item in bound.terms if item.name == "nic")
    assert nics.gbyte_s == pytest.approx(24 * port.rate.value * ranks / (2 * (ranks - 1)))


def test_servers_make_up_the_racks_that_are_published() -> None:
    """72 accelerators of a Helios or a Vera Rubin rack, 384 of a CloudMatrix, 64 and 144 of a Trn3 UltraServer."""
    for name, accelerators in (
        ("helios-tray", 72),
        ("vr-nvl72-tray", 72),
        ("p6e-gb200-36xlarge", 72),
        ("oci-gb300-4", 72),
        ("cloudmatrix-384-node", 384),
        ("trn3-gen1-16", 64),
        ("trn3-gen2-4", 144),
        ("tpu-v5e-host", 256),
    ):
        server = part(Server, name)
        assert server.nvlink is not None
        assert len(server.accelerators) * server.nvlink.nodes == accelerators, name
    for name, terabits in (("trn3-gen1-16", 12.8), ("trn3-gen2-4", 28.8), ("p6e-gb200-36xlarge", 28.8)):
        server = part(Server, name)
        assert server.nvlink is not None
        each = part(Nic, server.nics[0].part).rate.value * 8
        assert len(server.nics) * each * server.nvlink.nodes / 1e3 == pytest.approx(terabits), name


def test_switches_carry_what_their_makers_print() -> None:
    for name, terabits in (("sn6800-ld", 409.6), ("tomahawk-ultra", 51.2), ("nvlink5-switch-tray", 2 * 28.8)):
        switch = part(Switch, name)
        assert switch.ports.value * switch.rate.value * 8 / 1e3 == pytest.approx(terabits), name
    tray, gpu = part(Switch, "nvlink5-switch-tray"), part(Accelerator, "gb200-gpu")
    assert gpu.nvlink is not None
    assert 9 * tray.ports.value == 72 * 18
    assert 18 * tray.rate.value == gpu.nvlink.value


def test_announced_cpus_have_the_bandwidth_that_was_announced() -> None:
    for name, gbyte_s in (("vera", 1.2e3), ("epyc-venice", 1.6e3)):
        cpu = part(Cpu, name)
        assert memory_bandwidth(cpu.memory_channels.value, cpu.memory_rate.value, 1.0) == pytest.approx(
            gbyte_s, rel=0.03
        )


def test_what_has_no_price_says_so() -> None:
    """The audit lists it; a note of a part on sale says that its price is not known."""
    unpriced = [item.part for item in audit(CATALOG, TODAY).findings if item.kind == "unpriced"]
    assert "sn6800-ld" in unpriced
    assert "gaudi3-200g" not in unpriced  # sold in its accelerator
    assert "nvlink5-switch-tray" not in unpriced  # sold in its rack
    for name in unpriced:
        entry = CATALOG.entry(name).part
        assert entry.announced or "price" in (entry.note or ""), name


def test_a_fabric_takes_no_switch_of_a_scale_up_domain(tmp_path: Path) -> None:
    path = small_design(tmp_path, "hgx-h100-8nic")
    path.write_text(path.read_text().replace("th4-64x400g", "nvlink5-switch-tray"))
    found = ffplan(f"design {path}")
    assert found.code == 2
    assert "few.yaml:7:11" in found.err
    assert "not servers" in found.err


def test_an_appliance_of_unknown_inside_draws_a_part_of_its_rated_power(tmp_path: Path) -> None:
    path = small_design(tmp_path, "hgx-h100-8nic")
    text = path.read_text().replace("\nfabric:", "\n  - {role: management, server: ufm-appliance, count: 2}\nfabric:")
    path.write_text(text)
    found = next(node for node in assess_file(path).power.nodes if node.server == "ufm-appliance")
    assert found.training_w == pytest.approx(0.75 * 689)
    assert found.training_grade == "0.75 x rated"


def test_costs_of_servers_without_accelerators_are_refused(tmp_path: Path) -> None:
    path = small_design(tmp_path, "hgx-h100-8nic")
    lines = [line for line in path.read_text().splitlines() if not line.startswith("communication")]
    path.write_text("\n".join(lines).replace("hgx-h100-8nic", "ufm-appliance"))
    assert ffplan(f"design {path}").code == 0
    found = ffplan(f"cost {path}")
    assert found.code == 2
    assert "`ufm-appliance` has no accelerators" in found.err
