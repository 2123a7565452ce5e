"""`vmap` by itself: against loops over the examples, and what it refuses. (Every op: tests/ops/test_batching.py.)"""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as ad
from adjoint.func import functional_call, grad, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap
from tests.func.vmap_programs import DRAWS, PROGRAMS, REFUSALS, drawn, table

nn, F = ad.nn, ad.nn.functional


def assert_equal(ours: Any, expected: Any) -> None:
    ad.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run(name: str) -> None:
    PROGRAMS[name](ad)


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_what_to_do(name: str) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)) as caught:
        REFUSALS[name](ad)
    assert "Batched'" not in str(caught.value)  # no class of ours in an error of Python's


@pytest.mark.parametrize("name", ["nonzero", "item", "if", "x[mask]", "copy into a constant"])
def test_refusals_name_the_line(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"vmap_programs\.py:"):
        REFUSALS[name](ad)


# ---- dimensions ---------------------------------------------------------------------------------------------------------------------


def test_dimensions_of_arguments_and_results() -> None:
    x, w = ad.randn(4, 2, 3), ad.randn(3, 5)
    expected = ad.stack([x[:, i] @ w for i in range(2)])
    for out_dim in (0, 1, 2, -1):
        assert_equal(vmap(lambda a, w: a @ w, (1, None), out_dim)(x, w), expected.movedim(0, out_dim))


def test_trees() -> None:
    x = table(ad)
    result = vmap(lambda d, rest: {"sum": d["a"] + rest[0], "pair": (d["a"], [rest[1]])}, in_dims=({"a": 1}, (None, 0)), out_dims=-1)(
        {"a": x}, (ad.ones(2), x.T)
    )
    assert_equal(result["sum"], x + 1)
    assert_equal(result["pair"][0], x)
    assert_equal(result["pair"][1][0], x)


def test_chunks() -> None:
    x = ad.randn(7, 3)
    for size in (1, 2, 7, 100):
        assert_equal(vmap(lambda a: a.sin(), chunk_size=size, out_dims=1)(x), x.sin().T)


def test_nesting() -> None:
    a, b = ad.randn(3, 4), ad.randn(5, 4)
    assert_equal(vmap(vmap(ad.dot, (None, 0)), (0, None))(a, b), a @ b.T)


# ---- with derivatives ---------------------------------------------------------------------------------------------------------------


def test_gradients_of_each_sample() -> None:
    w, x, y = ad.randn(3, 2), ad.randn(5, 3), ad.randint(0, 2, (5,))

    def loss(w: Any, x: Any, y: Any) -> Any:
        return F.cross_entropy((x @ w).unsqueeze(0), y.unsqueeze(0))

    found = vmap(grad(loss), (None, 0, 0))(w, x, y)
    assert_equal(found, ad.stack([grad(loss)(w, x[i], y[i]) for i in range(5)]))


def test_backward_through_vmap() -> None:
    x, w = ad.randn(4, 3, requires_grad=True), ad.randn(3, requires_grad=True)
    vmap(lambda a: (a * w).sum() ** 2)(x).sum().backward()
    found = x.grad, w.grad
    x.grad = w.grad = None
    ((x * w).sum(1) ** 2).sum().backward()
    assert_equal(found, (x.grad, w.grad))


def test_writes_have_gradients() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x.clone()
        z[0] = y.sum()
        z[1:] *= y[1:]
        return z.prod()

    x, y = ad.randn(4, 3), ad.randn(4, 3)
    expected = [grad(f, (0, 1))(a, b) for a, b in zip(x, y, strict=True)]
    found = vmap(grad(f, (0, 1)))(x, y)
    assert_equal(found, tuple(ad.stack(column) for column in zip(*expected, strict=True)))


def test_parts_of_constants_can_be_replaced() -> None:
    """The functional forms put batched values into tensors that are not batched, under further transforms too."""
    zeros, y = ad.zeros(3), ad.randn(4)

    def f(y: Any) -> Any:
        return (zeros.select_scatter(y * y, 0, 1) * 2).sum()

    assert_equal(vmap(grad(f))(y), 4 * y)
    assert_equal(vmap(lambda y: jvp(f, (y,), (ad.ones(()),))[1])(y), 4 * y)


# ---- random numbers -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_must_be_asked_for(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"^vmap: called random operation while in randomness error mode"):
        drawn(name, "error")(ad)


@pytest.mark.parametrize("name", ["rand", "randn_like", "uniform_", "randperm", "dropout of a constant"])
def test_examples_share_random_numbers_or_not(name: str) -> None:
    same = drawn(name, "same")(ad)
    assert ad.equal(same[0], same[1])
    if name != "randperm":  # two orders of four may be the same
        different = drawn(name, "different")(ad)
        assert not ad.equal(different[0], different[1])


def test_random_numbers_in_nested_batches() -> None:
    def pair(outer: str, inner: str) -> Any:
        return vmap(vmap(lambda x: ad.rand(()), randomness=inner), randomness=outer)(table(ad))

    assert len(set(pair("different", "different").flatten().tolist())) == 6
    assert len(set(pair("same", "different").flatten().tolist())) == 3
    assert len(set(pair("different", "same").flatten().tolist())) == 2
    assert len(set(pair("same", "same").flatten().tolist())) == 1
    for outer, inner in (("error", "same"), ("same", "error")):
        with pytest.raises(RuntimeError, match="randomness error mode"):
            pair(outer, inner)


def test_random_numbers_in_other_transforms() -> None:
    x = ad.ones(100)
    found = grad(lambda x: F.dropout(x, 0.5).sum())(x)
    assert set(found.tolist()) == {0.0, 2.0}
    found = jacfwd(lambda x: F.dropout(x, 0.5), randomness="same")(x).diagonal()
    assert set(found.tolist()) == {0.0, 2.0}


# ---- modules ------------------------------------------------------------------------------------------------------------------------

MODULES: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), ((5, 3),)),
    "conv": (lambda: nn.Conv2d(2, 3, 3, padding=1), ((2, 2, 5, 5),)),
    "transposed conv": (lambda: nn.ConvTranspose1d(2, 3, 3), ((2, 2, 5),)),
    "batch norm": (lambda: nn.BatchNorm1d(3), ((4, 3),)),
    "batch norm, evaluation": (lambda: nn.BatchNorm1d(3).eval(), ((4, 3),)),
    "layer norm": (lambda: nn.LayerNorm(3), ((4, 3),)),
    "group norm": (lambda: nn.GroupNorm(1, 3), ((4, 3, 2),)),
    "attention": (lambda: nn.MultiheadAttention(4, 2, batch_first=True), ((2, 3, 4),) * 3),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), ((2, 3, 4),)),
    "lstm": (lambda: nn.LSTM(3, 4, batch_first=True), ((2, 3, 3),)),
    "gru": (lambda: nn.GRU(3, 4, 2, bidirectional=True), ((2, 3, 3),)),
    "lstm cell": (lambda: nn.LSTMCell(3, 4), ((2, 3),)),
    "bilinear": (lambda: nn.Bilinear(3, 3, 4), ((2, 3), (2, 3))),
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("shared", [True, False])
def test_ensembles(name: str, shared: bool) -> None:
    """Several models at once, on one input or on one for each, with the gradients of their parameters."""
    make, shapes = MODULES[name]
    ad.manual_seed(0)
    models = [make() for _ in range(3)]
    inputs = [ad.randn(*shape) if shared else ad.randn(3, *shape) for shape in shapes]
    parameters, buffers = stack_module_state(models)

    def loss(parameters: Any, buffers: Any, *inputs: Any) -> Any:
        result = functional_call(models[0], (parameters, buffers), inputs)
        result = result[0] if isinstance(result, tuple) else result
        return (result * ad.arange(result.numel()).reshape(result.shape)).sum() / result.numel(), result

    dims = (0, 0, *(None if shared else 0 for _ in shapes))
    gradients, results = vmap(grad(loss, has_aux=True), dims)(parameters, buffers, *inputs)
    for place in range(3):
        own = {key: value.detach() for key, value in models[place].named_parameters()}
        state = {key: value.clone() for key, value in models[place].named_buffers()}
        given = [x if shared else x[place] for x in inputs]
        expected, result = grad(loss, has_aux=True)(own, state, *given)
        assert_equal(results[place].detach(), result.detach())
        for key, value in expected.items():
            assert_equal(gradients[key][place], value)
        for key, value in state.items():
            assert_equal(buffers[key][place], value)  # running statistics move for each model


# ---- batches of gradients -----------------------------------------------------------------------------------------------------------


def test_batches_of_gradients() -> None:
    a, b = ad.randn(3, requires_grad=True), ad.randn(3, requires_grad=True)
    out = (a.sin() * 2).cumsum(0)
    rows, nothing = ad.autograd.grad(out, (a, b), ad.eye(3), retain_graph=True, is_grads_batched=True, allow_unused=True)
    assert nothing is None
    assert not rows.requires_grad
    assert_equal(rows, ad.stack([ad.autograd.grad(out, a, ad.eye(3)[i], retain_graph=True)[0] for i in range(3)]))
    (rows,) = ad.autograd.grad(out, a, ad.eye(3), create_graph=True, is_grads_batched=True)
    assert_equal(ad.autograd.grad(rows.sum(), a)[0], -2 * a.sin() * ad.tensor([3.0, 2.0, 1.0]))


def test_batches_of_gradients_must_fit() -> None:
    a = ad.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^If `is_grads_batched=True`, we interpret the first dimension"):
        ad.autograd.grad(a * 2, a, ad.ones(2, 2), is_grads_batched=True)


def test_vectorized_derivatives() -> None:
    functional = ad.autograd.functional
    points = ad.randn(3), ad.randn(3)

    def several(a: Any, b: Any) -> Any:
        return a.sin().cumsum(0) * b, (a * b.sum()).prod(), b.detach()

    def one(a: Any, b: Any) -> Any:
        return (a.sin() * b.exp()).prod() + a.sum()

    assert_equal(functional.jacobian(several, points, vectorize=True), functional.jacobian(several, points))
    assert_equal(functional.jacobian(several, points, vectorize=True, strategy="forward-mode"), functional.jacobian(several, points))
    for strategy in ("forward-mode", "reverse-mode"):
        found = functional.hessian(one, points, vectorize=True, outer_jacobian_strategy=strategy)
        assert_equal(found, functional.hessian(one, points))
    rows = functional.jacobian(several, points, vectorize=True, create_graph=True)
    assert rows[0][0].requires_grad
    assert functional.jacobian(lambda x: x * 2, ad.ones(0), vectorize=True).shape == (0, 0)


def test_jacobians_of_batches() -> None:
    x = ad.randn(4, 3)
    expected = ad.diag_embed(x.cos())
    for jacobian in (jacrev, jacfwd):
        assert_equal(vmap(jacobian(ad.sin))(x), expected)
    assert_equal(vmap(lambda x: vjp(ad.sin, x)[1](ad.ones(3))[0])(x), x.cos())
