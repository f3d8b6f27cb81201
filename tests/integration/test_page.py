"""Pages in Chromium with the network off: nothing loaded, nothing said, tables sort, paper takes them.

html-validate and axe judge them too; `.ci/run` installs both.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.browser import Browser
from tests.integration.test_programs import need
from tests.support import ROOT, SMALL, ffplan, vary_design

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.integration

JOB = ("--model", "llama3-8b", "--tokens", "1T", "--gpus", "64", "--batch", "1024")
PAGES = {
    "design": ("design", "fire-flyer-2"),
    "compare": ("compare", "superpod-h100-4su", "superpod-b200-4su", *JOB, "--draws", "200"),
    "train": ("train", "superpod-h100-4su", *JOB[:2], *JOB[4:], "--search"),
    "cost": ("cost", "superpod-h100-4su", *JOB, "--draws", "200"),
}
EVERY = {
    **PAGES,
    "three": ("compare", "superpod-h100-4su", "superpod-b200-4su", "gb200-nvl72-16", *JOB, "--draws", "200"),
    "goodput": ("goodput", "fire-flyer-2", "--model", "llama-13b", "--draws", "20"),
    "recommend": ("recommend", *JOB[:4], "--days", "30", "--accelerator", "h100-sxm-80gb", "--best", "2"),
    "storage": ("storage", "fire-flyer-2", "--model", "llama-13b", "--gpus", "8"),
    "sweep": (
        *("sweep", "pcie-a100-three-tier", "--vary", "nodes[0].count=400,800", "--vary", "fabric.oversubscription=1,2"),
        *("--pareto", "cost.total:min,fabric.bisection_gbyte_s:max"),
    ),
}
NPM = Path(os.environ.get("FFPLAN_NPM", ROOT / "build" / "npm")) / "node_modules"
"""Folder with html-validate and axe-core."""
EVIL = (
    """"</title><script>window.hit=1</script><img src=x onerror='window.hit=1'> """
    """\\u202e ${1} `x` ]]> & \\"quoted\\"\""""
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    need("chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what makes a page of `EVERY` by name, once."""
    folders: dict[str, Path] = {}

    def named(name: str) -> Path:
        if name not in folders:
            folders[name] = page(tmp_path_factory.mktemp(name), *EVERY[name])
        return folders[name]

    return named


def page(folder: Path, *arguments: str) -> Path:
    target = folder / "report.html"
    done = ffplan(*arguments, "--format", "html", "-o", str(target))
    assert done.code == 0, done.err
    return target


def quiet(browser: Browser) -> None:
    """Nothing was asked of a network, nothing was logged, no error was raised."""
    asked = [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [asked[0]]
    assert browser.of("Log.entryAdded") == []
    assert browser.of("Runtime.consoleAPICalled") == []
    assert browser.of("Runtime.exceptionThrown") == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_stands_alone(name: str, browser: Browser, made: Callable[[str], Path]) -> None:
    target = made(name)
    assert target.stat().st_size < 1_500_000
    browser.open(target)
    quiet(browser)
    assert browser.say("document.querySelectorAll(':is(#charts, #more) figure svg').length") >= 3
    marks = "[...document.querySelectorAll('svg [role=graphics-symbol]:not(g)')]"
    assert browser.say(f"{marks}.length") > 10
    assert browser.say(f"{marks}.filter(mark => !mark.querySelector('title')).length") == 0
    assert browser.say("document.querySelectorAll('#fabric img').length") >= 1
    assert browser.say("[...document.images].every(image => image.complete && image.naturalWidth > 50)") is True
    folds = "[...document.querySelectorAll('#provenance details')]"
    every = f"{folds}.find(item => item.textContent.startsWith('Every figure'))"
    meanings = f"[...{every}.querySelectorAll('td:last-child')]"
    assert browser.say(f"{meanings}.length") > 20
    assert browser.say(f"{meanings}.filter(cell => !cell.textContent).length") == 0
    ids = browser.say("[...document.querySelectorAll('[id]')].map(item => item.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", PAGES)
def test_headline_figures_say_where_they_come_from(name: str, browser: Browser, made: Callable[[str], Path]) -> None:
    """Pointing at a cell shows it; the number beside its row leads to a note, which unfolds."""
    browser.open(made(name), width=390)
    assert browser.say("document.querySelectorAll('td[title]').length") > 10
    links = "[...document.querySelectorAll('sup a')]"
    assert (
        browser.say(f"{links}.every(item => document.querySelectorAll(item.getAttribute('href')).length === 1)") is True
    )
    assert browser.say("document.querySelector('.notes').checkVisibility()") is False
    browser.say(f"{links}.at(-1).click()")
    browser.say("new Promise(done => setTimeout(done, 100))")
    assert browser.say("document.querySelector('.notes').checkVisibility()") is True
    top = browser.say("document.querySelector(location.hash).getBoundingClientRect().top")
    assert -5 <= top <= 900
    assert browser.say("document.documentElement.scrollWidth <= innerWidth") is True
    quiet(browser)


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_fits_phones_and_has_contrast(
    width: int, dark: bool, browser: Browser, made: Callable[[str], Path]
) -> None:
    browser.open(made("design"), width=width, dark=dark)
    assert browser.say("document.documentElement.scrollWidth <= innerWidth") is True
    ratio = browser.say(CONTRAST)
    assert ratio > 4.5


def test_charts_keep_their_letters_on_a_phone(browser: Browser, made: Callable[[str], Path]) -> None:
    """They scroll in their place, and are drawn whole on a wide screen."""
    least = "Math.min(...[...document.querySelectorAll('#charts svg text')].map(text => %s))"
    size = "text.getBoundingClientRect().height || 99"
    name = made("design")
    browser.open(name, width=390)
    assert browser.say(least % size) > 9
    assert browser.say("document.documentElement.scrollWidth <= innerWidth") is True
    assert browser.say("document.querySelector('.picture').tabIndex") == 0
    browser.open(name, width=1200)
    wide = "[...document.querySelectorAll('.chart .picture')].every(item => item.scrollWidth <= item.clientWidth + 1)"
    assert browser.say(wide) is True


@pytest.mark.parametrize(("width", "columns"), [(390, 1), (820, 2), (1280, 2)])
def test_charts_fill_their_row(width: int, columns: int, browser: Browser, made: Callable[[str], Path]) -> None:
    """None is wider than its place, and none leaves a tenth of it blank."""
    browser.open(made("compare"), width=width)
    places = "[...document.querySelectorAll('#charts .picture')]"
    parts = browser.say(f"{places}.map(item => item.querySelector('svg').clientWidth / item.clientWidth)")
    assert len(parts) >= 3
    assert all(0.9 < part <= 1.001 for part in parts)
    assert len(set(browser.say(f"{places}.map(item => Math.round(item.getBoundingClientRect().left))"))) == columns
    assert browser.say(f"{places}.filter(item => item.scrollWidth > item.clientWidth + 1).length") == 0


@pytest.mark.parametrize(
    ("name", "place", "wanted"),
    [
        ("train", "th[scope=row]", r"GPUs 64: dp64 mb1 zero1"),
        ("recommend", "th[scope=row]", r"1: h100-sxm-80gb-[a-z0-9-]+"),
        ("compare", "tbody tr:first-child td:nth-child(3)", r"12\.[0-9] \([0-9.]+ to [0-9.]+\), -[0-9]+ %"),
    ],
)
def test_a_list_names_its_rows_and_every_figure(
    name: str, place: str, wanted: str, browser: Browser, made: Callable[[str], Path]
) -> None:
    browser.open(made(name), width=340)  # of the narrowest phones: tables that fit stay tables
    text = browser.say(f"document.querySelector('#figures .stacked {place}').innerText")
    assert re.match(wanted, text), text
    bare = "[...document.querySelectorAll('#figures .stacked td')].filter(item => item.checkVisibility())"
    assert browser.say(f"{bare}.filter(item => !item.dataset.column).length") == 0


CONTRAST = """(() => {
  const light = words => {
    const [r, g, b] = words.match(/[0-9.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const all = ['body', 'a', 'figcaption', 'footer', '#charts svg text'].map(name => {
    const item = document.querySelector(name), style = getComputedStyle(item);
    const ink = light(item instanceof SVGElement ? style.fill : style.color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  });
  return Math.min(...all);
})()"""


def column(browser: Browser, table: str, number: int) -> list[str]:
    found: list[str] = browser.say(
        f"[...document.querySelector('{table}').tBodies[0].rows].map(row => row.cells[{number}].textContent)"
    )
    return found


def test_tables_sort_by_key_and_click(browser: Browser, made: Callable[[str], Path]) -> None:
    browser.open(made("cost"))
    table = "#more .chart:nth-of-type(2) table"
    browser.say("document.querySelectorAll('details').forEach(item => item.open = true)")
    before = column(browser, table, 1)
    head = f"document.querySelector('{table}').querySelectorAll('thead button')"
    browser.say(f"[...{head}].at(-1).focus()")
    for key in ("keyDown", "keyUp"):
        event: dict[str, Any] = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        browser.call("Input.dispatchKeyEvent", type=key, **event)
    last = len(browser.say(f"[...{head}].map(item => item.textContent)"))
    numbers = [float(text.replace(",", "")) for text in column(browser, table, last)]
    assert numbers == sorted(numbers)
    browser.say(f"[...{head}].at(-1).click()")
    numbers = [float(text.replace(",", "")) for text in column(browser, table, last)]
    assert numbers == sorted(numbers, reverse=True)
    assert sorted(column(browser, table, 1)) == sorted(before)
    assert browser.say("document.querySelectorAll('th[aria-sort=descending]').length") == 1


def test_amounts_in_millions_sort_above_those_in_full(browser: Browser, made: Callable[[str], Path]) -> None:
    browser.open(made("cost"))
    table = "#tables [aria-label='Bill of materials'] table"
    head = f"document.querySelector(\"{table}\").querySelectorAll('thead button')[4]"
    assert browser.say(f"{head}.textContent") == "total"
    browser.say(f"{head}.click(), {head}.click()")
    cells = browser.say(f'[...document.querySelector("{table}").tBodies[0].rows].map(row => row.cells[4].textContent)')
    values = [float(text.split()[0].replace(",", "")) * (1e6 if "mn" in text else 1) for text in cells]
    assert any("mn" in text for text in cells)
    assert values == sorted(values, reverse=True)


def test_labels_of_rows_keep_their_words(browser: Browser, made: Callable[[str], Path]) -> None:
    """A label beside a long text is not squeezed until its words break."""
    browser.open(made("train"))
    heights = browser.say(
        "[...document.querySelectorAll('th[scope=row]')].filter(item => !item.textContent.includes(' ')"
        " && item.textContent.length < 12).map(item => {"
        " const range = document.createRange(); range.selectNodeContents(item.firstChild || item);"
        " return range.getClientRects().length; })"
    )
    assert len(heights) > 20
    assert max(heights) == 1


@pytest.mark.parametrize("name", ["cost", "compare"])
def test_paper_takes_a_page(name: str, browser: Browser, made: Callable[[str], Path]) -> None:
    """At most four sheets of A4, with every heading unfolded."""
    browser.open(made(name))
    assert browser.say("document.querySelectorAll('.part:not([open])').length") > 5
    paper = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
    pdf = b64decode(browser.call("Page.printToPDF", printBackground=True, **paper)["data"])
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) <= 4
    assert browser.say("document.querySelectorAll('.part:not([open])').length") == 0
    browser.call("Emulation.setDeviceMetricsOverride", width=718, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.say("parseFloat(getComputedStyle(document.body).fontSize)") >= 9.5
    assert browser.say(BROKEN) == []
    assert browser.say(CLIPPED.replace("'.scroll'", "'#tables .scroll'")) == []
    browser.call("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("name", PAGES)
def test_the_answer_comes_first(name: str, browser: Browser, made: Callable[[str], Path]) -> None:
    """Verdict, tiles, one table, charts, drawings; the rest is folded. Sixty words before the first figure."""
    browser.open(made(name))
    order = "'h1, .verdict, .tiles, #figures, #charts, #fabric, #tables, #more, #provenance, #files'"
    found = browser.say(f"[...document.querySelectorAll({order})].map(item => item.id || item.className || 'h1')")
    wanted = ["h1", "verdict", "tiles", "figures", "charts", "fabric", "tables", "more", "provenance", "files"]
    assert found == [part for part in wanted if part in found]
    assert {"verdict", "figures", "charts", "fabric", "tables"} <= set(found)
    words = browser.say("document.querySelector('.verdict').innerText.split(/\\s+/).length")
    assert 3 < words <= 60
    assert browser.say("[...document.querySelectorAll('#tables > :not(h2)')].every(item => item.matches('details'))")


def test_cash_owned_crosses_cash_rented_where_the_page_says(made: Callable[[str], Path]) -> None:
    """The lines of the chart, as its numbers have them."""
    text = made("cost").read_text()
    table = text.partition("Cash so far, owned against rented</h3>")[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row">month ([0-9]+)</th><td>(.*?)</td><td>(.*?)</td>', table)
    owned, rented = (
        {int(month): float(value.replace(",", "")) for month, series, value in rows if (series == "owned") is own}
        for own in (True, False)
    )
    even = re.search(r"Even ([0-9]+) months after the order", text)
    assert even is not None
    assert len(owned) == len(rented) > 10
    for month, cash in owned.items():
        if month > 12 and abs(month - int(even[1])) > 1:
            assert (cash > rented[month]) is (month < int(even[1])), month


def test_hostile_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    design = vary_design(
        tmp_path,
        "fire-flyer-2",
        ("description: 10,000 PCIe A100 on two 800-port zones, 1 NIC a node", f"description: {EVIL}"),
        ("# Fire-Flyer 2 as", "# </pre><script>window.hit=1</script> Fire-Flyer 2 as"),
    )
    parts = tmp_path / "parts"
    parts.mkdir()
    from tests.support import overlay_part

    overlay_part(parts, "fire-flyer-2-node", ("name: ", "name: \"</td>\\u202e<img src=x onerror='window.hit=1'>\"  # "))
    overlay_part(
        parts, "connectx-7-400g", ("name: ", "name: \"</title>\\u202e<img src=x onerror='window.hit=1'>\"  # ")
    )
    browser.open(page(tmp_path, "design", str(design), "--catalog", str(parts)))
    quiet(browser)
    assert browser.say("window.hit === undefined") is True
    assert browser.say("document.scripts.length") == 1
    assert (
        browser.say("[...document.images].every(image => image.src.startsWith('data:image/svg+xml;base64,'))") is True
    )
    assert "<script>window.hit=1</script>" in browser.say("document.querySelector('.words').textContent")
    assert "\u202e" not in browser.say("document.documentElement.outerHTML")
    browser.open(page(tmp_path, "design", "superpod-h100-4su", "--catalog", str(parts)))
    assert "</title>\\u202e<img" in browser.say("document.querySelector('#more').textContent")
    assert "\u202e" not in browser.say("document.documentElement.outerHTML")  # tooltips of charts too
    assert browser.say("window.hit === undefined") is True
    blocked = "new Promise(done => { const s = document.createElement('script'); s.textContent = 'window.hit=2';"
    browser.say(f"{blocked} document.body.append(s); setTimeout(done, 50); }})")
    assert browser.say("window.hit === undefined") is True  # the policy of the page


def program(package: str, place: str) -> Path:
    """Return a file of a package of npm."""
    path = NPM / package / place
    if not path.is_file():
        pytest.skip(f"{package} is not installed in {NPM}")
    return path


OPEN = """(rows => {
  document.querySelectorAll(`tbody tr:nth-child(n + ${rows})`).forEach(row => row.remove());
  document.querySelectorAll('details').forEach(item => { item.open = true; });
  return new Promise(done => setTimeout(done, 100));
})"""
"""Unfolds a page, of whose tables some rows stay."""


def assert_valid(target: Path) -> None:
    need("node")
    judge = program("html-validate", "bin/html-validate.mjs")
    command = ["node", str(judge), "--preset", "recommended", "--max-warnings=0", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", EVERY)
def test_html_validate_finds_nothing(name: str, made: Callable[[str], Path]) -> None:
    assert_valid(made(name))


def test_a_map_of_ports_prints_a_switch_a_page(browser: Browser, tmp_path: Path) -> None:
    target, small = tmp_path / "ports.html", str(SMALL / "pods.yaml")
    run = ffplan(f"fabric export {small} --to ports --catalog {SMALL / 'parts'} -o {target}")
    assert run.code == 0, run.err
    assert_valid(target)
    browser.open(target)
    printed = b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))
    assert pages == target.read_text().count("<h2>") > 10


@pytest.mark.parametrize("name", EVERY)
def test_axe_finds_nothing(name: str, browser: Browser, made: Callable[[str], Path]) -> None:
    """In a dark phone with everything unfolded, and on a wide light screen as it opens."""
    axe = program("axe-core", "axe.min.js").read_text()
    for width, dark in ((390, True), (1400, False)):
        browser.open(made(name), width=width, dark=dark)
        if dark:
            browser.say(f"{OPEN}(12)")
        browser.say(f"{axe}; 0")
        report = json.loads(browser.say("axe.run({resultTypes: ['violations']}).then(JSON.stringify)"))
        assert [(rule["id"], rule["nodes"][0]["html"]) for rule in report["violations"]] == []
        assert len(report["passes"]) > 15


BROKEN = """(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [];
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest('svg, pre, script')) continue;
    for (const match of text.data.matchAll(PATTERN)) {
      const range = document.createRange();
      range.setStart(text, match.index);
      range.setEnd(text, match.index + match[0].length);
      const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      const split = tops.size > 1 && match[0].length <= 28;
      if (split) broken.push(text.data.slice(Math.max(0, match.index - 30), match.index + 30));
    }
  }
  return broken;
})()""".replace(
    "PATTERN",
    r"/[0-9]{4}-[0-9]{2}|[(+-]*[0-9][0-9.,]*(?: (?:%|[mb]n(?: [A-Z]{3})?|USD|kW|GB.s|links|days|quarters)(?!\p{L}))?|"
    r"\p{L}[\p{L}0-9]*(?:-[\p{L}0-9]+)*/gu",
)
"""Words, dates, and numbers with their units, that stand on two lines."""
CLIPPED = """[...document.querySelectorAll('.scroll')]
  .filter(item => item.scrollWidth > item.clientWidth + 1).map(item => item.ariaLabel)"""


@pytest.mark.parametrize("name", EVERY)
def test_a_phone_shows_every_column_and_breaks_no_word(
    name: str, browser: Browser, made: Callable[[str], Path]
) -> None:
    browser.open(made(name), width=390)
    browser.say(f"{OPEN}(200)")
    assert browser.say("document.documentElement.scrollWidth <= innerWidth") is True
    assert browser.say(CLIPPED) == []
    assert browser.say("document.querySelectorAll('tbody td').length") > 20
    assert browser.say(BROKEN) == []
