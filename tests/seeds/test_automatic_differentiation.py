"""The tutorial "Autograd: automatic differentiation": what its examples print and raise.

One test per example, run with `import adjoint as torch`. What the tutorial prints is printed here too, and compared as text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as torch
from adjoint import nn


def test_autograd_leaves_and_results():
    x = torch.tensor([1.0], requires_grad=True)
    y = torch.tensor([2.0])
    assert x.is_leaf
    assert x.grad_fn is None
    for result in (x + y, x * 2):
        assert not result.is_leaf
        assert result.grad_fn is not None


def test_autograd_only_leaves_keep_gradients(capsys):
    x = torch.tensor([2.0], requires_grad=True)
    y = x**2
    z = y + 1
    z.backward()
    print(x.grad)
    with pytest.warns(UserWarning, match="not a leaf"):
        print(y.grad)
    x = torch.tensor([2.0], requires_grad=True)
    y = x**2
    y.retain_grad()
    z = y + 1
    z.backward()
    print(y.grad)
    assert capsys.readouterr().out == "tensor([4.])\nNone\ntensor([1.])\n"


def test_autograd_graph_follows_python_control_flow():
    def forward(x: Any, use_relu: bool = True) -> Any:
        y = x**2
        y = torch.relu(y) if use_relu else torch.tanh(y)
        return y.sum()

    x = torch.randn(3, requires_grad=True)
    for use_relu, name in ((True, "ReluBackward0"), (False, "TanhBackward0")):
        x.grad = None
        loss = forward(x, use_relu)
        assert loss.grad_fn.next_functions[0][0].name() == name
        loss.backward()
        square = x.detach() ** 2
        slope = 1 if use_relu else 1 - torch.tanh(square) ** 2
        assert torch.allclose(x.grad, 2 * x.detach() * slope, atol=1e-5)


def test_autograd_visualised_polynomial():
    x = torch.tensor([2.0], requires_grad=True)
    y = x**2 + 3 * x
    y.backward()
    assert x.grad.tolist() == [7.0]


def test_autograd_chain_rule_in_action(capsys):
    x = torch.tensor([2.0], requires_grad=True)
    y = torch.tensor([3.0], requires_grad=True)
    s = x + y
    z = s**2
    assert (s.item(), z.item()) == (5.0, 25.0)
    assert (s.grad_fn.name(), z.grad_fn.name()) == ("AddBackward0", "PowBackward0")
    z.backward()
    print(x.grad)
    print(y.grad)
    assert capsys.readouterr().out == "tensor([10.])\ntensor([10.])\n"


@pytest.mark.parametrize("by_none", [False, True])
def test_autograd_accumulation_and_its_cure(capsys, by_none):
    x = torch.tensor([2.0], requires_grad=True)
    for _ in range(2):
        (x**2).backward()
        print(x.grad)
    if by_none:
        x.grad = None
    else:
        x.grad.zero_()
    (x**2).backward()
    print(x.grad)
    assert capsys.readouterr().out == "tensor([4.])\ntensor([8.])\ntensor([4.])\n"


def test_autograd_small_batches_make_one_large_batch():
    model = nn.Linear(3, 1)
    data = torch.randn(8, 3)

    def criterion(output: Any) -> Any:
        return (output**2).mean()

    criterion(model(data)).backward()
    whole = [p.grad.clone() for p in model.parameters()]

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    accumulation_steps = 4
    steps = 0
    for i, batch in enumerate(data.split(2)):
        loss = criterion(model(batch)) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            for p, expected in zip(model.parameters(), whole, strict=True):
                assert torch.allclose(p.grad, expected, atol=1e-6)
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    assert steps == 1
    assert all(p.grad is None for p in model.parameters())


def test_autograd_demo_gradients_grow_without_zero_grad():
    def sizes(clear: bool) -> list[float]:
        w = torch.tensor([1.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.0)
        seen = []
        for _ in range(5):
            if clear:
                optimizer.zero_grad()
            (3 * w).sum().backward()
            optimizer.step()
            seen.append(w.grad.item())
        return seen

    assert sizes(clear=False) == [3.0, 6.0, 9.0, 12.0, 15.0]
    assert sizes(clear=True) == [3.0] * 5


def test_autograd_no_grad_block_and_decorator(capsys):
    model = nn.Linear(2, 2)
    model.eval()
    data = torch.randn(3, 2)
    with torch.no_grad():
        predictions = model(data)
        print(predictions.requires_grad)

    @torch.no_grad()
    def inference(model: Any, data: Any) -> Any:
        return model(data)

    print(inference(model, data).requires_grad)
    print(model(data).requires_grad)
    assert capsys.readouterr().out == "False\nFalse\nTrue\n"


def test_autograd_detach(capsys):
    x = torch.tensor([2.0], requires_grad=True)
    y = x**2
    cut = y.detach()
    print(y.requires_grad)
    print(cut.requires_grad)
    print(cut.grad_fn)
    assert capsys.readouterr().out == "True\nFalse\nNone\n"
    assert cut.data_ptr() == y.data_ptr()


def test_autograd_detach_stops_gradients_in_a_network():
    layer1, layer2 = nn.Linear(2, 2), nn.Linear(2, 1)
    h1 = layer1(torch.randn(4, 2))
    layer2(h1.detach()).sum().backward()
    assert layer2.weight.grad is not None
    assert layer1.weight.grad is None


def test_autograd_retain_graph(capsys):
    x = torch.tensor([2.0], requires_grad=True)
    y = x**2
    y.backward(retain_graph=True)
    print(x.grad)
    x.grad.zero_()
    y.backward()
    print(x.grad)
    assert capsys.readouterr().out == "tensor([4.])\ntensor([4.])\n"


def test_autograd_second_backward_without_retain_graph():
    x = torch.tensor([2.0], requires_grad=True)
    y = x**2
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    assert x.grad.tolist() == [4.0]


def test_autograd_enable_grad_inside_no_grad(capsys):
    with torch.no_grad():
        x = torch.tensor([1.0], requires_grad=True)
        y = x * 2
        with torch.enable_grad():
            z = x * 3
            print(z.requires_grad)
    assert capsys.readouterr().out == "True\n"
    assert not y.requires_grad


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


def test_autograd_function_square(capsys):
    x = torch.tensor([3.0], requires_grad=True)
    y = Square.apply(x)
    assert y.item() == 9.0
    y.backward()
    print(x.grad)
    assert capsys.readouterr().out == "tensor([6.])\n"


def test_autograd_training_loop_learns():
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.linspace(-1, 1, 32).unsqueeze(1)
    y = torch.sin(3 * x)
    losses = []
    for _ in range(100):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10


def test_autograd_gradient_clipping():
    x = torch.randn(100, requires_grad=True)
    (x**2).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_([x], max_norm=1.0)
    assert norm.item() == pytest.approx(2 * x.detach().norm().item(), rel=1e-5)
    assert x.grad.norm().item() == pytest.approx(1.0, rel=1e-4)
    x.grad.mul_(100)
    x.grad.clamp_(-1, 1)
    assert x.grad.abs().max().item() == 1.0


def test_autograd_hook_prints_the_gradient(capsys):
    def print_grad(grad: Any) -> Any:
        print(f"Gradient shape: {grad.shape}, mean: {grad.mean():.4f}")
        return grad

    x = torch.ones(10, requires_grad=True)
    x.register_hook(print_grad)
    (x**2).sum().backward()
    assert capsys.readouterr().out == "Gradient shape: torch.Size([10]), mean: 2.0000\n"
    assert x.grad.tolist() == [2.0] * 10


def test_autograd_second_derivative_of_a_cube(capsys):
    x = torch.tensor([2.0], requires_grad=True)
    y = x**3
    assert y.item() == 8.0
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    print(first)
    print(second)
    assert capsys.readouterr().out == "tensor([12.], grad_fn=<MulBackward0>)\ntensor([12.])\n"


def test_autograd_pitfall_zero_grad():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    batches = torch.ones(3, 1, 2)
    for clear, expected in ((False, [1.0, 2.0, 3.0]), (True, [1.0, 1.0, 1.0])):
        optimizer.zero_grad()
        seen = []
        for batch in batches:
            if clear:
                optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
            seen.append(model.bias.grad.item())
        assert seen == expected


def test_autograd_pitfall_inplace():
    x = torch.tensor([2.0], requires_grad=True)
    y = x**2
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with torch.no_grad():
        x.add_(1)  # allowed, but backward would need the old value
    with pytest.raises(RuntimeError, match="needed for gradient computation has been modified by an inplace operation"):
        y.backward()


def test_autograd_pitfall_inplace_corrected():
    original = x = torch.tensor([2.0], requires_grad=True)
    y = x**2
    x = x + 1
    y.backward()
    assert original.grad.tolist() == [4.0]
    assert x.tolist() == [3.0]


def test_autograd_pitfall_devices():
    with pytest.raises((RuntimeError, AssertionError), match=r"not compiled with CUDA enabled|NVIDIA"):
        torch.tensor([1.0], device="cuda", requires_grad=True)
    x = torch.ones(1, device="meta", requires_grad=True)
    y = torch.tensor([2.0], device="cpu", requires_grad=True)
    with pytest.raises(RuntimeError, match=r"is not on the expected device|Expected all tensors to be on the same device"):
        x + y
    z = torch.tensor([1.0], device="cpu", requires_grad=True) + y
    assert z.tolist() == [3.0]


def test_autograd_pitfall_numpy():
    x = torch.tensor([1.0], requires_grad=True)
    y = x**2
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) instead."):
        y.numpy()
    for array in (y.detach().numpy(), y.detach().cpu().numpy()):
        assert isinstance(array, np.ndarray)
        assert array.tolist() == [1.0]
