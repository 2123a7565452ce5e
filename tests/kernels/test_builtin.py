"""Compiled formulas: what they compute, and what they pass on."""

import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import builtin, emit, entry, memory, pool
from adjoint._kernels.expr import Expr, Untraceable, trace, trace_cases

PASSED = object()


@pytest.fixture(scope="module")
def mul():
    x, y = Expr.inputs(2)
    return builtin.load([builtin.Formula("mul", x * y, "TT")], [lambda *args: PASSED])[0]


@pytest.fixture(scope="module")
def scale():
    x, y = Expr.inputs("TS")
    return builtin.load([builtin.Formula("scale", x * y, "TS")], [lambda *args: PASSED])[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 4, 5)])
def test_equal_to_numpy(mul, shape, dtype):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(shape).astype(dtype), rng.standard_normal(shape).astype(dtype)
    result = mul(a, b)
    assert type(result) is np.ndarray and result.shape == shape and result.dtype == dtype
    np.testing.assert_array_equal(result, a * b)


def test_equal_formulas_are_one():
    (x,) = Expr.inputs(1)
    assert x + 1 is x + 1 and np.exp(x) is np.exp(x) and x + float("nan") is x + float("nan")
    different = [x + 1, 1 + x, x + True, x + 1.0, x + 0.0, x + -0.0, Expr.inputs(1, np.dtype("float32"))[0] + 1]
    assert len({id(formula) for formula in different}) == len(different)


def test_what_occurs_twice_is_computed_once():
    (x,) = Expr.inputs(1)
    formula = x
    for _ in range(60):  # written out, it has 2 ** 60 inputs
        formula = formula * formula + 1
    assert formula.functions() == {"x0": 1, "multiply": 60, "add": 60}
    computed = builtin.load([builtin.Formula("iterated", formula, "T")], [lambda *args: PASSED])[0]
    a, expected = np.full(3, -0.5), np.full(3, -0.5)
    with np.errstate(over="ignore"):
        for _ in range(60):
            expected = expected * expected + 1
    np.testing.assert_array_equal(computed(a), expected)


def test_formulas_of_any_depth():
    (x,) = Expr.inputs(1)
    formula = x
    for _ in range(3 * sys.getrecursionlimit()):
        formula = formula + 1
    assert formula.functions()["add"] == 3 * sys.getrecursionlimit()
    text = emit.scalar_function("deep", formula, [["double"]], emit.Emitter, "f64").text
    assert text.count("fadd") == 3 * sys.getrecursionlimit()


A = np.ones((4, 6), "float32")


@pytest.mark.parametrize(
    "args",
    [
        (), (A,), (A, A, A), (A, 2.0), (2.0, A), (A, None), (A, "x"), (A, A.astype("float64")), (A.astype("uint32"), A.astype("uint32")),
        (A, np.float32(1)), (A.astype(">f4"), A.astype(">f4")), (A.astype("longdouble"), A.astype("longdouble")),
        (A, np.ones((6, 4), "float32")), (A, A[:, :5]), (A, A[None, None, None, None, None, None, None]),
    ],
)  # fmt: skip
def test_anything_unusual_is_passed_on(mul, args):
    assert mul(*args) is PASSED


@pytest.mark.parametrize("number", [2, 2.5, -3, -1, 0, 10**15, float("inf"), float("nan")])
def test_python_numbers(scale, number):
    np.testing.assert_array_equal(scale(A, number), A * np.float32(number))


@pytest.mark.parametrize("number", [10**400, True, 1j, np.float32(2), None, "x", A])
def test_other_numbers_are_passed_on(scale, number):
    assert scale(A, number) is PASSED


def test_writing_into_the_first_argument():
    x, y = Expr.inputs(2)
    (into,) = builtin.load([builtin.Formula("into", x + y, "TT", entry.FIRST)], [lambda *args: PASSED])
    a, b = np.arange(6.0), np.ones(6)
    before = sys.getrefcount(a)
    assert into(a, b) is a
    assert sys.getrefcount(a) == before
    np.testing.assert_array_equal(a, np.arange(6.0) + 1)
    a.flags.writeable = False
    assert into(a, b) is PASSED


def test_no_reference_is_lost_or_kept(mul):
    a = np.ones(8, "float32")
    before = sys.getrefcount(a), sys.getrefcount(a.dtype)
    for _ in range(1000):
        mul(a, a)
        mul(a, None)
    after = sys.getrefcount(a), sys.getrefcount(a.dtype)
    assert after == before


FORMULAS = {
    "where": lambda x, y: np.where(x > y, x, 2 * y),
    "relu": lambda x, y: np.maximum(x, 0) + 0 * y,
    "signs": lambda x, y: np.sign(x) * np.abs(y) - (-x),
    "comparisons as numbers": lambda x, y: x * (y >= 0) + (x != y),
    "logic": lambda x, y: np.where((x > 0) & ~(y < 0) | np.isnan(x), x, y),
    "powers": lambda x, y: x**2 + 1 / (y * y + 1) + (y * y) ** 0.5,
    "rounding": lambda x, y: np.floor(x) + np.ceil(y) + np.rint(x) + np.trunc(y),
    "finite": lambda x, y: np.where(np.isfinite(x), x, 0) + np.where(np.isinf(y), 1, y),
    "exponentials": lambda x, y: np.exp(-x * x) * np.tanh(y) + np.log1p(np.abs(x)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_traced_from_numpy_code(name, dtype):
    fn = FORMULAS[name]
    formula = builtin.Formula("traced", trace(fn, list(Expr.inputs(2))), "TT")
    (kernel,) = builtin.load([formula], [lambda *args: PASSED])
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal(999).astype(dtype), rng.standard_normal(999).astype(dtype)
    x[:4], y[3:7] = [np.nan, np.inf, -0.0, 0.0], [np.inf, -np.inf, np.nan, 0.0]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(kernel(x, y), fn(x, y), rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, y: x if x > y else y, lambda x, y: x.reshape(-1), lambda x, y: np.sum(x), lambda x, y: 1.0,
        lambda x, y: np.spacing(x), lambda x, y: np.add.reduce(x), lambda x, y: x @ y, lambda x, y: x + np.ones(3),
        lambda x, y: np.interp(x, [0, 1], [1, 2]),
    ],
)  # fmt: skip
def test_what_is_no_formula_is_refused(fn):
    with pytest.raises(Untraceable):
        trace(fn, list(Expr.inputs(2)))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [entry.LARGEST + 1, pool.PIECE * 3, pool.PIECE * 3 + 17])
def test_large_arrays_are_computed_in_pieces(scale, mul, size, threads):
    before = pool.get_num_threads()
    pool.set_num_threads(threads)
    try:
        a = np.random.default_rng(3).standard_normal(size).astype("float32")
        np.testing.assert_array_equal(mul(a, a), a * a)
        np.testing.assert_array_equal(scale(a.reshape(1, -1), 3.5), a.reshape(1, -1) * np.float32(3.5))
        np.testing.assert_array_equal(mul(a[::2], a[::2]), a[::2] * a[::2])
        assert mul(a, a.astype("float64")) is PASSED
        assert mul(a, a[:-1]) is PASSED
        assert scale(a, None) is PASSED
    finally:
        pool.set_num_threads(before)


def test_writing_into_a_given_array_checks_it():
    x, y = Expr.inputs(2)
    kernel = builtin.Kernel(builtin.Formula("checked", x * y, "TT"), lambda *args: PASSED)
    out, a = np.zeros(10), np.arange(10.0)
    assert kernel.into(out, a, a) is None  # its loop is not compiled yet
    np.testing.assert_array_equal(kernel.call(a, a), a * a)
    kernel.compile_missing(kernel.into_words)
    assert kernel.into(out, a, a) is out
    np.testing.assert_array_equal(out, a * a)
    out[:] = 0
    for bad in [(out, a), (out[:5], a, a), (out.astype("float32"), a, a), (out[::-1], a, a), (a, out, out[:1][:, None][:0])]:
        assert kernel.into(*bad) is None
    out.flags.writeable = False
    assert kernel.into(out, a, a) is None
    assert not out.any()


def test_the_memory_of_huge_arrays_is_used_again():
    x, y = Expr.inputs(2)
    (add,) = builtin.load([builtin.Formula("huge", x + y, "TT")], [lambda *args: PASSED])
    memory.release()
    a = np.ones(memory.HUGE // 8 + 5)
    total = add(a, a)
    assert total.shape == a.shape and (total == 2).all()
    place, view = total.ctypes.data, total[3:]
    del total
    assert add(a, a).ctypes.data != place  # a view still uses it
    assert memory.release() > 0
    assert (view == 2).all()
    del view
    again = add(a, a[:1])
    assert again.ctypes.data == place and (again == 2).all()
    del again
    assert memory.release() >= a.nbytes
    assert memory.release() == 0


def test_a_huge_gradient_is_not_copied_and_one_of_a_view_is():
    x = ad.ones(memory.HUGE // 4, requires_grad=True)
    for _ in range(3):  # the kernel is there from the second time on, at the latest
        x.grad = None
        (x * 3.0).backward(x.detach())
    assert isinstance(x.grad._data.base, memory.Block) and (x.grad == 3).all()
    whole = memory.empty((8, 4), np.dtype("float32"))
    assert memory.is_whole(whole) and memory.is_whole(np.empty(3))
    assert not memory.is_whole(whole[1:]) and not memory.is_whole(whole[:]) and not memory.is_whole(np.empty((2, 3)).T)
    y = x.detach().clone()
    assert isinstance(y._data.base, memory.Block)
    y[5:].copy_(y[:-5] * 2)
    y.copy_(x.detach() * 7)
    assert (y == 7).all()


def test_what_is_kept_has_a_limit(monkeypatch):
    memory.release()
    monkeypatch.setattr(memory, "LIMIT", 3 << 20)
    arrays = [memory.empty((1 << 20,), np.dtype("uint8")) for _ in range(5)]
    arrays.clear()
    assert memory.release() == 3 << 20


def test_loops_are_compiled_when_they_are_needed():
    x, y = Expr.inputs(2)
    kernel = builtin.Kernel(builtin.Formula("lazy", x - y, "TT"), lambda *args: PASSED)
    assert kernel.call(A, None) is PASSED
    every = {(kind, still) for kind in ("f32", "f64") for still in (-1, 0, 1)}
    assert {facts[1:] for facts in kernel.missing.values()} == every
    np.testing.assert_array_equal(kernel.call(A, A), A - A)
    assert {facts[1:] for facts in kernel.missing.values()} == every - {("f32", -1)}
    large = np.ones(entry.LARGEST + 1)
    np.testing.assert_array_equal(kernel.call(large, large[:1]), large - large)
    assert {facts[1:] for facts in kernel.missing.values()} == every - {("f32", -1), ("f64", 1)}


# ---- truth values, numbers, cases -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, entry.LARGEST + 1, 3_000_000])
def test_truth_values_as_arguments_and_results(size):
    mask, x = Expr.inputs("BT")
    where, less = builtin.load(
        [builtin.Formula("masked", np.where(mask, x, 0), "BT"), builtin.Formula("less", (x < 0.5) & mask, "BT")], [lambda *args: PASSED] * 2
    )
    rng = np.random.default_rng(4)
    values, truths = rng.random(size), rng.random(size) < 0.5
    np.testing.assert_array_equal(where(truths, values), np.where(truths, values, 0))
    result = less(truths, values)
    assert result.dtype == bool
    np.testing.assert_array_equal(result, (values < 0.5) & truths)
    assert where(values, values) is PASSED
    assert where(truths[:-1], values) is PASSED
    assert where(truths.view("uint8"), values) is PASSED


def power(x, exponent):
    if exponent == 2:
        return x * x
    return 1 / x if exponent < 0 else x * (exponent - 1)


def test_code_that_asks_about_numbers_has_a_case_for_each_answer():
    cases = trace_cases(power, Expr.inputs("TS"))
    assert [(repr(answers), repr(expr)) for answers, expr in cases] == [
        ("[(equal(x1, 2), True)]", "multiply(x0, x0)"),
        ("[(equal(x1, 2), False), (less(x1, 0), True)]", "divide(1, x0)"),
        ("[(equal(x1, 2), False), (less(x1, 0), False)]", "multiply(x0, subtract(x1, 1))"),
    ]
    found = [builtin.Case(expr, answers) for answers, expr in cases]
    (kernel,) = builtin.load([builtin.Formula("power", {"f32": found, "f64": found[:2]}, "TS")], [lambda *args: PASSED])
    a = np.linspace(1, 2, 7, dtype="float32")
    for exponent in (2, 2.0, -1, 5, 0.1):
        np.testing.assert_array_equal(kernel(a, exponent), power(a, exponent))
    assert kernel(a, None) is PASSED
    np.testing.assert_array_equal(kernel(a.astype(float), 2), a.astype(float) ** 2)
    assert kernel(a.astype(float), 5) is PASSED


def test_constants_are_recognised():
    x, y = Expr.inputs("TS")
    cases = [builtin.Case(x + 1, [], {1: None}), builtin.Case(x + y)]
    (kernel,) = builtin.load([builtin.Formula("optional", {"f32": cases, "f64": cases}, "TS")], [lambda *args: PASSED])
    np.testing.assert_array_equal(kernel(A, None), A + 1)
    np.testing.assert_array_equal(kernel(A, 5), A + 5)
    assert kernel(A, "x") is PASSED


def test_formulas_of_numbers_are_computed_in_double_precision():
    x, y = Expr.inputs("TS")
    (kernel,) = builtin.load([builtin.Formula("double", x * (y - 1), "TS")], [lambda *args: PASSED])
    np.testing.assert_array_equal(kernel(A, 1 + 1e-12), A * np.float32((1 + 1e-12) - 1))


NAN = float("nan")


@pytest.mark.parametrize("into", [entry.NEW, entry.FIRST])
@pytest.mark.parametrize(("bound", "expected"), [(0.0, [-0.0, 0.0, NAN, 0.0, 2.0]), (NAN, [NAN] * 5), (-0.0, [-0.0, 0.0, NAN, -0.0, 2.0])])
def test_a_bound_leaves_nan_and_the_sign_of_zero(bound, expected, into):
    """As in PyTorch: a number replaces only what lies beyond it."""
    values = np.array([-0.0, 0.0, NAN, -1.0, 2.0] * 9, "float32")
    x, y = Expr.inputs("TS")
    for formula, operands in [(builtin.Formula("m", np.maximum(x, y), "TS", into=into), (bound,)),
                              (builtin.Formula("c", np.maximum(Expr.inputs(1)[0], bound), "T", into=into), ())]:  # fmt: skip
        given = values.copy()
        result = builtin.load([formula], [lambda *args: PASSED])[0](given, *operands)
        assert (result is given) == (into == entry.FIRST)
        np.testing.assert_array_equal(result, np.array(expected * 9, "float32"))
        numbers = ~np.isnan(result)
        np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(expected * 9)[numbers])


def test_of_two_arrays_the_second_gives_the_zero():
    x, y = Expr.inputs(2)
    zeros = np.zeros(33, "float32")
    for function in (np.maximum, np.minimum):
        kernel = builtin.load([builtin.Formula("m", function(x, y), "TT")], [lambda *args: PASSED])[0]
        assert np.signbit(kernel(zeros, -zeros)).all() and not np.signbit(kernel(-zeros, zeros)).any()
        assert np.isnan(kernel(zeros, zeros + NAN)).all() and np.isnan(kernel(zeros + NAN, zeros)).all()
