"""Taylor mode against nested forward mode, in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.func import grad, jacfwd, jet, jvp, vmap
from adjoint.func._series import unpacked
from adjoint.func._taylor import FACTORS, FORMULAS, PIECEWISE_LINEAR, RECURRENCES
from adjoint.ops._registry import OPS
from tests.ops._check import Call
from tests.ops.samples import load_dense

F = ad.nn.functional
ORDER = 6
ROWS = load_dense()


def nested(f: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]], order: int) -> list[Any]:
    """The derivatives of t -> f(path(t)) at zero, one jvp inside the other."""

    def along_path(t: Any) -> Any:
        path = [x + sum(c * (t**k / math.factorial(k)) for k, c in enumerate(cs, 1)) for x, cs in zip(primals, series, strict=True)]
        return f(*path)

    zero, one = ad.zeros((), dtype=ad.float64), ad.ones((), dtype=ad.float64)
    found = []
    function: Callable[[Any], Any] = along_path
    for _ in range(order):
        function = differentiated(function, one)
        found.append(function(zero))
    return found


def differentiated(f: Callable[[Any], Any], direction: Any) -> Callable[[Any], Any]:
    return lambda t: jvp(f, (t,), (direction,))[1]


def random(*shape: int, low: float = 0.1, high: float = 0.9, seed: int = 0) -> Any:
    return ad.from_numpy(np.random.default_rng(seed).uniform(low, high, shape))


def path(x: Any, order: int, seed: int = 1) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [ad.from_numpy(np.asarray(0.3 * generator.standard_normal(x.shape))) for _ in range(order)]


def assert_close(ours: Any, wanted: Any, what: str = "") -> None:
    np.testing.assert_allclose(ours.detach().numpy(), wanted.detach().numpy(), 1e-8, 1e-9, err_msg=what)


W, BIAS, KERNEL = random(4, 3, seed=7), random(4, seed=8), random(2, 1, 2, seed=9)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        name: getattr(ad, name)
        for name in """exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh sigmoid sqrt rsqrt reciprocal square erf erfc erfinv
        asin acos atan asinh atanh abs relu neg sinc lgamma digamma""".split()
    },
    **{name: getattr(F, name) for name in "softplus gelu silu mish elu celu selu logsigmoid leaky_relu hardtanh relu6 hardswish".split()},
    "x + 1": lambda x: x + 1.0,
    "1 - x": lambda x: 1.0 - x,
    "products": lambda x: x * x * 2.0 * x,
    "quotients": lambda x: (x + 2.0) / (x * x + 1.0) / 3.0 + 1.0 / x,
    "a smaller operand": lambda x: x[0] * x + x[0] / x,
    "x**1": lambda x: x**1,
    "x**5": lambda x: x**5,
    "x**2.5": lambda x: x**2.5,
    "x**-2": lambda x: x**-2,
    "x**x": lambda x: x**x,
    "2**x": lambda x: 2.0**x,
    "x**tensor": lambda x: x ** ad.tensor([1.0, 2.0, 2.5], dtype=ad.float64),
    "softmax": lambda x: F.softmax(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "logsumexp": lambda x: ad.logsumexp(x, 1),
    "logsumexp of all": lambda x: ad.logsumexp(x, (0, 1), keepdim=True),
    "layer_norm": lambda x: F.layer_norm(x, (3,), W[0], W[1]),
    "cross_entropy": lambda x: F.cross_entropy(x, ad.tensor([0, 2])),
    "mse_loss": lambda x: F.mse_loss(x, x.flip(0) ** 2),
    "mean, var and std": lambda x: x.mean(0) * x.var(0) + x.std(),
    "norm": lambda x: x.norm(dim=1),
    "3-norm": lambda x: ad.linalg.vector_norm(x, 3),
    "prod": lambda x: x.prod() * x.prod(1),
    "cumprod": lambda x: x.cumprod(1),
    "maximum": lambda x: ad.maximum(x, x.flip(1)) + x.amax() * x.max(1).values[:, None],
    "where": lambda x: ad.where(x > 0.5, x * x, x.sin()),
    "indexing": lambda x: x[0] * x[[1, 0], 1:2],
    "matmul": lambda x: x.T @ x,
    "bmm": lambda x: x[None] @ x.T[None],
    "einsum": lambda x: ad.einsum("ij,kj,k->i", x, x, x[:, 0]),
    "linear": lambda x: F.linear(x, W, BIAS),
    "linear in all": lambda x: F.linear(x, x, x[:, 0]),
    "addmm": lambda x: ad.addmm(x[:, :2], x, x.T, beta=0.5, alpha=2.0),
    "convolution": lambda x: F.conv1d(x[:, None], KERNEL * x[0, 0], x[:, 1]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None].exp(), x[None], is_causal=True),
    "inverse": lambda x: ad.linalg.inv(x @ x.T + ad.eye(2, dtype=ad.float64)),
    "det": lambda x: ad.linalg.det(x @ x.T),
    "cat and stack": lambda x: ad.cat([x, x * x]).sum(0) * ad.stack([x[0], x[1]]).prod(0),
    "a constant": lambda x: ad.ones_like(x) + x.detach() * 0.0,
    "several dtypes": lambda x: (x * ad.tensor([1, 2, 3])).square(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_nested_forward_mode(name: str) -> None:
    f, x = FUNCTIONS[name], random(2, 3)
    order = 4 if name in ("lgamma", "digamma", "erfinv") else ORDER
    series = path(x, order)
    value, found = jet(f, (x,), (series,))
    assert_close(value, f(x))
    for k, (ours, wanted) in enumerate(zip(found, nested(f, (x,), (series,), order), strict=True), 1):
        assert_close(ours, wanted, f"derivative {k} of {name}")


@pytest.mark.parametrize("name", sorted(name for name in ROWS if name in OPS and OPS[name].differentiable))
def test_every_op(name: str) -> None:
    """All inputs of an op move along curves; third derivatives."""
    checked = 0
    for sample in ROWS[name].samples():
        call = Call(ROWS[name], sample)
        slots = call.differentiable()
        if checked == 2 or not sample.differences or not slots or name in NOT_TWICE:
            continue
        points = tuple(ad.from_numpy(call.arrays[slot].copy()) for slot in slots)
        series = [path(x, 3, seed) for seed, x in enumerate(points)]
        series = [[c.to(x.dtype) * (1 + 0.5j) if x.is_complex() else c for c in cs] for x, cs in zip(points, series, strict=True)]

        def f(*given: Any, call: Call = call, slots: list[int] = slots) -> Any:
            tensors = call.tensors()
            for slot, x in zip(slots, given, strict=True):
                tensors[slot] = x
            return tuple(out for out in call(tensors) if isinstance(out, ad.Tensor) and (out.is_floating_point() or out.is_complex()))

        if not f(*points):
            continue
        wanted = nested(f, points, series, 3)
        for nr, derivatives in enumerate(jet(f, points, series)[1]):
            for k, ours in enumerate(derivatives):
                found, expected = (x.numpy(force=True) for x in (ours, wanted[k][nr]))
                np.testing.assert_allclose(found, expected, 1e-6, 1e-8, err_msg=f"{name}{sample}: derivative {k + 1}")
        checked += 1


NOT_TWICE = {"as_strided", "recurrent_layer"}  # forward mode itself does not nest through these


def test_the_tables_name_ops() -> None:
    for table in (RECURRENCES, FACTORS, FORMULAS, PIECEWISE_LINEAR):
        assert set(table) <= set(OPS)


def test_several_arguments_and_results() -> None:
    x, y = random(3), random(3, seed=2)
    f = lambda x, y: {"product": x * y.exp(), "sums": (x.sum(), y.sum())}  # noqa: E731
    series = (path(x, 3), path(y, 3, 5))
    values, found = jet(f, (x, y), series)
    assert_close(values["product"], x * y.exp())
    for k, wanted in enumerate(nested(f, (x, y), series, 3)):
        assert_close(found["product"][k], wanted["product"])
        assert_close(found["sums"][1][k], wanted["sums"][1])


def test_numbers_stand_for_tensors() -> None:
    value, (first, second, third) = jet(ad.sin, (ad.tensor(0.0),), ([1.0, 0.0, 0],))
    assert (value.item(), first.item(), second.item(), third.item()) == (0.0, 1.0, 0.0, -1.0)


def test_kinks_and_whole_powers_at_zero() -> None:
    x = ad.tensor([-1.0, 0.0, 2.0])
    _, (first, second) = jet(lambda x: F.relu(x) ** 2, (x,), ([1.0, 0.0],))
    assert first.tolist() == [0.0, 0.0, 4.0]
    assert second.tolist() == [0.0, 0.0, 2.0]
    assert jet(lambda x: x**3, (x,), ([1.0, 0.0, 0.0],))[1][2].tolist() == [6.0, 6.0, 6.0]
    assert jet(lambda x: x**2.5, (x[1],), ([1.0, 0.0],))[1][1].item() == 0.0


def test_complex_paths() -> None:
    z = ad.tensor(0.3 + 0.4j, dtype=ad.complex128)
    for f in (ad.exp, ad.sin, ad.log, ad.sqrt, lambda z: z**3 / (z + 1)):
        _, found = jet(f, (z,), ([1.0, 0.0, 0.0],))
        for ours, wanted in zip(found, nested(f, (z,), ([ad.ones_like(z)],), 3), strict=True):
            assert_close(ours, wanted)


def test_writes_in_place() -> None:
    def f(x: Any) -> Any:
        y = x + 0.0
        y[0] = x[1] * x[1]
        z = ad.zeros(3, dtype=ad.float64) + 0 * x
        z[1:] = x[:2].sin()
        y.mul_(x)
        return y * z + x

    def without_writes(x: Any) -> Any:
        return ad.cat([x[1:2] * x[1:2], x[1:]]) * x * ad.cat([0 * x[:1], x[:2].sin()]) + x

    x = random(3)
    series = path(x, 3)
    kept = [c.clone() for c in series]
    for ours, wanted in zip(jet(f, (x,), (series,))[1], nested(without_writes, (x,), (kept,), 3), strict=True):
        assert_close(ours, wanted)
    assert all(ad.equal(a, b) for a, b in zip(series, kept, strict=True))
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        jet(lambda y: x.add_(y), (x,), ([1.0],))


def test_nests_with_other_transforms() -> None:
    def third(x: Any) -> Any:
        return jet(lambda x: x**5 * x.sin(), (x,), ([1.0, 0.0, 0.0],))[1][2]

    f = lambda x: x**5 * x.sin()  # noqa: E731
    d3 = grad(grad(grad(f)))
    x = random(4)
    assert_close(vmap(third)(x), vmap(d3)(x))
    assert_close(third(x), vmap(d3)(x))
    assert_close(vmap(grad(third))(x), vmap(grad(d3))(x))
    assert_close(jacfwd(third)(x).diagonal(), vmap(grad(d3))(x))
    assert_close(jet(lambda x: vmap(grad(f))(x), (x,), ([1.0, 0.0],))[1][1], vmap(d3)(x))
    assert_close(jet(lambda x: jet(f, (x,), ([1.0],))[1][0], (x,), ([1.0, 0.0],))[1][1], vmap(d3)(x))


def test_parameters_get_gradients() -> None:
    model = ad.nn.Sequential(ad.nn.Linear(1, 8), ad.nn.Tanh(), ad.nn.Linear(8, 1)).double()
    t = random(5, 1).requires_grad_()
    (second,) = jet(model, (t,), ([1.0, 0.0],))[1][1:]
    ours = ad.autograd.grad(second.square().sum(), list(model.parameters()), allow_unused=True)
    (first,) = ad.autograd.grad(model(t).sum(), t, create_graph=True)
    (again,) = ad.autograd.grad(first.sum(), t, create_graph=True)
    assert_close(second, again)
    wanted = ad.autograd.grad(again.square().sum(), list(model.parameters()), allow_unused=True)
    for a, b in zip(ours, wanted, strict=True):
        assert_close(ad.zeros(1) if a is None else a, ad.zeros(1) if b is None else b)


@pytest.mark.parametrize("f", [lambda x: F.gelu(x.sin()) / (1 + F.softmax(x, 0)), lambda x: F.mish(x) * ad.erf(x) + x.tanh()])
def test_cost_grows_like_a_polynomial(f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the order takes less than ten times the operations."""
    from adjoint.func import _taylor

    calls = [0]
    convolved = _taylor.convolved

    def counted(a: Any, b: Any, k: int, first: int = 0, last: int | None = None) -> Any:
        calls[0] += k + 1
        return convolved(a, b, k, first, last)

    def products(order: int) -> int:
        calls[0] = 0
        jet(f, (random(2),), (path(random(2), order),))
        return calls[0]

    monkeypatch.setattr(_taylor, "convolved", counted)
    assert 0 < products(12) < 10 * products(6)


def test_constants_have_no_terms() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(unpacked(x._data.level, x > 0)[1])
        return x

    jet(f, (random(2),), ([1.0],))
    assert seen == [None]


class Doubled(ad.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: jet(ad.sin, x, ([1.0],)), "Expected primals to be a non-empty tuple"),
        (lambda x: jet(ad.sin, (x,), ([1.0], [1.0])), "a list of derivatives for each"),
        (lambda x: jet(ad.mul, (x, x), ([1.0], [1.0, 0.0])), "all of one length"),
        (lambda x: jet(ad.sin, (x,), ([ad.ones(3)],)), "size of its primal"),
        (lambda x: jet(ad.sin, (ad.tensor([1]),), ([1.0],)), "floating-point"),
        (lambda x: jet(lambda x: 3, (x,), ([1.0],)), "return only tensors"),
        (lambda x: jet(Doubled.apply, (x,), ([1.0],)), "Doubled has a backward and a jvp, but no rule"),
    ],
)
def test_errors(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(random(2))
