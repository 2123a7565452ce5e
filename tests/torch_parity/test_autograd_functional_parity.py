"""`autograd.functional`: structures, graphs, strictness and mistakes as in PyTorch."""

from __future__ import annotations

import pytest

import adjoint
from tests.torch_parity.facts import Facts, outcome, raised

torch = pytest.importorskip("torch")
fact = Facts()


def point(T, *values, grad=False, dtype="float64"):
    return T.tensor(list(values) or [0.5, 2.0], dtype=getattr(T, dtype), requires_grad=grad)


def functional(T):
    return T.autograd.functional


FUNCTIONS = {
    "square": lambda x: x * x,
    "scalar": lambda x: (x * x * x).sum(),
    "sine": lambda x: x.sin(),
    "linear": lambda x: 2 * x,
    "constant": lambda x: x.detach() * 0 + 1,
    "identity": lambda x: x,
    "two_outputs": lambda x: (x * x, x.sum()),
    "list_output": lambda x: [x * x, x.sum()],
    "matrix": lambda x: x.unsqueeze(0) * x.unsqueeze(1),
    "not_a_tensor": lambda x: 3,
    "partly_not_a_tensor": lambda x: (x, 3),
    "integer": lambda x: (x > 1).long(),
    "first_element": lambda x: x[0] * x[0],
    "raising": lambda x: 1 / 0,
}
CALLS = {
    "vjp": lambda F, f, x, kw: F.vjp(f, x, None if f is FUNCTIONS["scalar"] else x * 0 + 1, **kw),
    "jvp": lambda F, f, x, kw: F.jvp(f, x, x * 0 + 1, **kw),
    "vhp": lambda F, f, x, kw: F.vhp(f, x, x * 0 + 1, **kw),
    "hvp": lambda F, f, x, kw: F.hvp(f, x, x * 0 + 1, **kw),
    "jacobian": lambda F, f, x, kw: F.jacobian(f, x, **kw),
    "hessian": lambda F, f, x, kw: F.hessian(f, x, **kw),
}
OPTIONS = {"": {}, "create_graph": {"create_graph": True}, "strict": {"strict": True}, "both": {"create_graph": True, "strict": True}}


def add(name, run):
    run.__name__ = name
    fact(run)


for call_, how_ in CALLS.items():
    for function_, f_ in FUNCTIONS.items():
        for option_, kw_ in OPTIONS.items():
            add(f"{call_}_{function_}_{option_}", lambda T, how=how_, f=f_, kw=kw_: how(functional(T), f, point(T), kw))
    for option_, kw_ in OPTIONS.items():
        add(
            f"{call_}_of_a_leaf_{option_}",
            lambda T, how=how_, kw=kw_: how(functional(T), FUNCTIONS["scalar"], point(T, grad=True), kw),
        )


# ---- several inputs ----


def pair(T, grad=False):
    return point(T, grad=grad), point(T, 3.0, 4.0, grad=grad)


PAIRS = {
    "vjp": lambda F, f, xs: F.vjp(f, xs, xs[0].detach() * 0 + 1),
    "vjp_of_scalar": lambda F, f, xs: F.vjp(lambda x, y: f(x, y).sum(), xs),
    "jvp": lambda F, f, xs: F.jvp(f, xs, (xs[0] * 0 + 1, xs[1] * 0 + 1)),
    "vhp": lambda F, f, xs: F.vhp(lambda x, y: f(x, y).sum(), xs, (xs[0] * 0 + 1, xs[1] * 0 + 1)),
    "hvp": lambda F, f, xs: F.hvp(lambda x, y: f(x, y).sum(), xs, (xs[0] * 0 + 1, xs[1] * 0 + 1)),
    "jacobian": lambda F, f, xs: F.jacobian(f, xs),
    "hessian": lambda F, f, xs: F.hessian(lambda x, y: f(x, y).sum(), xs),
    "jacobian_forward": lambda F, f, xs: F.jacobian(f, xs, strategy="forward-mode", vectorize=True),
    "jacobian_vectorized": lambda F, f, xs: F.jacobian(f, xs, vectorize=True),
    "hessian_vectorized": lambda F, f, xs: F.hessian(lambda x, y: f(x, y).sum(), xs, vectorize=True),
    "jacobian_strict": lambda F, f, xs: F.jacobian(f, xs, strict=True),
    "hessian_strict": lambda F, f, xs: F.hessian(lambda x, y: f(x, y).sum(), xs, strict=True),
}
for call_, how_ in PAIRS.items():
    for function_, f_ in {
        "product": lambda x, y: x * x * y * y, "only_first": lambda x, y: x * x, "sum": lambda x, y: x + y,
        "first_linear": lambda x, y: x * y * y,
    }.items():  # fmt: skip
        add(f"{call_}_of_two_{function_}", lambda T, how=how_, f=f_: how(functional(T), f, pair(T)))


# ---- graphs ----


@fact
def graph_of_jacobian(T):
    x = point(T, grad=True)
    found = functional(T).jacobian(lambda x: x**3, x, create_graph=True)
    return found.requires_grad, T.autograd.grad(found.sum(), x)


@fact
def graph_of_hessian(T):
    x = point(T, grad=True)
    found = functional(T).hessian(lambda x: (x**4).sum(), x, create_graph=True)
    return found.requires_grad, T.autograd.grad(found.sum(), x)


@fact
def graph_of_vectors(T):
    x, v = point(T, grad=True), point(T, 3.0, 4.0, grad=True)
    F = functional(T)
    found = []
    for call in (F.vjp, F.jvp):
        out, product = call(lambda x: x**3, x, v, create_graph=True)
        found.append((out.requires_grad, product.tolist(), T.autograd.grad(product.sum(), (x, v))))
    for call in (F.vhp, F.hvp):
        out, product = call(lambda x: (x**4).sum(), x, v, create_graph=True)
        found.append((out.requires_grad, product.tolist(), T.autograd.grad(product.sum(), (x, v))))
    return found


@fact
def without_create_graph_nothing_is_kept(T):
    x, v = point(T, grad=True), point(T, 3.0, 4.0, grad=True)
    F = functional(T)
    return [
        F.vjp(lambda x: x**3, x, v), F.jvp(lambda x: x**3, x, v), F.vhp(lambda x: (x**4).sum(), x, v),
        F.hvp(lambda x: (x**4).sum(), x, v), F.jacobian(lambda x: x**3, x), F.hessian(lambda x: (x**4).sum(), x), x.grad,
    ]  # fmt: skip


@fact
def closures_keep_their_graph(T):
    w = point(T, 3.0, 4.0, grad=True)
    found = functional(T).jacobian(lambda x: w * x * x, point(T), create_graph=True)
    return found.tolist(), T.autograd.grad(found.sum(), w)


@fact
def under_no_grad(T):
    with T.no_grad():
        F, x = functional(T), point(T)
        return F.jacobian(lambda x: x**3, x), F.hessian(lambda x: (x**3).sum(), x), F.vjp(lambda x: x**3, x, x), F.jvp(lambda x: x**3, x, x)


# ---- options of jacobian and hessian ----


@fact
def strategies(T):
    F, x = functional(T), point(T)
    return [
        raised(lambda kw=kw: F.jacobian(lambda x: (x.sin(), x.sum()), x, **kw))
        for kw in (
            {"vectorize": True}, {"vectorize": True, "strict": True}, {"strategy": "forward-mode"},
            {"strategy": "forward-mode", "vectorize": True}, {"strategy": "bad"},
            {"strategy": "forward-mode", "vectorize": True, "create_graph": True}, {"strategy": "forward-mode", "strict": True},
            {"strategy": "reverse-mode", "strict": True},
        )
    ]  # fmt: skip


@fact
def strategies_of_hessian(T):
    F, x = functional(T), point(T)
    return [
        raised(lambda kw=kw: F.hessian(lambda x: (x**3).sum(), x, **kw))
        for kw in (
            {"vectorize": True}, {"vectorize": True, "strict": True}, {"outer_jacobian_strategy": "forward-mode"},
            {"outer_jacobian_strategy": "bad"},
            {"outer_jacobian_strategy": "forward-mode", "vectorize": True, "create_graph": True},
        )
    ]  # fmt: skip


@fact
def vectorized_without_dependence(T):
    F, x = functional(T), point(T)
    return [
        raised(lambda f=f, kw=kw: F.jacobian(f, x, vectorize=True, **kw))
        for f in (lambda x: x.detach() * 0 + 1, lambda x: (x * 2, x.detach() * 0 + 1))
        for kw in ({}, {"strategy": "forward-mode"})
    ]


# ---- mistakes ----


def mistakes(T, *calls):
    return [raised(call) for call in calls]


@fact
def vectors_that_do_not_fit(T):
    F, x = functional(T), point(T)
    square, cube = lambda x: x * x, lambda x: (x**3).sum()
    return mistakes(
        T, lambda: F.vjp(square, x), lambda: F.jvp(square, x), lambda: F.vhp(cube, x), lambda: F.hvp(cube, x),
        lambda: F.vjp(square, x, x[:1]), lambda: F.jvp(square, x, x[:1]), lambda: F.vhp(cube, x, x[:1]), lambda: F.hvp(cube, x, x[:1]),
        lambda: F.vjp(square, x, (x, x)), lambda: F.jvp(square, x, (x, x)), lambda: F.vhp(cube, x, (x, x)), lambda: F.hvp(cube, x, (x, x)),
        lambda: F.vjp(square, x, 3), lambda: F.jvp(square, x, 3), lambda: F.vhp(cube, x, 3), lambda: F.hvp(cube, x, 3),
        lambda: F.vjp(cube, x, x), lambda: F.vjp(cube, x, T.tensor(2.0, dtype=T.float64)),
        lambda: F.vjp(cube, x, T.tensor([2.0], dtype=T.float64)),
    )  # fmt: skip


@fact
def vectors_that_may_be_left_out(T):
    F, x = functional(T), point(T, 3.0)
    one = T.tensor(3.0, dtype=T.float64)
    return mistakes(
        T, lambda: F.vjp(lambda x: x.sum(), x), lambda: F.vjp(lambda x: x * x, x), lambda: F.jvp(lambda x: x * x, x),
        lambda: F.vhp(lambda x: (x**3).sum(), x), lambda: F.hvp(lambda x: (x**3).sum(), x),
        lambda: F.vjp(lambda x: x * x, one), lambda: F.jvp(lambda x: x * x, one), lambda: F.vhp(lambda x: x**3, one),
        lambda: F.hvp(lambda x: x**3, one),
    )  # fmt: skip


@fact
def inputs_that_are_not_tensors(T):
    F = functional(T)
    f = lambda *xs: xs[0]  # noqa: E731
    return mistakes(
        T, lambda: F.jacobian(f, 3), lambda: F.jacobian(f, (point(T), 3)), lambda: F.hessian(f, "a"), lambda: F.vjp(f, [3]),
        lambda: F.jvp(f, 3), lambda: F.vhp(f, (3,)), lambda: F.hvp(f, 3),
    )  # fmt: skip


@fact
def lists_of_inputs(T):
    F, xs = functional(T), list(pair(T))
    return raised(lambda: F.jacobian(lambda x, y: x * y, xs)), raised(lambda: F.vjp(lambda x, y: (x * y).sum(), xs))


@fact
def outputs_of_second_derivatives(T):
    F, x = functional(T), point(T)
    return mistakes(
        T, lambda: F.hessian(lambda x: x * x, x), lambda: F.hessian(lambda x: (x.sum(), x.sum()), x), lambda: F.hessian(lambda x: 3, x),
        lambda: F.hessian(lambda x: x[:1] ** 2, x), lambda: F.vhp(lambda x: x * x, x, x), lambda: F.hvp(lambda x: x * x, x, x),
        lambda: F.vhp(lambda x: (x.sum(), x.sum()), x, x), lambda: F.hvp(lambda x: (x.sum(),), x, x),
        lambda: F.vhp(lambda x: x[:1] ** 2, x, x),
    )  # fmt: skip


@fact
def complex_points(T):
    F = functional(T)
    z = T.tensor([0.5 + 1j, 2.0], dtype=T.complex128)
    return mistakes(
        T, lambda: F.vjp(lambda z: z * z, z, z), lambda: F.jvp(lambda z: z * z, z, z), lambda: F.jacobian(lambda z: z.abs(), z),
    )  # fmt: skip


@fact
def shapes(T):
    F = functional(T)
    x = T.arange(6, dtype=T.float64).reshape(2, 3)
    return (
        F.jacobian(lambda x: x.sum(0), x).shape, F.jacobian(lambda x: x.sum(), x).shape, F.jacobian(lambda x: x[:, :, None], x).shape,
        F.hessian(lambda x: (x**3).sum(), x).shape,
    )  # fmt: skip


@fact
def inputs_are_not_changed(T):
    x = point(T, grad=True)
    seen = []

    def f(x):
        seen.append((x.requires_grad, x.is_leaf))
        return x * x

    functional(T).jacobian(f, x)
    functional(T).jacobian(f, x, create_graph=True)
    functional(T).vjp(f, x, x.detach())
    functional(T).jvp(f, x, x.detach())
    return seen, x


@pytest.mark.parametrize("name", fact)
def test_fact(name):
    assert outcome(fact[name], adjoint, nodes=False) == outcome(fact[name], torch, nodes=False)


def test_private_steps_that_others_import():
    def steps(library):
        f = library.autograd.functional
        x, y = library.ones(2, requires_grad=True), library.zeros(1, 1, dtype=library.float64)
        assert f._as_tuple(x) == (x,) and f._as_tuple([x, y]) == (x, y)  # nothing is checked, and nothing said of it
        assert f._as_tuple(x, "inputs", "jacobian") == (False, (x,)) and f._as_tuple((x, y), "inputs", "jacobian") == (True, (x, y))
        with pytest.raises(TypeError, match="The inputs given to jacobian must be either a Tensor or a tuple of Tensors"):
            f._as_tuple([x], "inputs", "jacobian")
        yield from f._construct_standard_basis_for((x, y), (2, 1))
        kept, cut = f._grad_postprocess((x * 2,), True)[0], f._grad_postprocess(((x * 2, x), (x, y)), False)
        assert kept.requires_grad and not cut[0][0].requires_grad
        assert [t.requires_grad for t in f._grad_preprocess((x, y), True, True)] == [True, True]
        assert [t.requires_grad for t in f._grad_preprocess((x, y), False, False)] == [False, False]
        yield f._tuple_postprocess((x,), False)
        yield f._tuple_postprocess(((x,), (y,)), (True, False))[1]
        yield f._tuple_postprocess(((x, y),), (False, True))[1]

    for ours, theirs in zip(steps(adjoint), steps(torch), strict=True):
        assert ours.tolist() == theirs.tolist() and str(ours.dtype) == str(theirs.dtype)
