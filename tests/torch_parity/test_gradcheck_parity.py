"""`gradcheck` gives PyTorch's verdicts, with PyTorch's words."""

from __future__ import annotations

import pytest

import adjoint
from tests.torch_parity.facts import Facts, outcome, raised, warned

torch = pytest.importorskip("torch")
fact = Facts()


def leaf(T, *values, dtype="float64"):
    return T.tensor(list(values) or [0.5, 2.0], dtype=getattr(T, dtype), requires_grad=True)


def function(T, forward, backward=None, **more):
    given = {"forward": forward, "backward": backward, **more}
    members = {name: staticmethod(member) for name, member in given.items() if member is not None}
    return type("MyFn", (T.autograd.Function,), members).apply


def double(T, wrong=2.0):
    """Twice its input, with a derivative that may be wrong."""
    return function(T, lambda ctx, x: x * 2, lambda ctx, g: g * wrong, jvp=lambda ctx, t: t * wrong)


def check(T, f, *inputs, second=False, **kwargs):
    """The verdict as it is raised, and as it is returned."""
    run = T.autograd.gradgradcheck if second else T.autograd.gradcheck
    return raised(lambda: run(f, inputs, **kwargs)), raised(lambda: run(f, inputs, raise_exception=False, **kwargs))


MODES = {
    "slow": {}, "fast": {"fast_mode": True}, "forward": {"check_forward_ad": True},
    "forward_fast": {"check_forward_ad": True, "fast_mode": True},
    "only_forward": {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": False},
}  # fmt: skip


def z(T, *values):
    return T.tensor(list(values) or [0.5 + 1j, 2 - 0.5j], dtype=T.complex128, requires_grad=True)


CASES = {
    "right": lambda T, kw: check(T, lambda x: x.sin() * x, leaf(T), **kw),
    "two_inputs": lambda T, kw: check(T, lambda x, y: x * y, leaf(T), leaf(T, 3.0, 4.0), **kw),
    "broadcast": lambda T, kw: check(T, lambda x, y: x * y, leaf(T), leaf(T, 3.0), **kw),
    "two_outputs": lambda T, kw: check(T, lambda x: (x.sin(), x.cos()), leaf(T), **kw),
    "scalar_output": lambda T, kw: check(T, lambda x: (x * x).sum(), leaf(T), **kw),
    "wrong": lambda T, kw: check(T, double(T, 3.0), leaf(T), **kw),
    "slightly_wrong": lambda T, kw: check(T, double(T, 2.01), leaf(T), **kw),
    "wrong_within_tolerance": lambda T, kw: check(T, double(T, 2.01), leaf(T), atol=0.1, **kw),
    "second_input_wrong": lambda T, kw: check(T, lambda x, y: x + double(T, 3.0)(y), leaf(T), leaf(T), **kw),
    "second_output_wrong": lambda T, kw: check(T, lambda x: (x * 1, double(T, 3.0)(x)), leaf(T), **kw),
    "constant_input": lambda T, kw: check(T, lambda x, y: x * y, leaf(T), T.ones(2, dtype=T.float64), **kw),
    "input_that_is_no_tensor": lambda T, kw: check(T, lambda x, n: x**n, leaf(T), 3, **kw),
    "no_input_requires_grad": lambda T, kw: check(T, lambda x: x * 2, T.ones(2, dtype=T.float64), **kw),
    "integer_output": lambda T, kw: check(T, lambda x: (x * 2, x.detach().long()), leaf(T), **kw),
    "output_without_grad": lambda T, kw: check(T, lambda x: (x * 2, x.detach() * 3), leaf(T), **kw),
    "only_outputs_without_grad": lambda T, kw: check(T, lambda x: T.ones(2, dtype=T.float64), leaf(T), **kw),
    "only_outputs_without_grad_that_depend": lambda T, kw: check(T, lambda x: x.detach() * 3, leaf(T), **kw),
    "output_is_input": lambda T, kw: check(T, lambda x: x, leaf(T), **kw),
    "output_is_a_view": lambda T, kw: check(T, lambda x: x[:1], leaf(T), **kw),
    "unused_input": lambda T, kw: check(T, lambda x, y: x * 2, leaf(T), leaf(T), **kw),
    "empty_input": lambda T, kw: check(T, lambda x: x * 2, T.zeros(0, dtype=T.float64, requires_grad=True), **kw),
    "complex_to_complex": lambda T, kw: check(T, lambda x: x * x, z(T), **kw),
    "complex_to_real": lambda T, kw: check(T, lambda x: x.abs(), z(T), **kw),
    "complex_conjugate": lambda T, kw: check(T, lambda x: x.conj() * x * x, z(T), **kw),
    "real_to_complex": lambda T, kw: check(T, lambda x: T.complex(x, x * x), leaf(T), **kw),
    "complex_wrong": lambda T, kw: check(T, double(T, 2j), z(T), **kw),
    "complex_slightly_wrong_gradient": lambda T, kw: check(T, double(T, 2.0 + 0.1j), z(T), **kw),
    "matrix": lambda T, kw: check(T, lambda x: x @ x, leaf(T, [1.0, 2.0], [3.0, 4.0]), **kw),
    "missing_backward": lambda T, kw: check(T, function(T, lambda ctx, x: x * 2), leaf(T), **kw),
    "list_output": lambda T, kw: check(T, lambda x: [x * 2, x * 3], leaf(T), **kw),
}


def add_case(name, case, mode, kwargs):
    def run(T):
        return case(T, kwargs)

    run.__name__ = f"{name}_{mode}"
    fact(run)


for name_, case_ in CASES.items():
    for mode_, kwargs_ in MODES.items():
        if (name_, mode_) == ("output_without_grad", "forward_fast"):
            continue  # PyTorch itself fails with an IndexError
        add_case(name_, case_, mode_, kwargs_)


# ---- single switches ----


def drifting(T, size=1e-3):
    """A backward that gives another answer each time."""
    count = []

    def backward(ctx, g):
        count.append(1)
        return g * (2 + size * len(count))

    return function(T, lambda ctx, x: x * 2, backward)


@fact
def not_deterministic(T):
    return check(T, drifting(T), leaf(T), atol=1.0), check(T, drifting(T), leaf(T), atol=1.0, nondet_tol=1.0)


@fact
def not_deterministic_fast(T):
    return check(T, drifting(T), leaf(T), atol=1.0, fast_mode=True)


def undefined(T, answer):
    """Two outputs whose backward gives `answer` when a gradient is missing."""

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx, g, h):
        if g is None or h is None:
            return answer(g, h)
        return 2 * g + 3 * h

    return function(T, forward, backward)


@fact
def undefined_gradients(T):
    def right(g, h):
        return None if g is None and h is None else 3 * h if g is None else 2 * g

    def failing(g, h):
        raise ValueError("cannot")

    def ones(g, h):
        return T.ones(2, dtype=T.float64)

    return [check(T, undefined(T, answer), leaf(T)) for answer in (right, failing, ones)]


@fact
def undefined_gradients_unchecked(T):
    def failing(g, h):
        raise ValueError("cannot")

    return check(T, undefined(T, failing), leaf(T), check_undefined_grad=False)


@fact
def undefined_gradient_of_one_output(T):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    def backward(ctx, g):
        return T.ones(2, dtype=T.float64) if g is None else g * 2

    return check(T, function(T, forward, backward), leaf(T))


@fact
def grad_dtypes(T):
    x = leaf(T, dtype="float32")
    kwargs = {"eps": 1e-2, "atol": 1e-2, "check_grad_dtypes": True}
    return check(T, lambda x: x.double() * 2, x, **kwargs), check(T, lambda x: x * 2, x, **kwargs)


@fact
def warning_about_precision(T):
    x, y = leaf(T, dtype="float32"), T.ones(2, requires_grad=True)
    kwargs = {"eps": 1e-2, "atol": 1e-2}
    return warned(lambda: T.autograd.gradcheck(lambda x, y: x * y, (x, y), **kwargs)), raised(
        lambda: T.autograd.gradcheck(lambda x: x * 2, (x,))
    )


@fact
def overlapping_input(T):
    x = T.ones(1, dtype=T.float64).expand(3).requires_grad_()
    return check(T, lambda x: x * 2, x)


@fact
def one_tensor_instead_of_a_tuple(T):
    return T.autograd.gradcheck(lambda x: x * 2, leaf(T)), T.autograd.gradcheck(lambda x: x * 2, [leaf(T)])


@fact
def nothing_to_check(T):
    return [
        raised(lambda: T.autograd.gradcheck(lambda x: x, leaf(T), check_backward_ad=False)),
        raised(lambda: T.autograd.gradcheck(lambda x: x, leaf(T), check_batched_grad=True, check_backward_ad=False, check_forward_ad=True)),
        raised(lambda: T.autograd.gradcheck(lambda x: x, leaf(T), check_batched_forward_grad=True)),
        raised(lambda: T.autograd.gradgradcheck(lambda x: x, leaf(T), check_rev_over_rev=False)),
    ]


@fact
def masked(T):
    return T.autograd.gradcheck(lambda x: x * 2, leaf(T), masked=True), T.autograd.gradcheck(lambda x: x * 2, leaf(T), masked=False)


@fact
def a_function_that_raises(T):
    def f(x):
        raise KeyError("mine")

    return check(T, f, leaf(T))


@fact
def a_function_that_changes_its_input(T):
    return check(T, lambda x: (x * 1).mul_(3), leaf(T))


@fact
def no_outputs(T):
    return check(T, lambda x: (), leaf(T))


@fact
def output_that_is_no_tensor(T):
    return check(T, lambda x: (x * 2, 3), leaf(T)), check(T, lambda x: 3, leaf(T))


@fact
def gradients_are_left_alone(T):
    x = leaf(T)
    T.autograd.gradcheck(lambda x: x * x, x)
    return x.grad, x


@fact
def names(T):
    return T.autograd.gradcheck.__module__.split(".")[-1], hasattr(T.autograd.gradcheck, "__wrapped__") or True


# ---- second derivatives ----


def cube(T, wrong=6.0):
    """x cubed, by two custom functions of which the second may be wrong."""

    def forward(ctx, x, g):
        ctx.save_for_backward(x, g)
        return 3 * x * x * g

    def backward(ctx, h):
        x, g = ctx.saved_tensors
        return wrong * x * g * h, 3 * x * x * h

    inner = function(T, forward, backward)

    def first(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    return function(T, first, lambda ctx, g: inner(ctx.saved_tensors[0], g))


@fact
def second_derivatives(T):
    x = leaf(T)
    return [
        check(T, lambda x: x**3, x, second=True), check(T, cube(T), x, second=True), check(T, cube(T, 5.0), x, second=True),
        check(T, cube(T), x, second=True, fast_mode=True), check(T, cube(T, 5.0), x, second=True, fast_mode=True),
        check(T, lambda x: x.sin(), x, second=True, check_fwd_over_rev=True),
        check(T, lambda x: x.sin(), x, second=True, check_fwd_over_rev=True, check_rev_over_rev=False),
        check(T, lambda x: x.sin(), x, second=True, gen_non_contig_grad_outputs=True),
        check(T, lambda x: x.sin(), x, second=True, grad_outputs=T.ones(2, dtype=T.float64, requires_grad=True)),
        check(T, lambda x: (x.sin(), x.cos()), x, second=True),
        check(T, lambda x: x * 2, x, second=True),
        check(T, lambda z: z * z * z, z(T), second=True),
    ]  # fmt: skip


@fact
def batched_gradients(T):
    return [
        check(T, lambda x: x.sin(), leaf(T), check_batched_grad=True),
        check(T, lambda x: x.sin(), leaf(T), check_batched_forward_grad=True, check_forward_ad=True),
    ]


@pytest.mark.parametrize("name", fact)
def test_fact(name):
    assert outcome(fact[name], adjoint) == outcome(fact[name], torch)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradgradcheck_draws_from_the_global_generator(dtype):
    drawn = []
    for library in (adjoint, torch):
        x = library.ones(3, dtype=getattr(library, dtype), requires_grad=True)
        library.manual_seed(0)
        library.autograd.gradgradcheck(lambda x: (x.sin(), x.cos().sum()), (x,))
        drawn.append(library.rand(1).item())
    assert drawn[0] == drawn[1]
