"""Operands of built-ins that are broadcast or have gaps: results are NumPy's, whatever the layout."""

import numpy as np
import pytest

from adjoint._kernels import broadcast, builtin, chunks, entry, memory, pool
from adjoint._kernels.expr import Expr
from adjoint._layout import memory_order

PASSED = object()


@pytest.fixture(scope="module")
def functions():
    """Formulas of two arrays and of truth values, with what NumPy says they are."""
    x, y, mask = Expr.inputs("TTB")
    formulas = [builtin.Formula("broadcast", expr, "TTB") for expr in (x - y, np.where(mask, x, y), (x < y) & mask)]
    kernels = builtin.load(formulas, [lambda *args: PASSED] * 3)
    expected = [lambda a, b, truths: a - b, lambda a, b, truths: np.where(truths, a, b), lambda a, b, truths: (a < b) & truths]
    return list(zip(kernels, expected, strict=True))


@pytest.fixture(scope="module")
def sub():
    x, y = Expr.inputs(2)
    return builtin.load([builtin.Formula("sub", x - y, "TT")], [lambda *args: PASSED])[0]


@pytest.fixture(scope="module")
def sub_into():
    x, y = Expr.inputs(2)
    return builtin.load([builtin.Formula("sub_into", x - y, "TT", entry.FIRST)], [lambda *args: PASSED])[0]


def numbers(shape, dtype="float64", seed=5):
    return np.asarray(np.random.default_rng(seed).integers(0, 100, shape)).astype(dtype)


def truth_values(shape):
    return np.asarray(numbers(shape, seed=6) > 50)


LONG, SHORT, MANY = broadcast.LONG, broadcast.SHORT, broadcast.MANY
SHAPES = [
    # rows, and single numbers
    ((4, 6), (6,)), ((4, 6), (1, 6)), ((4, 6), ()), ((4, 6), (1,)), ((4, 6), (1, 1)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (1, 3, 4)),
    ((2, 3, 4), (4,)), ((1, 1), ()), ((7, 300), (300,)), ((100, 7), (7,)), ((1000,), ()), ((1000,), (1,)), ((3, 1, 5), (1, 5)),
    ((3, 1, 5), (5,)), ((), (1,)), ((1,), (1, 1)),
    # columns, with rows on both sides of where they are taken one by one
    ((4, 6), (4, 1)), ((5, 1), (5, 1)), ((2, 3, 4), (2, 3, 1)), ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), (2, 1, 1)),
    ((33, LONG - 1), (33, 1)), ((33, LONG), (33, 1)), ((33, LONG + 1), (33, 1)), ((1 + MANY // LONG, LONG), (1 + MANY // LONG, 1)),
    ((2, 5000), (2, 1)), ((700, 3), (700, 1)), ((1025, 1), (1025, 1)), ((300, SHORT), (300, 1)), ((300, SHORT + 1), (300, 1)),
    # rows that are found one after the other, until an axis ends
    ((5, 9, 200), (9, 1)), ((5, 9, 200), (5, 1, 200)), ((5, 9, 200), (9, 200)), ((5, 9, 200), (5, 1, 1)), ((3, 5, 9, 200), (5, 1, 200)),
    ((3, 4, 5, 130), (4, 1, 1)), ((3, 4, 5, 130), (3, 1, 5, 1)),
    # channels
    ((2, 3, 4, 5), (3, 1, 1)), ((2, 3, 4, 5), (1, 3, 1, 1)), ((2, 3, 4, 5), (2, 3, 1, 1)), ((3, 5, 17, 17), (5, 1, 1)),
    ((3, 5, 7, 7), (5, 1, 1)), ((2, 2, 2, 2, 2, 2), (1, 2, 1, 2, 1, 2)), ((20, 50, 64), (20, 1, 64)), ((3, 400, 5), (3, 1, 5)),
    # both are broadcast
    ((4, 1), (1, 6)), ((4, 1), (6,)), ((40, 1), (1, 600)), ((3, 1, 5), (1, 4, 1)), ((2, 1, 300), (3, 1)), ((600, 1), (1, 600)),
    # nothing
    ((0, 4), (4,)), ((4, 0), (0,)), ((4, 0), (4, 1)), ((0,), ()), ((0, 1), (1, 5)), ((2, 0, 3), (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES)
def test_shapes(functions, shapes):
    a, b = map(numbers, shapes)
    truths = truth_values(shapes[1])
    for kernel, expected in functions:
        for given in ((a, b, truths), (b, a, truths), (a, a, truths), (b, b, truths), (a, b, np.asarray(True))):
            result, right = kernel(*given), expected(*given)
            assert type(result) is np.ndarray and result.dtype == right.dtype and result.flags.c_contiguous and result.flags.writeable
            np.testing.assert_array_equal(result, np.broadcast_to(right, result.shape))
            assert result.shape == np.broadcast_shapes(*[array.shape for array in given])


DTYPES = ["float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "complex64", "complex128"]
PAIRS = [((6, 9), (6, 1)), ((6, 9), ()), ((9, 700), (9, 1)), ((2, 3, 5, 5), (3, 1, 1)), ((7, 1), (1, 33)), ((70, 70), (70,))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", PAIRS)
def test_types_of_all_sizes(sub, shapes, dtype):
    a, b = (numbers(shape, dtype) for shape in shapes)
    np.testing.assert_array_equal(sub(a, b), a - b)
    np.testing.assert_array_equal(sub(b, a), b - a)


LAYOUTS = {
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "a part of each row": lambda x: np.concatenate([x, x, x], axis=-1)[..., x.shape[-1] : 2 * x.shape[-1]],
    "backwards": lambda x: x[::-1],
    "rows backwards": lambda x: x[..., ::-1],
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "expanded": lambda x: np.broadcast_to(x[:1], x.shape),
    "an expanded column": lambda x: np.broadcast_to(x[..., :1], x.shape),
    "one number expanded": lambda x: np.broadcast_to(x.ravel()[:1], x.shape),
    "read only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


@pytest.mark.parametrize("shape", [(4, 6), (3, 4, 6), (17, 1031), (130, 140), (50_000,), (2, 1, 6), (5, 1)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(sub, layout, shape):
    full = numbers(shape)
    other = LAYOUTS[layout](numbers(shape, seed=7))
    np.testing.assert_array_equal(sub(full, other), full - other)
    np.testing.assert_array_equal(sub(other, full), other - full)
    np.testing.assert_array_equal(sub(other, other[:1]), other - other[:1])


def images(*order, seed=3):
    """Images whose dimensions are in some order in memory."""
    return numbers(tuple(np.array((2, 3, 5, 4))[list(order)]), seed=seed).transpose(np.argsort(order))


ORDERED = [  # operands, and the order of the result's dimensions in memory
    ((images(0, 2, 3, 1), images(0, 2, 3, 1)), (0, 2, 3, 1)),
    ((images(0, 2, 3, 1), images(0, 1, 2, 3)), (0, 2, 3, 1)),  # the first decides
    ((images(0, 1, 2, 3), images(0, 2, 3, 1)), (0, 1, 2, 3)),
    ((numbers((4,)), images(3, 2, 1, 0)), (3, 2, 1, 0)),  # unless it does not tell
    ((np.broadcast_to(numbers((5, 4)), (2, 3, 5, 4)), images(1, 0, 3, 2)), (1, 0, 2, 3)),
    ((images(0, 2, 3, 1)[:, :2, ::2, 1:], numbers((2, 2, 3, 3))), (0, 2, 3, 1)),  # gaps are not kept
]


@pytest.mark.parametrize(("operands", "order"), ORDERED)
def test_results_lie_in_memory_like_the_first_operand_that_tells(sub, operands, order):
    a, b = operands
    found = sub(a, b)
    np.testing.assert_array_equal(found, a - b)
    assert found.transpose(order).flags.c_contiguous
    assert memory_order(found.shape, operands) in (order, None)  # NumPy code goes by the same rule


@pytest.mark.parametrize("shapes", [((4, 6), (5,)), ((4, 6), (4,)), ((4, 6), (2, 1)), ((0,), (3,)), ((1,) * 9, (2,))])
def test_what_cannot_be_broadcast_is_passed_on(sub, shapes):
    assert sub(*map(numbers, shapes)) is PASSED


def test_memory_that_is_not_aligned_is_passed_on(sub):
    column = np.zeros(33, np.uint8)[1:].view("float64")[:, None]
    assert not column.flags.aligned
    assert sub(numbers((4, 6)), column) is PASSED


LARGE = [
    ((300, 400), (400,)), ((300, 400), (300, 1)), ((300, 400), ()), ((30, 16_384), (16_384,)), ((30, 16_384), (30, 1)), ((50_000, 3), (3,)),
    ((50_000, 3), (50_000, 1)), ((2, 3, 40_000), ()), ((3, 50_000), (3, 1)), ((8, 16, 30, 30), (16, 1, 1)), ((400, 1), (1, 400)),
    ((700, 200), (200,)), ((7, 100, 200), (100, 1)), ((7, 100, 200), (7, 1, 200)), ((2000, 65), (2000, 1)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", LARGE)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_large_arrays(functions, shapes, threads):
    a, b = map(numbers, shapes)
    truths = truth_values(shapes[1])
    before = pool.get_num_threads()
    pool.set_num_threads(threads)
    try:
        for kernel, expected in functions:
            np.testing.assert_array_equal(kernel(a, b, truths), expected(a, b, truths))
            np.testing.assert_array_equal(kernel(b, a, truths), expected(b, a, truths))
    finally:
        pool.set_num_threads(before)


HUGE = [((1500, 1500), (1500, 1)), ((1500, 1500), ()), ((1500, 1), (1, 1500)), ((15, 100, 1500), (100, 1)), ((750_000, 3), (3,))]


@pytest.mark.parametrize("shapes", HUGE)
def test_huge_results_come_from_memory_that_is_used_again(functions, shapes):
    a, b = map(numbers, shapes)
    truths = truth_values(shapes[1])
    memory.release()
    for kernel, expected in functions[:2]:
        for given in ((a, b, truths), (b, a, truths)):
            result = kernel(*given)
            assert result.nbytes >= memory.HUGE
            np.testing.assert_array_equal(result, expected(*given))
            del result
            assert memory.release() >= memory.HUGE


INTO = [((4, 6), (4, 1)), ((4, 6), (6,)), ((4, 6), ()), ((70, 300), (70, 1)), ((2, 3, 5, 5), (3, 1, 1)), ((0, 4), (4,))]


@pytest.mark.parametrize("shape, other", INTO)
def test_writing_into_the_first_argument(sub_into, shape, other):
    target, operand = numbers(shape), numbers(other)
    right = target - operand
    assert sub_into(target, operand) is target
    np.testing.assert_array_equal(target, right)


def test_a_target_does_not_grow_and_has_no_gaps(sub_into):
    full, row = numbers((4, 6)), numbers((1, 6))
    for target in (row, full[:, :5], full[::2], full.T, np.broadcast_to(row, (4, 6)), numbers((6,))):
        assert sub_into(target, numbers((4, target.shape[-1]))) is PASSED
    np.testing.assert_array_equal(full, numbers((4, 6)))


def test_several_operands_in_as_many_ways():
    """One stands still, others are gathered, or lie in memory as they should."""
    symbols = Expr.inputs("T" * chunks.MOST)
    total = symbols[0]
    for place, symbol in enumerate(symbols[1:], 2):
        total = total + place * symbol
    (kernel,) = builtin.load([builtin.Formula("several", total, "T" * chunks.MOST)], [lambda *args: PASSED])
    for rows, columns in ((20, 300), (20, 1000), (400, 20), (3, 5)):
        shapes = [(rows, columns), (rows, 1), (1, columns), (), (columns,), (1, 1), (rows, 1), (rows, columns)]
        given = [numbers(shape, seed=place) for place, shape in enumerate(shapes)]
        given[-1] = np.repeat(given[-1], 2, axis=1)[:, ::2]
        np.testing.assert_array_equal(kernel(*given), sum(place * array for place, array in enumerate(given, 1)))
