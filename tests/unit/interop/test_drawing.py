"""The drawing by its coordinates: the canvas by hand, and a whole fabric within its own borders."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from ffplan.interop.canvas import _Canvas
from ffplan.interop.drawing import caption, drawing
from tests.support import DESIGNS, wired

SVG = "{http://www.w3.org/2000/svg}"


def test_squares_stand_in_rows() -> None:
    """Squares of 9 with gaps of 3: five in rows of three reach 36 to the right and 24 down."""
    canvas = _Canvas()
    assert canvas.squares(10, 20, 5, "leaf", 3) == 24
    assert re.findall(r"M([\d.]+) ([\d.]+)h9v9h-9z", canvas.items[0]) == [
        ("10", "20"),
        ("22", "20"),
        ("34", "20"),
        ("10", "32"),
        ("22", "32"),
    ]
    assert (canvas.width, canvas.height) == (46, 44)


def test_words_widen_the_drawing() -> None:
    canvas = _Canvas()
    canvas.text(10, 20, "ten <chars")
    assert canvas.items == ['<text x="10" y="20" text-anchor="start">ten &lt;chars</text>']
    assert (canvas.width, canvas.height) == (76, 26)
    canvas.text(100, 20, "ten letter", "h", anchor="middle")
    assert canvas.width == 141
    assert 'class="h"' in canvas.items[1]


def test_bundles_are_thicker_the_more_links_they_hold() -> None:
    canvas = _Canvas()
    for links in (0, 25, 100):
        canvas.bundle(1, 2, 3, 10, links, 100)
    assert [re.search(r'stroke-width="([\d.]+)"', item)[1] for item in canvas.items] == ["1.5", "5.8", "10.0"]  # type: ignore[index]
    assert 'd="M1 2C1 6 3 6 3 10"' in canvas.items[0]


def test_a_box_reaches_its_corner() -> None:
    canvas = _Canvas()
    canvas.box(5, 6, 70, 80)
    assert (canvas.width, canvas.height) == (75, 86)
    assert canvas.svg("a & b").startswith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 89 100" width="89"')
    assert "<title>a &amp; b</title>" in canvas.svg("a & b")


def boxes(design: str) -> tuple[ET.Element, list[tuple[float, float, float, float]]]:
    """Return a drawing, and left, top, right and bottom of its boxes."""
    own = wired(design)
    root = ET.fromstring(drawing(own.design, own.fabric))
    found = [
        tuple(float(item.get(name, 0)) for name in ("x", "y", "width", "height"))
        for item in root.iter(f"{SVG}rect")
        if item.get("class") == "b"
    ]
    return root, [(x, y, x + width, y + height) for x, y, width, height in found]


@pytest.mark.parametrize("design", DESIGNS)
def test_boxes_lie_side_by_side_and_hold_their_switches(design: str) -> None:
    root, found = boxes(design)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert found
    for number, (left, top, right, bottom) in enumerate(found):
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
        for other in found[number + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
    squares = [
        (float(x), float(y))
        for item in root.iter(f"{SVG}path")
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h9v9h-9z", item.get("d", ""))
    ]
    assert len(set(squares)) == len(squares)
    assert all(0 <= x <= width - 9 and 0 <= y <= height - 9 for x, y in squares)
    inside = [
        sum(left <= x <= right - 9 and top <= y <= bottom - 9 for left, top, right, bottom in found) for x, y in squares
    ]
    assert max(inside) == 1
    over = [
        (x, y)
        for (x, y), count in zip(squares, inside, strict=True)
        if not count and any(left - 9 < x < right and top - 9 < y < bottom for left, top, right, bottom in found)
    ]
    assert over == []


def test_a_drawing_shows_every_switch_of_a_small_fabric() -> None:
    """Fire-Flyer 2: two zones of 40 leaves and 20 spines, two switches between them, and one square for each colour."""
    root, found = boxes("fire-flyer-2")
    assert len(found) == 3  # the zones, and the switches between them
    paths = [item for item in root.iter(f"{SVG}path") if item.get("class") != "n"]
    squares = sum(len(re.findall("h9v9h-9z", item.get("d", ""))) for item in paths)
    assert squares == 2 * 60 + 2 + 3
    words = [item.text for item in root.iter(f"{SVG}text")]
    assert words.count("800 links") == 2
    assert words.count("760 endpoints") == 2
    assert words.count("40 links to leaves") == 2
    assert words.count("625 nodes of 8 GPUs") == 2
    assert words.count("135 storage nodes, 1 of their 2 NICs") == 2
    assert "2 inter-zone switches" in words


def test_many_pods_are_counted() -> None:
    """25 pods of 20 leaves and 20 spines: the first four and the last are drawn."""
    root, found = boxes("dgx-a100-10k")
    words = [item.text or "" for item in root.iter(f"{SVG}text")]
    assert len(found) == 6  # five pods, and the cores
    assert [word for word in words if word.startswith("pod ")] == ["pod 1", "pod 2", "pod 3", "pod 4", "pod 25"]
    assert "and 20 pods more, wired alike, before the last" in words
    assert words.count("400 nodes of 8 GPUs, 1 of their 8 NICs") == 5
    assert "320 core switches" in words
    assert words.count("400 endpoints") == 5
    assert words.count("400 links") == 10  # inside each pod, and from each to the cores


def bundles(root: ET.Element) -> list[tuple[float, float, float, float]]:
    """Return both ends of every bundle of a drawing of trees."""
    found = []
    for item in root.iter(f"{SVG}path"):
        if item.get("class") == "l":
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", item.get("d", ""))]
            found.append((numbers[0], numbers[1], numbers[-2], numbers[-1]))
    return found


@pytest.mark.parametrize("design", [name for name in DESIGNS if "dragonfly" not in name])
def test_no_bundle_crosses_words_or_ends_in_the_open(design: str) -> None:
    root, found = boxes(design)
    zones = [item for item in root.iter(f"{SVG}rect") if item.get("class") == "z"]
    edges = {y for _, top, _, bottom in found for y in (top, bottom)}
    edges |= {float(item.get("y", 0)) for item in zones}
    texts = [(float(t.get("x", 0)), float(t.get("y", 0)), len(t.text or "") * 8.2) for t in root.iter(f"{SVG}text")]
    for x, y, u, v in bundles(root):
        assert x == u  # straight
        inside = any(left < x < right and top <= y and v <= bottom for left, top, right, bottom in found)
        assert inside or {y, v} <= edges
        assert not any(left < x < left + width and y < at - 8 < v for left, at, width in texts)


@pytest.mark.parametrize("design", ["superpod-h100-4su", "gb200-nvl72-64"])
def test_a_caption_does_not_widen_the_drawing(design: str) -> None:
    own = wired(design)
    plain = ET.fromstring(drawing(own.design, own.fabric, headed=False))
    root, found = boxes(design)
    assert float(root.get("width", 0)) <= max(float(plain.get("width", 0)), 440)
    assert min(top for _, top, *_ in found) > 80
    assert caption(own.design, own.fabric) in " ".join(item.text or "" for item in root.iter(f"{SVG}text"))
    assert not [item for item in plain.iter(f"{SVG}text") if item.text in ("qm9700", design)]


def test_a_caption_says_whose_nics_a_leaf_joins() -> None:
    own = wired("gb200-nvl72-64")
    assert caption(own.design, own.fabric).endswith("leaf r of a scalable unit joins NIC r of all its nodes")


def test_counts_have_the_number_of_their_words() -> None:
    root, _ = boxes("l40s-8-roce")
    words = [item.text or "" for item in root.iter(f"{SVG}text")]
    assert "1 leaf switch" in words
    assert not [text for text in words if re.match(r"1 [a-z -]*(switches|nodes|links)\b", text)]
