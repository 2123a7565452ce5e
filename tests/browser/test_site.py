"""The documentation site, opened from disk: it searches, is dark where that is asked for, fits, and loads nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.docs import SITE, build


@pytest.fixture(scope="module")
def site() -> Path:
    assert build() == 0
    return SITE


def test_search_works_from_disk(show, site):
    page = show((site / "learn" / "gradients.html").as_uri())
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("straight-through")
    result = page.locator("a:visible", has_text="straight-through").first
    result.wait_for()
    assert "learn/custom_functions.html" in (result.get_attribute("href") or "")


@pytest.mark.parametrize(("theme", "scheme"), [("light", "default"), ("dark", "slate")])
def test_follows_the_system(show, site, theme, scheme):
    page = show((site / "index.html").as_uri(), theme=theme)
    assert page.locator("body").get_attribute("data-md-color-scheme") == scheme


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_framed_pages_of_the_lab(show, site, theme):
    page = show((site / "learn" / "accumulation.html").as_uri(), theme=theme)
    page.locator("iframe.lab").scroll_into_view_if_needed()
    inside = page.frame_locator("iframe.lab")
    inside.locator("#plane-left path").first.wait_for()
    assert inside.locator("html").get_attribute("data-theme") == theme
    assert not inside.locator("header.top").is_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_fits(show, site, width):
    listings = sorted((site / "source").rglob("*.html"))  # made by one template
    pages = {*site.rglob("*.html")} - {site / "404.html", *(site / "lab").iterdir(), *listings[1:]}
    page = show((site / "index.html").as_uri(), width=width)
    wide = []
    for path in sorted(pages):
        page.goto(path.as_uri())
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(path.name)
    assert wide == []
