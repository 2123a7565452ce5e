"""The formulas: against plain loops, in every way in which they are run."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.optim import _elementwise

EVERY = [
    (optim.SGD, {}),
    (optim.SGD, dict(momentum=0.9, dampening=0.3, weight_decay=0.1)),
    (optim.SGD, dict(momentum=0.9, nesterov=True, maximize=True)),
    (optim.Adam, dict(weight_decay=0.1)),
    (optim.Adam, dict(amsgrad=True, maximize=True)),
    (optim.AdamW, {}),
    (optim.Adagrad, dict(lr_decay=0.1, initial_accumulator_value=0.5)),
    (optim.RMSprop, {}),
    (optim.RMSprop, dict(momentum=0.9, centered=True, weight_decay=0.1)),
    (optim.Adadelta, dict(weight_decay=0.1)),
    (optim.Adamax, {}),
    (optim.NAdam, dict(weight_decay=0.1)),
    (optim.NAdam, dict(weight_decay=0.1, decoupled_weight_decay=True)),
    (optim.RAdam, {}),
    (optim.RAdam, dict(weight_decay=0.1, decoupled_weight_decay=True)),
    (optim.Rprop, {}),
    (optim.ASGD, dict(t0=2, weight_decay=0.1)),
]
NAMES = [f"{cls.__name__}-{'-'.join(settings)}" for cls, settings in EVERY]
every = pytest.mark.parametrize(("cls", "settings"), EVERY, ids=NAMES)


def gradient(shape, step, dtype=np.float64):
    values = np.cos(np.arange(math.prod(shape)) * 1.3 + step).reshape(shape) + np.sin(step)
    return (values * (1 + 0.5j)).astype(dtype) if np.dtype(dtype).kind == "c" else values.astype(dtype)


def train(cls, settings, arrays, steps=8, dtype=np.float64):
    params = [nn.Parameter(ad.tensor(a)) for a in arrays]
    optimizer = cls(params, **settings)
    for step in range(steps):
        for p in params:
            p.grad = ad.tensor(gradient(tuple(p.shape), step, dtype))
        optimizer.step()
    return [p.detach().numpy() for p in params]


def start(*shape, dtype=np.float64):
    values = np.linspace(-1, 1, math.prod(shape)).reshape(shape)
    return (values * (1 - 0.5j)).astype(dtype) if np.dtype(dtype).kind == "c" else values.astype(dtype)


# ---- single formulas ----------------------------------------------------------------------------------------------------------------


def loop(update, steps=8):
    """The value of one parameter after some steps of a formula written with Python numbers."""
    x = 0.5
    memory: dict[str, float] = {}
    for step in range(1, steps + 1):
        x = update(x, math.cos(step) + x, step, memory)
    return x


def run(cls, settings, steps=8):
    p = nn.Parameter(ad.tensor(0.5, dtype=ad.float64))
    optimizer = cls([p], **settings)
    for step in range(1, steps + 1):
        p.grad = ad.tensor(math.cos(step) + p.item(), dtype=ad.float64)
        optimizer.step()
    return p.item()


def momentum(x, g, step, memory):
    memory["v"] = g if step == 1 else 0.9 * memory["v"] + 0.5 * g
    return x - 0.1 * memory["v"]


def adam(x, g, step, memory):
    memory["m"] = 0.9 * memory.get("m", 0) + 0.1 * g
    memory["v"] = 0.99 * memory.get("v", 0) + 0.01 * g * g
    return x - 0.1 * (memory["m"] / (1 - 0.9**step)) / (math.sqrt(memory["v"] / (1 - 0.99**step)) + 1e-8)


def adamw(x, g, step, memory):
    return adam(x * (1 - 0.1 * 0.2), g, step, memory)


def adagrad(x, g, step, memory):
    memory["s"] = memory.get("s", 0) + g * g
    return x - 0.1 * g / (math.sqrt(memory["s"]) + 1e-10)


def rmsprop(x, g, step, memory):
    memory["v"] = 0.9 * memory.get("v", 0) + 0.1 * g * g
    return x - 0.1 * g / (math.sqrt(memory["v"]) + 1e-8)


def adamax(x, g, step, memory):
    memory["m"] = 0.9 * memory.get("m", 0) + 0.1 * g
    memory["u"] = max(0.99 * memory.get("u", 0), abs(g) + 1e-8)
    return x - 0.1 / (1 - 0.9**step) * memory["m"] / memory["u"]


def rprop(x, g, step, memory):
    sign = g * memory.get("g", 0)
    size = memory.get("size", 0.1) * (1.2 if sign > 0 else 0.5 if sign < 0 else 1)
    g = 0 if sign < 0 else g
    memory.update(size=min(max(size, 1e-6), 50), g=g)
    return x - (g > 0) * memory["size"] + (g < 0) * memory["size"]


@pytest.mark.parametrize(
    ("cls", "settings", "formula"),
    [
        (optim.SGD, dict(lr=0.1), lambda x, g, step, memory: x - 0.1 * g),
        (optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.5), momentum),
        (optim.Adam, dict(lr=0.1, betas=(0.9, 0.99)), adam),
        (optim.AdamW, dict(lr=0.1, betas=(0.9, 0.99), weight_decay=0.2), adamw),
        (optim.Adagrad, dict(lr=0.1), adagrad),
        (optim.RMSprop, dict(lr=0.1, alpha=0.9), rmsprop),
        (optim.Adamax, dict(lr=0.1, betas=(0.9, 0.99)), adamax),
        (optim.Rprop, dict(lr=0.1), rprop),
    ],
)
def test_formula(cls, settings, formula):
    assert run(cls, settings) == pytest.approx(loop(formula), abs=1e-13)


# ---- the ways in which formulas are run ---------------------------------------------------------------------------------------------


@every
def test_joined_parameters_are_updated_like_single_ones(cls, settings):
    arrays = [start(3, 4), start(5), start(), start(2, 2, 2)]
    together = train(cls, settings, arrays)
    for array, result in zip(arrays, together, strict=True):
        assert np.array_equal(train(cls, settings, [array])[0], result)


@every
def test_blocks_of_large_parameters_fit_together(cls, settings, monkeypatch):
    array = start(7, 11)
    whole = train(cls, settings, [array])
    monkeypatch.setattr(_elementwise, "BLOCK", 10)
    assert np.array_equal(train(cls, settings, [array])[0], whole[0])
    assert np.array_equal(train(cls, settings, [np.asfortranarray(array)])[0], whole[0])


@every
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_tensors_give_the_same(cls, settings, dtype):
    arrays = [start(3, 4, dtype=dtype), start(5, dtype=dtype)]
    expected = train(cls, settings, arrays, dtype=dtype)
    params = [nn.Parameter(ad.tensor(a)) for a in arrays]
    optimizer = cls(params, **settings)
    for step in range(8):
        for p in params:
            p.grad = ad.tensor(gradient(tuple(p.shape), step, dtype))
        with ad.no_grad():
            optimizer._step_tensors(optimizer.param_groups[0], params)
    for p, result in zip(params, expected, strict=True):
        assert np.allclose(p.detach().numpy(), result, rtol=1e-14, atol=1e-14)


@every
def test_complex_numbers_count_as_two_real_ones(cls, settings):
    array = start(3, dtype=np.complex128)
    result = train(cls, settings, [array], dtype=np.complex128)[0]
    params = [nn.Parameter(ad.tensor(array.view(np.float64)))]
    optimizer = cls(params, **settings)
    for step in range(8):
        params[0].grad = ad.tensor(gradient((3,), step, np.complex128).view(np.float64))
        optimizer.step()
    assert np.array_equal(result.view(np.float64), params[0].detach().numpy())


@every
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_dtypes_are_kept(cls, settings, dtype):
    result = train(cls, settings, [start(4, dtype=dtype)], dtype=dtype)[0]
    assert result.dtype == dtype and np.isfinite(result).all()
    assert np.allclose(result, train(cls, settings, [start(4)])[0], atol=5e-2 if dtype == np.float16 else 1e-5)


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (optim.SGD, dict(momentum=0.9)),
        (optim.Adam, {}),
        (optim.AdamW, dict(amsgrad=True)),
        (optim.Adagrad, {}),
        (optim.RMSprop, dict(centered=True, momentum=0.5)),
        (optim.Adadelta, {}),
        (optim.Adamax, {}),
        (optim.NAdam, {}),
        (optim.RAdam, {}),
        (optim.ASGD, {}),
    ],
)
def test_differentiable(cls, settings):
    """The derivative of the loss after three steps with respect to the start, against finite differences."""

    def after_three_steps(value):
        x0 = ad.tensor(value, dtype=ad.float64, requires_grad=True)
        x = x0.clone()
        x.retain_grad()
        optimizer = cls([x], lr=0.1, differentiable=True, **settings)
        for _ in range(3):
            (gradient,) = ad.autograd.grad((x**3).sum() + (2 * x).cos().sum(), x, create_graph=True)
            # The gradient was computed from x, which the step overwrites; PyTorch's optimizers ask for the same clone.
            x.grad = gradient
            fresh = x.clone()
            fresh.grad = x.grad
            swap(optimizer, x, fresh)
            optimizer.step()
            x = fresh
        return x0, (x**2).sum()

    value = [0.7, -0.4]
    x0, loss = after_three_steps(value)
    (found,) = ad.autograd.grad(loss, x0)
    for place in range(2):
        high, low = list(value), list(value)
        high[place] += 1e-6
        low[place] -= 1e-6
        slope = (after_three_steps(high)[1].item() - after_three_steps(low)[1].item()) / 2e-6
        assert found[place].item() == pytest.approx(slope, rel=1e-6, abs=1e-6)


def swap(optimizer, old, new):
    """Let the optimizer go on with another tensor in place of a parameter."""
    optimizer.param_groups[0]["params"] = [new]
    if old in optimizer.state:
        optimizer.state[new] = optimizer.state.pop(old)


# ---- LBFGS --------------------------------------------------------------------------------------------------------------------------


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


@pytest.mark.parametrize("settings", [dict(line_search_fn="strong_wolfe"), dict(lr=0.5, max_iter=60)])
def test_lbfgs_finds_a_minimum(settings):
    x = nn.Parameter(ad.tensor([0.5, 0.5, 0.6], dtype=ad.float64))
    optimizer = optim.LBFGS([x], history_size=10, tolerance_change=1e-14, **settings)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    first = optimizer.step(closure).item()
    for _ in range(15):
        last = optimizer.step(closure).item()
    assert first > 1 and last < 1e-12
    assert np.allclose(x.detach().numpy(), 1, atol=1e-4)
    state = optimizer.state[x]
    assert state["n_iter"] > 0 and len(state["old_dirs"]) <= 10


def test_lbfgs_goes_on_after_loading():
    def make(value):
        x = nn.Parameter(ad.tensor(value, dtype=ad.float64))
        optimizer = optim.LBFGS([x], max_iter=3, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(x)
            loss.backward()
            return loss

        return x, optimizer, closure

    x, optimizer, closure = make([0.5, 0.5])
    optimizer.step(closure)
    y, other, other_closure = make(x.tolist())
    other.load_state_dict(optimizer.state_dict())
    optimizer.step(closure)
    other.step(other_closure)
    assert x.tolist() == y.tolist()


def test_lbfgs_stops_where_the_gradient_is_small():
    x = nn.Parameter(ad.zeros(2))
    optimizer = optim.LBFGS([x])
    calls = []

    def closure():
        calls.append(1)
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert len(calls) == 1 and optimizer.state[x]["func_evals"] == 1


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_adafactor_of_bfloat16(shape):
    """As in float32 up to its rounding; what counts as tiny is what the dtype says."""

    def trained(dtype):
        x = nn.Parameter(ad.arange(1.0, 1 + math.prod(shape)).reshape(shape).to(dtype))
        optimizer = optim.Adafactor([x], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()
        return x.detach()

    half = trained(ad.bfloat16)
    assert half.dtype == ad.bfloat16
    np.testing.assert_allclose(half.float().numpy(), trained(ad.float32).numpy(), rtol=0.02)
