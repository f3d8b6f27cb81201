"""NetBox itself imports what is exported for it: its own forms judge every row of devices, interfaces and cables.

It needs a NetBox with an empty database, which no test can count on: `pip install netbox` (Python 3.12), PostgreSQL and
Redis, `netbox migrate`, then `FFPLAN_NETBOX=/path/to/bin/netbox` and its configuration as a module that
`NETBOX_CONFIGURATION` names on `PYTHONPATH`. Migration takes five minutes, the test nine. All is rolled back.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.netbox]
NETBOX = os.environ.get("FFPLAN_NETBOX", "")
SCRIPT = """
import csv, json
from django.db import transaction
from django.utils.text import slugify
from dcim.forms.bulk_import import CableImportForm, DeviceImportForm, InterfaceImportForm
from dcim.models import DeviceRole, DeviceType, Interface, Manufacturer, Site

def rows(kind):
    with open(f"{FOLDER}/{kind}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))

with transaction.atomic():
    Site.objects.create(name="ffplan", slug="ffplan")
    for row in rows("devices"):
        DeviceRole.objects.get_or_create(name=row["role"], slug=slugify(row["role"]))
        maker, _ = Manufacturer.objects.get_or_create(name=row["manufacturer"], slug=slugify(row["manufacturer"]))
        named = {"model": row["device_type"], "slug": slugify(row["device_type"])}
        DeviceType.objects.get_or_create(manufacturer=maker, **named)
    taken, refused = {}, []
    for kind, form in (("devices", DeviceImportForm), ("interfaces", InterfaceImportForm), ("cables", CableImportForm)):
        taken[kind] = 0
        for row in rows(kind):
            own = form(row, headers=dict.fromkeys(row))
            if own.is_valid():
                own.save()
                taken[kind] += 1
            else:
                refused.append([kind, row, str(dict(own.errors))])
    ends = Interface.objects.exclude(cable=None).values_list("device__name", "name", "cable__label")
    labels = {f"{device} {name}": label for device, name, label in ends}
    print("RESULT" + json.dumps({"taken": taken, "refused": refused[:3], "labels": labels}))
    transaction.set_rollback(True)
"""


@pytest.mark.skipif(not NETBOX, reason="FFPLAN_NETBOX names no NetBox")
@pytest.mark.parametrize(
    ("design", "old", "new"),
    [
        ("superpod-h100-4su", "count: 127", "count: 16"),  # lengths of cables, optics by reach
        ("megascale-12288", "count: 1536", "count: 16"),  # split ports
        ("superpod-b300-4su", "count: 256", "count: 16"),  # a plane for each port of a NIC
    ],
)
def test_netbox_takes_every_row(design: str, old: str, new: str, tmp_path: Path) -> None:
    """And shows at both ends of every cable the label that installers have in the list of cables."""
    file = vary_design(tmp_path, design, (old, new))
    wanted = {}
    for kind in ("devices", "interfaces", "cables"):
        text = ffplan("fabric export", str(file), "--to", "netbox", "--table", kind).out
        (tmp_path / f"{kind}.csv").write_text(text, encoding="utf-8")
        wanted[kind] = len(text.splitlines()) - 1
    script = f"FOLDER = {str(tmp_path)!r}\n{SCRIPT}"
    run = subprocess.run([NETBOX, "shell"], input=script, capture_output=True, text=True, check=False, timeout=900)
    found = [line for line in run.stdout.splitlines() if line.startswith("RESULT")]
    assert found, run.stdout + run.stderr
    result = json.loads(found[0].removeprefix("RESULT"))
    assert (result["taken"], result["refused"]) == (wanted, [])
    assert len(result["labels"]) == 2 * wanted["cables"]
    listed = csv.DictReader(io.StringIO(ffplan("fabric export", str(file), "--to", "cables").out))
    for row in listed:
        for end in ("from", "to"):
            device, port = row[f"{end}_device"], row[f"{end}_port"]
            legs = [port, f"{port}/1"]  # NetBox has an interface for each part of a split port
            assert row["label"] in [result["labels"].get(f"{device} {leg}") for leg in legs], row
