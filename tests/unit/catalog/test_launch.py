"""Models and plans from the arguments of other programs: what is read, named, refused, and left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import ffplan as ffplan_api
from ffplan.base.errors import InputError
from ffplan.catalog.configs.part import read_import
from ffplan.catalog.launch.arguments import _plain_lines, _Variables
from ffplan.catalog.launch.megatron_plan import SIZES as SIZES_OF_PLANS
from ffplan.catalog.launch.read import Launch, read_launch
from ffplan.catalog.launch.settings import RENAMED
from ffplan.design.plan_file import read_plan
from tests.fuzz.forms import LAUNCHES
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "x.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --position-embedding-type rope "
SIZES = MODEL + "--vocab-size 512 --bf16 "


def launch(text: str, name: str = "run.sh") -> Launch:
    found = read_launch(text.encode(), name)
    assert found is not None
    return found


def dimensions(text: str) -> dict[str, object]:
    found = launch(text).dimensions
    assert found is not None
    return found


def refused(text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        launch(text)


def test_a_script_with_variables_arrays_and_comments() -> None:
    found = launch(LAUNCHES[0].replace("--num-experts 8 --moe-layer-freq '([0]*2+[1]*22)'", ""))
    assert found.dimensions == {
        "layers": 24,
        "hidden": 1024,
        "heads": 16,
        "ffn": 4096,
        "biases": True,
        "vocabulary": 50432,
        "sequence": 1024,
        "positions": 1024,
        "tied": True,
    }
    plan = {name: found.plan[name] for name in ("tensor", "micro_batch", "batch", "zero", "overlap", "precision")}
    assert plan == {"tensor": 2, "micro_batch": 4, "batch": 128, "zero": 0, "overlap": (), "precision": "bf16"}
    assert "it runs on 16 GPUs: give `--gpus 16`" in found.of_plan
    assert "the vocabulary of 50,257 is padded to 50,432, a multiple of 256" in found.of_model


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_prefixes_change_nothing(end: str) -> None:
    lines = LAUNCHES[0].split("\n")
    assert launch(end.join(lines)).plan == launch(LAUNCHES[0]).plan
    prefixed = launch("\n".join(f"[0]: {line}" for line in lines))
    assert prefixed.dimensions == launch(LAUNCHES[0]).dimensions


def test_values_of_variables() -> None:
    script = (
        "A=2\nB=${A}\nexport C=$((A * B + 1))\nD=${X:-7}\n: ${E:=9}\nF=$F\nG=$1\nH=1\nH=2\nI=$(nproc)\nJ=$J2\nJ2=$J\n"
    )
    values = _Variables(_plain_lines(script))
    assert [values.expanded(f"${name}") for name in "ABCDE"] == ["2", "2", "5", "7", "9"]
    for name, reason in {
        "F": "not set",
        "G": "`1` is not set",
        "H": "set to 1 and to 2",
        "I": "shell",
        "J": "not set",
    }.items():
        with pytest.raises(Exception, match=reason):
            values.expanded(f"${{{name}}}")


def test_branches_that_the_script_rules_out_do_not_count() -> None:
    script = f"""
SIZE=7
FULL="false"
if [[ $SIZE == 7 ]]; then
  LAYERS=4
elif [[ $SIZE == 13 ]]; then
  LAYERS=8
else
  LAYERS=16
fi
case $SIZE in
  7) HIDDEN=64 ;;
  13|14) HIDDEN=128 ;;
esac
if [ "${{FULL}}" = "true" ]; then
  ARGS="--recompute-granularity full"
fi
if [ -n "$OVERLAP" ]; then
  ARGS="--overlap-grad-reduce"
fi
{SIZES.replace("-layers 4", "-layers $LAYERS").replace("-size 64", "-size $HIDDEN")}
"""
    found = launch(script)
    assert found.dimensions is not None
    assert (found.dimensions["layers"], found.dimensions["hidden"]) == (4, 64)
    assert (found.plan["recompute"], found.plan["overlap"]) == ("none", ("gradients",))
    assert "taken, though in a branch of the script: --overlap-grad-reduce" in found.of_plan
    refused(script.replace("SIZE=7\n", "SIZE=$1\n"), "`LAYERS` is set to 16 and to 4")


def test_an_unknown_dimension_is_refused_and_an_unknown_size_named() -> None:
    refused(SIZES.replace("--hidden-size 64", "--hidden-size $HIDDEN"), "`HIDDEN` is not set in this file")
    refused(SIZES.replace("--hidden-size 64", "--kv-channels 16"), "`--hidden-size` is missing")
    refused(SIZES + "--num-query-groups $Q", "`Q` is not set")
    found = launch(SIZES + "--micro-batch-size $MBS --tensor-model-parallel-size $TP")
    assert found.plan["micro_batch"] == 1
    assert "tensor" not in found.plan
    assert "`--micro-batch-size $MBS`: `MBS` is not set in this file; left out" in found.of_plan
    assert any("TP" in text for text in found.of_plan)


def test_two_values_are_refused_with_both_lines() -> None:
    refused(f"{SIZES}\nx.py --num-layers 8", "`--num-layers` is set to 4, and to 8 at line 2")
    refused(
        f"S=$1\nif x; then L=4; else L=8; fi\n{SIZES.replace('--num-layers 4', '--num-layers $L')}", "set to 4 and to 8"
    )
    assert launch(f"{SIZES}\nx.py --num-layers 4").dimensions == launch(SIZES).dimensions


def test_two_programs_in_one_file_are_refused() -> None:
    refused(LAUNCHES[2] + LAUNCHES[0], "settings of torchtitan and arguments of Megatron-LM")
    refused(LAUNCHES[1] + LAUNCHES[0], "settings in YAML and arguments of Megatron-LM")
    refused(LAUNCHES[3] * 2, "not JSON: extra data")


def test_a_missing_vocabulary_and_nothing_at_all() -> None:
    refused(MODEL, "the vocabulary is not stated")
    refused(MODEL + "--tokenizer-type HuggingFaceTokenizer", "`HuggingFaceTokenizer` does not tell its size")
    assert dimensions(MODEL + "--tokenizer-type Llama2Tokenizer")["vocabulary"] == 32000
    assert read_launch(b"echo --help\n", "run.sh") is None
    refused("x.py model.name=a", "no settings of NeMo that ffplan reads")
    refused('[job]\nname = "x"\n', "no settings of torchtitan")


def test_a_missing_vocabulary_is_added_as_its_remedy_says() -> None:
    """The remedy names the setting of that kind of file, where it belongs, and an example of its value."""
    nemo = LAUNCHES[1].replace("  override_vocab_size: 32000\n", "")
    words = MODEL.replace("x.py ", "").split()
    keys = "".join(
        f"{name[2:].replace('-', '_')}: {value}\n" for name, value in zip(words[::2], words[1::2], strict=True)
    )
    overrides = "x.py model.num_layers=4 model.hidden_size=64 model.num_attention_heads=4 model.encoder_seq_length=128"
    overrides += " model.position_embedding_type=rope "
    for text, remedy, added in (
        (MODEL, "`--vocab-size 32000`", "--vocab-size 32000"),
        (overrides, "`model.override_vocab_size=32000`", "model.override_vocab_size=32000"),
        (nemo, "`override_vocab_size: 32000` under `model`", "  override_vocab_size: 32000\n"),
        (keys, "`vocab_size: 32000`", "vocab_size: 32000\n"),
    ):
        with pytest.raises(InputError) as raised:
            launch(text)
        (finding,) = raised.value.findings
        assert finding.remedy == f"add {remedy}: the entries of the tokenizer's vocabulary, a whole number"
        assert dimensions(text + added)["vocabulary"] in (32000, 32256)  # padded for tensors of two


def test_traits_of_a_model() -> None:
    plain = dimensions(SIZES)
    assert (plain["ffn"], plain["biases"], plain["tied"]) == (256, True, True)
    gated = dimensions(SIZES + "--swiglu --disable-bias-linear --untie-embeddings-and-output-weights")
    assert (gated["ffn"], gated["gated"]) == (128, True)  # 64 x 8 / 3 in steps of 64
    assert not {"biases", "tied"} & gated.keys()
    assert dimensions(SIZES + "--group-query-attention --num-query-groups 2")["kv_heads"] == 2
    assert "kv_heads" not in dimensions(SIZES + "--num-query-groups 2")  # without the flag it has no effect
    learned = SIZES.replace("--position-embedding-type rope", "--max-position-embeddings 128")
    assert dimensions(learned)["positions"] == 128
    latent = dimensions(SIZES + "--multi-latent-attention --kv-lora-rank 32 --v-head-dim 16")["latent"]
    assert latent == {"key_value_rank": 32, "rope_dim": 64, "nope_dim": 128, "value_dim": 16}


@pytest.mark.parametrize(
    ("frequency", "expected"),
    [("1", {}), ("2", {"every": 2}), ("'([0]*1+[1]*3)'", {"dense_layers": 1}), ('"[0,0,1,1]"', {"dense_layers": 2})],
)
def test_layers_with_experts(frequency: str, expected: dict[str, int]) -> None:
    text = SIZES + f"--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 32 --moe-layer-freq {frequency}"
    assert dimensions(text)["experts"] == {"routed": 8, "top_k": 2, "ffn": 32, **expected}


@pytest.mark.parametrize("frequency", ["3", "[1]*3+[0]*1", "[1]*99999", "x"])
def test_layers_with_experts_that_no_dimensions_describe(frequency: str) -> None:
    refused(SIZES + f"--num-experts 8 --moe-layer-freq {frequency}", "write a number that divides 4 layers")


def test_layers_of_other_kinds_are_refused() -> None:
    refused(SIZES + "--hybrid-override-pattern M-M*", "state-space layers, which no dimensions describe")


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ("--use-distributed-optimizer", "zero", 1),
        ("--use-torch-fsdp2", "zero", 3),
        ("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", "zero", 2),
        ("--zero-stage 2", "zero", 2),
        ("--sequence-parallel", "sequence_parallel", True),
        ("--fp8-format hybrid", "precision", "fp8"),
        ("--grad-reduce-in-bf16", "grad_dtype", "bf16"),
        ("--recompute-activations", "recompute", "selective"),
        ("--recompute-granularity full --recompute-method uniform", "recompute", "full"),
        ("--recompute-granularity selective --recompute-modules layernorm moe_act", "recompute", "none"),
        ("--transformer-impl local", "attention", "unfused"),
        ("--attention-backend flash", "attention", "fa2"),
        ("--optimizer-cpu-offload", "offload", "optimizer"),
        ("--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16", "optimizer_dtype", "bf16"),
        ("--context-parallel-size 2 --cp-comm-type a2a", "context_exchange", "heads"),
        ("--num-experts 8 --moe-token-dispatcher-type flex", "dispatcher", "deepep"),
        ("--num-experts 8", "dispatcher", "allgather"),
        ("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1", "chunks", 2),
        (
            "--overlap-grad-reduce --overlap-param-gather --tp-comm-overlap",
            "overlap",
            ("gradients", "parameters", "tensor"),
        ),
        ("--mtp-num-layers 1", "mtp_layers", 1),
        ("--no-scatter-gather-tensors-in-pipeline", "scatter_gather", False),
    ],
)
def test_arguments_and_fields_of_a_plan(arguments: str, field: str, value: object) -> None:
    assert launch(SIZES + arguments).plan[field] == value


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--optimizer muon", "the optimizer `muon` has no field"),
        (
            "--recompute-granularity full --recompute-method block --recompute-num-layers 2",
            "block of 2 layers has no field",
        ),
        ("--num-distributed-optimizer-instances 2 --use-distributed-optimizer", "give `shard`"),
        ("--rampup-batch-size 16", "the last, full batch is planned"),
        ("--expert-model-parallel-size 4", "is left out: the file states no experts"),
        ("--moe-grouped-gemm", "without a field in a plan: --moe-grouped-gemm"),
        ("--context-parallel-size 2 --cp-comm-type allgather", "keys and values go round a ring"),
        ("--lr 1e-4 \\", "the file ends inside a command"),
    ],
)
def test_what_has_no_equivalent_is_named(arguments: str, named: str) -> None:
    assert any(named in text for text in launch(SIZES + arguments).of_plan)


def test_neither_bf16_nor_fp16_is_32_bits() -> None:
    found = launch(SIZES.replace("--bf16", ""))
    assert found.plan["precision"] == "tf32"
    assert any("plain fp32 is slower" in text for text in found.of_plan)


def test_a_file_of_nemo_with_references_and_overrides() -> None:
    found = launch(LAUNCHES[1], "gpt.yaml")
    assert found.dimensions is not None
    assert found.program == "NeMo"
    assert (found.dimensions["ffn"], found.dimensions["positions"], found.plan["sequence"]) == (16384, 4096, 4096)
    overrides = (
        "python train.py ++model.num_layers=4 model.hidden_size=64 model.num_attention_heads=4 trainer.devices=8 "
        "model.encoder_seq_length=128 model.position_embedding_type=rope model.override_vocab_size=512 "
        "trainer.num_nodes=2 trainer.precision=bf16 model.micro_batch_size=2"
    )
    other = launch(overrides)
    assert other.plan["batch"] == 2 * 16
    assert other.dimensions is not None
    assert other.dimensions["hidden"] == 64


def test_other_forms_of_yaml() -> None:
    """Megatron-LM's own sections with nulls, arguments as keys of a test, and arguments of a container."""
    own = """
language_model: {num_layers: 4, hidden_size: 64, num_attention_heads: 4, ffn_hidden_size: null, add_bias_linear: false,
  gated_linear_unit: true}
model_parallel: {tensor_model_parallel_size: 2, virtual_pipeline_model_parallel_size: null, bf16: true, fp16: false}
seq_length: 128
position_embedding_type: rope
padded_vocab_size: 512
micro_batch_size: 2
use_distributed_optimizer: true
"""
    found = launch(own.replace(",\n  gated", ", gated"), "gpt.yaml")
    assert found.dimensions is not None
    assert (found.dimensions["ffn"], found.plan["zero"], found.plan["tensor"], found.plan["chunks"]) == (128, 1, 2, 1)
    words = SIZES.replace("x.py ", "").replace("--bf16", "--bf16 true").split()
    keys = "".join(f"  {name}: {value}\n" for name, value in zip(words[::2], words[1::2], strict=True))
    assert launch(f"MODEL_ARGS:\n{keys}", "test.yaml").dimensions == launch(SIZES).dimensions
    container = "args:\n" + "".join(f'  - "{word}"\n' for word in words)
    assert launch(container, "job.yaml").dimensions == launch(SIZES).dimensions


ONE_LINE = (
    'case "$SIZE" in 7) LAYERS=4 ;; 13|14) LAYERS=8;; *) LAYERS=16; esac',
    'case $SIZE in 13) LAYERS=8;; *) LAYERS=4;; esac; if [ "$SIZE" = 13 ]; then LAYERS=9; fi',
    'if [ "$SIZE" = "7" ]; then LAYERS=4; else LAYERS=8; fi',
    'if [ "$SIZE" = 13 ]; then LAYERS=8; elif [ "$SIZE" = 7 ]; then LAYERS=4; else LAYERS=16; fi',
    "if [ $SIZE = 7 ]; then case $SIZE in 7) LAYERS=4;; *) LAYERS=8;; esac; else LAYERS=16; fi",
    """echo "a; else b; fi" 'case x in'; LAYERS=4""",
)


@pytest.mark.parametrize("line", ONE_LINE)
def test_a_branch_on_one_line_ends_there(line: str) -> None:
    found = launch(f"SIZE=7\n{line}\n{SIZES.replace('-layers 4', '-layers $LAYERS')} --overlap-grad-reduce\n")
    assert found.dimensions is not None
    assert (found.dimensions["layers"], found.plan["overlap"]) == (4, ("gradients",))
    assert not any("in a branch" in text for text in found.of_plan)


@pytest.mark.parametrize(
    "flag", ["--swiglu", "--bf16", "--untie-embeddings-and-output-weights", "--overlap-grad-reduce"]
)
@pytest.mark.parametrize(
    ("assigned", "use"),
    [
        *((f"X={nothing}\n", use) for nothing in ("", '""', "''", '" "') for use in ("$X", "${X}", '"$X"')),
        ("", "${X:-}"),
        ('X=" \\\n  --log-interval 10 \\\n  --save-interval 5"\n', "${X}"),
        ("X='\n--log-interval 10'\n", "$X"),
        ('X="\nY=1\n--log-interval 10"\n', "$X"),
        ('Y=""\nX="\n$Y\n"\n', "$X"),
    ],
)
def test_a_flag_before_what_expands_to_nothing_is_on(flag: str, assigned: str, use: str) -> None:
    sizes = SIZES.replace("--bf16 ", "")
    plain, found = launch(f"{sizes} {flag}"), launch(f"{assigned}{sizes} {flag} {use}")
    assert (found.dimensions, found.plan) == (plain.dimensions, plain.plan)


def test_a_number_that_expands_to_nothing_is_refused() -> None:
    refused('X=""\n' + SIZES.replace("--num-layers 4", "--num-layers $X"), "`--num-layers` has no value")


def test_a_padded_vocabulary_that_is_stated() -> None:
    found = dimensions(f"{MODEL} --bf16 --tokenizer-type PretrainedFromHF --pad-vocab-size-to 250880")
    assert found["vocabulary"] == 250880


NULLS = sorted(
    {*RENAMED, *RENAMED.values(), *(name for names in SIZES_OF_PLANS.values() for name in names)}
    | {"merge_file", "vocab_size", "window_size", "kv_channels", "num_query_groups", "activation", "precision"}
    | {"tokenizer_type", "padded_vocab_size", "sliding_window", "cp_comm_type", "mamba_state_dim", "rampup_batch_size"}
)


@pytest.mark.parametrize("null", ["null", "~", "", "None", '""'])
def test_a_null_is_as_if_absent(null: str) -> None:
    plain = launch(LAUNCHES[1], "gpt.yaml")
    for name in NULLS:
        found = launch(f"other:\n  {name}: {null}\n{LAUNCHES[1]}", "gpt.yaml")
        assert (found.dimensions, found.plan, found.of_model) == (plain.dimensions, plain.plan, plain.of_model), name
        assert found.of_plan == plain.of_plan, name


def test_a_null_tells_no_vocabulary() -> None:
    text = LAUNCHES[1].replace("  override_vocab_size: 32000\n", "  tokenizer: {merge_file: null, vocab_file: null}\n")
    refused(text, "the vocabulary is not stated")


def test_messages_name_a_setting_as_the_file_writes_it() -> None:
    for name in ("activations_checkpoint_num_layers", "num_moe_experts", "num_nodes"):
        refused(f"other:\n  {name}: -1\n" + LAUNCHES[1].replace(" num_nodes: 2,", ""), f"`{name}` is `-1`")
    refused("x.py ++model.num_layers=4 model.hidden_size=-64", "`model.hidden_size` is `-64`")
    none = launch(f"other:\n  activations_checkpoint_num_layers: 0\n{LAUNCHES[1]}", "gpt.yaml")
    assert none.plan == launch(LAUNCHES[1], "gpt.yaml").plan


def test_a_branch_on_one_line_may_be_open() -> None:
    found = launch(f'case "$1" in\n x) ARGS="--overlap-grad-reduce";; esac\n{SIZES}')
    assert "taken, though in a branch of the script: --overlap-grad-reduce" in found.of_plan


def test_torchtitan_names_a_model_of_the_catalogue() -> None:
    found = launch(LAUNCHES[2], "train.toml")
    assert (found.part, found.dimensions) == ("llama3.1-8b", None)
    plan = {name: found.plan[name] for name in ("pipeline", "micro_batch", "zero", "recompute", "sequence")}
    assert plan == {"pipeline": 2, "micro_batch": 1, "zero": 1, "recompute": "none", "sequence": 8192}
    assert any("give `--batch`" in text for text in found.of_plan)
    other = launch(LAUNCHES[2].replace('"8B"', '"debugmodel"'), "train.toml")
    assert other.part == ""
    assert any("no model for `llama3` in flavour `debugmodel`" in text for text in other.of_plan)


def test_torchtitan_schedules_and_sharding() -> None:
    text = LAUNCHES[2].replace(
        "pipeline_parallel_degree = 2", 'pipeline_parallel_degree = 1\nfsdp_reshard_after_forward = "always"'
    )
    assert launch(text).plan["zero"] == 3
    text = LAUNCHES[2].replace("degree = 2", 'degree = 2\npipeline_parallel_schedule = "Interleaved1F1B"')
    assert (launch(text).plan["schedule"], launch(text).plan["chunks"]) == ("1f1b", 2)
    fp8 = LAUNCHES[2].replace('"8B"', '"8B"\nconverters = ["float8"]')
    assert launch(fp8).plan["precision"] == "fp8"


def test_deepspeed_gives_a_plan_alone(tmp_path: Path) -> None:
    file = tmp_path / "ds.json"
    file.write_text(LAUNCHES[3])
    found = read_import(str(file))
    assert found.model is None
    assert found.launch is not None
    plan = {
        "zero": 3,
        "batch": 256,
        "precision": "bf16",
        "grad_dtype": "bf16",
        "offload": "optimizer",
        "weights_copy": True,
    }
    assert plan.items() <= found.launch.plan.items()
    stage = json.loads(LAUNCHES[3])
    stage["zero_optimization"]["stage"] = 9
    refused(json.dumps(stage), "`zero_optimization.stage` is 9")
    done = ffplan("train", "superpod-h100-4su", "--model", str(file))
    assert (done.code, "no dimensions of a model" in done.err) == (2, True)


def test_the_command_writes_both_files_and_names_what_is_missing(tmp_path: Path) -> None:
    script, model, plan = (tmp_path / name for name in ("gpt.sh", "model.yaml", "plan.yaml"))
    script.write_text(SIZES + "--micro-batch-size 2 --optimizer muon")
    files = ("-o", str(model), "--save", str(plan))
    done = ffplan("fabric", "import", "model", str(script), *files, "--id", "mine")
    assert done.code == 0
    assert "plan: the optimizer `muon` has no field" in done.err
    assert plan.read_text().startswith(
        "# Read from gpt.sh (Megatron-LM)\n# the optimizer `muon` has no field in a plan"
    )
    assert "# the batch is 2 on each data-parallel rank: give `--batch`, that times the ranks\n" in plan.read_text()
    given = (("--model", str(model), "--plan", str(plan)), ("--model", str(script), "--plan", str(script)))
    both = [ffplan("train", "superpod-h100-4su", *files, "--gpus", "8", "--batch", "32") for files in given]
    assert [row.code for row in both] == [0, 0]
    assert both[0].out.replace("mine", "gpt") == both[1].out
    assert "plan: the optimizer `muon`" in both[1].err
    alone = ffplan("fabric", "import", "model", str(script))
    assert "it has a training plan of Megatron-LM too: `--save FILE` writes it" in alone.err


def test_a_batch_follows_the_accelerators(tmp_path: Path) -> None:
    """Two on each rank of a job of torchtitan, over tensors of two: as many as accelerators, asked for or all."""
    job = tmp_path / "job.toml"
    job.write_text(
        '[model]\nname = "llama3"\nflavor = "8b"\n[training]\nlocal_batch_size = 2\n'
        '[parallelism]\ntensor_parallel_degree = 2\n[activation_checkpoint]\nselective_ac_option = "op"\n'
    )
    files = ("superpod-h100-4su", "--model", str(job), "--plan", str(job))

    def batch(*given: str) -> tuple[int, str]:
        done = ffplan("train", *files, *given, "--format", "json")
        assert done.code == 0, done.err
        return json.loads(done.out)["rows"][0]["plan"]["batch"], done.err

    found, said = batch("--gpus", "64")
    assert (found, said) == (64, "ffplan train: plan: batch 64 is 2 on each of 32 data-parallel ranks\n")
    assert batch()[0] == 1016
    assert batch("--gpus", "64", "--tp", "1")[0] == 128
    assert batch("--gpus", "64", "--batch", "192") == (192, "")
    assert ffplan_api.train("superpod-h100-4su", "llama3.1-8b", plan=job, gpus=64).rows[0].plan.batch == 64
    several = ffplan("train", *files, "--gpus", "64,128")
    assert (several.code, "give `--batch`, that times the ranks" in several.err) == (2, True)


def test_a_remark_asks_for_nothing_that_was_given(tmp_path: Path) -> None:
    script = tmp_path / "gpt.sh"
    script.write_text(f"torchrun --nproc-per-node 8 --nnodes 2 {SIZES} --micro-batch-size 2\n")
    files = ("superpod-h100-4su", "--model", str(script), "--plan", str(script))
    alone = ffplan("train", *files)
    assert "it runs on 16 GPUs: give `--gpus 16`" in alone.err
    assert "batch 32 is 2 on each of 16 data-parallel ranks" in alone.err
    given = ffplan("train", *files, "--gpus", "8")
    assert "--gpus" not in given.err
    assert "batch 16 is 2 on each of 8 data-parallel ranks" in given.err


def test_a_config_has_no_plan_to_save(tmp_path: Path) -> None:
    model = ffplan("fabric", "import", "model", "catalogs/models/meta/llama3-8b.yaml", "--save", str(tmp_path / "p"))
    assert (model.code, "has a model, and no training plan" in model.err) == (2, True)


def test_a_wrong_field_is_placed_in_the_script(tmp_path: Path) -> None:
    script = tmp_path / "gpt.sh"
    script.write_text(f"{SIZES} \\\n --mtp-num-layers 99\n")
    done = ffplan("fabric", "import", "model", str(script))
    assert done.code == 2
    assert "gpt.sh:2:1: error" in done.err


def test_serve_and_python_take_a_script(tmp_path: Path) -> None:
    script = tmp_path / "gpt.sh"
    script.write_text(SIZES.replace("--hidden-size 64", "--hidden-size 1024"))
    done = ffplan("serve", "superpod-h100-4su", "--model", str(script))
    assert done.code == 0
    assert "Read from gpt.sh (Megatron-LM)" in done.err
    assert read_plan(str(script), {"batch": 8}).precision == "bf16"


@pytest.mark.parametrize("content", ["", "hello\n", "# notes\n- a: 1\n"])
def test_another_file_is_an_error(tmp_path: Path, content: str) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(content)
    done = ffplan("fabric", "import", "model", str(file))
    assert done.code == 2
    assert "no settings of Megatron-LM, NeMo, torchtitan or DeepSpeed" in done.err


AXOLOTL = """\
base_model: NousResearch/Meta-Llama-3.1-8B
sequence_len: 8192
micro_batch_size: 2
context_parallel_size: 2
deepspeed: deepspeed_configs/zero3_bf16.json
"""


@pytest.mark.parametrize(
    ("text", "line", "program"),
    [
        (AXOLOTL, 1, "Axolotl"),
        ("# a job\nfinetuning_type: full\nmicro_batch_size: 1\nglobal_batch_size: 8\n", 2, "LLaMA-Factory"),
        ("distributed_type: MEGATRON_LM\nmegatron_lm_config:\n  tensor_model_parallel_size: 2\n", 1, "Accelerate"),
        ("bf16: true\nper_device_train_batch_size: 1\nzero_stage: 3\n", 2, "the Trainer of Hugging Face"),
        ("global_train_batch_size: 8\nnum_layers: 2\nhidden_size: 64\n", 1, "MosaicML"),
    ],
)
def test_a_file_of_a_program_that_is_not_read_is_refused_by_its_name(text: str, line: int, program: str) -> None:
    """Names that it shares with Megatron-LM would give a plan without what the others say."""
    with pytest.raises(InputError, match=rf"^job.yaml:{line}:1: error: this is a file of {program}, which is not read"):
        read_launch(text.encode(), "job.yaml")


@pytest.mark.parametrize("names", [["micro_batch_size"], ["micro-batch-size", "context_parallel_size"]])
def test_names_that_other_programs_share_make_no_file_of_megatron(names: list[str], tmp_path: Path) -> None:
    """One more that is its own does."""
    text = "".join(f"{name}: 2\n" for name in names) + "steps: 4\n"
    assert read_launch(text.encode(), "job.yaml") is None
    file = tmp_path / "job.yaml"
    file.write_text(text)
    run = ffplan("fabric import model", str(file))
    assert (run.code, "no settings of Megatron-LM, NeMo, torchtitan or DeepSpeed" in run.err) == (2, True)
    own = read_launch(f"{text}global_batch_size: 8\n".encode(), "job.yaml")
    assert own is not None
    assert (own.program, own.plan["micro_batch"], own.plan["batch"]) == ("Megatron-LM", 2, 8)
