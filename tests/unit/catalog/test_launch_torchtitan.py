"""Plans of torchtitan: what a file means where it leaves a setting to the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.catalog.test_launch import launch

if TYPE_CHECKING:
    from ffplan.catalog.launch.read import Launch


def job(parallelism: str = "", *, more: str = "", model: str = "llama3/8B") -> Launch:
    """Return what is read of a file with settings of parallelism, and other sections behind them."""
    name, flavour = model.split("/")
    head = f'[model]\nname = "{name}"\nflavor = "{flavour}"\n[training]\nlocal_batch_size = 4\nseq_len = 4096\n'
    return launch(f"{head}[parallelism]\n{parallelism}\n{more}", "job.toml")


@pytest.mark.parametrize(
    ("parallelism", "expert_tensor"),
    [
        ("expert_parallel_degree = 8\ntensor_parallel_degree = 4", 1),
        ("expert_parallel_degree = 8\ntensor_parallel_degree = 4\nexpert_tensor_parallel_degree = 1", 1),
        ("expert_parallel_degree = 8\ntensor_parallel_degree = 4\nexpert_tensor_parallel_degree = 4", 4),
        ("expert_parallel_degree = 8", 1),
        ("expert_parallel_degree = 1\ntensor_parallel_degree = 4", None),
        ("tensor_parallel_degree = 4\nexpert_tensor_parallel_degree = 1", None),
        ("tensor_parallel_degree = 4", None),
    ],
)
def test_tensor_parallelism_of_experts_is_one_unless_stated(parallelism: str, expert_tensor: int | None) -> None:
    found = job(parallelism, model="deepseek_v3/16B")
    assert found.plan.get("expert_tensor") == expert_tensor
    assert not any("expert_tensor" in text for text in found.of_plan)
