"""Random programs give the values, gradients and errors of the naive engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given

import adjoint as ad
from tests import naive
from tests.programs import Machine, gradients, programs, pure, views, writes


def in_adjoint() -> Machine:
    return Machine(
        lambda data, requires_grad: ad.tensor(data, requires_grad=requires_grad),
        lambda output, inputs, retain, create: ad.autograd.grad(
            output, inputs, retain_graph=retain, create_graph=create, allow_unused=True
        ),
        ad.no_grad,
        lambda x: x.detach().numpy().copy(),
    )


def in_naive() -> Machine:
    return Machine(naive.tensor, naive.grad, naive.no_grad, lambda x: x.numpy().copy())


def assert_same_run(one: Machine, other: Machine) -> None:
    """The same errors at the same steps, and the same numbers everywhere else."""
    assert [e.split(":")[0] for e in one.errors] == [e.split(":")[0] for e in other.errors], (one.errors, other.errors)
    assert len(one.log) == len(other.log)
    for a, b in zip(one.log, other.log, strict=True):
        if a is None or b is None or isinstance(a, str):
            assert a is b or a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def check(program: Any) -> None:
    with np.errstate(all="ignore"):  # exp of exp of exp
        assert_same_run(in_adjoint().run(program), in_naive().run(program))


@given(programs(pure, gradients))
def test_shared_nodes(program):
    check(program)


@given(programs(pure, views, gradients))
def test_views(program):
    check(program)


@given(programs(pure, writes, gradients))
def test_inplace_writes(program):
    check(program)


@given(programs(pure, views, writes, gradients))
def test_everything(program):
    check(program)
