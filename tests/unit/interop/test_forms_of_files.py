"""Which program wrote a file: the form that knows most of its lines, in any order; an import of nothing is an error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.read import _FORMS, _form_of, _lines_known, read_as_built
from tests.support import examples, ffplan
from tests.unit.interop.seeded import Listing
from tests.unit.interop.test_as_built_forms import SINGLE, db_csv, dot, links, lst, minigraph, ndt, pod, report, topo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEFAULT = """CA: gpu-3 HCA-1:
      0xb800000000000003      6    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       3    3[  ] "MF0;ib254:MQM8700/U1" ( )
CA: Mellanox Technologies Aggregation Node:
      0x0c00000000000002      4    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       3   41[  ] "MF0;ib254:MQM8700/U1" ( )
CA: gpu-1 HCA-1:
      0xb800000000000001      2    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       3    2[  ] "MF0;ib254:MQM8700/U1" ( )
CA: gpu-0 HCA-1:
      0xb800000000000000      1    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       3    1[  ] "MF0;ib254:MQM8700/U1" ( )
Switch: 0x0c0000000000000a MF0;ib254:MQM8700/U1:
           3    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       1    1[  ] "gpu-0 HCA-1" ( )
           3    2[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       2    1[  ] "gpu-1 HCA-1" ( )
           3    3[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       6    1[  ] "gpu-3 HCA-1" ( )
           3    4[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       5    1[  ] "gpu-2 HCA-1" ( )
           3    5[  ] ==(                Down/ Polling)==>             [  ] "" ( )
           3   41[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       4    1[  ] "Mellanox Technologies Aggregation Node" ( )
CA: gpu-2 HCA-1:
      0xb800000000000002      5    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       3    4[  ] "MF0;ib254:MQM8700/U1" ( )
"""  # noqa: E501
"""iblinkinfo without options, of a switch at lid 3 and four hosts, one of which is listed before it."""


def linkinfo(built: Listing) -> str:
    """`iblinkinfo`."""
    lids = {name: number + 1 for number, name in enumerate(built.links)}
    rows = []
    for own, ports in built.links.items():
        host = "/" in own
        rows.append(f"CA: {built.title(own)}:" if host else f"Switch: 0x{lids[own]:016x} {built.title(own)}:")
        rows += [
            f"      {f'0x{lids[own]:016x}' if host else ''}      {lids[own]}   {port}[  ] ==( 4X  106.25 Gbps Active/"
            f'  LinkUp)==>   {lids[peer]}   {there}[  ] "{built.title(peer)}" ( )'
            for port, (peer, there, _) in sorted(ports.items())
        ]
    return "\n".join(rows) + "\n"


def node_list(built: Listing) -> str:
    """`ibnetdiscover -l`."""
    return "".join(
        f"{'Ca' if '/' in name else 'Switch'}\t : 0x{number:016x} ports {built.ports[name]} devid 0xd2f2 "
        f'vendid 0x2c9 "{built.title(name)}"\n'
        for number, name in enumerate(built.links)
    )


WRITERS: dict[str, Callable[[Listing], str]] = {
    "ibnetdiscover": Listing.text,
    "ibnetdiscover -p": report,
    "ibnetdiscover -l": node_list,
    "iblinkinfo": linkinfo,
    "ibdiagnet's .lst": lst,
    "ibdiagnet's db_csv": db_csv,
    "an ibdm .topo file": topo,
    "UFM's topology table": ndt,
    "PTM's topology.dot": dot,
}
"""What a program writes of a fabric, by the name of its form."""
TEXTS = {name: writer(pod()) for name, writer in WRITERS.items()}


def _imported(text: str, folder: Path) -> tuple[int, str, str]:
    file = folder / "built.txt"
    file.write_text(text)
    run = ffplan("fabric import ibnetdiscover", str(file))
    return run.code, run.out, run.err


@pytest.mark.parametrize("form", TEXTS)
def test_the_command_tells_every_form(form: str, tmp_path: Path) -> None:
    """Through the door that users take: the whole fabric comes back, of a list of nodes the devices."""
    code, out, err = _imported(TEXTS[form], tmp_path)
    assert code == 0, err
    found, built = json.loads(out), pod()
    assert form.removeprefix("PTM's topology.dot") in found["form"]
    assert len(found["switches"]) + len(found["hosts"]) == len(built.links)
    assert len(found["links"]) == (0 if form == "ibnetdiscover -l" else len(links(built)))


def test_iblinkinfo_without_options(tmp_path: Path) -> None:
    """One switch, four hosts, four links; the part of the switch that reduces is none of them."""
    code, out, err = _imported(DEFAULT, tmp_path)
    assert code == 0, err
    found = json.loads(out)
    assert found["form"] == "iblinkinfo"
    assert found["switches"] == ["MF0;ib254:MQM8700/U1"]
    assert found["hosts"] == [f"gpu-{number} HCA-1" for number in range(4)]
    assert [(link["a"], link["b"], link["gbit_s"]) for link in found["links"]] == [
        (f"MF0;ib254:MQM8700/U1/p{port}", f"gpu-{host} HCA-1/p1", 100.0)
        for port, host in ((1, 0), (2, 1), (3, 3), (4, 2))
    ]


@examples(40)
@given(
    st.sampled_from([*TEXTS, "default"]),
    st.permutations(_FORMS),
    st.lists(st.sampled_from(["$ iblinkinfo", "ibwarn: [7] mad_rpc: timeout", "", "# by hand", "done"]), max_size=4),
)
def test_order_of_the_forms_does_not_matter(name: str, forms: list, noise: list[str]) -> None:  # type: ignore[type-arg]
    text = "".join(f"{line}\n" for line in noise) + (DEFAULT if name == "default" else TEXTS[name])
    own = _form_of(text, "x", forms)
    assert own is not None
    assert own.name == ("iblinkinfo" if name == "default" else name)
    counts = _lines_known(text.splitlines())
    assert counts.pop(own.name) > 2 * max(counts.values())  # no form is close


@examples(60)
@given(st.data())
def test_most_lines_decide_where_two_outputs_stand_in_one_file(data: st.DataObject) -> None:
    """Lines of another program in front or behind, fewer than those of the first, do not change the form."""
    one, two = data.draw(st.sampled_from(sorted(TEXTS))), data.draw(st.sampled_from(sorted(TEXTS)))
    first = TEXTS[one].splitlines(keepends=True)[:400]
    count = _lines_known(first)[one]
    other = TEXTS[two].splitlines(keepends=True)[: data.draw(st.integers(0, 5))]
    assume(_lines_known(other)[two] < count)
    joined = other + first if data.draw(st.booleans()) else first + other
    found = _form_of("".join(joined), "x")
    assert found is not None
    assert found.name == one


@pytest.mark.parametrize("single", SINGLE)
def test_files_of_devices_are_no_whole_fabric(single: Callable[[Listing, str], object]) -> None:
    built = pod()
    made = single(built, built.of("leaf")[0])
    text = made if isinstance(made, str) else json.dumps(made, indent=2)
    found = _form_of(text, "x")
    assert found is not None
    assert found.name == ("XML" if single is minigraph else "JSON")


def test_a_host_that_is_called_as_a_key_of_json(tmp_path: Path) -> None:
    """A name in quotes made a listing an output of LLDP."""
    text = 'Switch 4 "S-1" # "leaf-1"\n[1] "H-1"[1] # "lldp"\n\nCa 1 "H-1" # "lldp"\n[1] "S-1"[1] # "leaf-1"\n'
    code, out, err = _imported(text, tmp_path)
    assert code == 0, err
    assert json.loads(out)["hosts"] == ["lldp"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no device is described"),
        ("nothing that a tool wrote\n", "no device is described"),
        ('Switch 4 "S-1" # "leaf-1"\n', "1 device of ibnetdiscover and no link between them"),
        (
            'Switch: 0xa1 leaf-1:\n           1    1[  ] ==(  Down/ Polling)==>             [  ] "" ( )\n',
            "1 device of iblinkinfo and no link between them",
        ),
        ('{"lldp": {}}', "no link between them"),
        ("graph G {\n}\n", "no link is listed"),
    ],
)
def test_an_import_that_found_nothing_is_an_error(text: str, words: str, tmp_path: Path) -> None:
    code, out, err = _imported(text, tmp_path)
    assert (code, out) == (2, "")
    assert words in err
    assert "[file-as-built]" in err


def test_a_file_that_reads_as_two_forms_is_refused() -> None:
    text = "Switch 4 \"S-1\" # \"leaf-1\"\nSW     1  1 0x0b 4x NDR - CA     2  1 0x0a ( 'a' - 'b' )\n"
    with pytest.raises(InputError, match="reads as ibnetdiscover and as ibnetdiscover -p alike"):
        read_as_built([("x", text)])


def test_a_whole_fabric_among_files_of_devices_is_refused() -> None:
    files = [("a.txt", TEXTS["iblinkinfo"]), ("b.txt", TEXTS["iblinkinfo"])]
    with pytest.raises(InputError, match="this is iblinkinfo, which describes a whole fabric"):
        read_as_built(files)
