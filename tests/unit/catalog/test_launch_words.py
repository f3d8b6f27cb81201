"""Options of several words in scripts: all of them, to the next option, the end of the command or of the text."""

from __future__ import annotations

import pytest

from ffplan.catalog.launch.arguments import _SEVERAL, _plain_lines, _settings_of, _Variables, arguments
from tests.unit.catalog.test_launch import SIZES, launch

WORDS = "a b c"
FORMS = (
    "x.py --OPTION a b c --lr 1",
    "x.py --OPTION a b c",
    "x.py --OPTION 'a' \"b\" c --lr 1",
    "x.py --OPTION 'a b c' --lr 1",
    "x.py --OPTION 'a b c'",
    'x.py "--OPTION a b c" --lr 1',
    "x.py --OPTION a \\\n  b c \\\n  --lr 1",
    "x.py --OPTION \\\n  a \\\n  b \\\n  c",
    "x.py --OPTION a b c\necho done",
    "x.py --OPTION a b c > log 2>&1",
    "x.py --OPTION a b c 2>&1 | tee log",
    "x.py --OPTION a b c|tee log",
    "x.py --OPTION a b c & wait",
    "x.py --OPTION a b c; echo done",
    "(x.py --OPTION a b c)",
    "x.py --OPTION a b c -n 4",
    "ARGS=(--OPTION a b c --lr 1)\nx.py ${ARGS[@]}",
    "ARGS=(\n  --OPTION a b\n  c  # the last\n)\nx.py ${ARGS[@]}",
    "ARGS=(\n  --OPTION a b c\n  --layers '([0]*3+[1]*5)'\n)",
    'ARGS="--OPTION a b c" x.py d',
    'ARGS="\n  --OPTION a b\n  c\n  --lr 1\n" x.py d',
    'ARGS="--lr 1 \\\n  --OPTION a b c" \\\nx.py d',
    "B=b\nREST='b c'\nx.py --OPTION a $REST --lr 1",
    "MORE='b c --lr 1'\nx.py --OPTION a $MORE",
    "x.py --OPTION a b c ${ARGS[@]}",
    'x.py --OPTION a b c "$@"',
    "ALL='a b c'\nx.py --OPTION $ALL --lr 1",
    "NO=''\nx.py --OPTION $NO a b c --lr 1",
    'run(["x.py", "--OPTION", "a", "b", "c", "--lr", "1"])',
    "run(['x.py', '--OPTION', 'a',\n     'b', 'c'])\nprint('d')",
    'args:\n  - "--OPTION"\n  - "a"\n  - "b"\n  - "c"\n  - "--lr"\n  - "1"\n',
    "args:\n- --OPTION\n- a\n- b\n- c\nother: d\n",
)


def words(text: str, name: str) -> object:
    plain = _plain_lines(text)
    return _settings_of(arguments(plain), _Variables(plain))[name].value


@pytest.mark.parametrize("form", FORMS)
def test_an_option_of_several_words_has_all_of_them(form: str) -> None:
    for name in sorted(_SEVERAL):
        assert words(form.replace("OPTION", name.replace("_", "-")), name) == WORDS


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("x.py --OPTION=a b", "a"),
        ("x.py --OPTION a", "a"),
        ("x.py --OPTION --lr 1", True),
        ("x.py --OPTION", True),
        ("x.py --OPTION $X", "$X"),
    ],
)
def test_an_option_of_one_word_or_none(form: str, value: object) -> None:
    assert words(form.replace("OPTION", "recompute-modules"), "recompute_modules") == value


def test_another_option_has_one_word() -> None:
    assert words("x.py --num-layers 4 5", "num_layers") == "4"


def test_one_exchange_for_every_layer() -> None:
    found = launch(f"{SIZES} --context-parallel-size 2 --cp-comm-type a2a a2a a2a a2a")
    assert found.plan["context_exchange"] == "heads"
    mixed = launch(f"{SIZES} --context-parallel-size 2 --cp-comm-type p2p a2a p2p a2a")
    assert "--cp-comm-type p2p a2a has no field in a plan: keys and values go round a ring" in mixed.of_plan
