"""Every page at both widths and in both themes: no errors, no sideways scrolling, readable colours, operable by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjoint.lab import pages

NAMES = [page.name for page in pages.PAGES]
LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_looks(show, files, shots, name, width, theme):
    page = show(f"{files}{name}.html", width, theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    assert page.locator("h1").count() == 1
    if shots:
        page.screenshot(path=shots / f"{name}-{width}-{theme}.png", full_page=True)


# What is not seen at first: errors, answers, the ends.
STATES = {
    "accumulate.html#step=39&forget=0&quarter=0": [],
    "accumulate.html#step=30&lr=-0.3&micro=1": [".aside button"],
    "leaves.html#asks=0&keeps=1&cuts=0": [".aside button"],
    "leaves.html#asks=1&keeps=1&cuts=1": [],
    "vector.html#v=0,-2,0.5": [".aside button:last-child"],
    "freed.html#step=13&ending=once": [],
    "freed.html#step=6&ending=never": [],
    "modes.html#step=8&n=8&m=8": [],
    "differences.html#f=abs&dtype=float64&h=3": [],
    "differences.html#f=exp&dtype=float64&h=30": [],
    "depth.html#activation=relu&depth=32&gain=two&skip=1": [],
    "check.html#q=10": ["#answer-0", "#commit", "#run"],
    "check.html#q=8": ["#answer-3", "#commit", "#run"],
}


@pytest.mark.parametrize("address", STATES)
@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (390, "light")])
def test_looks_later(show, files, shots, address, width, theme):
    page = show(f"{files}{address}", width, theme)
    for selector in STATES[address]:
        page.locator(selector).first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    if shots:
        page.screenshot(path=shots / f"{address.replace('.html#', '-').replace('&', '-')}-{width}-{theme}.png", full_page=True)


@pytest.mark.parametrize("name", NAMES)
def test_works_by_keyboard(show, files, name):
    """Tab reaches every control that is there for the pointer, and it can be seen where one is."""
    page = show(f"{files}{name}.html")
    wanted = page.evaluate("""() => {
      const all = [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex='0'], [onclick]")];
      const usable = all.filter(e => e.checkVisibility() && !e.disabled);
      usable.forEach((e, i) => e.dataset.reach = i);
      return usable.filter(e => !(e.type === "radio" && !e.checked)).length;
    }""")
    reached = set()
    for _ in range(wanted + 12):
        page.keyboard.press("Tab")
        here = page.evaluate("""() => {
          const e = document.activeElement, style = getComputedStyle(e);
          return [e.dataset.reach, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1];
        }""")
        if here[0] is not None:
            assert here[1], page.evaluate("document.activeElement.outerHTML")
            reached.add(here[0])
    assert len(reached) >= wanted


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_page(show, files, name):
    page = show(f"{files}{name}.html")
    links = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert {link for link in links if not link.startswith("#")} <= set(pages.names())


def test_the_theme_is_remembered(show, lab):
    page = show(f"{lab}index.html")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(250, 249, 246)"
    page.click("#theme")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert page.inner_text("#theme") == "Light"


@pytest.mark.parametrize("name", NAMES)
def test_the_lab_shows_the_same_pages(show, lab, name):
    page = show(f"{lab}{name}.html")
    assert page.evaluate("lab.live")
    assert page.evaluate("lab.data.version")
