"""The page that `viz.graph` writes: boxes open and close, everything can be found and asked, only what is visible is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint import nn
from benchmarks import models

CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
# Cards in one another's way, cards outside of the picture, and arrows that end at no card.
FAULTS = """() => {
  const scene = graph.scene(), found = [];
  const cards = scene.cards;
  cards.forEach((a, i) => cards.slice(0, i).forEach((b) => {
    if (a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h) found.push(`cards ${a.id} and ${b.id} overlap`);
  }));
  for (const c of cards)
    if (c.x < -1 || c.y < -1 || c.x + c.w > scene.w + 1 || c.y + c.h > scene.h + 1) found.push(`card ${c.id} is outside`);
  for (const w of scene.wires) if (w.tip) {
    const [x, y] = w.points.at(-1);
    if (!cards.some((c) => Math.abs(c.y - y) < 1 && x >= c.x - 1 && x <= c.x + c.w + 1)) found.push(`an arrow of ${w.tensor} ends nowhere`);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def picture() -> Any:
    ad.manual_seed(0)
    return ad.viz.graph(models.transformer(ad), ad.randint(0, 65, (2, 64)))


@pytest.fixture
def address(picture: Any, tmp_path: Path) -> str:
    return str(picture.save(tmp_path / "graph.html").as_uri())


def ready(page: Any) -> Any:
    page.wait_for_selector("html[data-ready]")
    return page


def test_every_state_is_tidy_and_all_open_is_the_whole_graph(show: Any, address: str, picture: Any) -> None:
    page = ready(show(address))
    assert page.evaluate(FAULTS) == []
    for box in range(1, 9):
        page.evaluate(f"graph.toggle({box})")
        assert page.evaluate(FAULTS) == []
    page.click("#all")
    assert page.evaluate(FAULTS) == []
    assert page.evaluate("graph.scene().cards.map((c) => c.id).sort((a, b) => a - b)") == list(range(len(picture.vertices)))
    ends = page.evaluate("graph.scene().wires.filter((w) => w.tip).map((w) => w.tensor).sort((a, b) => a - b)")
    assert ends == sorted(edge.source for edge in picture.edges)
    page.click("#none")
    assert page.evaluate("graph.scene().cards.length") == len(picture.root.items)
    assert page.evaluate(FAULTS) == []


def test_a_click_opens_a_box_and_asks_a_node(show: Any, address: str, picture: Any) -> None:
    page = ready(show(address))
    before = page.evaluate("graph.scene().cards.length")
    page.click("text='Layer × 4'")
    assert page.evaluate("graph.scene().cards.length") > before
    assert "Layer × 4" in page.inner_text("#info h2")
    page.click("#none")
    page.click("g.op:has-text('add')")
    vertex = picture.vertices[page.evaluate("graph.chosen().id")]
    shown = page.inner_text("#info")
    for fact in (vertex.grad_fn, vertex.where, vertex.text, "×".join(map(str, vertex.shape))):
        assert fact in shown
    page.click("#shut")
    assert not page.is_visible("#info")


def test_search_opens_what_it_finds(show: Any, address: str, picture: Any) -> None:
    page = ready(show(address))
    page.keyboard.press("/")
    page.keyboard.type("layers.2.qkv.weight")
    page.keyboard.press("Enter")
    assert picture.vertices[page.evaluate("graph.chosen().id")].name == "layers.2.qkv.weight"
    assert page.is_visible("g.chosen")
    page.fill("#query", "no such thing")
    assert page.inner_text("#found") == "nothing found"


def test_keys(show: Any, address: str) -> None:
    page = ready(show(address))
    page.focus("#picture")
    page.keyboard.press("ArrowDown")
    first = page.evaluate("graph.chosen()")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("graph.chosen()") != first
    assert page.inner_text("#said")
    box = page.evaluate("graph.scene().cards.find((c) => c.type === 1).id")
    page.evaluate(f"graph.choose(1, {box})")
    page.keyboard.press("Enter")
    assert page.evaluate(f"graph.opened.has({box})")
    page.keyboard.press("Backspace")
    assert not page.evaluate(f"graph.opened.has({box})")
    scale = page.evaluate("graph.view.k")
    page.keyboard.press("+")
    assert page.evaluate("graph.view.k") > scale
    page.keyboard.press("Escape")
    assert page.evaluate("graph.chosen()") is None


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_texts_can_be_read(show: Any, address: str, width: int, theme: str) -> None:
    page = ready(show(address, width=width, theme=theme))
    page.evaluate("graph.choose(0, graph.scene().cards.find((c) => c.type === 0).id)")
    page.wait_for_selector("#info dd")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_ten_thousand_nodes(show: Any, tmp_path: Path) -> None:
    x = ad.ones(3, requires_grad=True)
    y = z = x
    for i in range(5000):
        y, z = (y * z if i % 3 else y + z), y.sin()
    page = ready(show(ad.viz.graph(y + z).save(tmp_path / "large.html").as_uri()))
    page.click("#all")
    page.wait_for_function("document.querySelectorAll('#world *').length > 0")
    assert page.evaluate("graph.scene().cards.length") > 9_990
    assert page.evaluate("document.querySelectorAll('#world *').length") < 2_000  # what is not on the screen is not drawn
    page.evaluate("graph.choose(0, 9000)")
    page.wait_for_selector("g.chosen")


def test_a_notebook_shows_the_page_in_a_frame(show: Any, tmp_path: Path) -> None:
    weight = ad.ones(2, requires_grad=True)
    loss = nn.functional.mse_loss(weight * 2, ad.zeros(2))
    file = tmp_path / "cell.html"
    file.write_text(f"<!doctype html><body>{ad.viz.graph(loss)._repr_html_()}</body>", encoding="utf-8")
    page = show(file.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("g.leaf").wait_for()
    assert frame.locator("g.leaf .t").text_content() == "weight"
