"""One option has one name and one form in every command: lists with commas or repeated, short and long names."""

from __future__ import annotations

import json

import pytest

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
