"""Plans that were trained with, as their sources give them, fit the accelerators that they were run on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

H800 = """name: h800
nodes: [{role: compute, server: h800-8nic, count: 256}]
fabric:
  {family: rail-optimised, switch: qm9700, tiers: 2, oversubscription: 1:1,
   link: {endpoint: 400g-dac, inter_switch: 400g-dr4}}
site: {pue: 1.25}
"""


def first_row(design: Path, options: str) -> dict[str, Any]:
    """Return the first row of `ffplan train`."""
    run = ffplan("train", str(design), *options.split(), "-f", "json")
    assert run.code == 0, run.err
    row: dict[str, Any] = json.loads(run.out)["rows"][0]
    return row


def test_deepseek_v3_on_2048_h800(tmp_path: Path) -> None:
    """ISCA 25, arXiv 2505.09343, Table 4: 19.926 s a step, 43.73 % MFU against BF16 with attention in full."""
    design = tmp_path / "h800.yaml"
    design.write_text(H800)
    own = tmp_path / "plan.yaml"
    own.write_text("kind: training-plan\npreset: deepseek\nmtp_layers: 1\n")
    job = "--model deepseek-v3 --gpus 2048 --batch 15360 --sequence 4096"
    row = first_row(design, f"{job} --pp 16 --ep 64 --plan {own}")
    assert row["memory_gib"] < row["limit_gib"]
    assert row["step_s"] == pytest.approx(19.926, rel=0.03)
    assert row["mfu_16_bit"] == pytest.approx(0.4373, abs=0.015)
    assert row["mfu"] == pytest.approx(row["mfu_16_bit"] / 2, rel=0.01)
    best = first_row(design, f"{job} --plan {own} --search")
    assert 0.93 < best["step_s"] / 19.926 < 1.0  # a search with the run's software finds one about as fast as the run
    usual = first_row(design, f"{job} --precision fp8 --search")  # without that layer
    assert 1.2 < usual["step_s"] / 19.926 < 1.32  # usual software sends tokens at 16 bits, and fills up rows for FP8


def test_megatron_bridges_deepseek_v3_runs_with_its_layer_of_prediction(tmp_path: Path) -> None:
    """Release 25.09: layout Et(tt)x30 mL, 32 chunks with 61 layers and one that predicts; 1,297 tokens/s a GPU."""
    design = vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 128"))
    file = tmp_path / "plan.yaml"
    fields = "tensor: 2\npipeline: 8\nchunks: 4\nexpert: 64\nexpert_tensor: 1\nbatch: 8192\nprecision: fp8\n"
    more = "dispatcher: deepep\nrecompute_parts: [latent]\noverlap: [tensor, pipeline, experts]\n"
    file.write_text(f"kind: training-plan\nstack: megatron-bridge-2025\n{fields}{more}mtp_layers: 1\n")
    row = first_row(design, f"--model deepseek-v3 --gpus 1024 --plan {file}")
    assert row["memory_gib"] < row["limit_gib"]
    assert row["plan"]["mtp_layers"] == 1
    assert row["tokens_s_gpu"] == pytest.approx(1297, rel=0.06)


@pytest.mark.parametrize(
    "plan",
    [
        "llama3-405b --gpus 1024 --tp 8 --pp 8 --cp 2 --chunks 8 --batch 512",
        "llama3-405b --gpus 1024 --tp 8 --pp 8 --cp 2 --chunks 8 --batch 512 --precision fp8",
        "nemotron4-15b --gpus 16 --tp 2 --batch 64",
        "nemotron4-340b --gpus 256 --tp 8 --pp 8 --chunks 12 --batch 64",
        "llama3-70b --gpus 64 --tp 4 --pp 4 --cp 2 --chunks 5 --batch 128",
    ],
)
def test_recipes_of_nemo_fit_h100(tmp_path: Path, plan: str) -> None:
    """NVIDIA/dgxc-benchmarking v25.02 to v25.05: gradients kept and reduced in bf16, distributed optimizer."""
    design = vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 128"))
    row = first_row(design, f"--model {plan} --preset nemo")
    assert row["memory_gib"] < row["limit_gib"]
    assert (row["plan"]["gradient_bytes"], row["plan"]["reduced_bytes"], row["plan"]["optimizer_bytes"]) == (2, 2, 12)
