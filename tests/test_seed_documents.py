"""Four tutorials on PyTorch's autograd, run with `import adjoint as torch`: each example and exercise gives what its tutorial says.

One test per example. What a tutorial prints is printed here too, and compared as text.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint as torch
from adjoint import nn
from tests import naive

# ----- "Gradient access (.grad)" -----


def test_grad_access_requires_grad_switches_tracking_on():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    assert x.requires_grad
    assert x.is_leaf
    assert (x * 2).grad_fn is not None
    assert (torch.tensor([2.0, 3.0]) * 2).grad_fn is None


def test_grad_access_backward_of_a_sum_of_squares():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x.pow(2).sum()
    assert y.item() == 13.0
    y.backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_grad_access_grad_is_none_before_backward(capsys):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x.pow(2).sum()
    print(x.grad)
    y.backward()
    print(x.grad)
    assert capsys.readouterr().out == "None\ntensor([4., 6.])\n"


def test_grad_access_zero_clears_what_would_accumulate():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    x.pow(2).sum().backward()
    x.pow(2).sum().backward()
    assert x.grad.tolist() == [8.0, 12.0]
    x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0]
    x.pow(2).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_grad_access_vector_output_takes_a_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.backward(torch.tensor([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 2.0]


def test_grad_access_retain_grad_keeps_an_intermediate_gradient(capsys):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    z = y * 3
    y.retain_grad()
    z.backward()
    print(y.grad)
    assert capsys.readouterr().out == "tensor(3.)\n"
    assert x.grad.item() == 12.0


def test_grad_access_intermediate_gradient_is_none_without_it():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    (y * 3).backward()
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_grad_access_inplace_change_of_a_leaf_is_refused():
    x = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x += 1
    assert x.item() == 2.0  # refused before anything was written
    y = x * x
    y.backward()
    assert x.grad.item() == 4.0


def test_grad_access_pitfall_reading_grad_too_early(capsys):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    print(x.grad)
    x.sum().backward()
    print(x.grad)
    assert capsys.readouterr().out == "None\ntensor([1., 1.])\n"


def test_grad_access_pitfall_forgotten_zero_grad():
    w = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.0)
    seen = []
    for clear in (False, False, True):
        if clear:
            optimizer.zero_grad()
        (w * 5).sum().backward()
        optimizer.step()
        seen.append(w.grad.item())
    assert seen == [5.0, 10.0, 5.0]


def test_grad_access_pitfall_backward_of_a_vector():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()
    assert x.grad is None
    y.backward(torch.tensor([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 2.0]


# ----- "Gradient computation" -----


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


# ----- "Autograd: automatic differentiation" -----


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


# ----- its exercises -----


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


# ----- "How can I compute gradients?" -----


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
