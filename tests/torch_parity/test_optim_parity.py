"""Optimizers and schedules against PyTorch: the same parameters after 50 steps, the same state, the same learning rates."""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # arrays this small gain nothing from more

LIBRARIES = (ad, torch)

# ---- optimizers ---------------------------------------------------------------------------------------------------------------------

OPTIMIZERS = [
    ("SGD", {}), ("SGD", dict(momentum=0.9)), ("SGD", dict(momentum=0.9, dampening=0.3, weight_decay=0.1)),
    ("SGD", dict(momentum=0.9, nesterov=True, maximize=True)), ("Adam", {}), ("Adam", dict(amsgrad=True, weight_decay=0.1)),
    ("Adam", dict(maximize=True, betas=(0.5, 0.9), eps=1e-3)), ("AdamW", {}), ("AdamW", dict(amsgrad=True, lr=0.05)), ("Adagrad", {}),
    ("Adagrad", dict(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)), ("RMSprop", {}),
    ("RMSprop", dict(momentum=0.9, centered=True, weight_decay=0.1)), ("RMSprop", dict(centered=True)),
    ("Adadelta", dict(weight_decay=0.1)), ("Adamax", dict(weight_decay=0.1)), ("NAdam", {}),
    ("NAdam", dict(weight_decay=0.1, decoupled_weight_decay=True)), ("RAdam", {}),
    ("RAdam", dict(weight_decay=0.1, decoupled_weight_decay=True, lr=0.1)), ("Rprop", {}), ("Rprop", dict(maximize=True)), ("ASGD", {}),
    ("ASGD", dict(t0=10, weight_decay=0.1, lambd=0.01)),
]  # fmt: skip
SHAPES = [(3, 4), (4,), (), (130, 130)]  # the last one is worked on in blocks
every = pytest.mark.parametrize(("name", "settings"), OPTIMIZERS, ids=[f"{n}{s}" for n, s in OPTIMIZERS])


@functools.cache
def gradient(shape, step, dtype):
    values = np.cos(np.arange(math.prod(shape)) * 1.3 + step).reshape(shape) + np.sin(step)
    return (values * (1 + 0.3j)).astype(dtype) if np.dtype(dtype).kind == "c" else values.astype(dtype)


def start(dtype):
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(s) * (1 + 0.5j if np.dtype(dtype).kind == "c" else 1)).astype(dtype) for s in SHAPES]


def parameters(library, arrays):
    return [library.nn.Parameter(library.tensor(a)) for a in arrays]


def train(library, optimizer, params, steps, dtype):
    for step in steps:
        for place, p in enumerate(params):
            skipped = step == 7 and place == 1
            p.grad = None if skipped else library.tensor(gradient(tuple(p.shape), step, dtype))
        optimizer.step()


def numbers(tensor):
    return tensor.detach().numpy()


def assert_same_state(ours, theirs, tolerance):
    assert ours["param_groups"] == theirs["param_groups"]
    assert list(ours["state"]) == list(theirs["state"])
    for number, expected in theirs["state"].items():
        found = ours["state"][number]
        assert list(found) == list(expected)
        for name, value in expected.items():
            a, b = numbers(found[name]), numbers(value)
            assert a.shape == b.shape and a.dtype == b.dtype
            assert np.allclose(a, b, rtol=tolerance, atol=tolerance)


@every
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-6), ("complex128", 1e-12)])
def test_fifty_steps(name, settings, dtype, tolerance):
    made = []
    for library in LIBRARIES:
        params = parameters(library, start(dtype))
        optimizer = getattr(library.optim, name)(params, **settings)
        train(library, optimizer, params, range(50), dtype)
        made.append((params, optimizer))
    (ours, our_optimizer), (theirs, their_optimizer) = made
    for a, b in zip(ours, theirs, strict=True):
        assert np.allclose(numbers(a), numbers(b), rtol=tolerance, atol=tolerance)
    assert_same_state(our_optimizer.state_dict(), their_optimizer.state_dict(), tolerance * 20)
    assert repr(our_optimizer) == repr(their_optimizer)


@every
def test_checkpoints_go_both_ways(name, settings):
    made = []
    for library in LIBRARIES:
        params = parameters(library, start("float64"))
        optimizer = getattr(library.optim, name)(params, **settings)
        train(library, optimizer, params, range(5), "float64")
        made.append((params, optimizer))
    (ours, our_optimizer), (theirs, their_optimizer) = made
    # PyTorch's state in our optimizer, and ours (as PyTorch's tensors) in PyTorch's.
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
        assert np.allclose(numbers(a), numbers(b), rtol=1e-12, atol=1e-12)


def test_default_dtype_decides_how_steps_are_counted():
    made = []
    for library in LIBRARIES:
        library.set_default_dtype(library.float64)
        try:
            params = parameters(library, start("float32"))
            optimizer = library.optim.NAdam(params)
            train(library, optimizer, params, range(3), "float32")
            made.append(optimizer.state_dict())
        finally:
            library.set_default_dtype(library.float32)
    assert_same_state(made[0], made[1], 1e-6)


@pytest.mark.parametrize(
    "settings",
    [dict(), dict(line_search_fn="strong_wolfe"), dict(lr=0.3, max_iter=7, history_size=3),
     dict(max_eval=4, line_search_fn="strong_wolfe")],
)  # fmt: skip
@pytest.mark.parametrize("steps", [1, 4])
def test_lbfgs(settings, steps):
    results = []
    for library in LIBRARIES:
        x = library.nn.Parameter(library.tensor([0.2, -0.3, 0.4], dtype=library.float64))
        y = library.nn.Parameter(library.tensor(0.5, dtype=library.float64))
        optimizer = library.optim.LBFGS([x, y], **settings)

        def closure(x=x, y=y, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((x - 1) ** 2).sum() + (x[0] * x[1] * y - 0.5) ** 2 + (x[2] ** 2 - y).exp().sum() * 0.1 + y**4
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(steps)]
        state = optimizer.state_dict()["state"][0]
        results.append((losses, numbers(x), numbers(y), state["func_evals"], state["n_iter"], len(state.get("old_dirs", ()))))
    (losses, *ours), (expected, *theirs) = results
    assert losses == pytest.approx(expected, rel=1e-9)
    assert np.allclose(ours[0], theirs[0], atol=1e-8) and np.allclose(ours[1], theirs[1], atol=1e-8)
    assert ours[2:] == theirs[2:]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_training_a_network(name):
    """From the same seed: the same weights, the same losses."""
    histories = []
    for library in LIBRARIES:
        library.manual_seed(7)
        nn = library.nn
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 3))
        x, target = library.randn(32, 4), library.randint(0, 3, (32,))
        optimizer = getattr(library.optim, name)(model.parameters(), lr=0.01)
        scheduler = library.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50)
        losses = []
        for _ in range(50):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), target)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        histories.append(losses)
    assert histories[0] == pytest.approx(histories[1], rel=1e-4)


# ---- mistakes -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mistake",
    [
        lambda lib, p: lib.optim.SGD([]),
        lambda lib, p: lib.optim.SGD(p),
        lambda lib, p: lib.optim.SGD([3]),
        lambda lib, p: lib.optim.SGD([p * 2]),
        lambda lib, p: lib.optim.SGD([{"params": [p]}, {"params": [p]}]),
        lambda lib, p: lib.optim.SGD([{"params": {p}}]),
        lambda lib, p: lib.optim.Adam([p], betas=(1.5, 0.9)),
        lambda lib, p: lib.optim.SGD([p]).load_state_dict(lib.optim.SGD([p, lib.nn.Parameter(lib.ones(1))]).state_dict()),
        lambda lib, p: lib.optim.lr_scheduler.StepLR(3, 2),
        lambda lib, p: lib.optim.lr_scheduler.LinearLR(lib.optim.SGD([p]), 2.0),
    ],
)
def test_messages_begin_with_pytorchs_words(mistake):
    with pytest.raises(Exception) as theirs:
        mistake(torch, torch.nn.Parameter(torch.ones(2)))
    with pytest.raises(theirs.type) as ours:
        mistake(ad, ad.nn.Parameter(ad.ones(2)))
    assert str(ours.value).startswith(str(theirs.value).split("\n")[0])


# ---- schedules ----------------------------------------------------------------------------------------------------------------------

SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9),
    "step": lambda s, o: s.StepLR(o, 3, 0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "constant": lambda s, o: s.ConstantLR(o, 0.3, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.9, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 7, 0.01),
    "polynomial": lambda s, o: s.PolynomialLR(o, 8, 2.0),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, 5),
    "cyclic, smaller": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 3, mode="triangular2"),
    "cyclic, decaying": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.95, cycle_momentum=False),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4, 2, 0.01),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.5, 30),
    "three phases": lambda s, o: s.OneCycleLR(o, [0.5, 0.3], epochs=5, steps_per_epoch=6, three_phase=True, anneal_strategy="linear"),
    "sequential": lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 5), s.CosineAnnealingLR(o, 10)], [5]),
    "three in sequence": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [4, 9]),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9)]),
}


def two_groups(library, name):
    make = lambda: library.nn.Parameter(library.ones(2))  # noqa: E731
    settings = dict(momentum=0.9) if name == "SGD" else {}
    return getattr(library.optim, name)([{"params": [make()], "lr": 0.2}, {"params": [make()], "lr": 0.7}], lr=0.1, **settings)


@pytest.mark.parametrize("build", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_schedule(build, name):
    runs = []
    for library in LIBRARIES:
        optimizer = two_groups(library, name)
        scheduler = build(library.optim.lr_scheduler, optimizer)
        seen = []
        for _ in range(25):
            seen.append([(g["lr"], g.get("momentum"), g.get("betas")) for g in optimizer.param_groups])
            optimizer.step()
            scheduler.step()
            seen.append(scheduler.get_last_lr())
        state = scheduler.state_dict()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                scheduler.step(3)
            except TypeError:
                seen.append("takes no epoch")
        runs.append((seen, scheduler.get_last_lr(), list(state), state))
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    "settings",
    [dict(patience=1), dict(mode="max", patience=2, cooldown=2), dict(threshold_mode="abs", threshold=0.1, patience=0, min_lr=[0.05, 0.01]),
     dict(mode="max", threshold_mode="abs", patience=1, factor=0.5)],
)  # fmt: skip
def test_plateau(settings):
    values = np.random.default_rng(0).standard_normal(40).round(2)
    runs = []
    for library in LIBRARIES:
        optimizer = two_groups(library, "SGD")
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
        seen = []
        for value in values:
            optimizer.step()
            scheduler.step(value)
            seen.append(scheduler.get_last_lr())
        runs.append((seen, scheduler.state_dict()))
    assert runs[0] == runs[1]
