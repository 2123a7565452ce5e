"""The tutorial "Gradient computation": what its examples print and raise.

One test per example, run with `import adjoint as torch`. What the tutorial prints is printed here too, and compared as text.
"""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as torch
from adjoint import nn


def test_computation_derivative_of_a_square(capsys):
    x = torch.tensor(3.0, requires_grad=True)
    y = x**2
    y.backward()
    print(x.grad)
    assert capsys.readouterr().out == "tensor(6.)\n"


def test_computation_partial_derivatives(capsys):
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(4.0, requires_grad=True)
    loss = x**2 + 3 * y
    loss.backward()
    print(x.grad)
    print(y.grad)
    assert capsys.readouterr().out == "tensor(4.)\ntensor(3.)\n"


def test_computation_gradient_has_the_shape_of_its_tensor(capsys):
    w = torch.randn(3, 4, requires_grad=True)
    (w**2).sum().backward()
    print(w.shape)
    print(w.grad.shape)
    assert capsys.readouterr().out == "torch.Size([3, 4])\ntorch.Size([3, 4])\n"
    assert torch.equal(w.grad, 2 * w.detach())


def test_computation_scalar_loss():
    x = torch.tensor(2.0, requires_grad=True)
    loss = x**2
    loss.backward()
    assert x.grad.item() == 4.0


def test_computation_vector_is_refused_then_summed(capsys):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()
    loss = y.sum()
    loss.backward()
    print(x.grad)
    assert capsys.readouterr().out == "tensor([2., 4., 6.])\n"


def test_computation_upstream_gradient_of_a_vector(capsys):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    y.backward(torch.tensor([1.0, 1.0, 1.0]))
    print(x.grad)
    assert capsys.readouterr().out == "tensor([2., 4., 6.])\n"


def test_computation_chain_rule(capsys):
    x = torch.tensor(3.0, requires_grad=True)
    y = x + 1
    z = y**2
    z.backward()
    print(x.grad)
    assert capsys.readouterr().out == "tensor(8.)\n"


def test_computation_local_and_upstream_gradients(capsys):
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    a = x + y
    a.retain_grad()
    z = a**2
    z.backward()
    print(x.grad)
    print(y.grad)
    assert capsys.readouterr().out == "tensor(10.)\ntensor(10.)\n"
    assert a.item() == 5.0
    assert a.grad.item() == 10.0


def test_computation_linear_layer(capsys):
    batch, inputs, outputs = 5, 3, 4
    layer = nn.Linear(inputs, outputs)
    x = torch.randn(batch, inputs)
    layer(x).sum().backward()
    print(layer.weight.grad.shape)
    print(layer.bias.grad.shape)
    assert capsys.readouterr().out == "torch.Size([4, 3])\ntorch.Size([4])\n"
    assert layer.bias.grad.tolist() == [5.0] * outputs
    assert torch.allclose(layer.weight.grad, x.sum(0).expand(outputs, inputs))


def test_computation_gradients_accumulate(capsys):
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    y.backward()
    print(x.grad)
    z = 3 * x
    z.backward()
    print(x.grad)
    assert capsys.readouterr().out == "tensor(4.)\ntensor(7.)\n"


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_computation_evaluation_builds_no_graph(mode):
    model = nn.Linear(3, 1)
    model.eval()
    x = torch.randn(2, 3)
    with mode():
        prediction = model(x)
    assert not prediction.requires_grad
    assert prediction.grad_fn is None
    assert prediction.is_inference() == (mode is torch.inference_mode)
    assert torch.equal(prediction, model(x).detach())


def test_computation_sgd_step_moves_against_the_gradient():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(8, 3)
    y = torch.randn(8, 1)
    before = [p.detach().clone() for p in model.parameters()]
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    assert all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))  # backward alone moves nothing
    optimizer.step()
    for p, old in zip(model.parameters(), before, strict=True):
        assert p.grad is not None
        assert torch.allclose(p.detach(), old - 0.01 * p.grad)
    assert ((model(x) - y) ** 2).mean().item() < loss.item()


def test_computation_finite_differences():
    def f(x: Any) -> Any:
        return x**2

    x = torch.tensor(3.0, requires_grad=True)
    f(x).backward()
    eps = 1e-4
    estimate = (f(torch.tensor(3.0 + eps)) - f(torch.tensor(3.0 - eps))) / (2 * eps)
    assert x.grad.item() == 6.0
    assert estimate.item() == pytest.approx(6.0, abs=0.02)  # float32 leaves three digits


def test_computation_problem_missing_gradient():
    x = torch.tensor(2.0)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        (x**2).backward()
    x = torch.tensor(2.0, requires_grad=True)
    (x**2).backward()
    assert x.grad.item() == 4.0


def test_computation_problem_stale_gradient():
    def three_steps(clear: bool) -> float:
        w = torch.tensor([4.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            loss = (w**2).sum()
            if clear:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return float(w.item())

    assert three_steps(clear=True) == pytest.approx(4 * 0.8**3)
    assert three_steps(clear=False) == pytest.approx(-0.032, abs=1e-5)  # overshoots: each step adds the gradients of those before


def test_computation_problem_inplace_change_of_an_input():
    x = torch.randn(3, requires_grad=True)
    y = x**2
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1.0)
    y.sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())
