"""The debugger in the lab's page: a backward pass that stands still in this process, and is driven by the page."""

from __future__ import annotations

import sys
import threading
import webbrowser
from pathlib import Path

import pytest

import adjoint as ad
from adjoint.debugging import Session
from adjoint.debugging.page import PageTerminal

CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


@pytest.fixture
def pass_(monkeypatch):
    """The leaf of a pass that waits for commands, and the address of its page."""
    opened = threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.set())
    ad.manual_seed(0)
    model = ad.nn.Sequential(ad.nn.Linear(3, 4), ad.nn.Tanh(), ad.nn.Linear(4, 1))
    x, y = ad.rand(2, 3), ad.rand(2, 1)
    error = model(x) - y
    loss = (error**2).mean()
    terminal = PageTerminal(Session(ad.autograd.steps(loss), sys._getframe(), ["node:PowBackward0"]))
    thread = threading.Thread(target=terminal.run)
    thread.start()
    opened.wait()
    yield model, terminal.window
    terminal.window.asked.put("continue")  # where the test failed before; nobody reads it otherwise
    thread.join()


def obeyed(page, times):
    page.locator(f"body[data-obeyed='{times}']").wait_for()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_pass_is_driven_by_the_page(show, pass_, shots, width, theme):
    model, window = pass_
    show.allowed.add(f"http://{window.lab.hosts[0]}")
    page = show(window.address, width, theme)
    said = page.locator("#said")
    assert "stopped by 1, node:PowBackward0" in said.inner_text() and page.locator("#tools").inner_text() == "as far as it has come"
    moves = page.locator("#moves")
    moves.get_by_text("Next").click()
    obeyed(page, 1)
    assert "SubBackward0" in said.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width and page.evaluate(CONTRAST) == []
    page.locator("#command").fill("set g * 0 + 1")
    page.keyboard.press("Enter")
    obeyed(page, 2)
    assert "edited" in said.inner_text() and page.locator("#says").inner_text().startswith("The debugger on error replaces")
    moves.get_by_text("Step").click()
    obeyed(page, 3)
    moves.get_by_text("Back").click()
    obeyed(page, 4)
    if shots:
        page.screenshot(path=shots / f"debugger-{width}-{theme}.png", full_page=True)
    moves.get_by_text("Continue").click()
    obeyed(page, 5)
    assert "The program goes on" in said.inner_text() and page.locator("#command").is_disabled()
    assert model[2].bias.grad.tolist() == [2.0]
    page.locator("body").press("Home")
    assert page.locator("#formula").inner_text() == "Nothing has run yet."
