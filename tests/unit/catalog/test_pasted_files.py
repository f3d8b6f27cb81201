"""Files of models and of training programs as people paste them: what they are without the text around them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.forms import LAUNCHES
from tests.support import ffplan
from tests.unit.interop.test_pasted import AROUND, PREFIXES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 512,
    "max_position_embeddings": 1024,
}
FILES = {
    "config.json": json.dumps(CONFIG, indent=2) + "\n",
    "nemo.yaml": LAUNCHES[1],
    "titan.toml": LAUNCHES[2],
    "ds.json": json.dumps(json.loads(LAUNCHES[3]), indent=2) + "\n",
}
FORMS: dict[str, Callable[[str], str]] = {
    **{form: put for form, put in PREFIXES.items() if form.startswith((*AROUND, "GitLab", "colours", "CRLF", "byte"))},
    "a prompt": lambda text: f"root@node01:~# cat file\n{text}root@node01:~#\n",
    "blanks of a chat": lambda text: text.replace("  ", "\xa0 "),
}


def imported(path: Path, content: bytes) -> tuple[int, str, str]:
    path.write_bytes(content)
    run = ffplan("fabric import model", str(path))
    return run.code, run.out, run.err


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("form", FORMS)
def test_a_file_as_it_is_pasted(name: str, form: str, tmp_path: Path) -> None:
    plain = imported(tmp_path / name, FILES[name].encode())
    assert plain[0] == 0
    assert imported(tmp_path / name, FORMS[form](FILES[name]).encode()) == plain
    assert imported(tmp_path / name, FORMS[form](FILES[name]).encode("utf-16")) == plain


@pytest.mark.parametrize("name", ["config.json", "config.txt"])
@pytest.mark.parametrize("head", ["LlamaConfig ", "config = ", "\nLlamaConfig"])
def test_an_object_as_python_prints_it(name: str, head: str, tmp_path: Path) -> None:
    code, out, _ = imported(tmp_path / name, (head + FILES["config.json"]).encode())
    assert (code, "layers: 4" in out) == (0, True)


@pytest.mark.parametrize("start", ["", 'alLM"\n  ],\n'])
def test_a_config_that_is_cut_is_called_no_yaml(start: str, tmp_path: Path) -> None:
    code, _, err = imported(tmp_path / "config.json", (start + FILES["config.json"][2:]).encode())
    assert code == 2
    assert "this is not JSON" in err


def test_a_wrong_field_keeps_its_line(tmp_path: Path) -> None:
    text = (
        "Look:\n\n```json\n"
        + FILES["config.json"].replace('"num_hidden_layers": 4', '"num_hidden_layers": 0')
        + "```\n"
    )
    assert "config.json:8:3: error: `num_hidden_layers` is `0`" in imported(tmp_path / "config.json", text.encode())[2]
