"""The wrong calls of tests/errors raise the same type in PyTorch, and our messages begin with PyTorch's words."""

from __future__ import annotations

import re
import warnings
from itertools import takewhile

import pytest

from tests.errors.test_messages import WRONG_CALLS

torch = pytest.importorskip("torch")


def words(message: str) -> list[str]:
    """The words of a message in small letters; numbers apart, which may be counted differently."""
    return re.findall(r"[a-z_']+", re.sub(r"[\d.]+", " ", message.lower()))


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_same_type_and_first_words(name):
    wrong = WRONG_CALLS[name]
    with warnings.catch_warnings(action="ignore"), pytest.raises(wrong.type) as raised:
        wrong.case(torch)
    assert raised.type is wrong.type
    theirs, ours = words(str(raised.value)), words(wrong.message)
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(theirs, ours, strict=False))))
    assert common >= min(wrong.words, len(theirs)), f"{' '.join(ours[:12])} | {' '.join(theirs[:12])}"
