"""Floating-point operations, counted as PyTorch counts them."""

from __future__ import annotations

import importlib

import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
COUNTERS = [(lib, importlib.import_module(f"{lib.__name__}.utils.flop_counter")) for lib in (ad, torch)]


def _pictures(lib):
    nn = lib.nn
    return nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Sequential(nn.Flatten(), nn.Linear(6 * 64, 4)))


PROGRAMS = {
    "pictures": lambda lib: _pictures(lib)(lib.randn(2, 3, 8, 8)).sum(),
    "pictures again": lambda lib: _pictures(lib)(lib.randn(2, 3, 8, 8, requires_grad=True)).sum(),
    "transposed": lambda lib: lib.nn.ConvTranspose2d(3, 4, 3, stride=2)(lib.randn(2, 3, 5, 5, requires_grad=True)).sum(),
    "products": lambda lib: (lib.ones(4, 5, 6, requires_grad=True) @ lib.ones(4, 6, 3)).sum(),
    "added": lambda lib: lib.addmm(lib.ones(3), lib.ones(5, 4, requires_grad=True), lib.ones(4, 3, requires_grad=True)).sum(),
    "batched": lambda lib: lib.baddbmm(lib.ones(2, 5, 3), lib.ones(2, 5, 4, requires_grad=True), lib.ones(2, 4, 3)).sum(),
    "sequences": lambda lib: lib.nn.Linear(6, 4)(lib.ones(2, 3, 6)).sum(),
}


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_totals(program, backward):
    found = []
    for lib, module in COUNTERS:
        with module.FlopCounterMode(display=False) as counter:
            loss = PROGRAMS[program](lib)
            if backward:
                loss.backward()
        counts = counter.get_flop_counts()
        found.append((counter.get_total_flops(), {name: sum(ops.values()) for name, ops in counts.items()}))
    assert found[0] == found[1]


def test_formulas_of_others_and_tables():
    with COUNTERS[0][1].FlopCounterMode(display=False, custom_mapping={"exp": lambda x, out_shape: 7 * x[0]}) as counter:
        ad.nn.Linear(3, 1000)(ad.ones(2, 3)).exp()
    assert counter.get_flop_counts()["Global"] == {"aten.linear": 12000, "aten.exp": 14}
    table = counter.get_table().splitlines()
    assert table[0].split() == ["Module", "FLOP", "%", "Total"] and table[2].split() == ["Global", "12.014K", "100.00%"]
    assert any(line.split() == ["Linear", "12.000K", "99.88%"] for line in table)
