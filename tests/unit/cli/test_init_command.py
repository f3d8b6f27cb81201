"""`ffplan init`: designs to start from are valid, meet the wishes, and cost what `ffplan cost` says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ffplan import load
from ffplan.catalog.store import Catalog
from ffplan.cli.init import _PowerOf
from ffplan.studies.choose.candidates import POWERS, Wishes
from ffplan.studies.choose.first_designs import Builder
from tests.support import ROOT, but_few, ffplan, valid, vary_design


def started(folder: Path, options: str) -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    done = ffplan(f"init --folder {folder} --name mine -f json {options}")
    assert done.code == 0, done.err
    designs = valid(done.out, "init")["designs"]
    assert isinstance(designs, list)
    return designs


ACCELERATORS = ("h100-sxm-80gb", "b200", "gb200-gpu", "mi355x", "l40s", "a100-pcie-40gb")


@pytest.mark.parametrize("accelerator", but_few(ACCELERATORS, "gb200-gpu", "l40s"))
def test_designs_are_valid_and_costed(accelerator: str, tmp_path: Path) -> None:
    designs = started(tmp_path, f"--gpus 1000 --accelerator {accelerator}")
    assert len(designs) >= 2
    done = ffplan("check", str(tmp_path), "--fail-on", "error")
    assert done.code == 0, done.out
    for item in designs:
        assert item["accelerators"] >= 1000
        cost = json.loads(ffplan("cost", item["file"], "-f", "json").out)
        assert cost["tco"]["purchase"]["p50"] == item["cost"]
        assert cost["power"]["facility_peak_kw"] == item["facility_peak_kw"]
        assert cost["bom"]["missing"] == []


def test_budget_and_power_bound_the_size(tmp_path: Path) -> None:
    designs = started(tmp_path, "--accelerator b200 --budget $40M --power 5MW")
    assert len(designs) == 3
    for item in designs:
        assert item["cost"] <= 40e6
        assert item["facility_peak_kw"] <= 5000
        more = (tmp_path / item["file"]).read_text().replace(f"count: {item['nodes']}", f"count: {item['nodes'] + 1}")
        larger = tmp_path / "larger.yaml"
        larger.write_text(more)
        cost = json.loads(ffplan("cost", str(larger), "-f", "json").out)
        assert cost["tco"]["purchase"]["p50"] > 40e6  # one node more is too many


@pytest.mark.deep
def test_a_model_gets_nodes_that_its_plans_divide(tmp_path: Path) -> None:
    """1,096 H100 fit the budget; 1,088 train faster and cost less: 137 nodes are prime."""
    asked = "--accelerator h100-sxm-80gb --budget $46.3M"
    plain, designs = started(tmp_path, asked), started(tmp_path / "b", f"{asked} --model llama3-405b")
    first, most = designs[0], plain[0]
    assert (first["accelerators"], most["accelerators"]) == (1088, 1096)
    assert first["cost"] < 0.995 * most["cost"]
    assert first["fewer"].startswith("1,096 accelerators would fit the wishes; llama3-405b has 217,")
    assert [item["fewer"] for item in plain] == [None, None, None]
    larger = (tmp_path / "b" / first["file"]).read_text().replace("count: 136", "count: 137")
    (tmp_path / "larger.yaml").write_text(larger)
    rates = [
        json.loads(ffplan("train", str(file), "-f", "json").out)["rows"][0]["tokens_s"]
        for file in (tmp_path / "b" / first["file"], tmp_path / "larger.yaml")
    ]
    assert rates[0] == pytest.approx(first["tokens_s"])
    assert rates[0] > 0.99 * rates[1]
    small = started(tmp_path / "c", f"{asked} --model llama3-70b")[0]  # its plans divide 1,096 as well
    assert (small["accelerators"], small["fewer"]) == (1096, None)


def test_scale_up_domains_stay_whole(tmp_path: Path) -> None:
    for item in started(tmp_path, "--accelerator gb200-gpu --gpus 100"):
        assert item["nodes"] % 18 == 0
        assert item["accelerators"] == 144


def test_a_model_becomes_the_workload(tmp_path: Path) -> None:
    designs = started(tmp_path, "--accelerator h100-sxm-80gb --gpus 64 --model llama3-8b")
    for item in designs:
        assert "workload: {model: llama3-8b}" in (tmp_path / item["file"]).read_text()
        job = f"train {item['file']} --model llama3-8b --search --gpus 64 -f json --batch 512"
        rows = json.loads(ffplan(job).out)["rows"]
        assert item["tokens_s"] == pytest.approx(rows[0]["tokens_s"])


def test_a_model_that_does_not_fit_says_so(tmp_path: Path) -> None:
    (first, *_) = started(tmp_path, "--accelerator h100-sxm-80gb --gpus 8 --model llama3-405b")
    assert first["tokens_s"] is None
    assert "none of" in first["refused"]


def test_a_shipped_design_is_copied_under_another_name(tmp_path: Path) -> None:
    done = ffplan(f"init --from superpod-h100-4su --name ours --folder {tmp_path}")
    assert done.code == 0
    text = (tmp_path / "ours.yaml").read_text()
    assert "name: ours" in text
    assert "yaml-language-server" not in text
    found = json.loads(ffplan("diff", "superpod-h100-4su", str(tmp_path / "ours.yaml"), "-f", "json").out)
    assert [change["path"] for change in found["changes"]] == ["name"]
    again = ffplan(f"init --from superpod-h100-4su --name ours --folder {tmp_path}")
    assert again.code == 2
    assert "exists already; replace it with --force" in again.err
    (tmp_path / "ours.yaml").write_text("name: other\n")
    assert ffplan(f"init --from superpod-h100-4su --name ours --folder {tmp_path} --force").code == 0
    assert (tmp_path / "ours.yaml").read_text() == text


def test_a_copied_design_keeps_its_texts(tmp_path: Path) -> None:
    """U+2028 ends no line of an editor; name and description are as they were."""
    design = vary_design(tmp_path, "fire-flyer-2", ("description: ", "# a\u2028\ndescription: in two\u2028parts "))
    assert ffplan(f"init --from {design} --name ours --folder {tmp_path / 'new'}").code == 0
    copied = (tmp_path / "new" / "ours.yaml").read_text()
    assert copied.count("\u2028") == 2


def test_a_forced_design_takes_its_place_once_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old file stays if the disk is full; a link gives way, and what it names stays."""
    command, target = f"init --from fire-flyer-2 --name ours --folder {tmp_path} --force", tmp_path / "ours.yaml"
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text("name: other\n")
    target.symlink_to(elsewhere)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("ffplan.base.files.os.fsync", full)
        refused = ffplan(command)
    assert (refused.code, target.read_text()) == (2, "name: other\n")
    assert f"--folder {target}: cannot be written: No space left on device" in refused.err
    assert ffplan(command).code == 0
    assert "name: ours" in target.read_text()
    assert elsewhere.read_text() == "name: other\n"


def test_the_advice_of_an_unmet_wish_can_be_followed_in_the_same_folder(tmp_path: Path) -> None:
    command = f"init --accelerator h100-sxm-80gb --budget $1.2M --fabric rail-only --name hall --folder {tmp_path}"
    assert ffplan(f"{command} --gpus 64").code == 1
    (written,) = tmp_path.iterdir()
    assert "64 were asked for" in written.read_text()
    smaller = load(written).resolved.accelerators
    assert "--force" in ffplan(f"{command} --gpus {smaller}").err
    assert ffplan(f"{command} --gpus {smaller} --force").code == 0
    assert "were asked for" not in written.read_text()
    written.unlink()
    written.mkdir()
    assert f"{written} is a folder" in ffplan(f"{command} --gpus {smaller} --force").err


def test_a_switch_leaves_the_other_protocol_out_and_says_so(tmp_path: Path) -> None:
    done = ffplan(f"init --gpus 64 --accelerator h100-sxm-80gb --switch sn5600 --folder {tmp_path} -f json")
    report: Any = valid(done.out, "init")
    assert "other: the same with InfiniBand, but every switch of --switch is Ethernet" in report["left_out"]


def test_a_ratio_that_ports_round_is_printed_beside_the_one_asked_for(tmp_path: Path) -> None:
    started(tmp_path, "--gpus 1024 --accelerator h100-sxm-80gb")
    file = tmp_path / "mine-lean.yaml"
    assert file.read_text().startswith("# 1,024 accelerators; at most two downlinks for each uplink")
    fabric = json.loads(ffplan("design", str(file), "-f", "json").out)["fabric"]
    assert (fabric["most_oversubscription"], fabric["oversubscription"]) == (2.0, pytest.approx(5 / 3))
    assert "1.667:1; at most 2:1 asked" in ffplan("design", str(file), "--section", "fabric").out
    file.write_text(file.read_text().replace("oversubscription: 2:1", "oversubscription: 3:1"))
    assert "asked" not in ffplan("design", str(file), "--section", "fabric").out


WISHES = ("--accelerator", "h100-sxm-80gb", "--budget", "$160M", "--power", "5MW", "--prices", "usd-2026")


@pytest.mark.deep
def test_wishes_out_of_reach_get_the_sums_and_the_nearest_three_designs(tmp_path: Path) -> None:
    """4,096 H100 need more than either wish: 512 nodes of 10.2 kW alone draw 5.22 MW before any PUE."""
    done = ffplan(f"init --gpus 4096 --folder {tmp_path} -f json", *WISHES)
    assert done.code == 1
    assert "no design meets the wishes; those written have 2,936 accelerators" in done.err
    found: Any = valid(done.out, "init")
    unmet = found["unmet"]
    for item in unmet["designs"]:
        parts = item["compute_kw"] + item["storage_kw"] + item["network_kw"]
        assert item["compute_kw"] == pytest.approx(512 * 10.2)
        assert item["it_rated_kw"] == pytest.approx(parts)
        assert item["facility_peak_kw"] == pytest.approx(1.25 * parts)
        assert item["facility_kw"] == pytest.approx(1.25 * item["it_training_kw"])
        assert "of 5.00 MW at its peak" in item["unmet"]
    assert len(found["designs"]) == 3
    for item in found["designs"]:
        assert item["accelerators"] == 2936
        assert item["cost"] <= 160e6
        assert item["facility_peak_kw"] <= 5000
        assert (
            "# 4,096 were asked for; 160 mn USD and 5,000 kW at its peak allows 2,936."
            in (tmp_path / item["file"]).read_text()
        )
    assert ffplan("check", str(tmp_path)).code == 0
    more: Any = valid(ffplan(f"init --gpus 2944 --folder {tmp_path} --name more -f json", *WISHES).out, "init")
    assert len(more["designs"]) < 3  # one node more is too many for three designs


@pytest.mark.deep
@pytest.mark.parametrize("at", range(3))
def test_wishes_that_are_near_can_be_met(at: int, tmp_path: Path) -> None:
    """Each is typed in after the wishes, and gives as many designs as it says."""
    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.candidates import Wishes
    from ffplan.studies.choose.relaxed_targets import RelaxedSearch

    wishes = Wishes(
        accelerator="h100-sxm-80gb", gpus=4096, budget=160e6, watts=5e6, model=None, book="usd-2026", pue=1.25
    )
    search = RelaxedSearch(wishes, Catalog(), "near")
    near = search.unmet((2936, [], [])).near[at]
    asked = ["--gpus", "4096", *WISHES, *shlex.split(near.options), "--folder", str(tmp_path), "-f", "json"]
    done = ffplan("init", *asked)
    assert done.code == 0
    found: Any = valid(done.out, "init")
    designs = found["designs"]
    assert len(designs) == (near.designs or 3)
    assert ("accelerators" in near.keeps) == (designs[0]["accelerators"] == 4096)


@pytest.mark.parametrize(
    ("power_of", "field"),
    [("facility-peak", "facility_peak"), ("facility-training", "facility_training"), ("it-training", "it_power")],
)
def test_a_power_bounds_what_it_is_said_to_be(power_of: str, field: str, tmp_path: Path) -> None:
    designs = started(tmp_path, f"--accelerator b200 --power 1MW --power-of {power_of}")
    first = json.loads(ffplan("cost", designs[0]["file"], "--draws", "0", "-f", "json").out)["power"]
    names = {"facility-peak": "facility_peak_kw", "facility-training": "facility_kw", "it-training": "it_training_kw"}
    name = names[power_of]
    assert 900 < first[name] <= 1000
    assert f"  {field}: 1 MW" in (tmp_path / designs[0]["file"]).read_text()
    assert ffplan("check", str(tmp_path)).code == 0


def test_every_power_that_can_be_meant_can_be_asked_for() -> None:
    assert [item.value for item in _PowerOf] == list(POWERS)


@pytest.mark.deep
def test_a_budget_below_the_smallest_cluster_names_one_that_is_enough(tmp_path: Path) -> None:
    """Eight GPUs are the smallest; nothing is written."""
    done = ffplan(f"init --accelerator b200 --budget $1k --folder {tmp_path} -f json")
    assert (done.code, done.err.rstrip()) == (1, "ffplan init: no design meets the wishes")
    assert list(tmp_path.iterdir()) == []
    found: Any = valid(done.out, "init")
    (near,) = found["unmet"]["near"]
    budget = shlex.split(near["options"])
    again = ffplan("init", "--accelerator", "b200", *budget, "--folder", str(tmp_path))
    assert (again.code, budget[0]) == (0, "--budget")
    done = ffplan(f"init --gpus 64 --accelerator b200 --budget $1M --folder {tmp_path} --name more")
    assert "full  costs 3.66 of 1.00 million" in done.out


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("--accelerator b200", 2, "say how large: --gpus, --budget or --power"),
        ("--gpus 64", 2, "--accelerator ID"),
        ("--gpus 64 --accelerator b201", 2, "did you mean `b200`?"),
        ("--gpus 64 --accelerator tpu-v5p", 2, "prices no server with `tpu-v5p`"),
        ("--gpus 64 --accelerator b200 --budget 1", 2, "--budget: "),
        ("--gpus 64 --accelerator b200 --budget 5EUR", 2, "--budget is in EUR, the price book `usd-2026` in USD"),
        ("--gpus 64 --accelerator b200 --power 5", 2, "--power: `5` is not a power"),
        ("--gpus 64 --accelerator b200 --model resnet-50", 2, "name a transformer"),
        ("--gpus 64 --accelerator b200 --name A/b", 2, "`A/b` is invalid"),
        ("--gpus 64 --from fire-flyer-2", 2, "--from copies a design as it is"),
        (
            "--gpus 64 --accelerator b200 --folder README.md/x",
            2,
            "--folder: README.md/x cannot be made: Not a directory",
        ),
        ("--gpus 64 --accelerator b200 --switch sn2201", 2, "`sn2201` takes no NIC of `hgx-b200-8nic`"),
        ("--gpus 64 --accelerator b200 --fabric torus", 2, "--fabric: no `torus`"),
        ("--from fire-flyer-9", 2, "did you mean `fire-flyer-2`"),
    ],
)
def test_wishes_that_cannot_be_met(options: str, code: int, words: str) -> None:
    done = ffplan("init", *options.split())
    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert not (ROOT / "b200-full.yaml").exists()


def test_switch_and_fabric_of_the_designs(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "designs"  # which is made
    done = ffplan(f"init --gpus 2048 --accelerator H200 --switch SN5600 --fabric rail-optimized --folder {folder}")
    assert done.code == 0, done.err
    designs = [load(path).spec.fabric for path in sorted(folder.iterdir())]
    assert len(designs) == 3
    assert {(fabric.switch, fabric.family) for fabric in designs} == {("sn5600", "rail-optimised")}


@pytest.mark.parametrize("family", ["fat-tree", "rail-only"])
def test_designs_have_the_wanted_family(tmp_path: Path, family: str) -> None:
    done = ffplan(f"init --gpus 64 --accelerator h200 --fabric {family} --folder {tmp_path}")
    assert done.code == 0, done.err
    assert {load(path).spec.fabric.family for path in tmp_path.iterdir()} == {family}


@pytest.mark.parametrize(
    "command", ["init --accelerator h200-sxm --gpus 64", "recommend --tokens 500B --days 30 --folder designs"]
)
def test_designs_never_name_a_model_that_no_catalogue_has(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of another program's file goes into a catalogue first, as the refusal says."""
    monkeypatch.chdir(tmp_path)
    shape = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}
    more = {"intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192}
    Path("config.json").write_text(json.dumps({"model_type": "llama", "architectures": ["Llama"], **shape, **more}))
    done = ffplan(*command.split(), "--model", "config.json")
    assert done.code == 2
    (said,) = re.findall(r"`ffplan (fabric import model .*?)`, then (--catalog .*)", done.err)
    Path("parts").mkdir()
    assert ffplan(*said[0].split()).code == 0
    if command.startswith("init"):
        assert ffplan(*command.split(), *said[1].split()).code == 0


@pytest.mark.parametrize(
    "wish",
    [
        ("--gpus", "64"),
        ("--accelerator", "b200"),
        ("--budget", "$1M"),
        ("--power", "1MW"),
        ("--power-of", "it-peak"),
        ("--power-of", "facility-peak"),
        ("--switch", "qm9700"),
        ("--fabric", "fat-tree"),
        ("--model", "llama3.1-8b"),
        ("--prices", "usd-2024"),
        ("--pue", "1.25"),
    ],
)
def test_a_copy_takes_no_wish_whatever_its_value(wish: tuple[str, str], tmp_path: Path) -> None:
    done = ffplan("init", "--from", "fire-flyer-2", *wish, "--folder", str(tmp_path))
    assert done.code == 2
    assert f"--from copies a design as it is; drop {wish[0]}, or --from" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("power_of", list(POWERS))
def test_a_wished_power_is_a_limit_that_check_holds(power_of: str, tmp_path: Path) -> None:
    """It holds as written, and is broken by the last limit that the same design does not meet."""
    (item, *_) = started(tmp_path, f"--accelerator h100-sxm-80gb --power 400kW --power-of {power_of} --pue 1.4")
    path = Path(item["file"])
    assert ffplan("check", item["file"], "--fail-on", "error").code == 0
    count = re.search(r"count: (\d+)", path.read_text())
    assert count is not None
    path.write_text(path.read_text().replace(count[0], f"count: {int(count[1]) + 4}"))
    assert "above the limit of at most" in ffplan("check", item["file"]).out


@pytest.mark.parametrize(("switch", "known"), [("chassis-576x400g", False), ("qm9700", True)])
def test_a_power_without_some_parts_is_the_least(switch: str, known: bool, tmp_path: Path) -> None:
    """The parts are those of `cost`; with a wish for power, such a switch is not taken."""
    options = f"--gpus 288 --accelerator h100-sxm-80gb --switch {switch}"
    for item in started(tmp_path, options):
        gaps = json.loads(ffplan("cost", item["file"], "--draws", "0", "-f", "json").out)["power"]["missing"]
        assert item["unrated"] == [f"`{gap['path']}` of `{gap['part']}`" for gap in gaps]
        assert bool(item["unrated"]) != known
    text = " ".join(ffplan(f"init --folder {tmp_path} --force {options}").out.split())
    assert ("at least" in text) != known
    assert (f"its power is partial: no `power` of `{switch}`" in text) != known
    short = " ".join(ffplan(f"init --folder {tmp_path} --force {options} --budget $1M").out.split())
    assert ("at least" in short) != known
    asked = ffplan(f"init --folder {tmp_path} --force {options} --power 90MW")
    assert (asked.code == 0) == known


@pytest.mark.parametrize("wish", [{"watts": 90e6}, {"powered": True}, {}])
def test_no_switch_of_unknown_power_is_compared_by_power(wish: dict[str, Any]) -> None:
    catalog = Catalog()
    builder = Builder(Wishes(accelerator="h100-sxm-80gb", book="usd-2026", pue=1.25, gpus=288, **wish), catalog, "mine")
    assert any(parts.switch.power is None for parts in builder.choices) == (not wish)
    assert any(parts.switch.power is not None for parts in builder.choices)


def test_a_kind_of_power_without_a_power_is_refused(tmp_path: Path) -> None:
    done = ffplan(f"init --accelerator b200 --power-of it-peak --folder {tmp_path}")
    assert done.code == 2
    assert "--power-of has an effect with --power only" in done.err
