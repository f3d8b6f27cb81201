"""Arguments of Megatron-LM in, memory and time out: scripts as people post them, against sums by hand.

The asks are those of Megatron-LM#597, #488 and #654: what do these arguments need on a GPU, and how long is a step?
Memory by hand follows Korthikanti et al. (arXiv 2205.05198, section 4) and Rajbhandari et al. (arXiv 1910.02054): 2
bytes a weight, 2 or 4 a gradient, 12 of Adam's states, divided by the data-parallel ranks that share them; s b h 34 of
activations a plain layer, tensor by tensor for others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30
PEAK = 989.4e12
"""Dense bf16 of an H100 [FLOP/s]."""
GPT_345M = """
GPT_ARGS="
    --num-layers 24 \\
    --hidden-size 1024 \\
    --num-attention-heads 16 \\
    --seq-length 1024 \\
    --max-position-embeddings 1024 \\
    --micro-batch-size 4 \\
    --lr 0.00015 \\
    --clip-grad 1.0 \\
"
DATA_ARGS="--data-path $DATA_PATH --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --split 949,50,1"
"""
LLAMA = """
  --use-mcore-models --disable-bias-linear --swiglu --normalization RMSNorm --position-embedding-type rope \\
  --untie-embeddings-and-output-weights --bf16 --use-distributed-optimizer --overlap-grad-reduce \\
  --overlap-param-gather --sequence-parallel --attention-dropout 0.0 --hidden-dropout 0.0 \\
"""
LLAMA_7B = f"""torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py {LLAMA}
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 \\
  --seq-length 4096 --max-position-embeddings 4096 --tokenizer-type Llama2Tokenizer \\
"""
LLAMA_70B = f"""{LLAMA}
  --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 --group-query-attention \\
  --num-query-groups 8 --seq-length 4096 --max-position-embeddings 4096 --tokenizer-type Llama2Tokenizer \\
"""


def asked(text: str, folder: Path, gpus: int, *options: str, name: str = "pretrain.sh") -> dict[str, Any]:
    """Return the timed plan of a script, on a SuperPOD of H100."""
    file = folder / name
    file.write_text(text)
    both = ("--model", str(file), "--plan", str(file))
    done = ffplan("train", "superpod-h100-4su", *both, "--gpus", str(gpus), "--format", "json", *options)
    assert done.code == 0, done.err
    row: dict[str, Any] = json.loads(done.out)["rows"][0]
    return row


def holds(row: dict[str, Any], stage: int = 0, **expected: float) -> None:
    """Compare the parts of a stage's memory [byte] with sums by hand: norms are split there, and are small."""
    parts = next(part for part in row["stages"] if part["stage"] == stage)
    for name, size in expected.items():
        assert parts[f"{name}_gib"] * GIB == pytest.approx(size, rel=2e-3), name


def times(row: dict[str, Any], parameters: float, tokens: float) -> None:
    """A step takes longer than six operations a parameter and token at the peak, and not ten times as long."""
    least = 6 * parameters * tokens / (row["plan"]["gpus"] * PEAK)
    assert least < row["step_s"] < 10 * least


def test_gpt_345m_on_one_node_in_fp16(tmp_path: Path) -> None:
    """No sharing: 2 + 2 + 12 bytes a parameter; 50,257 entries are padded to 50,304."""
    row = asked(GPT_345M + "torchrun x.py $GPT_ARGS --fp16 --global-batch-size 64", tmp_path, 8)
    n = 24 * (12 * 1024**2 + 13 * 1024) + 50304 * 1024
    holds(row, weights=2 * n, gradients=2 * n, optimizer=12 * n, activations=24 * 34 * 4 * 1024 * 1024)
    times(row, n, 64 * 1024)


def test_gpt_345m_with_its_own_attention_in_bf16(tmp_path: Path) -> None:
    """Gradients add up at 32 bits; without a fused kernel every score keeps five bytes: 5 a s^2 b."""
    text = GPT_345M + "x.py $GPT_ARGS --bf16 --transformer-impl local --global-batch-size 64"
    row = asked(text, tmp_path, 8)
    n = 24 * (12 * 1024**2 + 13 * 1024) + 50304 * 1024
    kept = 34 * 4 * 1024 * 1024 + 5 * 16 * 1024**2 * 4
    holds(row, weights=2 * n, gradients=4 * n, optimizer=12 * n, activations=24 * kept)


def test_gpt_175b_over_16_stages(tmp_path: Path) -> None:
    """Six layers a stage, 16 micro-batches of them in flight: s b h (10 + 24 / t) without sequence parallelism."""
    text = """
    python pretrain_gpt.py --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 \\
      --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 1536 --fp16 --vocab-size 51200 \\
      --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16
    """
    row = asked(text, tmp_path, 128)
    n = (6 * (12 * 12288**2 + 13 * 12288) + 51200 * 12288) / 8
    kept = 2048 * 12288 * (10 + 24 / 8)
    holds(row, weights=2 * n, gradients=2 * n, optimizer=12 * n, activations=16 * 6 * kept)
    times(row, 174.6e9, 1536 * 2048)


def test_llama_7b_with_a_distributed_optimizer(tmp_path: Path) -> None:
    """TP 2, PP 2 on 16 GPUs leave four ranks, which share Adam's states; two micro-batches are in flight."""
    text = LLAMA_7B + "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --micro-batch-size 1"
    row = asked(text + " --global-batch-size 128", tmp_path, 16)
    layer = 4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096
    n = (16 * layer + 32000 * 4096) / 2
    kept = 4096 * (16 * 4096 + 6 * 11008) / 2
    holds(row, weights=2 * n, gradients=4 * n, optimizer=12 * n / 4, activations=2 * 16 * kept)
    times(row, 32 * layer + 32000 * 4096, 128 * 4096)


def test_llama_7b_with_full_recomputation(tmp_path: Path) -> None:
    """Every layer keeps its input alone, 2 s b h; the batch follows from `$((…))` of the script's own variables."""
    text = f"""
    NODES=2
    BATCH=$(($NODES * 8 * 4))
    {LLAMA_7B} --micro-batch-size 4 --global-batch-size $BATCH --recompute-granularity full \\
      --recompute-method uniform --recompute-num-layers 1
    """
    row = asked(text, tmp_path, 16)
    assert row["plan"]["batch"] == 64
    n = 32 * (4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096) + 2 * 32000 * 4096
    holds(row, weights=2 * n, gradients=4 * n, optimizer=12 * n / 16, activations=32 * 2 * 4096 * 4 * 4096)


def test_llama_70b_with_interleaved_stages(tmp_path: Path) -> None:
    """TP 8, PP 4, four chunks of five layers: (2 (p - 1) + (v - 1) p + 1) / v = 4.75 micro-batches in flight."""
    text = f"""python pretrain_gpt.py {LLAMA_70B} --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 \\
      --num-layers-per-virtual-pipeline-stage 5 --micro-batch-size 1 --global-batch-size 256"""
    row = asked(text, tmp_path, 64)
    layer = 2 * 8192**2 * (1 + 1 / 8) + 3 * 8192 * 28672 + 2 * 8192
    n = (20 * layer + 32768 * 8192) / 8  # 32,000 entries are padded to 32,768, a multiple of 128 x 8
    kept = 4096 * 2 * (4 * 8192 + 2 * 8192 + 2 * 1024 + 3 * 28672) / 8
    assert row["plan"]["chunks"] == 4
    holds(row, weights=2 * n, gradients=4 * n, optimizer=12 * n / 2, activations=4.75 * 20 * kept)
    times(row, 69e9, 256 * 4096)


def test_llama_8b_with_context_parallelism(tmp_path: Path) -> None:
    """CP 4 leaves a quarter of 32,768 tokens on a rank, and its ranks share the optimizer's states too: 8 x 4 / 4."""
    text = f"""{LLAMA} --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \\
      --group-query-attention --num-query-groups 8 --seq-length 32768 --max-position-embeddings 32768 \\
      --vocab-size 128256 --context-parallel-size 4 --micro-batch-size 1 --global-batch-size 64 \\
      --tensor-model-parallel-size 2"""
    row = asked(text, tmp_path, 64)
    layer = 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096
    n = (32 * layer + 2 * 128256 * 4096) / 2
    kept = 32768 / 4 * 2 * (4 * 4096 + 2 * 4096 + 2 * 1024 + 3 * 14336) / 2
    holds(row, weights=2 * n, gradients=4 * n, optimizer=12 * n / 32, activations=32 * kept)


def test_mixtral_with_expert_parallelism(tmp_path: Path) -> None:
    """PP 4 and EP 8 on 64 GPUs: one expert a rank and layer, whose states two ranks share, the rest 16."""
    text = f"""{LLAMA} --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \\
      --group-query-attention --num-query-groups 8 --seq-length 4096 --max-position-embeddings 32768 \\
      --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall \\
      --tokenizer-type Llama2Tokenizer --pipeline-model-parallel-size 4 --expert-model-parallel-size 8 \\
      --micro-batch-size 1 --global-batch-size 256"""
    row = asked(text, tmp_path, 64)
    plain = 8 * (2 * 4096**2 + 2 * 4096 * 1024 + 2 * 4096 + 8 * 4096) + 32000 * 4096
    routed = 8 * 3 * 4096 * 14336
    states = 12 * (plain / 16 + routed / 2)
    attention = 4096 * 2 * (4 * 4096 + 2 * 4096 + 2 * 1024)
    experts = 2 * 4096 * 2 * (2 * 4096 + 3 * 14336)
    both = plain + routed
    activations = 4 * 8 * (attention + experts)
    holds(row, weights=2 * both, gradients=4 * both, optimizer=states, activations=activations)
    times(row, 12.9e9, 256 * 4096)


def test_llama_7b_with_fully_sharded_states(tmp_path: Path) -> None:
    """Megatron FSDP divides weights, gradients and states alike over 16 ranks."""
    text = (
        LLAMA_7B
        + """--micro-batch-size 1 --global-batch-size 32 --use-megatron-fsdp \\
      --data-parallel-sharding-strategy optim_grads_params"""
    )
    row = asked(text, tmp_path, 16)
    n = 32 * (4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096) + 2 * 32000 * 4096
    holds(row, weights=2 * n / 16, gradients=4 * n / 16, optimizer=12 * n / 16)


def test_llama_70b_of_nemo_with_gradients_in_bf16(tmp_path: Path) -> None:
    """A NeMo file: selective recomputation changes nothing where attention is fused; gradients take two bytes."""
    text = """
trainer: {devices: 8, num_nodes: 16, precision: bf16}
model:
  micro_batch_size: 1
  global_batch_size: 512
  tensor_model_parallel_size: 8
  pipeline_model_parallel_size: 2
  encoder_seq_length: 4096
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 80
  hidden_size: 8192
  ffn_hidden_size: 28672
  num_attention_heads: 64
  num_query_groups: 8
  bias: false
  activation: fast-swiglu
  position_embedding_type: rope
  share_embeddings_and_output_weights: false
  tokenizer: {vocab_size: 32000}
  sequence_parallel: true
  activations_checkpoint_granularity: selective
  optim: {name: distributed_fused_adam, grad_sync_dtype: bf16, overlap_grad_sync: true, lr: 1e-4}
"""
    row = asked(text, tmp_path, 128, name="llama.yaml")
    layer = 2 * 8192**2 * (1 + 1 / 8) + 3 * 8192 * 28672 + 2 * 8192
    n = (40 * layer + 32768 * 8192) / 8
    kept = 4096 * 2 * (4 * 8192 + 2 * 8192 + 2 * 1024 + 3 * 28672) / 8
    holds(row, weights=2 * n, gradients=2 * n, optimizer=12 * n / 8, activations=2 * 40 * kept)


def test_llama_7b_from_the_arguments_that_a_log_prints(tmp_path: Path) -> None:
    """A log names every argument, defaults too; a rank's prefix stands before each line."""
    rows = {
        "bf16": True,
        "ffn_hidden_size": 11008,
        "add_bias_linear": False,
        "global_batch_size": 128,
        "group_query_attention": False,
        "hidden_size": 4096,
        "max_position_embeddings": 4096,
        "micro_batch_size": 1,
        "num_attention_heads": 32,
        "num_layers": 32,
        "num_query_groups": 1,
        "padded_vocab_size": 32000,
        "pipeline_model_parallel_size": 2,
        "position_embedding_type": "rope",
        "recompute_granularity": None,
        "seq_length": 4096,
        "sequence_parallel": True,
        "swiglu": True,
        "tensor_model_parallel_size": 2,
        "untie_embeddings_and_output_weights": True,
        "use_distributed_optimizer": True,
    }
    text = "".join(f"[rank0]:   {name} {'.' * (48 - len(name))} {value}\n" for name, value in rows.items())
    row = asked(text, tmp_path, 16, name="train.log")
    n = (16 * (4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096) + 32000 * 4096) / 2
    holds(row, weights=2 * n, gradients=4 * n, optimizer=12 * n / 4)
