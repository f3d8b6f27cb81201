"""One option has one name and one form in every command: lists with commas or repeated, short and long names."""

from __future__ import annotations

import json

import pytest
import typer

from ffplan.cli.app import SAME, build
from tests.support import ffplan

COLLECTIVE = "collective superpod-h100-4su -f json"
SIZE = "fabric size --endpoints 500 --switch qm9700 -f json"
RECOMMEND = "recommend --model llama3-8b --tokens 100B --days 60 --best 2 -f json"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"{COLLECTIVE} --op all-gather --gpus 8,64", f"{COLLECTIVE} --operation all-gather --gpus 8 --gpus 64"),
        (f"{COLLECTIVE} --gpus 8 --size 1MiB,1GiB", f"{COLLECTIVE} -g 8 -s 1MiB -s 1GiB"),
        (f"{SIZE} --tiers 2,3 --planes 2,4", f"{SIZE} --tiers 2 --tiers 3 --planes 2 --planes 4"),
        (
            "train superpod-h100-4su -m llama3-8b --batch 256 --tp 2 -f json --gpus 64,128",
            "train superpod-h100-4su -m llama3-8b --batch 256 --tp 2 -f json --gpus 64 --gpus 128",
        ),
        (
            "sweep superpod-h100-4su --vary nodes[0].count=64,96 --metric accelerators,cost.total -f json",
            "sweep superpod-h100-4su --vary nodes[0].count=64,96 --metric accelerators --metric cost.total -f json",
        ),
        (
            f"{RECOMMEND} --accelerator h100-sxm-80gb,H200 --exclude sn5600,qm9790",
            f"{RECOMMEND} -a h100-sxm-80gb -a h200 --exclude sn5600 --exclude qm9790",
        ),
    ],
)
def test_a_list_has_commas_or_is_repeated(first: str, second: str) -> None:
    one, two = ffplan(first), ffplan(second)
    assert one.code == 0, one.err
    assert json.loads(one.out) == json.loads(two.out)


def test_sections_with_commas() -> None:
    assert ffplan("cost superpod-h100-4su --section bill,power").out == (
        ffplan("cost superpod-h100-4su --section bill --section power").out
    )


@pytest.mark.parametrize(
    ("option", "words"), [("--tiers 4", "from 1 to 3"), ("--planes x", "--planes: `x` is no whole number")]
)
def test_wrong_lists_are_refused(option: str, words: str) -> None:
    done = ffplan(f"{SIZE} {option}")
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("recommend --price 3M", "did you mean `--capex` or `--prices`?"),
        ("recommend --power-limit 3MW", "did you mean `--power`?"),
        ("recommend --gpu h100", "did you mean `--accelerator`?"),
        ("train x --gpu 8", "did you mean `--gpus`?"),
        ("init --gpu 8", "did you mean `--gpus` or `--accelerator`?"),
        ("serve x --tensor_parallel_size 8", "did you mean `--tp`?"),
        ("recommend --capx 3M", "did you mean `--capex`?"),
        ("recommend --zzzzz", "`ffplan recommend -h` lists them"),
        ("fabric size -z", "ffplan fabric size: no option `-z`; `ffplan fabric size -h` lists them"),
        ("--budget 3", "ffplan: no option `--budget`"),
    ],
)
def test_an_unknown_option_names_the_one_that_was_meant(command: str, words: str) -> None:
    done = ffplan(command)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1


def test_every_other_word_leads_to_an_option() -> None:
    """The first of a row is an option of a command."""
    root = typer.main.get_command(build())
    assert isinstance(root, typer.core.TyperGroup)
    groups = [root, *(group for group in root.commands.values() if isinstance(group, typer.core.TyperGroup))]
    commands = [command for group in groups for command in group.commands.values()]
    options = {option.lstrip("-") for command in commands for param in command.params for option in param.opts}
    assert [row for row in SAME if row.split()[0] not in options] == []
