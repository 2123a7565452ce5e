"""A real browser for the lab's pages. `./dev browser` installs what is needed and runs these tests; `./dev test` leaves them out."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from adjoint.lab import static
from adjoint.lab.runner import Limits, Runner
from adjoint.lab.server import Lab

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab() -> Iterator[str]:
    """The address of a lab that runs programs."""
    with Lab(runner=Runner(Limits(seconds=3.0, memory=1 << 28))) as lab:
        thread = threading.Thread(target=lab.serve_forever)
        thread.start()
        yield lab.address
        lab.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the same pages as files."""
    folder = tmp_path_factory.mktemp("lab")
    static.write(folder)
    return f"{folder.as_uri()}/"


class Opener:
    """Opens pages, and keeps a list of what must not happen on any of them."""

    def __init__(self, browser: Browser, allowed: set[str]) -> None:
        self.browser, self.allowed = browser, allowed
        self.faults: list[str] = []
        self.contexts: list[Any] = []

    def __call__(self, address: str, width: int = 1280, theme: str = "light", **options: Any) -> Page:
        screen = {"width": width, "height": 900 if width > 760 else 844}
        context = self.browser.new_context(**{"viewport": screen, "color_scheme": theme, "reduced_motion": "reduce"} | options)
        self.contexts.append(context)
        page: Page = context.new_page()
        page.on("console", lambda said: self.faults.append(f"console: {said.text}") if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._seen(request.url))
        page.goto(address)
        return page

    def _seen(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("file", "data") and f"{parts.scheme}://{parts.netloc}" not in self.allowed:
            self.faults.append(f"a request left the machine: {url}")


@pytest.fixture
def show(browser: Browser, lab: str) -> Iterator[Opener]:
    """`show(address, width=390, theme="dark")` opens a page. An error in the console or a request to elsewhere fails the test."""
    parts = urlsplit(lab)
    opener = Opener(browser, {f"{parts.scheme}://{parts.netloc}"})
    yield opener
    for context in opener.contexts:
        context.close()
    assert opener.faults == []


@pytest.fixture
def shots() -> Path | None:
    """Where to put pictures of the pages, when ADJOINT_SHOTS names a folder: to be looked at, not compared."""
    folder = os.environ.get("ADJOINT_SHOTS")
    return Path(folder) if folder else None
