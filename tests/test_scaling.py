"""The formulas of docs/scaling.md are the times of the algorithms: each is carried out here, message by message."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tests.test_docs import ROOT, blocks

LATENCY, PER_BYTE = 3e-6, 2e-9
# Rounds of an algorithm: in each, messages (from, to, slice of the numbers, whether they are added or take the place of what is there).
Round = Sequence[tuple[int, int, slice, bool]]


@pytest.fixture
def page(monkeypatch, tmp_path) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks((ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")):
            if block.kind == "python":
                exec(block.text, names)
    return names


def ring(ranks: int, length: int) -> Iterator[Round]:
    part = length // ranks
    for adding in (True, False):
        for turn in range(ranks - 1):
            first = [(rank - turn + (not adding)) % ranks * part for rank in range(ranks)]
            yield [(rank, (rank + 1) % ranks, slice(first[rank], first[rank] + part), adding) for rank in range(ranks)]


def doubling(ranks: int, length: int) -> Iterator[Round]:
    distance = 1
    while distance < ranks:
        yield [(rank, rank ^ distance, slice(None), True) for rank in range(ranks)]
        distance *= 2


def tree(ranks: int, length: int) -> Iterator[Round]:
    distances = [2**power for power in range(ranks.bit_length() - 1)]
    for distance in distances:
        yield [(rank + distance, rank, slice(None), True) for rank in range(0, ranks, 2 * distance)]
    for distance in reversed(distances):
        yield [(rank, rank + distance, slice(None), False) for rank in range(0, ranks, 2 * distance)]


@pytest.mark.parametrize("way", [ring, doubling, tree])
@pytest.mark.parametrize("ranks", [2, 8, 32])
def test_the_time_of_an_all_reduce(page, way, ranks):
    values = np.random.default_rng(0).integers(0, 100, (ranks, 64)).astype(np.float32)
    total, seconds = values.sum(0), 0.0
    for messages in way(ranks, values.shape[1]):
        sent = [values[source, part].copy() for source, _, part, _ in messages]
        for (_, target, part, adding), numbers in zip(messages, sent, strict=True):
            values[target, part] = numbers + values[target, part] if adding else numbers
        adds = messages[0][3]
        seconds += LATENCY + sent[0].nbytes * (PER_BYTE + adds * page["SUM"])  # all messages of a round are under way at once
    assert (values == total).all()
    assert page[way.__name__](ranks, values[0].nbytes, LATENCY, PER_BYTE) == pytest.approx(seconds)


def test_what_is_hidden_behind_the_backward_pass(page):
    """Three buckets of equal size: where sending one takes less time than filling one, only the last is seen."""
    step = page["step"]
    assert step(1.0, 3.0, [5, 5, 5], lambda size: 0.5, True) == pytest.approx(4.5)
    assert step(1.0, 3.0, [5, 5, 5], lambda size: 2.0, True) == pytest.approx(8.0)  # the first is full at 2
    assert step(1.0, 3.0, [5, 5, 5], lambda size: 0.5, False) == pytest.approx(5.5)
    assert page["buckets_of"](60, cap=25, first=1) == [1, 25, 25, 9]
