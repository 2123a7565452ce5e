"""The page of costs by line: from disk, in both themes and on narrow screens, with a flame graph that opens and source that unfolds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint import nn

CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 256), nn.ReLU())
        self.head = nn.Linear(256, 1)

    def forward(self, x: Any) -> Any:
        h = self.body(x)
        return self.head(h)  # </script> & <b>


@pytest.fixture(scope="module")
def cost() -> Any:
    model = Net()
    optimizer = ad.optim.Adam(model.parameters())

    def train() -> None:
        for _ in range(20):
            model(ad.ones(128, 64)).sum().backward()
            optimizer.step()

    train()
    return ad.profiler.lines(train)


@pytest.fixture
def address(cost: Any, tmp_path: Path) -> str:
    cost.export_html(tmp_path / "cost.html")
    return (tmp_path / "cost.html").as_uri()


def ready(page: Any) -> Any:
    page.wait_for_selector("html[data-ready]")
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everything_can_be_read(show: Any, address: str, width: int, theme: str, shots: Path | None) -> None:
    page = ready(show(address, width=width, theme=theme))
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for text in ("The hottest lines", "h = self.body(x)", "return self.head(h)  # </script> & <b>", "KiB"):
        assert page.get_by_text(text).first.is_visible()
    if shots is not None:
        page.screenshot(path=shots / f"cost-{width}-{theme}.png", full_page=True)


def test_a_line_shows_what_the_table_says(show: Any, address: str, cost: Any) -> None:
    page = ready(show(address))
    (line,) = [line for line in cost.lines if line.text == "h = self.body(x)"]
    cells = page.locator(f"#f0-{line.number} td").all_inner_texts()
    assert cells[0] == str(line.number) and cells[1] == f"{line.share:.1%}" and cells[2] == str(line.calls) == "20"
    assert cells[-1].strip() == line.text and cells[3].endswith("s") and cells[4].endswith("s")
    page.click(f".hottest a[href='#f0-{line.number}']")
    assert page.evaluate("document.querySelector(':target').id") == f"f0-{line.number}"


def test_boxes_open_and_close(show: Any, address: str) -> None:
    page = ready(show(address))
    box = page.locator("#flame button", has_text="0 Linear").first
    assert "module" in box.get_attribute("class")
    narrow = box.bounding_box()["width"]
    box.hover()
    assert "0 Linear" in page.inner_text("#told") and "% of the time" in page.inner_text("#told")
    box.click()
    assert page.locator("#flame button", has_text="0 Linear").first.bounding_box()["width"] > 1.2 * narrow
    assert page.locator("#flame button.back").count() == 1
    page.keyboard.press("Tab")
    page.locator("#flame button.all").click()
    assert page.locator("#flame button", has_text="0 Linear").first.bounding_box()["width"] == pytest.approx(narrow, abs=1)
    assert page.locator("#flame button.step").count() == 1


def test_what_did_not_run_unfolds(show: Any, address: str) -> None:
    page = ready(show(address))
    import_line = page.locator("#f0-1")
    assert not import_line.is_visible()
    page.locator(".fold button").first.click()
    assert import_line.is_visible()


def test_a_notebook_shows_the_page_in_a_frame(show: Any, tmp_path: Path, cost: Any) -> None:
    file = tmp_path / "cell.html"
    file.write_text(f"<!doctype html><body>{cost._repr_html_()}</body>", encoding="utf-8")
    page = show(file.as_uri())
    page.frame_locator("iframe").locator("#flame button.all").wait_for()
