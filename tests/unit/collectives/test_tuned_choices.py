"""What NCCL chooses by its own estimate, over sizes and nodes, against its tables by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.collectives.nccl import _estimate_time, _size_correction
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, chosen, chosen_time, time_choices, time_grid
from ffplan.collectives.timing import choices as choices_of
from tests.support import exactly, ffplan, host_named, library_named

KIB, MIB = 2**10, 2**20
A100, H100, B200 = "dgx-a100-640gb", "hgx-h100-8nic", "hgx-b200-8nic"


def asked(server: str, nodes: int, operation: str) -> tuple[CollectiveQuery, RankLayout]:
    query = CollectiveQuery(operation=operation, library=library_named("nccl"))
    return query, RankLayout(host=host_named(server), nodes=nodes, per_node=8)


def choice(server: str, nodes: int, size: float, operation: str = "allreduce") -> str:
    """Return algorithm and protocol that NCCL chooses."""
    found = chosen(time_choices(*asked(server, nodes, operation), size))
    return f"{found.algorithm} {found.protocol}"


@pytest.mark.parametrize(
    ("server", "nodes", "size", "expected"),
    [
        (H100, 1, MIB, "ring ll"),
        (H100, 1, 4 * MIB, "nvls simple"),
        (H100, 2, 128 * KIB, "tree ll"),
        (H100, 2, 256 * KIB, "tree ll128"),
        (H100, 2, MIB, "nvls-tree simple"),
        (H100, 2, 16 * MIB, "nvls-tree simple"),
        (H100, 4, MIB, "tree ll128"),
        (H100, 4, 4 * MIB, "nvls-tree simple"),
        (B200, 2, 512 * KIB, "nvls-tree simple"),
        (A100, 2, 8 * MIB, "tree ll128"),
        (A100, 2, 1024 * MIB, "ring simple"),
        (A100, 1, 16 * MIB, "ring ll128"),
        ("p4de-24xlarge", 2, 8.0, "tree simple"),
    ],
)
def test_choices_of_an_allreduce(server: str, nodes: int, size: float, expected: str) -> None:
    """Two nodes of H100: 25 + 2 x 14 us against 14 + 2 (7 x 1.25 + 8.5) of LL128, whose trees keep to 147 GB/s and
    to 60 % of it around 1 MiB. The plugin of p4de's EFA leaves Simple alone."""
    assert choice(server, nodes, size) == expected


@pytest.mark.parametrize(("size", "protocol"), [(512 * KIB, "ll"), (MIB, "ll128"), (128 * MIB, "simple")])
def test_choices_of_an_all_gather_over_two_nodes(size: float, protocol: str) -> None:
    """LL keeps to 39 GB/s over nodes with Intel's CPUs, LL128 to 36.7 a channel."""
    assert choice(H100, 2, size, "all-gather") == f"ring {protocol}"


@pytest.mark.parametrize(
    ("protocol", "size", "fraction"),
    [
        ("ll", 8, 1.0),
        ("ll", 64, 1.0),
        ("ll", 256 * KIB, 0.4),
        ("ll", 512 * KIB - 1, 0.4),
        ("ll128", MIB, 0.6),
        ("simple", 64, 0.9),
        ("simple", 256 * MIB, 0.9),
        ("simple", 1024 * MIB, 1.0),
    ],
)
def test_trees_are_counted_slower_at_middle_sizes(protocol: str, size: float, fraction: float) -> None:
    library = library_named("nccl")
    assert _size_correction(library, "tree", protocol, size) == fraction
    assert _size_correction(library, "ring", protocol, size) == 1
    assert list(np.asarray(_size_correction(library, "tree", protocol, np.array([size, 2.0**40])))) == [fraction, 1]
    assert _size_correction(library.model_copy(update={"tree_corrections": {}}), "tree", protocol, size) == 1


def test_one_choice_whatever_asks() -> None:
    """A single time, a grid and a time of arrays choose alike, and by the corrected estimate."""
    query, job = asked(H100, 2, "allreduce")
    sizes = np.array([2.0**power for power in range(12, 31)])
    many = RankLayout(host=job.host, nodes=np.array([2.0]), per_node=np.array([8.0]))
    grid = time_grid(query, many, sizes)
    assert grid is not None
    singles = [chosen(time_choices(query, job, size)) for size in sizes]
    assert [grid.choices[at] for at in grid.chosen[0]] == [(one.algorithm, one.protocol) for one in singles]
    assert grid.pick(grid.time)[0] == pytest.approx([one.time for one in singles], rel=1e-12)
    assert np.asarray(chosen_time(query, job, sizes)) == pytest.approx([one.time for one in singles], rel=1e-12)
    tree = next(item for item in choices_of(query, job) if (item.algorithm, item.protocol) == ("tree", "ll128"))
    assert _estimate_time(query.library, tree, float(MIB)) == exactly(
        8e-6 + 14e-6 + 2 * (7 * 1.25e-6 + 8.5e-6) + MIB / (0.6 * 4 * 36.7e9)
    )


def test_a_table_states_how_far_measured_times_lie() -> None:
    """NCCL's band by size of the message, also of its fork; HFReduce has none."""
    report = " ".join(ffplan("collective", "superpod-h100-4su", "--gpus", "16").out.split())
    assert "Measured times lie at 86 to 134 % of these below 16 MiB, at 93 to 121 % from there" in report
    assert "Measured times" not in ffplan("collective", "fire-flyer-2", "--library", "hfreduce").out
