"""The graph builder: every number on the page is adjoint's, forwards and backwards, in every example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint.lab.pages import graph
from adjoint.viz.telling import on_card

EXAMPLES = sorted(graph.EXAMPLES.glob("*.py"))
IDS = [path.stem.partition("_")[2] for path in EXAMPLES]

CARDS = """() => [...document.querySelectorAll('#graph .node')].map(n => ({
  made: n.classList.contains('made'), name: n.querySelector('.name').textContent,
  value: n.querySelector('.val')?.textContent ?? null, grad: n.querySelector('.gr')?.textContent ?? null}))"""
CHIPS = """() => [...document.querySelectorAll('#graph .chip.g')].map(
  c => c.style.opacity === '1' ? c.textContent || c.querySelectorAll('.cells rect').length : null)"""
PICTURE = """() => [...document.querySelectorAll('#graph .node, #graph .edge')].map(
  e => e.getAttribute('class').split(' ').sort().join(' ') + '|' +
  [...e.querySelectorAll('text')].map(t => t.textContent).join(',')).join('\\n') + document.getElementById('formula').textContent
  + document.getElementById('code').textContent + document.getElementById('inspect').textContent"""
OVERLAPS = """() => {
  const box = e => e.getBoundingClientRect(), shared = (a, b, from, to) => Math.max(0, Math.min(a[to], b[to]) - Math.max(a[from], b[from]));
  const area = (a, b) => shared(a, b, 'left', 'right') * shared(a, b, 'top', 'bottom');
  const cards = [...document.querySelectorAll('#graph .node.made .box')].map(box), found = [];
  cards.forEach((a, i) => cards.slice(i + 1).forEach(b => { if (area(a, b) > 1) found.push('card on card'); }));
  for (const c of [...document.querySelectorAll('#graph .chip.g')].filter(c => c.style.opacity === '1').map(c => box(c.firstChild)))
    for (const n of cards) if (area(c, n) > .3 * c.width * c.height) found.push('chip on card');
  for (const n of document.querySelectorAll('#graph .node.made')) { const b = box(n.querySelector('.box'));
    for (const t of n.querySelectorAll('text:not(.sv)'))
      if (t.textContent && (box(t).right > b.right + 1 || box(t).left < b.left - 1)) found.push('text outside: ' + t.textContent); }
  return found; }"""


def words(event: dict[str, Any]) -> str:
    return "".join(part if isinstance(part, str) else part[0] for part in event["formula"])


def expected(trace: dict[str, Any], step: int) -> tuple[list[dict[str, Any]], dict[int, Any]]:
    """What the cards show after so many events, and the gradients on the edges."""
    nodes, edges, events = trace["nodes"], trace["edges"], trace["events"]
    values: dict[int, Any] = {}
    grads: dict[int, Any] = {}
    stored: dict[int, Any] = {}
    carried: dict[int, Any] = {}
    current = None
    for event in events[:step]:
        kind, node = event["kind"], event["node"]
        if kind == "seed" and event["pass"] != current:
            current = event["pass"]
            grads.clear()
            carried.clear()
        if kind in ("leaf", "op"):
            values[node] = nodes[node]["value"]
            for edge in edges:
                if edge["to"] == node:
                    values.setdefault(edge["from"], nodes[edge["from"]]["value"])
        elif kind == "write":
            values[node] = event["value"]
        elif kind in ("grad", "accumulate"):
            stored[node] = event["after"]
        elif kind in ("seed", "sum", "capture"):
            grads[node] = event["grad"]
        elif kind == "hook":
            grads[node] = event["after"]
        elif kind == "deliver":
            carried[event["edge"]] = event["grad"]
            to = edges[event["edge"]]["from"]
            same = [e for e in events if e["kind"] == "deliver" and e["pass"] == event["pass"] and edges[e["edge"]]["from"] == to]
            if len(same) == 1:
                grads[to] = event["grad"]
    cards = []
    for index, node in enumerate(nodes):
        grad = None
        if node["requires_grad"]:
            found = stored.get(index) if node.get("leaf") else grads.get(index)
            grad = on_card(found) if found is not None else "None" if node.get("leaf") else ""
        value = None if node["kind"] == "number" else on_card(values.get(index, node["value"]))
        cards.append({"made": index in values, "name": node["name"], "value": value, "grad": grad})
    return cards, carried


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", EXAMPLES, ids=IDS)
def test_every_step_of_every_example(show, files, path: Path, width: int):
    trace = graph.recorded(path)
    page = show(f"{files}graph.html#ex={trace['id']}", width=width)
    assert page.text_content("#formula") == "Nothing has run yet."
    pictures = [page.evaluate(PICTURE)]
    for step, event in enumerate(trace["events"], 1):
        page.keyboard.press("ArrowRight")
        assert page.text_content("#formula") == words(event)
        assert page.text_content("#says") == event["says"].split("\n")[0] if event["kind"] == "error" else event["says"]
        cards, carried = expected(trace, step)
        assert page.evaluate(CARDS) == cards, f"step {step}"
        for edge, shown in enumerate(page.evaluate(CHIPS)):
            if edge not in carried:
                assert shown is None
            else:
                assert shown == on_card(carried[edge]) or isinstance(shown, int), f"step {step}, edge {edge}"
        assert page.evaluate(OVERLAPS) == [], f"step {step}"
        pictures.append(page.evaluate(PICTURE))
    assert page.is_disabled("#step")
    for step in range(len(trace["events"]) - 1, -1, -1):
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(PICTURE) == pictures[step], f"back to step {step}"


@pytest.mark.parametrize("path", [path for path in EXAMPLES if "inplace" not in path.stem], ids=lambda path: path.stem)
def test_final_gradients_are_those_of_the_program(show, files, path: Path):
    """Against the program itself, run without being recorded."""
    trace = graph.recorded(path)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(trace["code"], str(path), "exec"), names)
    page = show(f"{files}graph.html#ex={trace['id']}&step=999")
    shown = {card["name"]: card for card in page.evaluate(CARDS)}
    checked = 0
    for name, value in names.items():
        if isinstance(value, ad.Tensor) and name in shown:
            checked += 1
            assert shown[name]["value"] == on_card(value.detach().tolist()), name
            if value.requires_grad and value.is_leaf:
                assert shown[name]["grad"] == ("None" if value.grad is None else on_card(value.grad.tolist())), name
    assert checked


def test_passes_play_and_inspector(show, files):
    page = show(f"{files}graph.html#ex=shared")
    page.select_option("#speed", "4")
    page.click("#forward")
    page.wait_for_function("document.querySelector('#scrub output').textContent === '5/13'")
    assert page.is_disabled("#forward")
    page.click("#backward")
    page.wait_for_function("document.querySelector('#scrub output').textContent === '13/13'")
    assert page.is_disabled("#backward")
    page.focus("#graph .node:nth-child(2)")
    page.keyboard.press("Enter")
    inspector = page.text_content("#inspect")
    for part in ("PowBackward0", "x (freed)", "11", "not kept", "∂z/∂x = ∂z/∂s · 2·x = 11 · 2·2 = 44"):
        assert part in inspector
    assert "node=1" in page.url and "step=13" in page.url and "ex=shared" in page.url
    page.click("#follow")
    page.click("#reset")
    page.click("#play")
    page.wait_for_function("document.querySelector('#scrub output').textContent === '3/13'")
    page.click("#play")
    page.fill("#at", "8")
    assert page.text_content("#scrub output") == "8/13"


def test_links_lead_into_the_middle(show, files):
    page = show(f"{files}graph.html#ex=chain&step=6&node=2&theme=dark")
    assert page.text_content("#formula") == "∂z/∂s = 2·s = 2·5 = 10" and page.text_content("#inspected") == "s"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.text_content("#code mark") == "s ** 2"


def test_a_program_of_ones_own(show, lab):
    page = show(f"{lab}graph.html")
    page.click("text=Edit")
    page.fill("#source", "x = ad.tensor(3.0, requires_grad=True)\ny = x * x\ny.backward()\nprint('done', x.grad)")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("body[data-runs='1']")
    page.keyboard.press("End")
    assert page.text_content("#printed") == "done tensor(6.)"
    cards = {card["name"]: card for card in page.evaluate(CARDS)}
    assert cards["x"]["grad"] == "6" and cards["y"]["value"] == "9"


def test_modules_are_folded_and_opened(show, lab):
    page = show(f"{lab}graph.html")
    page.click("text=Edit")
    code = "layer = nn.TransformerEncoderLayer(4, 2, 8)\nm = nn.TransformerEncoder(layer, 2)\nm(ad.ones(2, 1, 4)).sum().backward()"
    page.fill("#source", code)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("body[data-runs='1']")
    page.keyboard.press("End")
    cards = [card["name"] for card in page.evaluate(CARDS)]
    assert len(cards) <= 40 and any(name.startswith("m.layers.1") for name in cards)
    page.click("#fold")
    assert len(page.evaluate(CARDS)) > 40
    page.click("#fold")
    assert [card["name"] for card in page.evaluate(CARDS)] == cards


@pytest.mark.parametrize(
    ("code", "kind", "line", "part"),
    [
        ("x = ad.ones(2)\ny = = 3", "SyntaxError", 2, "invalid syntax"),
        ("x = ad.ones(2, requires_grad=True)\n\nx.backward()", "GradientError", 3, "only for scalar outputs"),
        ("x = 1\nwhile True:\n    x = 2", "TimeLimit", None, "second"),
        ("print(1)\nad.ones(100000, 100000)", "MemoryError", 2, "GiB"),
    ],
)
def test_errors_are_shown_where_they_are(show, lab, code, kind, line, part):
    page = show(f"{lab}graph.html")
    page.click("text=Edit")
    page.fill("#source", code)
    page.click("text=Run")
    page.wait_for_selector("body[data-runs='1']")
    assert part in page.text_content("#printed") and kind in page.text_content("#printed")
    if line is not None:
        assert page.text_content(".code li.bad .text") == code.split("\n")[line - 1]
    page.click("text=Edit")
    assert page.input_value("#source") == code
    page.fill("#source", "x = ad.ones(1)")
    page.click("text=Run")
    page.wait_for_selector("body[data-runs='2']")
    assert page.text_content("#scrub output") == "0/1"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 768, 390])
def test_nothing_is_wider_than_the_screen(show, files, shots, width, theme):
    for name, step in (("polynomial", 10), ("network", 20), ("inplace", 99), ("second", 13)):
        page = show(f"{files}graph.html#ex={name}&step={step}", width=width, theme=theme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if shots:
            page.screenshot(path=shots / f"graph-{name}-{width}-{theme}.png")


def test_recorded_traces_are_in_the_page(show, files):
    page = show(f"{files}graph.html")
    data = page.evaluate("lab.data.examples")
    assert [example["id"] for example in data] == IDS
    assert data == json.loads(json.dumps([graph.recorded(path) for path in EXAMPLES]))
