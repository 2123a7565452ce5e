"""The random programs of tests/programs.py give PyTorch's values, gradients and errors too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.programs import Machine, gradients, programs, pure, views, writes
from tests.property.test_random_graphs import assert_same_run, in_adjoint

torch = pytest.importorskip("torch")


def in_torch() -> Machine:
    return Machine(
        lambda data, requires_grad: torch.tensor(data, requires_grad=requires_grad),
        lambda output, inputs, retain, create: torch.autograd.grad(
            output, inputs, retain_graph=retain, create_graph=create, allow_unused=True
        ),
        torch.no_grad,
        lambda x: x.detach().numpy().copy(),
    )


def check(program: Any) -> None:
    with np.errstate(all="ignore"):
        assert_same_run(in_adjoint().run(program), in_torch().run(program))


@given(programs(pure, views, gradients))
def test_views(program):
    check(program)


@given(programs(pure, views, writes, gradients))
def test_everything(program):
    check(program)
