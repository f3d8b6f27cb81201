"""The Python door: the same numbers as the commands, lazily, with errors for people."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ffplan as api
from ffplan.base.outcomes import DRAWS
from ffplan.base.plain import plain
from ffplan.results.comparison import NO_OPTIONS
from tests.support import ROOT, ffplan, ffplan_once, vary_design

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def printed(command: str) -> Any:
    done = ffplan_once(*command.split(), "--format", "json")
    assert done.code in (0, 1), done.err
    return json.loads(done.out)


@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("design fire-flyer-2", lambda: api.assess("fire-flyer-2")),
        (
            "compare fire-flyer-2 dgx-a100-10k --baseline dgx-a100-10k",
            lambda: api.compare("fire-flyer-2", "dgx-a100-10k", baseline="dgx-a100-10k"),
        ),
        (
            "collective superpod-h100-4su --op all_gather --gpus 8,64 --size 1MiB,1GiB",
            lambda: api.collective("superpod-h100-4su", "all_gather", gpus=[8, 64], sizes=["1MiB", "1GiB"]),
        ),
        (
            "collective superpod-h100-4su --op dispatch --gpus 64 --tokens 128",
            lambda: api.collective("superpod-h100-4su", "dispatch", gpus=64, tokens={"tokens": 128}),
        ),
        (
            "collective superpod-h100-4su --op combine --gpus 8 --sms 4",
            lambda: api.collective("superpod-h100-4su", "combine", gpus=8, tokens={"sms": 4}),
        ),
        (
            "train superpod-h100-4su -m llama3-8b --gpus 64,128 --batch 256 --tp 2",
            lambda: api.train("superpod-h100-4su", "llama3-8b", gpus=[64, 128], batch=256, tensor=2),
        ),
        (
            "train superpod-h100-4su -m llama3-8b --gpus 64 --batch 256 --search --top 2",
            lambda: api.search("superpod-h100-4su", "llama3-8b", gpus=64, batch=256, top=2),
        ),
        ("size --endpoints 5000 --switch qm8700", lambda: api.size(5000, "qm8700")),
    ],
)
def test_functions_return_what_commands_print(command: str, call: Callable[[], Any]) -> None:
    assert json.loads(json.dumps(call().to_dict())) == printed(command)


def test_a_job_is_that_of_the_commands(tmp_path: Path) -> None:
    """The job of a design's own `workload`, of other tokens, and of a model, with its days and money."""
    files = [tmp_path / f"{name}.yaml" for name in ("superpod-h100-4su", "superpod-b200-4su")]
    for file in files:
        text = (ROOT / "designs" / file.name).read_text()
        file.write_text(f"{text}\nworkload: {{model: llama3-8b, tokens: 100B, gpus: 64}}\n")
    both = " ".join(map(str, files))
    asked: dict[str, Any] = {
        "model": "llama3-8b",
        "tokens": 2e12,
        "gpus": 128,
        "years": 3,
        "effort": "tuned",
        "draws": 50,
    }
    options = "--model llama3-8b --tokens 2T --gpus 128 --years 3 --effort tuned --draws 50"
    calls: list[tuple[str, Callable[[], Any]]] = [
        (f"cost {files[0]}", lambda: api.costs(files[0])),
        (f"cost {files[0]} --tokens 2T", lambda: api.costs(files[0], tokens=2e12)),
        (f"compare {both}", lambda: api.compare(*files)),
        (f"compare {both} --tokens 2T", lambda: api.compare(*files, tokens=2e12)),
        (f"compare {both} {options}", lambda: api.compare(*files, **asked)),
    ]
    for command, call in calls:
        assert json.loads(json.dumps(call().to_dict())) == printed(command), command


@pytest.mark.parametrize(
    "call",
    [
        api.assess,
        lambda design: api.compare(design, "dgx-a100-10k"),
        lambda design: api.train(design, "llama3-8b", gpus=64, batch=256, tensor=2, recompute="full"),
        lambda design: api.sweep(design, {"nodes[0].count": [40, 80]}).report,
    ],
    ids=["assess", "compare", "train", "sweep"],
)
def test_results_compare_by_value(call: Callable[[Any], object]) -> None:
    """The same design gives an equal result, read anew; a different one does not."""
    design = api.load("superpod-h100-4su")
    first = call(design)
    assert first == call("superpod-h100-4su")
    assert first != call(design.vary({"name": "another", "fabric.oversubscription": 3}))


def test_import_alone_loads_nothing() -> None:
    heavy = "('ffplan', 'numpy', 'pydantic', 'yaml')"
    code = f"import sys, ffplan; dir(ffplan); print(sorted(m for m in sys.modules if m.startswith({heavy})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['ffplan', 'ffplan.base', 'ffplan.base.version']"
    assert set(api.__all__) <= set(dir(api))
    assert all(getattr(api, name) is not None for name in api.__all__)
    with pytest.raises(AttributeError, match="no attribute 'asses'"):
        api.asses  # noqa: B018


def test_designs_vary_and_are_checked() -> None:
    design = api.load("fire-flyer-2")
    assert api.load(design) is design
    assert design.vary({"nodes[0].count": 100}).resolved.compute.group.count == 100
    assert design.resolved.compute.group.count == 1250
    assert "10,000 accelerators" in repr(design)
    assert api.load(f"# text\n{(ROOT / 'designs' / 'fire-flyer-2.yaml').read_text()}").name == "fire-flyer-2"
    with pytest.raises(api.InputError, match="at least 1"):
        design.vary({"nodes[0].count": 0})
    with pytest.raises(api.UsageError, match="has no `9` there"):
        design.vary({"nodes[9].count": 3})
    with pytest.raises(api.UsageError, match="did you mean `fire-flyer-2`"):
        api.load("fire-flyer-3")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: api.compare("fire-flyer-2"), "at least two"),
        (lambda: api.compare("fire-flyer-2", "dgx-a100-10k", tokens=1e12), "compare: no model, and no `workload`"),
        (lambda: api.compare("fire-flyer-2", "dgx-a100-10k", years=3), "have an effect with tokens only"),
        (lambda: api.compare("fire-flyer-2", "dgx-a100-10k", gpus=8), "have an effect with a model only"),
        (lambda: api.compare("fire-flyer-2", "dgx-a100-10k", model="llama3-8b"), "needs a batch or tokens"),
        (lambda: api.costs("fire-flyer-2", tokens=1e12), "costs: no model, and no `workload`"),
        (
            lambda: api.costs("fire-flyer-2", tokens=float("inf")),
            "costs: tokens: `inf` is not a number of tokens; write 300B",
        ),
        (lambda: api.costs("fire-flyer-2", years=0), "costs: years: `0`: give a number of at least 0.5"),
        (
            lambda: api.compare("fire-flyer-2", "dgx-a100-10k", gpus=-8),
            "compare: gpus: `-8`: give a whole number from 1",
        ),
        (
            lambda: api.compare("fire-flyer-2", "dgx-a100-10k", draws=-1),
            "compare: draws: `-1`: give a whole number from 0",
        ),
        (lambda: api.compare("fire-flyer-2", "dgx-a100-10k", baseline="x"), "not among"),
        (lambda: api.collective("fire-flyer-2", "nothing"), "no operation"),
        (lambda: api.collective("fire-flyer-2", sizes="12 parsecs"), "sizes"),
        (lambda: api.collective("fire-flyer-2", sizes=[]), "sizes: give one, or several"),
        (lambda: api.collective("superpod-h100-4su", "all-gather", gpus=64, algorithm="pat"), "accelerator on each"),
        (lambda: api.train("superpod-h100-4su", "llama3-9b"), "did you mean"),
        (lambda: api.train("superpod-h100-4su", "llama3-8b", gpus=64, batch=7, zero=3), "take --batch 64; "),
        (lambda: api.search("superpod-h100-4su", "llama3-8b", gpus=[8, 16]), "gpus: a list"),  # type: ignore[arg-type]
        (lambda: api.size(100, "qm8701"), "did you mean"),
        (lambda: api.size(100, "qm8700", colour="red"), "no keyword `colour`"),  # type: ignore[call-arg]
        (lambda: api.size(0, "qm8700"), "endpoints: `0`: give a whole number from 2"),
        (lambda: api.size(100, "qm8700", tiers=(1, 9)), "from 1 to 3"),
        (lambda: api.size(100, "qm8700", oversubscription=float("nan")), "out of range"),
        (lambda: api.size(100, "qm8700", core_policy="x"), "`equal-stripe`, `minimal`"),  # type: ignore[arg-type]
        (lambda: api.size(100, None), "size: switch: nothing is no name"),  # type: ignore[arg-type]
        (lambda: api.collective("fire-flyer-2", library="nope"), "no library `nope`"),
        (lambda: api.collective("fire-flyer-2", gpus=float("nan")), "gpus: `nan`: give a whole number"),  # type: ignore[arg-type]
        (lambda: api.collective("fire-flyer-2", gpus=1.5), "gpus: `1.5`: give a whole number"),  # type: ignore[arg-type]
        (lambda: api.collective("fire-flyer-2", tokens={"tokens": 1}), "no effect"),
        (lambda: api.search("superpod-h100-4su", "llama3-8b", gpus=64, batch=256, top=0), "top"),
        (lambda: api.train("superpod-h100-4su", "llama3-8b", gpus=64, batch=64, memory=float("nan")), "memory"),
        (lambda: api.load(None), "cannot load NoneType"),  # type: ignore[arg-type]
        (lambda: api.load(api.load("fire-flyer-2"), catalogs=["x"]), "already"),
        (lambda: api.assess_many("fire-flyer-2", {"site.pue": ["a"]}), "no array of numbers"),
        (lambda: api.assess_many("fire-flyer-2", {"site.pue": []}), "empty array"),
        (lambda: api.assess_many("fire-flyer-2", {"site.pue": [1, 2], "nodes[0].count": [1, 2, 3]}), "broadcast"),
        (lambda: api.assess_many("fire-flyer-2", {"site.pue": 9}), "at most 5"),
        (lambda: api.assess_many(3), "one design, or several"),  # type: ignore[arg-type]
        (lambda: api.assess_many(["fire-flyer-2"], {"site.pue": [1.2]}), "axes vary one design"),
        (lambda: api.assess_many("dragonfly-a100", {"site.pue": [1.2]}), "one by one"),
    ],
)
def test_errors_are_for_people(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(api.FfplanError, match=words):
        call()


def test_results_become_frames_and_html() -> None:
    pytest.importorskip("pandas")
    report = api.size(5000, "qm8700")
    frame = report.to_frame()
    assert list(frame["switches"]) == [option.switches for option in report.options]
    whole = api.assess("fire-flyer-2")
    assert whole.to_frame().set_index("path")["value"]["fabric.switches.total"] == 122
    html = whole._repr_html_()
    assert html is not None
    assert html.startswith("<div><h3>fire-flyer-2</h3>")
    assert html.count("<table>") == html.count("</table>") > 3
    assert "<script" not in html


def test_numbers_of_numpy_are_numbers() -> None:
    assert api.load("fire-flyer-2").vary({"nodes[0].count": np.int64(5)}).resolved.accelerators == 40
    assert len(api.collective("superpod-h100-4su", gpus=np.array([8, 16]), sizes=float(np.float32(1e6))).rows) == 2
    small = api.assess_many("fire-flyer-2", {"prices.qm8700": np.array([200], np.uint8)})
    assert small["cost.total"] == api.assess_many("fire-flyer-2", {"prices.qm8700": [200.0]})["cost.total"]


def test_studies_of_one_design_do_not_see_each_other() -> None:
    design = api.load("superpod-h100-4su")
    before = api.assess(design).to_dict()
    api.train(design, "llama3-8b", gpus=64, batch=256, tensor=2)
    assert api.assess(design).to_dict() == before


def test_rails_that_share_switches_are_the_same_alone_and_in_an_array(tmp_path: Path) -> None:
    """Switches of 64 ports hold 8 rails of 8 nodes, 4 of 16, 2 of 32 and 1 of 64."""
    change = (("family: rail-optimised", "family: rail-only"), ("  scalable_unit: 32\n", ""), ("tiers: 2", "tiers: 1"))
    text = vary_design(tmp_path, "superpod-h100-4su", *change).read_text()
    path = tmp_path / "rails.yaml"
    head, rest = text.split("floor:")
    path.write_text(head.replace(", rack_units: 8", "") + rest[rest.index("communication:") :])
    counts = [8, 64, 9, 32]
    many = api.assess_many(str(path), {"nodes[0].count": counts})
    assert many["fabric.switches.total"].tolist() == [1, 8, 2, 4]
    for position, count in enumerate(counts):
        alone = api.assess(api.load(str(path)).vary({"nodes[0].count": count}))
        assert many["fabric.switches.total"][position] == alone.fabric.switches.total
        assert many["cost.total"][position] == alone.cost.total
        assert many["fabric.bisection_gbyte_s"][position] == alone.fabric.bisection_gbyte_s


def test_what_cannot_be_built_alone_can_be_healed_by_an_axis() -> None:
    design = api.load("fire-flyer-2").vary({"nodes[0].count": 1})
    assert api.assess_many(design, {"nodes[0].count": [1, 900]}).feasible.tolist() == [True, True]
    wanted = {"fabric.oversubscription": [3.0, 2.5], "nodes[0].count": [9000, 1250]}
    table = api.assess_many("fire-flyer-2", wanted).to_dict()
    assert table["axis.fabric.oversubscription"] == [3.0, 2.5]
    assert table["feasible"] == [False, True]
    mixed = api.assess_many(["fire-flyer-2", api.load("fire-flyer-2").vary({"nodes[0].count": 5000})])
    assert mixed.feasible.tolist() == [True, False]


def test_designs_one_by_one() -> None:
    pytest.importorskip("pandas")
    many = api.assess_many(["fire-flyer-2", "dragonfly-a100"])
    assert many["fabric.switches.total"].tolist() == [122, 1000]
    assert np.isnan(many["fabric.switches.leaf"][1])
    assert many.to_frame()["axis.design.name"].tolist() == ["fire-flyer-2", "dragonfly-a100"]
    assert "2 designs, 2 can be built" in repr(many)
    assert many.to_dict()["feasible"] == [True, True]
    assert plain(many["fabric.switches.router"][1]) == 1000


@pytest.mark.deep
def test_the_notebook_runs() -> None:
    """In a process of its own: a kernel warns about much that is not ours."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    code = (
        "import nbclient, nbformat; book = nbformat.read('docs/python.ipynb', 4); "
        "nbclient.NotebookClient(book, timeout=120, kernel_name='python3').execute()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_number_of_draws_is_stated_once() -> None:
    """A default of its own would drift from that of `ffplan cost`."""
    stated = re.compile(r"\bdraws\b[^\n=]*= 10_000\b", re.IGNORECASE)
    files = [path for path in (ROOT / "ffplan").rglob("*.py") if stated.search(path.read_text())]
    assert files == [ROOT / "ffplan" / "base" / "outcomes.py"]
    defaults = [inspect.signature(call).parameters["draws"].default for call in (api.compare, api.costs, api.fleet)]
    assert [*defaults, NO_OPTIONS.draws] == [DRAWS] * 4
    for command in ("cost", "compare", "fleet"):
        assert f"{DRAWS:,} if" in " ".join(ffplan(command, "--help-all").out.split())
