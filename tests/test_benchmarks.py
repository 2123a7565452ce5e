"""The benchmark harness: its arithmetic, its choice of cases, and that every timed case runs."""

from __future__ import annotations

import re
import time

import pytest

import adjoint as ad
from benchmarks.__main__ import select_cases
from benchmarks._report import as_markdown, as_text, with_tables
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


def test_markdown_has_a_table_by_size_and_one_for_the_rest():
    rows = [
        Row("exp 64, forward", "µs", 1.0, 4.0), Row("exp 1M, forward", "µs", 2.0, 4.0), Row("exp 64, forward+backward", "µs", 3.0, 4.0),
        Row("add of a number 64, forward", "µs", 4.0, 4.0), Row("softmax 2x3, forward", "µs", 1.0, 4.0),
        Row("softmax 2x3, forward+backward", "µs", 3.0, 4.0), Row("import time", "ms", 1.0, 10.0),
    ]  # fmt: skip
    text = as_markdown(rows)
    assert "| function | forward: 64 | 1M | forward+backward: 64 |" in text
    assert "| exp | 0.25 | 0.50 | 0.75 |" in text
    assert "| add of a number | 1.00 |  |  |" in text
    assert "| softmax 2x3 | 1 | 4 | 0.25 | 3 | 4 | 0.75 |" in text
    assert "| import time | ms | 1.0 | 10.0 | 0.10 |" in text


def test_tables_of_a_page_are_replaced_and_its_text_stays():
    page = with_tables("# Figures\n\n", ROWS[:1])
    assert page.startswith("# Figures\n\n")
    assert "| fast | µs |" in page
    again = with_tables(page, ROWS[1:2])
    assert again.startswith("# Figures\n\n")
    assert "| slow | µs |" in again
    assert "| fast | µs |" not in again


def test_best_times_tells_fast_from_slow():
    fast, slow = best_times([lambda: time.sleep(0.001), lambda: time.sleep(0.01)], seconds=0.05)
    assert 0.001 <= fast < slow
    assert slow >= 0.01


def test_selection_by_pattern():
    assert [case.name for case in select_cases("CHAIN")] == ["50-multiplication chain on 64 floats, forward+backward"]
    assert select_cases("no such case") == []


SMALL = [c for c in select_cases("") if isinstance(c, TimedCase) and not re.search(r" (1k|10k|1M|10M), ", c.name)]  # only the size differs


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_timed_case_runs(case):
    step = case.build(ad)
    step()
    step()
