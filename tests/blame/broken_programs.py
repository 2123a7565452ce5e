"""Programs that end in nan or inf, by the mistake, each with the line that is to blame, the repair of that line, the samples, and a twin
that is right: the table behind the tests of `ad.blame`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import adjoint as ad
from adjoint import nn

INF, NAN = float("inf"), float("nan")
F = nn.functional


class Program(NamedTuple):
    pattern: str
    line: str  # what stands on the line that is to blame
    write: str  # the repair; empty where one line does not tell
    samples: tuple[int, ...]
    broken: Callable[[], Any]  # gives the loss
    healthy: Callable[[], Any]
    graph: tuple[Any, ...]  # pattern, line and samples that the graph alone tells, where it does not keep the number that is put in

    @property
    def name(self) -> str:
        return self.broken.__name__


PROGRAMS: dict[str, Program] = {}


def program(pattern: str, line: str, write: str = "", samples: tuple[int, ...] = (), graph: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """For a function of `broken`, which is called with True and with False."""

    def add(function: Callable[[bool], Any]) -> Callable[[bool], Any]:
        def broken() -> Any:
            return function(True)

        broken.__name__ = function.__name__
        PROGRAMS[function.__name__] = Program(pattern, line, write, samples, broken, lambda: function(False), graph)
        return function

    return add


def leaf(*values: Any) -> Any:
    return ad.tensor(values, requires_grad=True)


# ---- the forward pass -------------------------------------------------------------------------------------------------------------------


@program("log(0)", "nll = -(y * p.log())", "p.clamp(min=1e-12).log()", (1,))
def cross_entropy_by_hand(bad):
    p = leaf([0.5, 0.5], [0.0 if bad else 0.1, 1.0])
    y = ad.tensor([[1.0, 0.0], [0.0, 1.0]])
    nll = -(y * p.log())
    return nll.mean()


@program("log(0)", "return ad.log(p).sum()", "ad.log(p.clamp(min=1e-12))", (0,))
def log_as_a_function(bad):
    p = leaf(0.0 if bad else 0.5, 1.0)
    return ad.log(p).sum()


@program("log of softmax", "return -ad.softmax(scores, 1).log()[0].sum()", "ad.log_softmax(scores, 1)", (0, 1))
def log_of_softmax(bad):
    scores = leaf([0.0, 200.0 if bad else 2.0], [1.0, 900.0 if bad else 2.0])
    return -ad.softmax(scores, 1).log()[0].sum()


@program("log of sigmoid", "return -ad.sigmoid(scores).log().mean()", "ad.nn.functional.logsigmoid(scores)", (1,))
def log_of_sigmoid(bad):
    scores = leaf(1.0, -200.0 if bad else -2.0)
    return -ad.sigmoid(scores).log().mean()


@program("log of a sum of exp", "total = x.exp().sum(1).log()", "x.logsumexp(1)", (0,))
def log_of_sum_of_exp(bad):
    x = leaf([1000.0 if bad else 1.0, 1.0], [1.0, 2.0])
    total = x.exp().sum(1).log()
    return total.sum()


@program("log of a negative number", "return (x - 1).log().sum()", "(x - 1).clamp(min=1e-12).log()", (0,))
def log_of_negative(bad):
    x = leaf(0.5 if bad else 1.5, 2.0)
    return (x - 1).log().sum()


@program("log1p(-1)", "return x.log1p().sum()", "x.clamp(min=-1 + 1e-06).log1p()", (1,))
def log1p_of_minus_one(bad):
    x = leaf(0.5, -1.0 if bad else -0.5)
    return x.log1p().sum()


@program("sqrt of a negative number", "return ad.sqrt(var).sum()", "ad.sqrt(var.clamp(min=1e-12))", (2,))
def sqrt_of_negative(bad):
    x = leaf(1.0, 2.0, 3.0)
    var = x - (3.5 if bad else 0.5) * ad.tensor([0.0, 0.0, 1.0])
    return ad.sqrt(var).sum()


@program("rsqrt(0)", "return x.rsqrt().sum()", "(x + 1e-12).rsqrt()", (0,))
def rsqrt_of_zero(bad):
    x = leaf(0.0 if bad else 1.0, 4.0)
    return x.rsqrt().sum()


@program("division by zero", "return (a / b).mean()", "a / (b + 1e-12)", (1,))
def division(bad):
    a = leaf(1.0, 2.0)
    b = ad.tensor([1.0, 0.0 if bad else 1.0])
    return (a / b).mean()


@program("division by a norm of 0", "unit = x / norm", "x / norm.clamp(min=1e-12)", (1,))
def unit_vectors(bad):
    x = leaf([3.0, 4.0], [0.0, 0.0 if bad else 1.0])
    norm = x.norm(dim=1, keepdim=True)
    unit = x / norm
    return unit.sum()


@program("pow(0, p < 0)", "return (x**-0.5).sum()", "x.clamp(min=1e-12) ** (-0.5)", (0,))
def negative_power_of_zero(bad):
    x = leaf(0.0 if bad else 1.0, 2.0)
    return (x**-0.5).sum()


@program("pow of a negative number", "return ad.pow(x, 0.5).sum()", "ad.pow(x.clamp(min=1e-12), 0.5)", (1,))
def root_of_negative(bad):
    x = leaf(1.0, -2.0 if bad else 2.0)
    return ad.pow(x, 0.5).sum()


@program("acos or asin outside [-1, 1]", "return ad.acos(cosine).mean()", "ad.acos(cosine.clamp(-1 + 1e-06, 1 - 1e-06))", (0,))
def angle(bad):
    cosine = leaf(1.0000002, 0.5) * (1.0 if bad else 0.5)
    return ad.acos(cosine).mean()


@program("acos or asin of ±1", "return x.atanh().sum()", "x.clamp(-1 + 1e-06, 1 - 1e-06).atanh()", (1,))
def atanh_of_one(bad):
    x = leaf(0.5, 1.0 if bad else 0.9)
    return x.atanh().sum()


@program("acosh below 1", "return x.acosh().sum()", "x.clamp(min=1 + 1e-06).acosh()", (0,))
def acosh_below_one(bad):
    x = leaf(0.5 if bad else 2.0, 3.0)
    return x.acosh().sum()


@program("logit of 0 or 1", "return ad.logit(p).sum()", "ad.logit(p, eps=1e-06)", (0,))
def logit_of_one(bad):
    p = leaf(1.0 if bad else 0.9, 0.5)
    return ad.logit(p).sum()


@program("mean of no elements", "return x[mask].mean()")
def mean_of_nothing(bad):
    x = leaf(1.0, 2.0)
    mask = x > (5 if bad else 0)
    return x[mask].mean()


@program("only ignored targets", "return F.cross_entropy(scores, target)")
def all_ignored(bad):
    scores = leaf([1.0, 2.0], [3.0, 4.0])
    target = ad.tensor([-100, -100 if bad else 1])
    return F.cross_entropy(scores, target)


@program("target is masked", "return F.cross_entropy(scores, target)")
def masked_target(bad):
    scores = leaf([1.0, 2.0], [3.0, 4.0]).masked_fill(ad.tensor([bad, False]), -INF)
    target = ad.tensor([1, 0])
    return F.cross_entropy(scores, target)


@program("std of one element", "return (x / x.std(0)).sum()", "x.std(0, correction=0)")
def std_of_a_batch_of_one(bad):
    x = leaf([1.0, 2.0]) if bad else leaf([1.0, 2.0], [2.0, 4.0])
    return (x / x.std(0)).sum()


@program("std of one element", "return x.std(dim=1).sum()", "x.std(dim=1, correction=0)", (0, 1))
def std_of_one(bad):
    x = leaf([1.0], [2.0]) if bad else leaf([1.0, 2.0], [2.0, 4.0])
    return x.std(dim=1).sum()


@program("float16 overflow", "return (half * half).sum()", "", (1,))
def half_squares(bad):
    half = leaf(1.0, 300.0 if bad else 3.0).half()
    return (half * half).sum()


@program("exp overflow", "odds = x.exp()", "x.clamp(max=80).exp()", (1,))
def exp_overflows(bad):
    x = leaf(1.0, 100.0 if bad else 1.0)
    odds = x.exp()
    return (odds * odds).sum()


@program("exp overflow", "e = x.exp()", "x.clamp(max=80).exp()", (0,))
def softmax_by_hand(bad):
    x = leaf([100.0 if bad else 1.0, 1.0], [1.0, 2.0])
    e = x.exp()
    return (e / e.sum(1, keepdim=True))[:, 0].sum()


@program("softmax of a row of -inf", "weights = ad.softmax(scores, 1)", "", (1,))
def attention_to_nothing(bad):
    mask = ad.tensor([[True, False], [False, not bad]])
    scores = leaf([1.0, 2.0], [3.0, 4.0]).masked_fill(~mask, -INF)
    weights = ad.softmax(scores, 1)
    return (weights * weights).sum()


@program("nan was put in", "x = x.masked_fill(x > 1, NAN) if bad else x", "", (1,),
         ("inf was put in", "x = x.masked_fill(x > 1, NAN) if bad else x", (1,)))  # fmt: skip
def fill_with_nan(bad):
    x = leaf(1.0, 2.0)
    x = x.masked_fill(x > 1, NAN) if bad else x
    return (x * 2).sum()


@program("0 * inf", "return (scores * keep).sum()", "", (1,),
         ("inf was put in", "scores = leaf(1.0, 2.0).masked_fill(keep == 0, -INF if bad else -1e9)", (1,)))  # fmt: skip
def mask_by_product(bad):
    keep = ad.tensor([1.0, 0.0])
    scores = leaf(1.0, 2.0).masked_fill(keep == 0, -INF if bad else -1e9)
    return (scores * keep).sum()


@program("inf - inf", "return (a - b).sum()", "", (1,),
         ("bad input data", "a = leaf(1.0, 2.0) + ad.tensor([0.0, -INF if bad else 0.0])", ()))  # fmt: skip
def difference_of_infinities(bad):
    keep = ad.tensor([1.0, 0.0])
    a = leaf(1.0, 2.0) + ad.tensor([0.0, -INF if bad else 0.0])
    b = leaf(3.0, 4.0).masked_fill(keep == 0, -INF if bad else -1e9)
    return (a - b).sum()


@program("overflow", "return (x * x).sum()", "", (0,))
def product_overflows(bad):
    x = leaf(1e20 if bad else 1e2, 1.0)
    return (x * x).sum()


@program("division by a norm of 0", "return (weight / weight.norm()).sum()", "weight / weight.norm().clamp(min=1e-12)")
def norm_of_a_parameter(bad):
    weight = nn.Parameter(ad.zeros(3, 3) if bad else ad.ones(3, 3))
    return (weight / weight.norm()).sum()


@program("learning rate too high", "return (model(ad.ones(4, 2)) ** 2).sum()")
def diverged(bad):
    model = nn.Linear(2, 1)
    with ad.no_grad():
        model.weight.fill_(3e30 if bad else 0.3)
    return (model(ad.ones(4, 2)) ** 2).sum()


@program("bad parameter", "return model(ad.ones(4, 2)).sum()")
def spoilt_parameter(bad):
    model = nn.Linear(2, 1)
    model.weight = nn.Parameter(ad.tensor([[1.0, NAN if bad else 1.0]]))
    return model(ad.ones(4, 2)).sum()


@program("bad input data", "hidden = model(batch)", "", (2,))
def bad_batch(bad):
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    batch = ad.tensor([[1.0, 1.0], [2.0, 1.0], [NAN if bad else 3.0, 1.0], [4.0, 1.0]])
    hidden = model(batch)
    return hidden.pow(2).mean()


# ---- the backward pass ------------------------------------------------------------------------------------------------------------------


@program("masked", "return ad.where(x > 0, x.sqrt(), 0.0).sum()", "ad.where(x > 0, x, 1.0).sqrt()", (0,))
def where_comes_too_late(bad):
    x = leaf(0.0 if bad else 1.0, 4.0)
    return ad.where(x > 0, x.sqrt(), 0.0).sum()


@program("log of a negative number", "y = x.log()", "x.clamp(min=1e-12).log()", (0,))
def nan_in_the_branch_not_taken(bad):
    x, w = leaf(-1.0 if bad else 1.0, 4.0), leaf(2.0, 2.0)
    y = x.log()
    return ad.where(x > 0, y * w, 0.0).sum()


@program("norm of zero", "return (x**2).sum(1).sqrt().sum()", "((x ** 2).sum(1) + 1e-12).sqrt()", (1,))
def norm_by_hand(bad):
    x = leaf([3.0, 4.0], [0.0, 0.0 if bad else 1.0])
    return (x**2).sum(1).sqrt().sum()


@program("sqrt(0)", "return x.sqrt().sum()", "(x + 1e-12).sqrt()", (0,))
def sqrt_at_zero(bad):
    x = leaf(0.0 if bad else 1.0, 4.0)
    return x.sqrt().sum()


@program("pow(0, p < 1)", "return (x**0.5).sum()", "x.clamp(min=1e-12) ** 0.5", (0,))
def root_as_a_power(bad):
    x = leaf(0.0 if bad else 1.0, 4.0)
    return (x**0.5).sum()


@program("acos or asin of ±1", "return ad.asin(x).sum()", "ad.asin(x.clamp(-1 + 1e-06, 1 - 1e-06))", (1,))
def asin_at_one(bad):
    x = leaf(0.5, 1.0 if bad else 0.9)
    return ad.asin(x).sum()


@program("acosh(1)", "return x.acosh().sum()", "x.clamp(min=1 + 1e-06).acosh()", (0,))
def acosh_at_one(bad):
    x = leaf(1.0 if bad else 2.0, 3.0)
    return x.acosh().sum()


@program("hypot(0, 0)", "return ad.hypot(x, y).sum()", "", (0,))
def hypot_of_nothing(bad):
    x, y = leaf(0.0 if bad else 1.0, 1.0), leaf(0.0, 1.0)
    return ad.hypot(x, y).sum()


@program("float16 gradient overflow", "scaled = half * 60000.0", "", (0, 1))
def half_gradients(bad):
    half = leaf(1e-4, 1e-4).half()
    scaled = half * 60000.0
    return (scaled * (2.0 if bad else 1.0)).sum()


@program("nan came in", "y = x * 2")
def hook_spoils(bad):
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * (NAN if bad else 1.0))
    return y.sum()


@program("saturated probability", "return F.binary_cross_entropy(p, ad.tensor([1.0, 0.0]))")
def saturated(bad):
    p = leaf(0.0 if bad else 0.5, 0.5)
    return F.binary_cross_entropy(p, ad.tensor([1.0, 0.0]))


@program("exploding gradient", "return (x * 2).log().sum()")
def close_to_zero(bad):
    x = leaf(1e-9 if bad else 1.0, 1.0)
    return (x * 2).log().sum()


@program("exploding gradient", "h = h * 3")
def explodes(bad):
    x = leaf(1.0, 2.0)
    h = x
    for _ in range(20 if bad else 2):
        h = h * 3
    return h.sum()
