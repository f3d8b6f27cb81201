"""What a file, a name or a terminal may do to us, and does not."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import select
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.support import ROOT, ffplan, overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

XML = (
    '<system version="1"><cpu numaid="0" vendor="{vendor}" familyid="6" modelid="85">'
    '<pci busid="0000:01:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="16 GT/s" '
    'link_width="16"/></cpu></system>'
)


def imported(tmp_path: Path, vendor: str = "GenuineIntel", name: str = "in.xml") -> Path:
    file = tmp_path / name
    file.write_text(XML.format(vendor=vendor))
    return file


def test_xml_writes_no_keys_of_its_own(tmp_path: Path) -> None:
    done = ffplan("fabric import nccl", str(imported(tmp_path, "X&#10;evil: injected&#10;#")), "--id", "mine")
    assert done.code == 0
    assert "evil" not in yaml.safe_load(done.out)
    assert "X evil: injected #" in done.out  # in the comment behind the processor


def test_names_of_files_write_no_keys(tmp_path: Path) -> None:
    name = 'a", evil: "b.xml'
    done = ffplan("fabric import nccl", str(imported(tmp_path, name=name)), "--id", "mine")
    assert yaml.safe_load(done.out)["sources"]["xml"]["title"] == f"topology file {name} of NCCL or RCCL"


@pytest.mark.parametrize("given", ["a: {b", "../../x", "", "Ünder", "x" * 101, "a b"])
def test_ids_are_ids(given: str, tmp_path: Path) -> None:
    done = ffplan("fabric import nccl", str(imported(tmp_path)), "--id", given)
    assert (done.code, done.out) == (2, "")
    assert "--id" in done.err


@pytest.mark.parametrize(("given", "words"), [("}{", "no CPU `}{`"), ("a100-pcie-40gb", "is an accelerator")])
def test_processors_are_parts(given: str, words: str, tmp_path: Path) -> None:
    done = ffplan("fabric import nccl", str(imported(tmp_path)), "--id", "mine", "--cpu", given)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_names_in_xml_end_no_comment(tmp_path: Path) -> None:
    from xml.etree import ElementTree as ET

    overlay_part(
        tmp_path, "dgx-a100-320gb", ("NVIDIA DGX A100 320 GB: 8 x A100 SXM, 8 + 1 x 200 Gb/s", "a --> <evil/> <!-- b -")
    )
    done = ffplan("fabric export", "dgx-a100-10k", "--to", "nccl", "--catalog", str(tmp_path))
    assert done.code == 0, done.err
    assert ET.fromstring(done.out).find(".//evil") is None


def on_terminal(*arguments: str) -> str:
    """Return what a command shows on a terminal, standard output and error together."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ffplan", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    ) as process:
        os.close(theirs)
        found = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                block = os.read(ours, 65536)
            except OSError:
                break
            if not block:
                break
            found += block
        process.wait(60)
    os.close(ours)
    return found.decode("utf-8", "replace")


EVIL = "\x9b31m\u202e\u2066"
"""Another way to start a terminal's command, and marks that reorder text."""


@pytest.mark.deep
def test_descriptions_act_on_no_terminal(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    head = 'description: "\\x1b]0;owned\\x07 \\u202edesrever"'
    lines = [head if line.startswith("description:") else line for line in text.splitlines()]
    assert head in lines
    file = tmp_path / "design.yaml"
    file.write_text("\n".join(lines) + "\n")
    shown = on_terminal("design", str(file))
    assert "\x1b]0;" not in shown
    assert "\u202e" not in shown
    for form in ("table", "markdown", "html", "json", "csv"):
        done = ffplan("design", str(file), "--format", form)
        assert "\u202e" not in done.out, form
        assert "\x1b" not in done.out, form
    report = json.loads(ffplan("design", str(file), "--format", "json").out)
    assert report["design"]["description"] == "\x1b]0;owned\x07 \u202edesrever"  # whole, behind escapes


@pytest.mark.parametrize(
    "arguments",
    [
        ("design", f"none{EVIL}.yaml"),
        ("catalog", "show", f"none{EVIL}"),
        ("design", "fire-flyer-2", "--format", f"x{EVIL}"),
        ("route", "fire-flyer-2", "--traffic", f"x{EVIL}"),
        (f"sign{EVIL}",),
    ],
)
def test_values_of_options_act_on_no_terminal(arguments: tuple[str, ...]) -> None:
    done = ffplan(*arguments)
    assert done.code == 2
    assert not set(EVIL) & (set(done.err) - set("31m"))


def test_names_of_devices_and_of_hosts_act_on_no_terminal(tmp_path: Path) -> None:
    file = tmp_path / "built.txt"
    file.write_text(f'Switch 4 "S-1" # "leaf{EVIL}"\n')
    done = ffplan("fabric audit", "fire-flyer-2", str(file))
    assert not set(done.err) & {"\x9b", "\u202e"}
    file.write_text(f"src,dst,bytes\ncompute{EVIL},compute-0001,1\n")
    done = ffplan("fabric route", "fire-flyer-2", "--traffic", str(file))
    assert done.code == 2
    assert not set(done.err) & {"\x9b", "\u202e"}


def test_keys_that_stand_twice_act_on_no_terminal(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text('"k\\e[2J\\u202e": 1\n"k\\e[2J\\u202e": 2\n')
    done = ffplan("check", str(file))
    assert done.code == 2
    assert not set(done.err + done.out) & {"\x1b", "\u202e"}
    assert r"\x1b[2J\u202e" in done.err + done.out


def test_no_cell_starts_a_formula(tmp_path: Path) -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    lines = ['description: "=HYPERLINK(1)"' if x.startswith("description:") else x for x in text.splitlines()]
    (tmp_path / "d.yaml").write_text("\n".join(lines) + "\n")
    done = ffplan("design", str(tmp_path / "d.yaml"), "--format", "csv")
    cells = [cell for row in csv.reader(io.StringIO(done.out)) for cell in row]
    assert "'=HYPERLINK(1)" in cells
    net = ffplan("fabric export", "fire-flyer-2", "--to", "ibsim", "--zone", "1").out
    (tmp_path / "built.txt").write_text(net + '\nHca\t1 "=1+1"\n')
    done = ffplan("fabric audit fire-flyer-2", str(tmp_path / "built.txt"), "--zone", "1", "--format", "csv")
    cells = [cell for row in csv.reader(io.StringIO(done.out)) for cell in row]
    assert any(cell.startswith("'=1+1") for cell in cells)
    assert not any(cell.startswith("=") for cell in cells)


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        (("import", "nccl", "zero.csv", "--id", "x"), "MiB"),
        (("import", "ibnetdiscover", "zero.csv"), "64 MiB"),
        (("audit", "fire-flyer-2", "zero.csv"), "64 MiB"),
        (("route", "fire-flyer-2", "--traffic", "zero.csv"), "MiB"),
        (("design", "zero.csv"), "1024 KiB"),
    ],
)
def test_files_are_read_up_to_a_limit_that_is_said(
    command: tuple[str, ...], limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "zero.csv").open("wb") as file:
        file.truncate(257 * 2**20)  # a hole: no disk is filled
    done = ffplan(*command)
    assert (done.code, done.out) == (2, "")
    assert limit in done.err


def test_a_link_to_itself_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    done = ffplan("design", "fire-flyer-2", "-o", str(tmp_path / "loop"))
    assert (done.code, done.out) == (2, "")
    assert "cannot be written" in done.err


def test_a_link_to_a_yaml_file_is_no_target(tmp_path: Path) -> None:
    design = vary_design(tmp_path, "fire-flyer-2")
    before = design.read_text()
    (tmp_path / "report.txt").symlink_to(design)
    done = ffplan("design", "fire-flyer-2", "-o", str(tmp_path / "report.txt"))
    assert done.code == 2
    assert "no YAML file is replaced" in done.err
    assert design.read_text() == before


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_a_size_that_no_family_holds_is_said(form: str) -> None:
    done = ffplan(f"fabric size -n 100000000 --switch q3400 --planes 2 -f {form}")
    assert done.code == 1
    assert done.out + done.err
    if form == "csv":
        assert done.out == ""
        assert "no family holds 100,000,000 endpoints on `q3400`" in done.err


def test_hosts_of_one_node(tmp_path: Path) -> None:
    design = vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 1"))
    done = ffplan("fabric export", str(design), "--to", "hosts")
    assert (done.code, done.err) == (0, "")
    assert done.out == "compute-1\n"


def test_line_breaks_in_values_start_no_line_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "in.xml").write_text(
        XML.format(vendor="x").replace('link_width="16"', 'link_width="a&#10;b: error: c"')
    )
    done = ffplan("fabric import nccl", str(tmp_path / "in.xml"))
    assert done.code == 0
    assert all(line.startswith("ffplan fabric import: ") for line in done.err.splitlines())
    assert "`link_width` of 1 element is `a?b: error: c`" in done.err
    done = ffplan("design", "a\nb")
    assert (done.code, done.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("design", "lose", "words"),
    [
        ("fire-flyer-2", "core:1", "this fabric has no core switch"),
        ("fire-flyer-2", "leaf:81", "between 1 and 80"),
        ("fire-flyer-2", "x" * 5000, "is neither a switch of this fabric"),
    ],
)
def test_losses_that_cannot_be(design: str, lose: str, words: str) -> None:
    done = ffplan("fabric faults", design, "--lose", lose)
    assert done.code == 2
    assert words in done.err
    assert len(done.err) < 1000


def test_a_locale_that_cannot_spell_our_folder(tmp_path: Path) -> None:
    """Compiled libraries fail on such names: Python begins anew in its UTF-8 mode, once, with the same arguments."""
    folder = tmp_path / "Größe"
    folder.mkdir()
    (folder / "ffplan").symlink_to(ROOT / "ffplan")
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(folder)}
    shown = "import os, ffplan.__main__ as door; os.execv = lambda *a: print(a[1][1:]); door._in_utf_8()"

    def run(*words: str, **more: str) -> str:
        env = {**os.environ, **plain, **more}
        done = subprocess.run(
            [sys.executable, *words], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    again = run("-c", shown, "design", "x")
    assert again.startswith("['-X', 'utf8', '-c'")
    assert again.endswith("'design', 'x']\n")
    assert run("-c", shown, PYTHONUTF8="1") == run("-c", shown, PYTHONPATH=str(ROOT)) == ""
    assert run("-m", "ffplan", "catalog", "list") == ffplan("catalog list").out


READERS = {
    "design": ("{odd}",),
    "compare": ("fire-flyer-2", "{odd}"),
    "check": ("{odd}",),
    "check --policy": ("fire-flyer-2", "--policy", "{odd}"),
    "check --baseline": ("fire-flyer-2", "--baseline", "{odd}"),
    "sweep": ("{odd}", "--vary", "site.pue=1.1,1.2"),
    "train": ("{odd}", "--model", "llama3-8b"),
    "train --plan": ("superpod-h100-4su", "--model", "llama3-8b", "--plan", "{odd}"),
    "cost": ("{odd}",),
    "utilization --jobs": ("superpod-h100-4su", "--jobs", "{odd}"),
    "acceptance --measured": ("superpod-h100-4su", "--measured", "{odd}"),
    "explain": ("{odd}", "cost.total"),
    "calibrate": ("h100-sxm-80gb", "--cases", "{odd}"),
    "accuracy training --cases": ("--cases", "{odd}"),
    "measure fit": ("{odd}", "--accelerator", "h100-sxm-80gb"),
    "route --traffic": ("fire-flyer-2", "--traffic", "{odd}"),
    "export": ("{odd}", "--to", "ibsim"),
    "import nccl": ("{odd}",),
    "import ibnetdiscover": ("{odd}",),
    "import slurm": ("{odd}",),
    "audit": ("fire-flyer-2", "{odd}"),
    "audit --map": ("fire-flyer-2", "{other}", "--map", "{odd}"),
    "diff": ("fire-flyer-2", "{odd}"),
    "reproduce": ("{odd}",),
}
"""Commands, and options of them, that read a file."""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["named pipe", "device"])
def test_pipes_and_devices_are_refused_at_once(reader: str, kind: str, tmp_path: Path) -> None:
    """A reader would wait for ever for whoever writes; a device has no end."""
    odd, other = tmp_path / "odd.csv", tmp_path / "other"
    other.write_text("")
    if kind == "device":
        odd.symlink_to("/dev/zero")
    else:
        os.mkfifo(odd)
    words = [item.format(odd=odd, other=other) for item in READERS[reader]]
    done = ffplan(*reader.partition(" --")[0].split(), *words)
    assert done.code == 2, done.err
    assert f"this is a {kind}; give a file" in done.err + done.out
    assert "Traceback" not in done.err
