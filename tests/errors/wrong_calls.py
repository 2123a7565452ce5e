"""Wrong calls and what they answer: the table behind test_messages.py and its comparison with PyTorch.

A case is a function that makes one mistake with the module it is given. Its expected message is the whole text, in which `{made}` stands
for the place of the line that ends in the comment `# made`, and `{made.line}` for its number.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Case = Callable[[Any], Any]


@dataclass(frozen=True)
class Wrong:
    """`words`: how many words at the beginning are PyTorch's (numbers apart)."""

    case: Case
    type: type[Exception]
    template: str
    words: int

    @property
    def message(self) -> str:
        return self.template.format(**places(self.case))


WRONG_CALLS: dict[str, Wrong] = {}


class Place(str):
    """`file.py:12   the text of the line`, as errors show it."""

    line: int


def places(case: Case) -> dict[str, Place]:
    lines, first = inspect.getsourcelines(case)
    file = Path(inspect.getfile(case)).name
    found = {}
    for number, text in enumerate(lines, first):
        _, mark, role = text.rstrip().rpartition("  # ")
        if mark:
            place = Place(f"{file}:{number}   {text.strip()}")
            place.line = number
            found[role] = place
    return found


def wrong(type: type[Exception], message: str, words: int = 6) -> Callable[[Case], Case]:
    def add(case: Case) -> Case:
        WRONG_CALLS[case.__name__] = Wrong(case, type, message, words)
        return case

    return add
