"""Learning-rate schedules."""

from __future__ import annotations

import math

import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.optim import lr_scheduler as schedules


def make(lr=1.0, **settings):
    return optim.SGD([nn.Parameter(ad.ones(1))], lr=lr, **settings)


def rates(optimizer, scheduler, epochs):
    found = []
    for _ in range(epochs):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda o: schedules.LambdaLR(o, lambda epoch: 1 / (epoch + 1)), lambda n: 1 / (n + 1)),
        (lambda o: schedules.MultiplicativeLR(o, lambda epoch: 0.5), lambda n: 0.5**n),
        (lambda o: schedules.StepLR(o, 3, 0.5), lambda n: 0.5 ** (n // 3)),
        (lambda o: schedules.MultiStepLR(o, [2, 5, 5], 0.5), lambda n: 0.5 ** ((n >= 2) + 2 * (n >= 5))),
        (lambda o: schedules.ConstantLR(o, 0.25, 4), lambda n: 0.25 if n < 4 else 1),
        (lambda o: schedules.LinearLR(o, 0.2, 1.0, 4), lambda n: 0.2 + 0.8 * min(n, 4) / 4),
        (lambda o: schedules.ExponentialLR(o, 0.9), lambda n: 0.9**n),
        (lambda o: schedules.PolynomialLR(o, 5, 2.0), lambda n: (1 - min(n, 5) / 5) ** 2),
        (lambda o: schedules.CosineAnnealingLR(o, 5, 0.1), lambda n: 0.1 + 0.9 * (1 + math.cos(math.pi * n / 5)) / 2),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 4), lambda n: (1 + math.cos(math.pi * (n % 4) / 4)) / 2),
        (lambda o: schedules.CyclicLR(o, 0.0, 1.0, 4, cycle_momentum=False), lambda n: 1 - abs(n % 8 - 4) / 4),
        (lambda o: schedules.ChainedScheduler([schedules.ConstantLR(o, 0.5, 2), schedules.ExponentialLR(o, 0.9)]),
         lambda n: 0.9**n * (0.5 if n < 2 else 1)),
        (lambda o: schedules.SequentialLR(o, [schedules.ConstantLR(o, 0.5, 9), schedules.ExponentialLR(o, 0.9)], [3]),
         lambda n: 0.5 if n < 3 else 0.9 ** (n - 3)),
    ],
)  # fmt: skip
def test_rates(build, expected):
    optimizer = make()
    scheduler = build(optimizer)
    found = rates(optimizer, scheduler, 12)
    assert found == pytest.approx([expected(n) for n in range(12)], abs=1e-12)
    assert scheduler.get_last_lr() == [optimizer.param_groups[0]["lr"]]


def test_one_cycle():
    optimizer = make(momentum=0.9)
    scheduler = schedules.OneCycleLR(optimizer, 1.0, total_steps=10)
    found = rates(optimizer, scheduler, 9)
    assert found[0] == pytest.approx(1 / 25) and max(found) == found[2] == pytest.approx(1.0)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1 / 25e4)
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95)
    scheduler.step()
    with pytest.raises(ValueError, match=r"Tried to step 11 times\. The specified number of total steps is 10"):
        scheduler.step()


def test_momentum_goes_against_the_rate():
    optimizer = optim.Adam([nn.Parameter(ad.ones(1))])
    scheduler = schedules.CyclicLR(optimizer, 0.1, 1.0, 2)
    rates(optimizer, scheduler, 2)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1.0)
    assert optimizer.param_groups[0]["betas"] == (pytest.approx(0.8), 0.999)


def test_plateau():
    optimizer = make()
    scheduler = schedules.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    found = []
    for value in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        optimizer.step()
        scheduler.step(ad.tensor(value))
        found.append(optimizer.param_groups[0]["lr"])
    assert found == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2]
    best = schedules.ReduceLROnPlateau(make(), mode="max", threshold=0.5, threshold_mode="abs", patience=0)
    best.step(1.0)
    best.step(1.4)
    assert best.best == 1.0 and best.get_last_lr() == [pytest.approx(0.1)]


def test_groups_have_rates_of_their_own():
    a, b = nn.Parameter(ad.ones(1)), nn.Parameter(ad.ones(1))
    optimizer = optim.SGD([{"params": [a], "lr": 1.0}, {"params": [b], "lr": 2.0}])
    scheduler = schedules.LambdaLR(optimizer, [lambda n: 0.5**n, lambda n: 0.1**n])
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5, 0.2]


def test_tensor_rates_stay_tensors():
    rate = ad.tensor(1.0)
    optimizer = make(lr=rate)
    scheduler = schedules.ExponentialLR(optimizer, 0.5)
    rates(optimizer, scheduler, 2)
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.25 and scheduler.base_lrs == [1.0]


@pytest.mark.parametrize(
    "build",
    [
        lambda o: schedules.StepLR(o, 2),
        lambda o: schedules.LambdaLR(o, lambda n: 0.9**n),
        lambda o: schedules.CyclicLR(o, 0.1, 1.0, 3),
        lambda o: schedules.OneCycleLR(o, 1.0, 20),
        lambda o: schedules.CosineAnnealingWarmRestarts(o, 3, 2),
        lambda o: schedules.SequentialLR(o, [schedules.ConstantLR(o), schedules.ExponentialLR(o, 0.9)], [3]),
    ],
)
def test_schedules_go_on_after_loading(build):
    a, b = make(momentum=0.9), make(momentum=0.9)
    first, second = build(a), build(b)
    rates(a, first, 4)
    b.load_state_dict(a.state_dict())
    second.load_state_dict(first.state_dict())
    assert rates(a, first, 5) == rates(b, second, 5)


class Halving:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor**epoch


def test_attributes_of_callable_objects_are_saved():
    first = schedules.LambdaLR(make(), Halving(0.5))
    second = schedules.LambdaLR(make(), Halving(0.9))
    assert first.state_dict()["lr_lambdas"] == [{"factor": 0.5}]
    second.load_state_dict(first.state_dict())
    assert second.lr_lambdas[0].factor == 0.5


def test_resuming_at_an_epoch():
    optimizer = make()
    schedules.StepLR(optimizer, 2)
    resumed = schedules.StepLR(optimizer, 2, last_epoch=5)
    assert resumed.last_epoch == 6 and resumed.base_lrs == [1.0]
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        schedules.StepLR(make(), 2, last_epoch=5)


def test_going_to_an_epoch_uses_the_closed_form():
    optimizer = make()
    scheduler = schedules.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(3)
    assert optimizer.param_groups[0]["lr"] == 0.125
    restarts = schedules.CosineAnnealingWarmRestarts(make(), 2, 2)
    restarts.step(4.5)
    assert (restarts.T_i, restarts.T_cur, restarts.last_epoch) == (4, 2.5, 4)


def test_order_of_steps_is_watched():
    scheduler = schedules.StepLR(make(), 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    replaced = schedules.StepLR(make(), 2)
    setattr(replaced.optimizer, "step", lambda: None)  # noqa: B010  (a type checker sees a method)
    with pytest.warns(UserWarning, match=r"Seems like `optimizer.step\(\)` has been overridden"):
        replaced.step()
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        scheduler.get_lr()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda o: schedules.StepLR(3, 2), TypeError, "int is not an Optimizer"),
        (lambda o: schedules.LambdaLR(o, [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda o: schedules.LambdaLR(o, 3), TypeError, "lr_lambda should be a function, but got int"),
        (lambda o: schedules.ConstantLR(o, 2), ValueError, "Constant multiplicative factor expected to be between 0 and 1."),
        (lambda o: schedules.LinearLR(o, 0), ValueError, "Starting multiplicative factor expected to be greater than 0"),
        (lambda o: schedules.LinearLR(o, 1, 2), ValueError, "Ending multiplicative factor expected to be between 0 and 1."),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, -1), ValueError, "Expected positive integer T_0, but got -1"),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 1, 0), ValueError, "Expected integer T_mult >= 1, but got 0"),
        (lambda o: schedules.CosineAnnealingWarmRestarts(o, 1).step(-1), ValueError, "Expected non-negative epoch, but got -1"),
        (lambda o: schedules.OneCycleLR(o, 1.0), ValueError, "You must define either total_steps OR"),
        (lambda o: schedules.OneCycleLR(o, 1.0, -1), ValueError, "Expected positive integer total_steps, but got -1"),
        (lambda o: schedules.OneCycleLR(o, 1.0, 9, pct_start=2), ValueError, "Expected float between 0 and 1 pct_start, but got 2"),
        (lambda o: schedules.OneCycleLR(o, 1.0, 9, anneal_strategy="x"), ValueError, "anneal_strategy must be one of 'cos' or 'linear'"),
        (lambda o: schedules.OneCycleLR(optim.Adagrad([nn.Parameter(ad.ones(1))]), 1.0, 9), ValueError,
         "optimizer must support momentum or beta1"),
        (lambda o: schedules.CyclicLR(o, 0.1, 1.0, mode="x"), ValueError, "mode is invalid and scale_fn is None"),
        (lambda o: schedules.CyclicLR(o, [0.1, 0.2], 1.0), ValueError, "base_lr must have the same length as optimizer.param_groups"),
        (lambda o: schedules.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0."),
        (lambda o: schedules.ReduceLROnPlateau(o, mode="x"), ValueError, "mode x is unknown!"),
        (lambda o: schedules.ReduceLROnPlateau(o, threshold_mode="x"), ValueError, "threshold mode x is unknown!"),
        (lambda o: schedules.ReduceLROnPlateau(o, min_lr=[1, 2]), ValueError, "expected 1 min_lrs, got 2"),
        (lambda o: schedules.SequentialLR(o, [], []), ValueError, "SequentialLR expects at least one scheduler"),
        (lambda o: schedules.SequentialLR(o, [schedules.StepLR(o, 1)], [1]), ValueError, "one more than the number of milestone points"),
        (lambda o: schedules.SequentialLR(o, [schedules.StepLR(make(), 1)], []), ValueError, "to belong to the same optimizer"),
        (lambda o: schedules.SequentialLR(o, [schedules.ReduceLROnPlateau(o)], []), ValueError, "does not support `ReduceLROnPlateau`"),
        (lambda o: schedules.SequentialLR(o, [3], []), TypeError, "should have `optimizer` as its attribute"),
        (lambda o: schedules.ChainedScheduler([]), ValueError, "ChainedScheduler expects at least one scheduler"),
    ],
)  # fmt: skip
def test_errors(build, error, message):
    with pytest.raises(error, match=message):
        build(make())


# ---- settings that are tensors ------------------------------------------------------------------------------------------------------


def test_schedules_keep_copies_of_tensors():
    rate = ad.tensor(0.1)
    optimizer = optim.SGD([nn.Parameter(ad.zeros(1))], lr=rate)
    scheduler = schedules.StepLR(optimizer, 1, 0.5)
    group = optimizer.param_groups[0]
    assert isinstance(scheduler.base_lrs[0], ad.Tensor) and scheduler.base_lrs[0] is not group["initial_lr"] is not rate
    optimizer.step()
    scheduler.step()
    assert group["lr"] is rate and rate.item() == pytest.approx(0.05)
    assert scheduler.base_lrs[0].item() == pytest.approx(0.1) and scheduler.get_last_lr()[0] is not rate


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda o, given: optim.swa_utils.SWALR(o, given), "swa_lr"),
        (lambda o, given: schedules.OneCycleLR(o, given, 10), "max_lr"),
        (lambda o, given: schedules.CyclicLR(o, 0.01, 0.1, max_momentum=given), "max_momentum"),
    ],
)
def test_changing_a_given_tensor_does_not_change_the_schedule(make, key):
    given = ad.tensor(0.5)
    optimizer = optim.SGD([nn.Parameter(ad.zeros(1))], lr=0.1, momentum=0.9)
    make(optimizer, given)
    given.mul_(0.5)
    assert optimizer.param_groups[0][key].item() == 0.5


def test_the_warning_about_the_order_names_the_page():
    scheduler = schedules.StepLR(optim.SGD([nn.Parameter(ad.zeros(1))], lr=0.1), 1)
    with pytest.warns(UserWarning, match="how-to-adjust-learning-rate"):
        scheduler.step()
