"""Parts of one's own that name each other, or nothing: in a check, an audit, a search, and the shell's completion."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import typer

from ffplan.cli.catalog import _complete_kind, _complete_listed, _complete_part
from ffplan.inputs import document
from ffplan.inputs.composer import compose
from tests.support import ffplan, overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = 'sources: {us: {title: lab sheet, date: "2026-10", grade: datasheet, status: V}}\n'
NIC = f"""kind: nic
id: bolt-400g
name: Bolt
vendor: Olympus
{SOURCES}rate: {{value: 400 Gb/s, source: us}}
line_efficiency: {{value: 97 %, source: us}}
"""
ZEUS = f"""kind: accelerator
id: zeus
name: Zeus
vendor: Olympus
{SOURCES}memory: {{value: 288 GiB, source: us}}
memory_bandwidth: {{value: 10 TB/s, source: us}}
peak: {{bf16: {{value: 3000 TFLOP/s, source: us}}}}
nvlink: {{value: 1200 GB/s, source: us}}
"""
SERVER = f"""kind: server
id: zeus-1
name: Zeus server
vendor: Olympus
{SOURCES}sockets:
  - id: cpu0
    cpu: xeon-8570
    memory: {{channels: {{value: 8, source: us}}, rate: {{value: 5600 MT/s, source: us}}}}
    root_ports: [{{id: a, pcie_switch: true}}]
accelerator: zeus
accelerators: [{{id: gpu0, root_port: a}}]
nics: [{{id: nic0, part: bolt-400g, root_port: a, network: compute}}]
power: {{maximum: {{value: 2000 W, source: us}}}}
"""
BOOK = f"""kind: price-book
id: olymp
extends: usd-2026
name: Olympus quotes
vendor: Olympus
currency: USD
date: "2026-11"
{SOURCES}items: {{zeus-1: {{value: 40000, source: us}}}}
"""
MODEL = f"""kind: model
id: hermes
name: Hermes
vendor: Olympus
{SOURCES}transformer: {{layers: 2, hidden: 64, heads: 4, ffn: 128, vocabulary: 1000, sequence: 128}}
"""
PROFILE = f"""kind: reliability
extends: reliability-2026
name: Ours
vendor: Olympus
{SOURCES}"""
FILES = {"bolt": NIC, "zeus": ZEUS, "zeus-1": SERVER, "olymp": BOOK, "hermes": MODEL}


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("zeus-1", "accelerator: zeus", "accelerator: zeu", "no accelerator `zeu` in the catalogue"),
        ("zeus-1", "part: bolt-400g", "part: bolt-40", "no NIC `bolt-40` in the catalogue"),
        ("zeus-1", "cpu: xeon-8570", "cpu: xeon-857", "no CPU `xeon-857` in the catalogue"),
        ("zeus-1", "accelerator: zeus", "accelerator: hermes", "`hermes` is a model; an accelerator is wanted here"),
        ("zeus", "id: zeus", "id: zeus\nlibrary: nccl2", "no library `nccl2` in the catalogue"),
    ],
)
def test_a_dangling_reference_is_an_error_of_the_part(parts: Path, file: str, old: str, new: str, said: str) -> None:
    assert "5 parts checked: nothing found" in ffplan("check", str(parts)).out
    change(parts / f"{file}.yaml", old, new)
    done = ffplan("check", str(parts))
    assert done.code == 2
    assert f"error: {said} [reference-" in done.out
    done = ffplan("catalog audit", "--catalog", str(parts))
    assert done.code == 2
    assert f"error: {said} [reference-" in done.err


def test_parts_are_known_beside_and_among_the_checked_files(parts: Path, tmp_path: Path) -> None:
    assert "nothing found" in ffplan("check", str(parts / "zeus-1.yaml")).out
    servers = tmp_path / "servers"
    servers.mkdir()
    moved = (parts / "zeus-1.yaml").rename(servers / "zeus-1.yaml")
    assert ffplan("check", str(moved)).code == 2
    assert ffplan("check", str(moved), "--catalog", str(parts)).code == 0
    assert "5 parts checked: nothing found" in ffplan("check", str(servers), str(parts)).out
    assert ffplan("check", str(moved), str(parts), "-j", "2").code == 0


CASES = """kind: communication-cases
id: lab
name: Lab
source: {title: log, date: "2026", grade: measured, status: V}
collectives:
  - {id: a, system: {server: zeus-1}, operation: allreduce, library: nccl, gpus: [2], sizes: [1 GiB], metric: time_us,
     values: [[1000.0]]}
"""


def test_a_file_is_parsed_as_often_however_many_folders_are_checked(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each folder has a part that names one of another folder, a profile with a base, and cases."""
    parsed: Counter[str] = Counter()

    def counted(text: str, file: str) -> Any:
        parsed[file] += 1
        return compose(text, file)

    monkeypatch.setattr(document, "compose", counted)
    most = []
    for folders in (3, 6):
        parsed.clear()
        whole = tmp_path / f"of-{folders}"
        for number in range(folders):
            folder = whole / f"f{number}"
            folder.mkdir(parents=True)
            (folder / "gpu.yaml").write_text(ZEUS.replace("id: zeus", f"id: zeus{number}"))
            text = SERVER.replace("zeus-1", f"zeus-1{number}").replace("accelerator: zeus", "accelerator: zeus0")
            (folder / "server.yaml").write_text(text)
            (folder / "ours.yaml").write_text(f"{PROFILE}id: ours{number}\n")
            (folder / "cases.yaml").write_text(CASES)
        done = ffplan("check", str(whole), "--catalog", str(parts))
        assert (done.code, f"{folders} case files, {3 * folders} parts checked" in done.out) == (0, True), done.out
        own = [count for file, count in parsed.items() if file.startswith(str(whole))]
        assert len(own) == 4 * folders
        most.append(max(own))
        assert [count for file, count in parsed.items() if file.endswith("cases.yaml")] == [1] * folders
    assert most[0] == most[1] <= 2


def test_what_lies_beside_a_part_counts_before_the_other_files(parts: Path, tmp_path: Path) -> None:
    """The `zeus` of one folder is an accelerator, that of the next a model: each server takes the one beside it."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "zeus.yaml").write_text(MODEL.replace("id: hermes", "id: zeus"))
    (other / "server.yaml").write_text(SERVER.replace("zeus-1", "zeus-2"))
    done = ffplan("check", str(parts), str(other))
    assert done.code == 2
    assert done.out.count("`zeus` is a model; an accelerator is wanted here") == 1
    assert f"{other}/server.yaml" in done.out
    (other / "zeus.yaml").unlink()
    assert ffplan("check", str(other), str(parts)).code == 0


def test_a_price_of_no_part_is_found_with_the_nearest(parts: Path, tmp_path: Path) -> None:
    change(parts / "olymp.yaml", "{zeus-1:", "{zeus-11:")
    done = ffplan("check", str(parts))
    assert done.code == 0
    assert (
        "olymp.yaml:9:9: warning: no part `zeus-11` in the catalogue: the figure is unused [unused-figure]" in done.out
    )
    assert "did you mean `zeus-1`?" in done.out
    design = vary_design(tmp_path, "superpod-h100-4su", ("price_book: usd-2026", "price_book: olymp"))
    done = ffplan("check", str(design), "--catalog", str(parts))
    assert (
        f"{parts}/olymp.yaml:9:9: no part `zeus-11` in the catalogue: the figure is unused [unused-figure]" in done.out
    )
    assert "no-part" in ffplan("catalog audit price-book", "--catalog", str(parts), "-f", "csv").out


def test_searches_name_what_a_server_lacks(parts: Path) -> None:
    """They walk every server with a price, and every accelerator with its library."""
    change(parts / "zeus-1.yaml", "part: bolt-400g", "part: bolt-40")
    options = ("--prices", "olymp", "--accelerator", "zeus", "--catalog", str(parts))
    for command in ("recommend --model llama3-8b --tokens 1T --days 30", "init --gpus 8 --folder x"):
        done = ffplan(command, *options)
        assert done.code == 2
        assert "zeus-1.yaml:13:25: error: no NIC `bolt-40` in the catalogue [reference-unknown]" in done.err
    change(parts / "zeus.yaml", "id: zeus", "id: zeus\nlibrary: nccl2")
    done = ffplan("serve --gpus 2 --model llama3-8b --accelerator zeus --catalog", str(parts))
    assert (done.code, "no library `nccl2` in the catalogue [reference-unknown]" in done.err) == (2, True)


def test_a_study_that_is_nowhere_is_named(tmp_path: Path) -> None:
    old = "counted: {study: llama3-2024, events: [nic], over: nic}"
    overlay_part(tmp_path, "reliability-2026", (old, old.replace("2024", "204")))
    shown = ffplan("catalog show", "reliability-2026", "--catalog", str(tmp_path))
    assert (shown.code, "no failure study `llama3-204` in the catalogue" in shown.err) == (2, True)
    done = ffplan("check", str(tmp_path))
    assert (done.code, "no failure study `llama3-204` in the catalogue" in done.out) == (2, True)


def test_a_new_model_states_no_size_of_another(tmp_path: Path) -> None:
    """Its dimensions change, and its size with them; one that contradicts them is an error."""
    text = ffplan("catalog new", "model").out
    assert "\n# parameters: {value: 671000000000.0, source: todo}\n" in text
    assert "\nparameters:" not in text
    assert "\nactive:" not in text
    path = tmp_path / "new.yaml"
    path.write_text(text)
    assert ffplan("check", str(path)).out.count("catalog-todo") == 3
    path.write_text(text.replace("\n# parameters:", "\nparameters:").replace("layers: 61", "layers: 30"))
    done = ffplan("check", str(path))
    assert done.code == 1
    assert "error: 671 bn parameters, while the dimensions give 31" in done.out
    assert "`parameters` out: results count by the dimensions" in done.out


@pytest.mark.parametrize("kind", ["accelerator", "cpu", "link", "model", "nic", "price-book", "server", "switch"])
def test_templates_have_nothing_suspicious(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "new.yaml"
    path.write_text(ffplan("catalog new", kind).out)
    done = ffplan("check", str(path))
    assert done.code == 0
    assert done.out.count(": warning: ") == done.out.count("[catalog-todo]")


def test_a_model_shows_its_counted_parameters(parts: Path) -> None:
    """2 layers of 4 h^2 + 2 h 128 + 2 h weights, 2 V h of embeddings, and the last norm: h is 64, V 1,000."""
    assert 2 * (4 * 64**2 + 2 * 64 * 128 + 2 * 64) + 2 * 1000 * 64 + 64 == 193_856
    shown = ffplan("catalog show", "hermes", "--catalog", str(parts)).out
    assert "0.0001939 bn, counted from the dimensions" in shown
    assert "grade, status" not in shown  # a table without a row


def context(**params: Any) -> typer.Context:
    found = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))
    found.params.update(params)
    return found


def test_the_shell_offers_own_parts_and_kinds(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _complete_part(context(), "zeu") == []
    assert _complete_part(context(catalog=[str(parts)]), "zeu") == ["zeus", "zeus-1"]
    assert _complete_part(context(catalog=["nowhere"]), "zeu") == []
    (parts.parent / "ffplan.toml").write_text('catalog = ["parts"]\n')
    monkeypatch.chdir(parts.parent)
    assert _complete_part(context(), "zeu") == ["zeus", "zeus-1"]
    assert _complete_listed("acc") == ["accelerator"]
    assert _complete_listed("ren") == ["rent-book", "rents"]
    assert _complete_kind("ren") == ["rent-book"]


def test_folders_that_a_policy_names_and_nobody_reads_are_named(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    parts.rename(project / "parts")
    (project / "ffplan.toml").write_text('catalog = ["parts"]\n')
    vary_design(project, "superpod-h100-4su", ("price_book: usd-2026", "price_book: olymp"))
    monkeypatch.chdir(tmp_path)
    done = ffplan("check", "project/superpod-h100-4su.yaml")
    assert done.code == 2
    why = "`catalog` of project/ffplan.toml counts only for commands that run in its folder: run there, or add"
    assert f"{why} `--catalog project/parts`" in done.out
    assert "counts only" not in ffplan("check", "project/superpod-h100-4su.yaml", "--catalog", "project/parts").out
    monkeypatch.chdir(project)
    assert ffplan("check", "superpod-h100-4su.yaml").code == 0
