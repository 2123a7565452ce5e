"""The tutorial "How can I compute gradients?": what its examples print and raise.

One test per example, run with `import adjoint as torch`. What the tutorial prints is printed here too, and compared as text.
"""

from __future__ import annotations

import pytest

import adjoint as torch


def test_how_to_simple_gradient(capsys):
    x = torch.tensor(2.0, requires_grad=True)
    y = 2 * x**2 + 3
    assert x.grad is None
    y.backward()
    print(x.grad)
    assert capsys.readouterr().out == "tensor(8.)\n"


def test_how_to_matrix_multiplication(capsys):
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = torch.tensor([0.5, 1.0], requires_grad=True)
    x = torch.tensor([[1.0, 0.5], [0.2, 0.8]])
    y = torch.matmul(x, w) + b
    loss = torch.sum(y**2)
    loss.backward()
    print("Gradient of weights W: ", w.grad)
    print("Gradient of bias b:", b.grad)
    assert capsys.readouterr().out == (
        "Gradient of weights W:  tensor([[ 7.2400, 11.8400],\n        [ 7.9600, 12.3600]])\n"
        "Gradient of bias b: tensor([12.2000, 19.2000])\n"
    )


@pytest.mark.parametrize(("clear", "second"), [(True, 27.0), (False, 33.0)])
def test_how_to_clear_between_passes(capsys, clear, second):
    x = torch.tensor(3.0, requires_grad=True)
    (x**2).backward()
    print("Gradient of x after first backward pass: ", x.grad)
    if clear:
        x.grad.zero_()
    (x**3).backward()
    print("Gradient of x after zero_() and the second backward pass: ", x.grad)
    assert capsys.readouterr().out == (
        f"Gradient of x after first backward pass:  tensor(6.)\n"
        f"Gradient of x after zero_() and the second backward pass:  tensor({second:.0f}.)\n"
    )


def test_how_to_detach_keeps_the_gradient_zero_does_not():
    x = torch.tensor(3.0, requires_grad=True)
    (x**2).backward()
    assert not x.detach().requires_grad
    assert x.grad.item() == 6.0
    x.grad.zero_()
    assert x.grad.item() == 0.0
