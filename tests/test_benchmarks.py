"""The benchmark harness: its arithmetic, its choice of cases, and that every timed case runs."""

from __future__ import annotations

import time

import pytest

import adjoint as ad
from benchmarks.__main__ import select_cases
from benchmarks._report import as_text
from benchmarks._timing import Row, TimedCase, best_times, geometric_mean

ROWS = [Row("fast", "µs", 1.0, 4.0), Row("slow", "µs", 9.0, 9.0), Row("light", "MB", 5.0, 0.0)]


def test_geometric_mean_is_of_times_only():
    assert geometric_mean(ROWS) == pytest.approx(0.5)
    assert geometric_mean(ROWS[2:]) is None


def test_table():
    assert as_text(ROWS).splitlines() == [
        "case                         unit  adjoint  torch  adjoint/torch",
        "fast                         µs        1.0    4.0           0.25",
        "slow                         µs        9.0    9.0           1.00",
        "light                        MB        5.0    0.0              -",
        "geometric mean of the times                                 0.50",
    ]


def test_best_times_tells_fast_from_slow():
    fast, slow = best_times([lambda: time.sleep(0.001), lambda: time.sleep(0.01)], seconds=0.05)
    assert 0.001 <= fast < slow
    assert slow >= 0.01


def test_selection_by_pattern():
    assert [case.name for case in select_cases("CHAIN")] == ["50-multiplication chain on 64 floats, forward+backward"]
    assert select_cases("no such case") == []


@pytest.mark.parametrize("case", [c for c in select_cases("") if isinstance(c, TimedCase)], ids=lambda case: case.name)
def test_timed_case_runs(case):
    step = case.build(ad)
    step()
    step()
