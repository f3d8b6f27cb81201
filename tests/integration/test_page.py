"""Pages in Chromium with the network off: nothing loaded, nothing said, tables sort, paper takes them."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.browser import Browser
from tests.integration.test_programs import need
from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

JOB = ("--model", "llama3-8b", "--tokens", "1T", "--gpus", "64", "--batch", "1024")
PAGES = {
    "design": ("design", "fire-flyer-2"),
    "compare": ("compare", "superpod-h100-4su", "superpod-b200-4su", *JOB, "--draws", "200"),
    "train": ("train", "superpod-h100-4su", *JOB[:2], *JOB[4:], "--search"),
    "cost": ("cost", "superpod-h100-4su", *JOB, "--draws", "200"),
}
EVIL = (
    """"</title><script>window.hit=1</script><img src=x onerror='window.hit=1'> """
    """\\u202e ${1} `x` ]]> & \\"quoted\\"\""""
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    need("chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


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
def test_a_page_stands_alone(name: str, browser: Browser, tmp_path: Path) -> None:
    target = page(tmp_path, *PAGES[name])
    assert target.stat().st_size < 1_500_000
    browser.open(target)
    quiet(browser)
    assert browser.say("document.querySelectorAll('#charts figure svg').length") >= 3
    marks = "[...document.querySelectorAll('#charts [role=graphics-symbol]:not(g)')]"
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
def test_headline_figures_say_where_they_come_from(name: str, browser: Browser, tmp_path: Path) -> None:
    """Pointing at a cell shows it; the number beside its row leads to a note, which unfolds."""
    browser.open(page(tmp_path, *PAGES[name]), width=390)
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
def test_a_page_fits_phones_and_has_contrast(width: int, dark: bool, browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, *PAGES["design"]), width=width, dark=dark)
    assert browser.say("document.documentElement.scrollWidth <= innerWidth") is True
    ratio = browser.say(CONTRAST)
    assert ratio > 4.5


def test_charts_keep_their_letters_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    """They scroll in their place, and are drawn whole on a wide screen."""
    least = "Math.min(...[...document.querySelectorAll('#charts svg text')].map(text => %s))"
    size = "text.getBoundingClientRect().height || 99"
    name = page(tmp_path, *PAGES["design"])
    browser.open(name, width=390)
    assert browser.say(least % size) > 9
    assert browser.say("document.documentElement.scrollWidth <= innerWidth") is True
    assert browser.say("document.querySelector('.picture').tabIndex") == 0
    browser.open(name, width=1200)
    wide = "[...document.querySelectorAll('.picture')].every(item => item.scrollWidth <= item.clientWidth + 1)"
    assert browser.say(wide) is True


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


def test_tables_sort_by_key_and_click(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, *PAGES["cost"]))
    table = "#charts figure:nth-of-type(2) table"
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


def test_amounts_in_millions_sort_above_those_in_full(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, *PAGES["cost"]))
    table = "#tables [aria-label='Bill of materials'] table"
    head = f"document.querySelector(\"{table}\").querySelectorAll('thead button')[4]"
    assert browser.say(f"{head}.textContent") == "total"
    browser.say(f"{head}.click(), {head}.click()")
    cells = browser.say(f'[...document.querySelector("{table}").tBodies[0].rows].map(row => row.cells[4].textContent)')
    values = [float(text.split()[0].replace(",", "")) * (1e6 if "mn" in text else 1) for text in cells]
    assert any("mn" in text for text in cells)
    assert values == sorted(values, reverse=True)


def test_labels_of_rows_keep_their_words(browser: Browser, tmp_path: Path) -> None:
    """A label beside a long text is not squeezed until its words break."""
    browser.open(page(tmp_path, *PAGES["train"]))
    heights = browser.say(
        "[...document.querySelectorAll('th[scope=row]')].filter(item => !item.textContent.includes(' ')"
        " && item.textContent.length < 12).map(item => {"
        " const range = document.createRange(); range.selectNodeContents(item.firstChild || item);"
        " return range.getClientRects().length; })"
    )
    assert len(heights) > 20
    assert max(heights) == 1


def test_paper_takes_a_page(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, *PAGES["compare"]))
    pdf = b64decode(browser.call("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") >= 2
    assert len(pdf) > 50_000


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
    assert "<script>window.hit=1</script>" in browser.say("document.querySelector('.verdict').textContent")
    assert "\u202e" not in browser.say("document.documentElement.outerHTML")
    browser.open(page(tmp_path, "design", "superpod-h100-4su", "--catalog", str(parts)))
    assert "</title>\\u202e<img" in browser.say("document.querySelector('#charts svg').textContent")
    assert "\u202e" not in browser.say("document.documentElement.outerHTML")  # tooltips of charts too
    assert browser.say("window.hit === undefined") is True
    blocked = "new Promise(done => { const s = document.createElement('script'); s.textContent = 'window.hit=2';"
    browser.say(f"{blocked} document.body.append(s); setTimeout(done, 50); }})")
    assert browser.say("window.hit === undefined") is True  # the policy of the page
