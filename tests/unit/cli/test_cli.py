"""The front door: exit codes, streams, files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import ffplan as package
from ffplan.base.errors import FfplanError
from tests.support import ROOT, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path


def test_version() -> None:
    assert ffplan("--version").out == f"ffplan {package.__version__}\n"
    assert ffplan("design", "--help").code == 0


def test_results_on_stdout_only() -> None:
    run = ffplan("design", "fire-flyer-2", "--format", "json")
    assert (run.code, run.err) == (0, "")
    assert json.loads(run.out)["design"]["name"] == "fire-flyer-2"


def test_a_shipped_design_by_name_and_by_path_are_one() -> None:
    one = ffplan("design", "fire-flyer-2", "--format", "json").out
    assert one == ffplan("design", "designs/fire-flyer-2.yaml", "--format", "json").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("design",), "Missing argument"),
        (("design", "fire-flyer-2", "--format", "xml"), "xml"),
        (("desing", "fire-flyer-2"), "no command `desing`; did you mean `design`?"),
        (("compare", "fire-flyer-2"), "at least two designs"),
        (("compare", "fire-flyer-2", "fire-flyer-2"), "is named twice"),
        (("compare", "fire-flyer-2", "dgx-a100-10k", "--baseline", "dgx"), "is not among the designs"),
        (("design", "fire-flyer-2", "-o", "/no/such/folder/x"), "cannot be written"),
        (("design", "fire-flyer-2", "-o", "/tmp"), "this is a folder"),
        (("design", "fire-flyer-2", "--catalog", "/no/such/folder"), "cannot be read"),
        (("design", "fire-flyer-2", "--catalog", str(ROOT / "ffplan" / "base")), "no .yaml file, only"),
        (("catalog", "show", "qm8800"), "did you mean `qm8700`"),
        (("catalog", "list", "swich"), "did you mean `switch`"),
        (("schema", "desing"), "desing"),
    ],
)
def test_bad_usage_exits_with_2_and_says_why(arguments: tuple[str, ...], words: str) -> None:
    run = ffplan(*arguments)
    assert (run.code, run.out) == (2, "")
    assert words in run.err
    assert "Traceback" not in run.err


def test_a_name_with_a_nul_is_refused() -> None:
    from typer.testing import CliRunner

    from ffplan.cli.app import build

    result = CliRunner().invoke(build(), ["design", "a\x00b"])
    assert isinstance(result.exception, FfplanError)
    assert result.exception.exit_code == 2


def test_output_is_written_whole(tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    target.write_text("before")
    run = ffplan("design", "fire-flyer-2", "--format", "markdown", "-o", str(target))
    assert (run.code, run.out) == (0, "")
    assert target.read_text() == ffplan("design fire-flyer-2 --format markdown").out
    failed = ffplan("design", "tests/published/fire-flyer-2-full-counts.yaml", "-o", str(target))
    assert failed.code == 2
    assert target.read_text().startswith("# fire-flyer-2\n")
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


def test_output_follows_a_link_and_takes_a_device(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("")
    link.symlink_to(real)
    assert ffplan("design", "fire-flyer-2", "-o", str(link)).code == 0
    assert link.is_symlink()
    assert real.read_text().startswith("fire-flyer-2")
    assert ffplan("design", "fire-flyer-2", "-o", os.devnull).code == 0


def shell(command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run ffplan in a shell, for what only a shell does."""
    text = command.replace("ffplan", f"{sys.executable} -m ffplan", 1)
    return subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **env}
    )


def test_a_closed_pipe_is_neither_a_finding_nor_a_bug() -> None:
    done = shell("ffplan design fire-flyer-2 --format csv | true; echo ${PIPESTATUS[0]}")
    assert done.stdout.strip() in {"0", "141"}
    assert done.stderr == ""


@pytest.mark.parametrize(
    "command",
    [
        "ffplan design fire-flyer-2 >&-",
        "ffplan check fire-flyer-2 > /dev/full",
        "ffplan --help > /dev/full",
        "ffplan --version > /dev/full",
    ],
)
def test_standard_output_that_takes_nothing_is_bad_usage(command: str) -> None:
    done = shell(command)
    assert done.returncode == 2
    assert "standard output" in done.stderr
    assert "a bug of ours" not in done.stderr


@pytest.mark.deep
def test_a_terminal_without_unicode_still_gets_its_report(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", ("description: 10,000", "description: Größe 集群 10,000"))
    for form in ("table", "json"):
        done = shell(f"ffplan design {path} --full --format {form}", PYTHONIOENCODING="ascii")
        assert done.returncode == 0, done.stderr
        assert "Gr\\xf6\\xdfe" in done.stdout


def test_a_report_never_replaces_a_design(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2")
    before = path.read_text()
    for command in ("design", "check"):
        run = ffplan(command, str(path), "-o", str(path))
        assert run.code == 2
        assert "no YAML file is replaced" in run.err
    assert path.read_text() == before


def test_a_dash_stands_for_standard_output() -> None:
    assert ffplan("design", "fire-flyer-2", "-o", "-").out == ffplan("design", "fire-flyer-2").out


def test_a_design_through_a_pipe_of_the_shell() -> None:
    done = shell("ffplan design <(cat designs/fire-flyer-2.yaml)")
    assert done.returncode == 0, done.stderr


def test_two_versions_of_one_design_are_told_apart_by_file(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", ("count: 1250", "count: 1200"))
    run = ffplan("compare", "designs/fire-flyer-2.yaml", str(path), "--format", "json")
    document = json.loads(run.out)
    assert document["labels"] == ["designs/fire-flyer-2.yaml", str(path)]
    assert document["ratios"][str(path)]["accelerators"] == 0.96


def test_names_of_files_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m.yaml"
    path.write_text("name: [")
    run = ffplan("check", str(path))
    assert "\x1b" not in run.out
    assert "a?[31m.yaml:1:8:" in run.out  # not in a line after the last


def test_a_bug_of_ours_exits_with_70(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from ffplan.cli import app

    def broken(only: str | None, name: str | None, *, brief: bool) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(app, "build", broken)
    assert app.run() == 70
    assert "a bug of ours: RuntimeError: boom" in capsys.readouterr().err


def test_colour_only_on_a_terminal_that_wants_it() -> None:
    import pty

    def on_terminal(**env: str) -> str:
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "ffplan", "design", "fire-flyer-2", "--full"],
            stdout=child,
            stderr=child,
            stdin=child,
            env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", "COLUMNS": "100", **env},
        )
        os.close(child)
        chunks = []
        while True:
            try:
                chunk = os.read(parent, 65536)
            except OSError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        process.wait(timeout=60)
        os.close(parent)
        return b"".join(chunks).decode()

    assert "\x1b[" in on_terminal()
    plain = on_terminal(NO_COLOR="1")
    assert "\x1b[3" not in plain
    assert "122 = 80 leaf" in plain
    assert "\x1b[" not in ffplan("design", "fire-flyer-2").out


def test_catalogue_commands() -> None:
    listed = ffplan("catalog", "list", "switch").out
    assert "qm8700" in listed
    assert "epyc" not in listed
    shown = ffplan("catalog", "show", "epyc-7502").out
    assert "37.5 GB/s" in shown
    assert "86.4 % (86.4 to 100)" in " ".join(shown.split())
    figures = json.loads(ffplan("catalog", "show", "epyc-7502", "--format", "json").out)["figures"]
    port = next(figure for figure in figures if figure["path"] == "root_port.both_way_share")
    assert (port["value"], port["unit"], port["status"], port["grade"]) == (86.4, "%", "D", "derived")
    parts = json.loads(ffplan("catalog", "list", "--format", "json").out)["parts"]
    assert len(parts) == sum("measurements" not in path.parts for path in (ROOT / "catalogs").rglob("*.yaml"))


def test_comparison_needs_one_currency_for_cost_ratios() -> None:
    run = ffplan("compare", "fire-flyer-2", "fire-flyer-next", "--format", "json")
    assert run.code == 0
    document = json.loads(run.out)
    assert document["ratios"]["fire-flyer-next"]["cost_total"] is None
    assert any("two currencies are never compared" in note for note in document["notes"])


def test_broken_designs_of_a_comparison_are_all_reported() -> None:
    path = "tests/published/fire-flyer-2-full-counts.yaml"
    run = ffplan("compare", path, "fire-flyer-2", "tests/conftest.py")
    assert run.code == 2
    assert "fabric-capacity" in run.err
    assert "tests/conftest.py:" in run.err


def test_the_top_has_few_names_on_one_screen() -> None:
    """The sixteen of the plan, and `fleet`."""
    lines = ffplan("--help").out.splitlines()
    names = [line.split()[0] for line in lines[lines.index("Plan:") :] if line.startswith("  ")]
    assert len(names) <= 17
    assert (len(lines) <= 40, max(map(len, lines)) <= 80) == (True, True)


@pytest.mark.parametrize(("former", "now"), [("size", "fabric size"), ("cabling", "fabric cables")])
def test_a_former_name_works_and_says_the_new_one(former: str, now: str) -> None:
    old, new = ffplan(former, "--help"), ffplan(now, "--help")
    assert (old.code, old.out) == (new.code, new.out) == (0, new.out)
    assert old.err.startswith(f"ffplan: `ffplan {former}` is now `ffplan {now}`")


def test_help_shows_common_options_and_help_all_every_one() -> None:
    brief, whole = ffplan("train", "--help").out, ffplan("train", "--help-all").out
    assert ("--grad-reduce-dtype" in brief, "--grad-reduce-dtype" in whole) == (False, True)
    assert "rarer options: --help-all" in brief
    assert "rarer options" not in whole


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fabric export superpod-h100-4su --to ports", "--to ports is a page for a browser"),
        ("design superpod-h100-4su --format html", "--format html is a page for a browser"),
        ("model accuracy memory -f html", "add `-o page.html`"),
        ("explain rail -f html", "with a design and a PATH"),
        ("init --gpus 64 -f html", "end the command with `> page.html`"),
    ],
)
def test_a_page_is_not_printed_on_a_terminal(
    command: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ffplan.cli.output._to_terminal", lambda output: output is None)
    done = ffplan(command)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    if command.split()[0] not in ("explain", "init"):
        assert ffplan(f"{command} -o page.html").code == 0
        assert (tmp_path / "page.html").read_text().lower().startswith("<!doctype html>")


def test_options_of_a_long_help_stand_under_headings_once_each() -> None:
    """All options of a command are shown once, and every option of a heading belongs to a command."""
    from ffplan.cli.commands import HEADINGS
    from tests.pages import commands

    known = commands()
    options = {name for command in known.values() for param in command.params for name in param.opts}
    listed = [name for names in HEADINGS.values() for name in names]
    assert set(listed) - {"--help"} <= options | {"--full", "--section"}
    assert len(listed) == len(set(listed))
    for name in ("train", "recommend", "serve"):
        lines = ffplan(name, "--help-all").out.splitlines()
        below = lines[lines.index("Job:") :]
        words = [word.strip(",") for line in below if line.startswith("  -") for word in line.split()[:2]]
        shown = [word for word in words if word.startswith("--")]
        params = [param for param in known[name].params if param.param_type_name == "option"]
        own = [option for param in params for option in param.opts if option.startswith("--")]
        assert sorted(shown) == sorted({*own, "--full", "--section", "--help"})
        assert {f"{heading}:" for heading in ("Job", "Parts", "Output")} <= set(lines)
