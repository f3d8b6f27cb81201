from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError, UsageError
from ffplan.catalog.folders import KINDS, OTHER_WORDS
from ffplan.catalog.parts import Switch
from ffplan.catalog.store import Catalog
from ffplan.studies.explain.catalog import part_list
from tests.support import assess_file, document, ffplan, overlay_part

if TYPE_CHECKING:
    from pathlib import Path


def test_the_first_folder_wins_and_the_report_says_so(overlay: Path) -> None:
    overlay_part(overlay, "qm8700", ("value: 253 W", "value: 300 W"))
    assessment = assess_file("fire-flyer-2", str(overlay))
    paths = {item.id: item.path for item in assessment.catalog}
    assert paths["qm8700"] == f"{overlay}/qm8700.yaml"
    assert paths["hdr-aoc"] == "catalogs/links/generic/hdr-aoc.yaml"
    plain = assess_file("fire-flyer-2")
    assert assessment.power.it_kw - plain.power.it_kw == pytest.approx(122 * 0.047)


def test_an_unknown_part_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean `qm8700`"):
        Catalog().get(Switch, "qm8800", document("a: 1"), ("a",))


def test_a_part_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="is a NIC; a switch is wanted"):
        Catalog().get(Switch, "connectx-6-200g", document("a: 1"), ("a",))


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Catalog([str(tmp_path / "nowhere")])


def test_two_files_of_one_id_are_refused_where_that_id_is_read(overlay: Path) -> None:
    """Fifty other parts are no worse for it, and `catalog list` names both files."""
    for folder in ("a", "b"):
        (overlay / folder).mkdir()
        (overlay / folder / f"{folder}.yaml").write_text("kind: nic\nid: same\n")
    catalog = Catalog([str(overlay)])
    assert catalog.entry("qm8700").part.kind == "switch"
    assert catalog.kind_of("same") == ""
    with pytest.raises(UsageError, match=r"two files have the id `same`: .*a\.yaml and .*b\.yaml; keep one"):
        catalog.entry("same")
    assert [item.id for item in part_list(catalog).broken] == ["same"]


def test_a_broken_part_stops_only_who_reads_it(overlay: Path) -> None:
    (overlay / "my-switch.yaml").write_text("kind: switch\nid: my-switch\nports: [\n")
    (overlay / "qm9700.yaml").write_text("kind: switch\nid: qm9700\n")
    catalog = Catalog([str(overlay)])
    assert catalog.ids_of("switch")  # the hints of errors read no part
    shipped, parts = part_list(Catalog(), "switch"), part_list(catalog, "switch")
    assert {row.id for row in shipped.parts} - {row.id for row in parts.parts} == {"qm9700"}
    assert [(item.id, item.fault.partition(": error")[0]) for item in parts.broken] == [
        ("my-switch", f"{overlay}/my-switch.yaml:4:1"),
        ("qm9700", f"{overlay}/qm9700.yaml:1:1"),
    ]
    assert shipped.broken == ()
    done = ffplan("check", "fire-flyer-2", "--catalog", str(overlay))
    assert done.code == 0, done.err
    listed = ffplan("catalog", "list", "switch", "--catalog", str(overlay))
    assert (listed.code, "qm8700" in listed.out) == (2, True)
    assert "my-switch.yaml:4:1: error" in listed.err


@pytest.mark.parametrize(
    ("word", "kind"),
    [("gpu", "accelerator"), ("GPUs", "accelerator"), ("accelerate", "accelerator"), ("cable", "link")],
)
def test_kinds_by_other_words(word: str, kind: str) -> None:
    done = ffplan("catalog", "list", word)
    assert (done.code, done.out) == (2, "")
    assert f"did you mean `{kind}`?" in done.err


def test_other_words_mean_kinds() -> None:
    assert set(OTHER_WORDS.values()) <= set(KINDS)


@pytest.mark.parametrize(
    ("change", "rule", "message"),
    [
        (("id: qm8700", "id: QM8700"), "catalog-id", "`QM8700` is not an id of the switch"),
        (("id: qm8700\n", ""), "catalog-id", "the switch has no `id`"),
        (("source: paper}", "source: papr}"), "catalog-source", "the source `papr` is not under `sources`"),
        (("{value: 253 W,", "{value: 253 W, grade: measured,"), "catalog-grade", "must have grade `estimate`"),
        (("kind: switch", "kind: swich"), "schema-choice", "`kind` is `swich`"),
        (("value: 253 W", "value: 253 GB"), "quantity-unit", "a power is wanted"),
        (("value: 253 W", "value: 253 W, low: 300 W"), "number-range", "outside its own range"),
        (("ports: {value: 40,", "ports: {value: 40.5,"), "schema-type", "a whole number is wanted"),
    ],
)
def test_a_faulty_part_is_refused_at_its_place(overlay: Path, change: tuple[str, str], rule: str, message: str) -> None:
    overlay_part(overlay, "qm8700", change)
    with pytest.raises(InputError) as caught:
        assess_file("fire-flyer-2", str(overlay))
    found = caught.value.findings[0]
    assert (found.rule, found.file) == (rule, f"{overlay}/qm8700.yaml")
    assert message in found.message
    assert found.line > 1 or rule in ("schema-choice", "catalog-id")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("{id: gpu6, root_port: cpu1-rp1}", "{id: gpu6, root_port: cpu1-rp9}"), "root port `cpu1-rp9` does not exist"),
        (("{id: gpu6, root_port: cpu1-rp1}", "{id: gpu5, root_port: cpu1-rp1}"), "the name `gpu5` is used twice"),
        (("accelerator: a100-pcie-40gb\n", ""), "`accelerator` and `accelerators` go together"),
        (("part: connectx-6-200g, root_port: cpu1-rp3", "part: connectx-6-200g, root_port: rp"), "root port `rp`"),
        (("[gpu6, gpu7]", "[gpu6, gpu8]"), "accelerator `gpu8` does not exist"),
        (("[gpu6, gpu7]", "[gpu6, gpu0]"), "`gpu0` is in two bridged pairs"),
        (("nvlink:\n", "nvlink:\n  switched: true\n"), "bridged pairs or a switch, not both"),
    ],
)
def test_the_inside_of_a_server_must_hang_together(overlay: Path, change: tuple[str, str], message: str) -> None:
    overlay_part(overlay, "fire-flyer-2-node-nvlink", change)
    with pytest.raises(InputError) as caught:
        assess_file("fire-flyer-2-nvlink", str(overlay))
    assert message in str(caught.value)
    assert {found.rule for found in caught.value.findings} == {"server-topology"}


def test_a_library_may_extend_the_shipped_one_of_its_id_but_no_circle(tmp_path: Path) -> None:
    text = (
        "kind: library\nid: {}\nname: own\nvendor: me\nmethod: nccl\nextends: {}\n"
        "sources: {{own: {{title: mine, date: 2026-01, grade: measured, status: V}}}}\n"
        "link_share: {{value: 50 %, source: own}}\n"
    )
    for name, base in (("nccl", "nccl"), ("aa", "bb"), ("bb", "aa")):
        (tmp_path / f"{name}.yaml").write_text(text.format(name, base))
    catalog = Catalog([str(tmp_path)])
    own, shipped = catalog.entry("nccl").part, Catalog().entry("nccl").part
    assert (own.name, own.link_share.value) == ("own", 0.5)  # type: ignore[attr-defined]
    assert own.latency == shipped.latency  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="`bb` extends another library itself"):
        catalog.entry("aa")
