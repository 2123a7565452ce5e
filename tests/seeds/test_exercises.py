"""The exercises of the tutorial "Autograd: automatic differentiation", solved.

One test per example, run with `import adjoint as torch`. What the tutorial prints is printed here too, and compared as text.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import adjoint as torch
from adjoint import nn
from tests import naive


def test_exercise_manual_chain_rule():
    x = torch.tensor(0.7, requires_grad=True)
    torch.sin(x**2 + 3 * x).backward()
    by_hand = math.cos(0.7**2 + 3 * 0.7) * (2 * 0.7 + 3)
    assert x.grad.item() == pytest.approx(by_hand, rel=1e-6)


class Abs(torch.autograd.Function):
    """The slope at 0 is taken to be 0, the middle of all the slopes that fit under the corner."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x < 0, -x, x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sign(x)


def test_exercise_custom_absolute_value():
    x = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    y = Abs.apply(x)
    assert y.tolist() == [2.0, 0.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [-1.0, 0.0, 1.0]
    built_in = x.detach().clone().requires_grad_()
    built_in.abs().sum().backward()
    assert torch.equal(x.grad, built_in.grad)


def test_exercise_debugging_what_is_wrong():
    model = nn.Linear(10, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    grads, losses = [], []
    for _ in range(5):
        y = model(torch.ones(32, 10)).sum()
        y.backward()
        optimizer.step()
        grads.append(model.bias.grad.item())
        losses.append(y.item())
    assert grads == [32.0, 64.0, 96.0, 128.0, 160.0]  # first mistake: old gradients are never cleared
    assert losses == sorted(losses, reverse=True)  # second: a sum of outputs has no minimum, so this "loss" falls for ever


def test_exercise_debugging_fixed():
    model = nn.Linear(10, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 10)
    target = x @ torch.linspace(-1, 1, 10).unsqueeze(1) + 0.5
    losses = []
    for _ in range(100):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 20


@pytest.mark.parametrize(
    ("function", "derivatives"),
    [
        (lambda x: x**4, (4.0, 12.0, 24.0)),
        (lambda x: x**3 + 2 * x**2 - x, (6.0, 10.0, 6.0)),
        (lambda x: torch.exp(2 * x), tuple(2**n * math.exp(2) for n in (1, 2, 3))),
        (torch.sin, (math.cos(1), -math.sin(1), -math.cos(1))),
        (lambda x: x * torch.log(x), (1.0, 1.0, -1.0)),
        (lambda x: 1 / x, (-1.0, 2.0, -6.0)),
    ],
)
def test_exercise_second_and_third_derivatives(function, derivatives):
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = function(x)
    for expected in derivatives:
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_challenge_mini_autograd():
    libraries: tuple[Any, ...] = (naive.tensor, torch.tensor)
    for tensor in libraries:  # the hundred lines in naive.py, and the library
        a = tensor(2.0, requires_grad=True)
        b = tensor(3.0, requires_grad=True)
        c = a + b
        d = c * a
        assert (c.item(), d.item()) == (5.0, 10.0)
        d.backward()
        assert (a.grad.item(), b.grad.item()) == (7.0, 2.0)
        (a**3).backward()
        assert a.grad.item() == 7.0 + 12.0
