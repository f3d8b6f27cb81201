"""What the routing of `route` is, in words, and whose it is not."""

from __future__ import annotations

import json

import pytest

from tests.support import ffplan


@pytest.mark.parametrize(
    ("design", "options", "words"),
    [
        ("fire-flyer-2", (), "destination-modulo, a rule of ours; OpenSM's ftree engine counts paths"),
        ("fire-flyer-2", (), "minhop, OpenSM's default, can be far slower"),
        ("dgx-a100-10k", (), "takes this tree only where `root_guid_file` names its roots"),
        ("l40s-8-roce", (), "switches with ECMP hash by flow instead"),
        ("l40s-8-roce", ("--routing", "ecmp"), "hashing flow by flow (ECMP)"),
        ("dragonfly-a100", (), "no engine of OpenSM routes a dragonfly so"),
        ("fire-flyer-2", ("--routing", "adaptive"), "even spreading over all usable links"),
    ],
)
def test_whose_loads_they_are(design: str, options: tuple[str, ...], words: str) -> None:
    run = ffplan("fabric route", design, *options, "-f", "json")
    assert run.code == 0, run.err
    assert words in json.loads(run.out)["holds_for"]
