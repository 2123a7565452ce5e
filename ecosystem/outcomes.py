"""A pytest plugin: runs a sample of the tests, and writes each one's outcome as soon as it is known.

What is written survives a process that is killed because it takes too long, which an XML report at the end would not.
"""

import json
import os
from pathlib import Path
from typing import Any
from zlib import crc32

from program import make_torchvision_importable

OUTCOMES, SAMPLE, WANTED = "ECOSYSTEM_OUTCOMES", "ECOSYSTEM_SAMPLE", "ECOSYSTEM_WANTED"


def pytest_configure(config: Any) -> None:
    make_torchvision_importable()


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the tests that are asked for by name, or so many of all: those whose names have the smallest checksums."""
    if WANTED in os.environ:
        kept = set(Path(os.environ[WANTED]).read_text(encoding="utf-8").splitlines())
    else:
        kept = {item.nodeid for item in sorted(items, key=lambda item: crc32(item.nodeid.encode()))[: int(os.environ[SAMPLE])]}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


def _write(name: str, outcome: str) -> None:
    with Path(os.environ[OUTCOMES]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, outcome]) + "\n")


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        _write(report.nodeid, report.outcome)


def pytest_collectreport(report: Any) -> None:
    if report.failed:  # a file that cannot be imported: none of its tests ran
        _write(report.nodeid, "failed")
