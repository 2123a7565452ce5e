"""A pytest plugin: runs a sample of the tests, spread over all of them, and writes each one's outcome as soon as it is known.

What is written survives a process that is killed because it takes too long, which an XML report at the end would not.
"""

import json
import os
from pathlib import Path
from typing import Any

OUTCOMES, SAMPLE = "ECOSYSTEM_OUTCOMES", "ECOSYSTEM_SAMPLE"


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    most = int(os.environ[SAMPLE])
    if len(items) > most:
        kept = {round(number * (len(items) - 1) / (most - 1)) for number in range(most)}
        config.hook.pytest_deselected(items=[item for number, item in enumerate(items) if number not in kept])
        items[:] = [item for number, item in enumerate(items) if number in kept]


def _write(name: str, outcome: str) -> None:
    with Path(os.environ[OUTCOMES]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, outcome]) + "\n")


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        _write(report.nodeid, report.outcome)


def pytest_collectreport(report: Any) -> None:
    if report.failed:  # a file that cannot be imported: none of its tests ran
        _write(report.nodeid, "failed")
