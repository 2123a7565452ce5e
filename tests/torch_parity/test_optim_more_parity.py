"""Adafactor, Muon, averaged weights and scaled gradients against PyTorch."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
pytest.importorskip("torch.optim.swa_utils")
torch.set_num_threads(1)  # arrays this small gain nothing from more

LIBRARIES = (ad, torch)
rng = np.random.default_rng(0)


def numbers(tensor):
    return tensor.detach().numpy()


def begin(shapes, dtype):
    start = np.random.default_rng(1)
    return [start.standard_normal(shape).astype(dtype) for shape in shapes]


def gradient(shape, step, dtype):
    return (np.cos(np.arange(math.prod(shape)) * 1.3 + step).reshape(shape) + np.sin(step)).astype(dtype)


def train(library, optimizer, params, steps, dtype):
    for step in steps:
        for p in params:
            p.grad = library.tensor(gradient(tuple(p.shape), step, dtype))
        optimizer.step()


def make(library, name, settings, shapes, dtype):
    params = [library.nn.Parameter(library.tensor(a)) for a in begin(shapes, dtype)]
    settings = {key: library.tensor(value.copy()) if isinstance(value, np.ndarray) else value for key, value in settings.items()}
    return params, getattr(library.optim, name)(params, **settings)


# ---- Adafactor and Muon -------------------------------------------------------------------------------------------------------------

ADAFACTOR = [
    {}, dict(weight_decay=0.1, maximize=True), dict(lr=0.5, d=2.0, beta2_decay=-0.5, eps=(1e-4, 1e-2)), dict(lr=np.array(0.02)),
]  # fmt: skip
SHAPES = [(3, 4), (4,), (), (2, 3, 4), (40, 50)]


@pytest.mark.parametrize("settings", ADAFACTOR, ids=[",".join(s) or "plain" for s in ADAFACTOR])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_adafactor(settings, dtype, tolerance):
    made = []
    for library in LIBRARIES:
        params, optimizer = make(library, "Adafactor", settings, SHAPES, dtype)
        train(library, optimizer, params, range(50), dtype)
        made.append((params, optimizer))
    (ours, our_optimizer), (theirs, their_optimizer) = made
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=tolerance, atol=tolerance)
    found, expected = our_optimizer.state_dict(), their_optimizer.state_dict()
    assert repr(our_optimizer) == repr(their_optimizer)
    assert {key: list(value) for key, value in found["state"].items()} == {key: list(value) for key, value in expected["state"].items()}
    for number, state in expected["state"].items():
        for name, value in state.items():
            np.testing.assert_allclose(numbers(found["state"][number][name]), numbers(value), rtol=tolerance * 20, atol=tolerance)


MUON = [{}, dict(nesterov=False, weight_decay=0.0), dict(adjust_lr_fn="match_rms_adamw", lr=0.01), dict(ns_steps=3, momentum=0.5)]


@pytest.mark.parametrize("settings", MUON, ids=[",".join(s) or "plain" for s in MUON])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_muon(settings, dtype):
    made = []
    shapes = [(3, 4), (40, 50), (6, 2)]
    for library in LIBRARIES:
        params, optimizer = make(library, "Muon", settings, shapes, dtype)
        train(library, optimizer, params, range(50), dtype)
        made.append((params, optimizer))
    (ours, our_optimizer), (theirs, their_optimizer) = made
    for a, b in zip(ours, theirs, strict=True):
        # The direction is computed in bfloat16, whose numbers are 0.8 % apart: after fifty steps a fraction of one remains.
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=0, atol=0.1 * our_optimizer.param_groups[0]["lr"])
    assert repr(our_optimizer) == repr(their_optimizer)
    for number, state in their_optimizer.state_dict()["state"].items():
        buffer = our_optimizer.state_dict()["state"][number]["momentum_buffer"]
        np.testing.assert_allclose(numbers(buffer), numbers(state["momentum_buffer"]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_checkpoints_go_both_ways(name):
    made = []
    for library in LIBRARIES:
        params, optimizer = make(library, name, {}, [(3, 4), (5, 2)], "float64")
        train(library, optimizer, params, range(5), "float64")
        made.append((params, optimizer))
    (ours, our_optimizer), (theirs, their_optimizer) = made
    saved = our_optimizer.state_dict()
    exported = {
        "state": {key: {n: torch.tensor(numbers(t)) for n, t in entry.items()} for key, entry in saved["state"].items()},
        "param_groups": saved["param_groups"],
    }
    our_optimizer.load_state_dict(their_optimizer.state_dict())
    their_optimizer.load_state_dict(exported)
    for library, params, optimizer in ((ad, ours, our_optimizer), (torch, theirs, their_optimizer)):
        train(library, optimizer, params, range(5, 9), "float64")
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=1e-3, atol=1e-4)


# ---- averages -----------------------------------------------------------------------------------------------------------------------

AVERAGES = {
    "mean": lambda swa: {},
    "one by one": lambda swa: dict(avg_fn=swa.get_swa_avg_fn()),
    "exponential": lambda swa: dict(multi_avg_fn=swa.get_ema_multi_avg_fn(0.9)),
    "exponential, one by one": lambda swa: dict(avg_fn=swa.get_ema_avg_fn(0.9)),
    "of one's own": lambda swa: dict(avg_fn=lambda average, current, count: 0.5 * average + 0.5 * current + count * 0.01),
}


@pytest.mark.parametrize("settings", AVERAGES.values(), ids=AVERAGES)
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averaged_model(settings, use_buffers):
    results = []
    data = rng.standard_normal((4, 6, 3))
    for library in LIBRARIES:
        swa = library.optim.swa_utils
        library.manual_seed(0)
        nn = library.nn
        model = nn.Sequential(nn.Linear(3, 4, dtype=library.float64), nn.BatchNorm1d(4, dtype=library.float64))
        averaged = swa.AveragedModel(model, use_buffers=use_buffers, **settings(swa))
        optimizer = library.optim.SGD(model.parameters(), lr=0.1)
        schedule = swa.SWALR(optimizer, 0.05, anneal_epochs=3)
        rates = []
        for batch in data:
            optimizer.zero_grad()
            model(library.tensor(batch)).square().mul(library.tensor(batch[:, :1])).sum().backward()
            optimizer.step()
            averaged.update_parameters(model)
            schedule.step()
            rates += schedule.get_last_lr()
        before = [numbers(value).copy() for value in averaged.state_dict().values()]
        swa.update_bn([library.tensor(data[0]), [library.tensor(data[1]), 0]], averaged)
        out = averaged.eval()(library.tensor(data[2]))
        results.append((repr(averaged), list(averaged.state_dict()), rates, [*before, numbers(out)]))
    ours, theirs = results
    assert ours[:2] == theirs[:2]
    assert np.allclose(ours[2], theirs[2])
    for a, b in zip(ours[3], theirs[3], strict=True):
        assert a.dtype == b.dtype and np.allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 4])
def test_swa_learning_rates(strategy, epochs):
    results = []
    for library in LIBRARIES:
        optimizer = library.optim.SGD([library.nn.Parameter(library.ones(1)), ], lr=1.0)
        optimizer.add_param_group({"params": [library.nn.Parameter(library.ones(1))], "lr": 0.3})
        schedule = library.optim.swa_utils.SWALR(optimizer, [0.1, 0.2], epochs, strategy)
        rates = [schedule.get_last_lr()]
        for _ in range(7):
            optimizer.step()
            schedule.step()
            rates.append(schedule.get_last_lr())
        results.append((rates, sorted(schedule.state_dict())))
    assert np.allclose(results[0][0], results[1][0], rtol=1e-12)
    assert set(results[1][1]) - set(results[0][1]) <= {"_get_lr_called_within_step", "_is_initial"}


# ---- scaled gradients ---------------------------------------------------------------------------------------------------------------


def scaled_training(lib):
    log = []
    scaler = lib.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    p = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([p], lr=0.1)
    for values in ([1.0, 2.0], [1.0, 2.0], [1.0, math.inf], [math.nan, 1.0], [1.0, 2.0]):
        optimizer.zero_grad()
        scaler.scale((p * lib.tensor(values)).sum()).backward()
        scaler.unscale_(optimizer)
        log.append(np.nan_to_num(numbers(p.grad)).tolist())
        scaler.step(optimizer)
        scaler.update()
        log += [p.tolist(), scaler.get_scale(), scaler.state_dict()]
    again = lib.amp.GradScaler("cpu")
    again.load_state_dict(scaler.state_dict())
    again.scale(lib.ones(1))
    again.update(16.0)
    log += [again.get_scale(), [x.tolist() for x in again.scale([lib.ones(1), lib.ones(2)])]]
    off = lib.amp.GradScaler("cpu", enabled=False)
    log += [off.is_enabled(), off.get_scale(), off.state_dict(), off.scale(lib.ones(1)).tolist()]
    return log


def test_grad_scaler():
    assert scaled_training(ad) == scaled_training(torch)


def scaler_after(lib, *calls):
    scaler = lib.amp.GradScaler("cpu")
    p = lib.nn.Parameter(lib.ones(1))
    optimizer = lib.optim.SGD([p], lr=0.1)
    scaler.scale(p.sum()).backward()
    for call in calls:
        getattr(scaler, call)(optimizer)


def parameter(lib, *shape, dtype="float32"):
    return [lib.nn.Parameter(lib.ones(*shape, dtype=getattr(lib, dtype)))]


def stepped(lib, name, params, **settings):
    optimizer = getattr(lib.optim, name)(params, **settings)
    for p in params:
        p.grad = lib.ones_like(p)
    optimizer.step()


MISTAKES = [
    *(lambda lib, s=s: lib.optim.Adafactor(parameter(lib, 2), **s) for s in (
        dict(lr=-1), dict(beta2_decay=1), dict(eps=(-1, 1)), dict(eps=(None, -1)), dict(d=0.5), dict(weight_decay=-1))),
    lambda lib: lib.optim.Adafactor(parameter(lib, 2), lr=lib.ones(2)),
    lambda lib: stepped(lib, "Adafactor", parameter(lib, 2, dtype="complex64")),
    *(lambda lib, s=s: stepped(lib, "Muon", parameter(lib, 2, 2), **s) for s in (
        dict(lr=-1), dict(momentum=-1), dict(weight_decay=-1), dict(adjust_lr_fn="x"), dict(ns_steps=100), dict(ns_coefficients=(1, 2)))),
    lambda lib: lib.optim.Muon(parameter(lib, 2)),
    lambda lib: stepped(lib, "Muon", parameter(lib, 2, 2, dtype="complex64")),
    lambda lib: lib.optim.swa_utils.get_ema_avg_fn(2),
    lambda lib: lib.optim.swa_utils.get_ema_multi_avg_fn(-1),
    lambda lib: lib.optim.swa_utils.AveragedModel(lib.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max),
    lambda lib: lib.optim.swa_utils.SWALR(lib.optim.SGD(parameter(lib, 2), lr=1.0), 0.1, anneal_strategy="x"),
    lambda lib: lib.optim.swa_utils.SWALR(lib.optim.SGD(parameter(lib, 2), lr=1.0), 0.1, anneal_epochs=-1),
    lambda lib: lib.optim.swa_utils.SWALR(lib.optim.SGD(parameter(lib, 2), lr=1.0), [0.1, 0.2]),
    lambda lib: scaler_after(lib, "unscale_", "unscale_"),
    lambda lib: scaler_after(lib, "step", "step"),
    lambda lib: scaler_after(lib, "step", "unscale_"),
    lambda lib: lib.amp.GradScaler("cpu").update(),
    lambda lib: lib.amp.GradScaler("cpu").scale(3),
    lambda lib: lib.amp.GradScaler("cpu").load_state_dict({}),
    lambda lib: lib.amp.GradScaler("cpu", growth_factor=1.0),
    lambda lib: lib.amp.GradScaler("cpu", backoff_factor=1.0),
    lambda lib: lib.autocast("foo"),
    lambda lib: lib.autocast(3),
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_messages_begin_with_pytorchs_words(mistake):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:
            mistake(torch)
        with pytest.raises(theirs.type) as ours:
            mistake(ad)
    assert str(ours.value).startswith(str(theirs.value).split("\n")[0].rstrip(". "))


# ---- SparseAdam ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, dict(lr=0.05, betas=(0.5, 0.9), eps=1e-4), dict(maximize=True)], ids=str)
def test_sparse_adam(settings):
    made = []
    for library in LIBRARIES:
        library.manual_seed(0)
        table = library.nn.Embedding(7, 3, sparse=True)
        optimizer = library.optim.SparseAdam(table.parameters(), **settings)
        for step in range(6):
            optimizer.zero_grad()
            (table(library.tensor([step, 2, step])) ** 2).sum().backward()
            optimizer.step()
        state = optimizer.state[table.weight]
        made.append([numbers(table.weight), numbers(state["exp_avg"]), numbers(state["exp_avg_sq"]), state["step"]])
    for ours, theirs in zip(*made, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


def test_sparse_adam_of_ours_reads_the_state_of_pytorch():
    tables = [library.nn.Embedding(4, 2, sparse=True) for library in LIBRARIES]
    optimizers = [library.optim.SparseAdam(table.parameters()) for library, table in zip(LIBRARIES, tables, strict=True)]
    tables[1](torch.tensor([1])).sum().backward()
    optimizers[1].step()
    state = optimizers[1].state_dict()
    for entry in state["state"].values():
        entry.update(exp_avg=ad.tensor(numbers(entry["exp_avg"])), exp_avg_sq=ad.tensor(numbers(entry["exp_avg_sq"])))
    optimizers[0].load_state_dict(state)
    assert optimizers[0].state[tables[0].weight]["step"] == 1


def test_the_line_search_that_others_import():
    def searched(library):
        from importlib import import_module

        lbfgs = import_module(f"{library.__name__}.optim.lbfgs")
        x, d = library.tensor([1.0, -2.0], dtype=library.float64), library.tensor([-1.0, 3.0], dtype=library.float64)

        def loss_and_gradient(x, t, d):
            y = x + t * d
            return float((y**4).sum() + y.cos().sum()), 4 * y**3 - y.sin()

        loss, gradient = loss_and_gradient(x, 0.0, d)
        f, g, t, evaluations = lbfgs._strong_wolfe(loss_and_gradient, x, 0.1, d, loss, gradient, gradient.dot(d), c2=0.1)
        one = library.tensor(1.0, dtype=library.float64)
        cubic = [lbfgs._cubic_interpolate(0.0, 1.0, -one, 2.0, 0.8, one)]
        cubic.append(lbfgs._cubic_interpolate(2.0, 0.8, one, 0.0, 5.0, one * 0.1, (0.5, 3.0)))
        return [float(f), *g.tolist(), float(t), evaluations, *map(float, cubic)]

    assert all(math.isclose(ours, theirs, rel_tol=1e-9) for ours, theirs in zip(*map(searched, (ad, torch)), strict=True))
