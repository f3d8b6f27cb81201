"""Accelerators that a launch file fixes: each field of them reaches the plan, a remark or an error."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.launch.read import _ARGUMENT, LaunchSize, read_launch
from ffplan.catalog.launch.steps import _without_other_steps
from ffplan.catalog.launch.world import NAMES
from tests.support import ffplan
from tests.unit.catalog.test_launch import SIZES, launch, refused
from tests.unit.catalog.test_launch_torchtitan import job

if TYPE_CHECKING:
    from pathlib import Path

TRAIN = SIZES + "--micro-batch-size 2 --global-batch-size 64"
REPLICATE, SHARD = "data_parallel_replicate_degree", "data_parallel_shard_degree"
MICRO, STEPS, BATCH = "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "train_batch_size"


def said(text: str, gpus: int | None = None, **fields: int) -> tuple[object, ...]:
    """Return the plan and remarks of a file, or its fault."""
    try:
        found = read_launch(text.encode(), "job", LaunchSize(gpus, fields=fields))
    except InputError as error:
        return (str(error),)
    assert found is not None
    return (found.plan, found.of_plan)


def deepspeed(**fields: object) -> str:
    return json.dumps({"bf16": {"enabled": True}, "zero_optimization": {"stage": 1}, **fields})


@pytest.mark.parametrize(
    ("head", "gpus"),
    [
        ("torchrun --nproc_per_node 8 --nnodes 2", 16),
        ("torchrun --nproc-per-node=8", 8),
        ("deepspeed --num_gpus 8 --num_nodes 2", 16),
        ("mpirun -np 16", 16),
        ("#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun", 16),
        ("#SBATCH -N 2\n#SBATCH --ntasks-per-node=8\nsrun", 16),
        ("#SBATCH -N2\n#SBATCH --gres=gpu:8\nsrun", 16),
        ("N=2\n#SBATCH --gres=gpu:h100:8\nsrun -N $N", 16),
        ("#SBATCH --nodes=2\nsrun -n 16", 16),
        ("#SBATCH --gpus=h100:16\nsrun", 16),
        ("#SBATCH -G 16\nsrun", 16),
        ("#SBATCH --ntasks=16\nsrun", 16),
        ("#SBATCH --ntasks=2\nsrun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES", 16),
        ("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\nsrun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES", 16),
        ("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\ntorchrun --nproc_per_node 4 --nnodes 2", 8),
        ("srun \\\n-N 2 \\\n  -n 16 \\\n  python", 16),
        ("accelerate launch --num_processes 16", 16),
        ("head=$(srun --nodes=1 -n 1 hostname --ip-address)\n#SBATCH --nodes=2\n#SBATCH -n 16\nsrun", 16),
    ],
)
def test_a_launcher_tells_the_accelerators(head: str, gpus: int) -> None:
    remark = next(text for text in launch(f"{head} {TRAIN}\n").of_plan if text.startswith("it runs on"))
    assert remark.startswith(f"it runs on {gpus} GPUs")
    assert remark.endswith(f"give `--gpus {gpus}`")
    assert not any("set to" in text or "without a field" in text for text in launch(f"{head} {TRAIN}\n").of_plan)
    assert not any("it runs on" in str(text) for text in said(f"{head} {TRAIN}\n", 32)[-1:])


@pytest.mark.parametrize("name", NAMES)
def test_no_setting_of_the_accelerators_vanishes(name: str) -> None:
    """Alone, or beside others that say as much; another value is another remark."""
    option = f"#SBATCH --{name.replace('_', '-')}"
    for others in ("", "#SBATCH --nodes=2\n", "#SBATCH --gpus-per-node=8\n"):
        if name.replace("_", "-") in others:
            continue
        texts = [f"{others}{lead}\nsrun {TRAIN}\n" for lead in ("", f"{option}=4", f"{option}=16")]
        assert len({repr(said(text)) for text in texts}) == len(texts), others


@pytest.mark.parametrize(
    ("head", "remark"),
    [
        ("torchrun --nnodes 8", "`--nnodes` 8 alone: the file does not tell its GPUs: give `--gpus`"),
        ("torchrun --nproc_per_node=gpu --nnodes 2", "`--nproc_per_node` is `gpu`, which the program finds out"),
        ("torchrun --nproc_per_node=8 --nnodes=1:4", "`--nnodes` is `1:4`, which the program finds out"),
        ("torchrun --nproc_per_node 8 --nnodes 3", "batch 64 is no multiple of 48, 24 ranks of 2 sequences each: "),
        ("#SBATCH --nodes=1\ntorchrun --nproc_per_node 8 --nnodes 2", "`--nnodes` is 2, and `--nodes` 1: the former"),
        ("#SBATCH --gpus=8\ntorchrun --nproc_per_node 8 --nnodes 2", "the file starts 16 processes on 8 GPUs"),
        ("torchrun --world-size 8 --nproc_per_node 8 --nnodes 2", "the file states 8 GPUs, and nodes with 16"),
        (
            "#SBATCH --nodes=1\n#SBATCH --nodes=2\nsrun",
            "`--nodes` is set to 1, and to 2 at line 2: left out",
        ),
    ],
)
def test_what_tells_no_accelerators_or_two_numbers_is_named(head: str, remark: str) -> None:
    assert any(remark in text for text in launch(f"{head} {TRAIN}\n").of_plan)


JOB = "#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=8\n#SBATCH --gpus-per-node=8\n"
HELPERS = (
    "srun --ntasks=1 --nodes=1 bash stage_data.sh",
    "srun -N 1 -n 1 hostname",
    "srun -N1 -n1 --gpus=1 python preprocess.py --workers 4",
    "IP=$(srun --nodes=1 --ntasks=1 -w $head ip addr)",
    "srun --nodes=1 --ntasks=1 --gpus-per-node=1 \\\n  bash -c 'tar xf data.tar; echo done' > log 2>&1 &",
)
PROGRAMS = (
    f"srun python pretrain_gpt.py {TRAIN}",
    f"srun -N 8 --ntasks-per-node=8 python pretrain_gpt.py {TRAIN}",
    f"srun -N $SLURM_NNODES -n 64 python pretrain_gpt.py {TRAIN}",
    f'ARGS="\n {TRAIN}\n"\nCMD="python pretrain_gpt.py $ARGS"\nsrun -l sh -c "${{CMD}}"',
    f"ARGS=(\n {TRAIN}\n)\nsrun -n 64 python pretrain_gpt.py ${{ARGS[@]}}",
    f'LAUNCH="srun --nodes=8"\n$LAUNCH python pretrain_gpt.py {TRAIN}',
    f"cat > run.sh <<EOF\npython pretrain_gpt.py {TRAIN}\nEOF\nsrun -n 64 bash run.sh",
)


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_steps_of_helpers_do_not_count(program: str, helper: str) -> None:
    for steps in (f"{helper}\n{program}\n", f"{program}\n{helper}\n"):
        remarks = launch(f"{JOB}{steps}").of_plan
        assert any(text.startswith("it runs on 64 GPUs") for text in remarks), (steps, remarks)
        assert not any("set to" in text or "counts" in text for text in remarks)


def test_the_step_of_the_program_goes_before_its_job() -> None:
    remarks = launch(f"{JOB}srun -N 1 -n 1 hostname\nsrun --nodes 2 python pretrain_gpt.py {TRAIN}\n").of_plan
    assert "`--nodes` is 2 at line 5, 8 in `#SBATCH`: the former counts" in remarks
    assert any(text.startswith("it runs on 16 GPUs") for text in remarks)


@pytest.mark.parametrize(
    "head",
    [
        "#SBATCH --nodes=8\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=8\nsrun -n 1",
        "#SBATCH --nodes=2-4\n#SBATCH --ntasks=1\nsrun",
        "#SBATCH --gpus-per-node=8\n#SBATCH --ntasks=1\nsrun",
        "#SBATCH --ntasks-per-node=8\nsrun -n 1",
        "#SBATCH --gpus-per-task=8\nsrun -n 2",
    ],
)
def test_tasks_are_no_accelerators_beside_other_counts(head: str) -> None:
    remarks = launch(f"{head} {TRAIN}\n").of_plan
    assert not any("it runs on" in text for text in remarks)
    assert any("alone: the file does not tell its GPUs: give `--gpus`" in text for text in remarks)


@pytest.mark.parametrize(
    ("value", "gpus"),
    [("gpu:8,nvme:1", 16), ("nvme:1,gpu:h100:8", 16), ("gpu:8(S:0-1),craynetwork:4", 16), ("gpu,nvme:1", 2)],
)
def test_a_list_of_resources_holds_its_accelerators(value: str, gpus: int) -> None:
    remarks = launch(f"#SBATCH --nodes=2\n#SBATCH --gres={value}\nsrun {TRAIN}\n").of_plan
    assert any(text.startswith(f"it runs on {gpus} GPUs") for text in remarks)
    assert not any("left out" in text for text in remarks)


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("nodes=2-4", "is no single number"),
        ("gres=gpu:a100:4,gpu:h100:4", "is no single number"),
        ("gres=nvme:1", "names no GPU"),
    ],
)
def test_what_is_no_single_number_is_named_so(option: str, why: str) -> None:
    name, _, value = option.partition("=")
    remarks = launch(f"#SBATCH --{option}\nsrun {TRAIN}\n").of_plan
    assert f"`--{name}` is `{value}`, which {why}: left out" in remarks


def test_a_batch_that_fixed_ranks_do_not_divide_points_to_the_batch() -> None:
    text = '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\n[parallelism]\n'
    remark = said(f"{text}{SHARD} = 8\n", batch=33)[1]
    assert "batch 33 is no multiple of 8, 8 ranks of 1 sequence each: give `--batch`, a multiple of 8" in str(remark)


def test_accelerators_that_hold_no_whole_copies_are_named() -> None:
    odd = launch(f"torchrun --nproc_per_node 8 --nnodes 2 {TRAIN} --tensor-model-parallel-size 3\n").of_plan
    assert "it runs on 16 GPUs, no multiple of the 3 of one copy of the model: give `--gpus N`" in odd


def test_degrees_of_torchtitan_fix_the_accelerators() -> None:
    """4 copies of 8 shards over tensors of 2 and contexts of 2: 128, with 4 sequences on each of 32 ranks."""
    degrees = f"{REPLICATE} = 4\n{SHARD} = 8\ntensor_parallel_degree = 2\ncontext_parallel_degree = 2"
    found = job(degrees)
    by = f"32 data-parallel ranks ({REPLICATE} 4 times {SHARD} 8)"
    assert f"it runs on 128 GPUs, {by}: give `--gpus 128`" in found.of_plan
    assert (found.plan["shard"], found.plan["batch"]) == (16, 128)
    assert any(f"it runs on 8 GPUs, 8 data-parallel ranks ({SHARD} 8)" in text for text in job(f"{SHARD} = 8").of_plan)
    plain = job(f"{REPLICATE} = 4\n{SHARD} = -1").of_plan
    assert any(f"{REPLICATE} 4: give `shard`" in text for text in plain)
    assert not any("it runs on" in text for text in plain)


DEGREES = {
    REPLICATE: (1, 2, 4),
    SHARD: (-1, 1, 2, 8),
    "tensor_parallel_degree": (1, 2),
    "context_parallel_degree": (1, 2),
}


@pytest.mark.parametrize(
    ("setting", "other"),
    [
        (setting, other)
        for setting in DEGREES
        for other in ("", f"{REPLICATE} = 3", f"{SHARD} = 1", f"{SHARD} = 4", f"{SHARD} = -1")
        if setting not in other
    ],
)
def test_no_degree_of_torchtitan_vanishes(setting: str, other: str) -> None:
    found = [job(f"{other}\n{setting} = {value}") for value in DEGREES[setting]]
    assert len({repr((each.plan, each.of_plan)) for each in found}) == len(found)


def test_degrees_that_torchtitan_refuses_are_refused() -> None:
    head = '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 2\n'
    text = f"{head}global_batch_size = 100\n[parallelism]\n"
    where = "`global_batch_size` 100 is no multiple of local_batch_size 2 on each of 32 data-parallel ranks"
    refused(f"{text}{REPLICATE} = 4\n{SHARD} = 8\n", rf"^run.sh:6:1: error: {where}")
    refused(f"{text}{SHARD} = 0\n", r"^run.sh:8:1: error: `data_parallel_shard_degree` is 0")
    refused(text.replace("100", "101"), "is no multiple of local_batch_size 2")
    assert launch(text).plan["batch"] == 100


def test_a_batch_of_deepspeed_fixes_the_accelerators() -> None:
    """1,024 sequences over micro-batches of 2 and 8 steps are of 64 ranks, however many axes a copy has."""
    fields = {MICRO: 2, STEPS: 8, BATCH: 1024}
    by = f"64 data-parallel ranks ({BATCH} 1,024 over {MICRO} 2 times {STEPS} 8)"
    plain = launch(deepspeed(**fields)).of_plan
    assert f"it runs on 64 GPUs, {by}: give `--gpus 64`" in plain
    two = launch(deepspeed(**fields, tensor_parallel={"autotp_size": 2})).of_plan
    assert f"it runs on 128 GPUs, {by}: give `--gpus 128`" in two
    assert said(deepspeed(**fields), 64)[1] == ()
    other = f"DeepSpeed takes this file on 64 GPUs alone, {by}: the plan on 128 is another"
    assert said(deepspeed(**fields), 128)[1] == (other,)
    assert said(deepspeed(**fields), 64, batch=1024)[1] == ()
    assert "options change that" in str(said(deepspeed(**fields), 64, batch=512)[1])


@pytest.mark.parametrize("fields", [{MICRO: 3, STEPS: 7}, {STEPS: 7}])
def test_a_batch_that_its_parts_do_not_divide_is_refused(fields: dict[str, int]) -> None:
    text = json.dumps({**fields, BATCH: 1000}, indent=1)
    refused(text, rf"^run.sh:{len(fields) + 2}:\d+: error: {BATCH} 1,000 is no multiple of")


def test_steps_and_a_batch_give_the_micro_batch_of_the_accelerators() -> None:
    text = deepspeed(**{STEPS: 8, BATCH: 1024})
    assert "128 sequences of each of 8 steps over the data-parallel ranks" in str(said(text)[1])
    plan, remarks = said(text, 64)
    assert isinstance(plan, dict)
    assert (plan["micro_batch"], "micro_batch 2 is the batch over 8 steps of 64" in str(remarks)) == (2, True)


PARTS = {MICRO: 2, STEPS: 8, BATCH: 1024}


@pytest.mark.parametrize("gpus", [None, 64])
@pytest.mark.parametrize(
    ("changed", "absent"), [(changed, absent) for changed in PARTS for absent in ("", *PARTS) if changed != absent]
)
def test_no_part_of_a_batch_vanishes(changed: str, absent: str, gpus: int | None) -> None:
    fields = {name: size for name, size in PARTS.items() if name != absent}
    assert said(deepspeed(**fields), gpus) != said(deepspeed(**{**fields, changed: fields[changed] * 2}), gpus)


def test_the_command_says_so(tmp_path: Path) -> None:
    file = tmp_path / "ds.json"
    file.write_text(deepspeed(**{MICRO: 2, STEPS: 8, BATCH: 1024}))
    done = ffplan("fabric import model", str(file), "--save", str(tmp_path / "plan.yaml"))
    assert (done.code, "give `--gpus 64`" in done.err) == (0, True)
    run = ffplan("train superpod-h100-4su -m llama3.2-1b --gpus 128 --plan", str(file))
    assert "DeepSpeed takes this file on 64 GPUs alone" in run.err


@pytest.mark.parametrize("row", ["srun -n 1 'a\n", "A=$A\nsrun $A\n", 'A="srun -n 1\n'])
def test_very_many_steps_are_read_in_time(row: str) -> None:
    start = perf_counter()
    _without_other_steps(row * 20_000, _ARGUMENT)
    assert perf_counter() - start < 5
