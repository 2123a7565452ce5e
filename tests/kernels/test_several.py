"""The built-ins for several tensors at once do what their Python functions do, and leave to them what they do not take."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import several
from adjoint._tensor import Parameter, Tensor
from adjoint.autograd.node import VersionCounter
from adjoint.autograd.views import NO_GRAD, ORDINARY, SEVERAL, View, counter_of
from adjoint.ops import _several

NAMES = ("plain_arrays", "edges_of", "view", "views", "slices", "rows", "strided", "join")
PASSED_ON = object()


@pytest.fixture(scope="module")
def made():
    passing = {name: lambda *args: PASSED_ON for name in NAMES}
    return several.builtins(passing, Tensor, Parameter, View, VersionCounter, ORDINARY, True)


def numbers(*shape, dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


JOINED = [
    (0, [(2, 3), (4, 3)]),
    (1, [(2, 3), (2, 1), (2, 5)]),
    (1, [(2, 3, 4), (2, 1, 4)]),
    (2, [(2, 3, 4)] * 5),
    (0, [(0, 4), (2, 4)]),
    (1, [(0, 4), (0, 2)]),
    (0, [(7,)]),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
@pytest.mark.parametrize("dim, shapes", JOINED)
def test_join(made, dim, shapes, dtype):
    arrays = [numbers(*shape, dtype=dtype) + place for place, shape in enumerate(shapes)]
    arrays = [array.astype(dtype) for array in arrays]
    found = made["join"](arrays, dim)
    np.testing.assert_array_equal(found, np.concatenate(arrays, dim))
    assert found.dtype == dtype and found.flags.c_contiguous and found.flags.owndata


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_join_along_a_new_dimension(made, dim):
    arrays = [numbers(2, 3, 4), -numbers(2, 3, 4)]
    np.testing.assert_array_equal(made["join"](tuple(arrays), dim, True), np.stack(arrays, dim))


@pytest.mark.parametrize(
    "args",
    [
        ([],),
        ([], 0),
        ([numbers(2, 3)], 2),
        ([numbers(2, 3)], -1),
        ([numbers(2, 3), numbers(2, 4)], 0),
        ([numbers(2, 3), numbers(2, 4)], 1, True),
        ([numbers(2, 3), numbers(6)], 0),
        ([numbers(2, 3), numbers(3, 2).T], 0),
        ([numbers(2, 3), numbers(2, 3, dtype=np.float64)], 0),
        ([numbers(2, 3, dtype=np.int16)], 0),
        ([numbers(2, 3), None], 0),
        ([numbers(512, 512)] * 2, 0),
        (numbers(2, 3), 0),
        ([numbers()], 0),
        ([numbers(2, 3)], 0.0),
    ],
)
def test_join_passes_on_what_it_does_not_take(made, args):
    assert made["join"](*args) is PASSED_ON


@pytest.mark.parametrize("array", [numbers(4, 6), numbers(6, 4).T, numbers(8, 6)[::2], numbers(4, 6)[:, ::-1]], ids=str)
def test_parts_are_views(made, array):
    for dim in (0, 1):
        size = array.shape[dim]
        rows, slices = made["rows"](array, dim), made["slices"](array, (1, size - 3, 0, 2), dim)
        for place, row in enumerate(rows):
            np.testing.assert_array_equal(row, array.take(place, dim))
        for part, expected in zip(slices, np.split(array, [1, size - 2, size - 2], dim), strict=True):
            np.testing.assert_array_equal(part, expected)
            assert part.flags.c_contiguous == expected.flags.c_contiguous
        assert all(np.shares_memory(part, array) for part in (*rows, slices[0]))
        assert rows[0].flags.writeable


def test_parts_of_what_is_locked_are_locked(made):
    array = numbers(2, 3)
    array.flags.writeable = False
    assert not made["rows"](array, 0)[0].flags.writeable
    assert not made["slices"](array, (2,), 0)[0].flags.writeable


def test_memory_with_other_strides(made):
    array = numbers(6, 4)
    part = made["strided"](array, (3, 2, 4), (16, 0, 4))
    np.testing.assert_array_equal(part, np.broadcast_to(array[:3, None], (3, 2, 4)))
    assert part.base is array and part.flags.writeable
    array.flags.writeable = False
    assert not made["strided"](array, (6,), (20,)).flags.writeable
    for args in [(array, (2,), (4, 4)), (array, [2], [4]), (array, (-1,), (4,)), (array, (2,), (-4,)), (array, (), ()), (3.0, (1,), (0,))]:
        assert made["strided"](*args) is PASSED_ON


@pytest.mark.parametrize("args", [((9,), 0), ((-1, 9), 0), ((2.0,), 0), ([2], 0), ((2,), 2), ((2,), -1), ((), 0)])
def test_slices_that_do_not_fit_are_passed_on(made, args):
    assert made["slices"](numbers(8, 4), *args) is PASSED_ON
    assert made["rows"](numbers(8, 4), 2) is PASSED_ON
    assert made["rows"](numbers(), 0) is PASSED_ON


def test_arrays_and_edges_of_ordinary_tensors(made):
    x, y = ad.ones(2), ad.zeros(3)
    assert [array is x._data or array is y._data for array in made["plain_arrays"]([x, y])] == [True, True]
    assert made["edges_of"]((x, y)) is None
    for tensors in ([x, y.double()], [x, 3], [x, None], [], x, [x.half()]):
        assert made["plain_arrays"](tensors) is PASSED_ON
    for tensors in ([x, y.requires_grad_()], [x, 3], [x[0]]):
        assert made["edges_of"](tensors) is PASSED_ON


def history(view):
    found = view._fn
    return [getattr(found, name, "unset") for name in View.__slots__]


@pytest.mark.parametrize("creation", [ORDINARY, NO_GRAD, SEVERAL])
@pytest.mark.parametrize("base", ["tensor", "view", "view without grad", "leaf", "result"])
def test_a_view_has_the_history_that_python_gives_it(made, base, creation):
    x = ad.ones(2, 3, requires_grad=base in ("leaf", "result"))
    if base.startswith("view"):
        with ad.set_grad_enabled(base == "view"):
            x = x[0:1]
    elif base == "result":
        x = x * 2
    array, node = x._data[0], x.grad_fn
    found = made["view"](x, ad.unbind.op, (0,), array, node, creation)
    expected = _several.view(x, ad.unbind.op, (0,), array, node, creation)
    assert type(found) is Tensor and found._data is array and found._vc is x._vc and isinstance(x._vc, VersionCounter)
    assert all(a is b or a == b for a, b in zip(history(found), history(expected), strict=True))
    if creation is not ORDINARY and node is None:
        several_of = made["views"](x, counter_of(x), _several.first_of(ad.unbind.op, 2), (0,), [array, array], creation, None)
        assert history(several_of[1])[:4] == history(expected)[:4]
        assert [view._fn.op.nr for view in several_of] == [0, 1]


def test_objects_are_freed(made):
    x, arrays = ad.ones(4, 3), [numbers(4, 3)] * 2
    kept = [x, arrays[0], arrays[0].dtype, x._data]

    def use():
        made["views"](x, counter_of(x), _several.first_of(ad.unbind.op, 2), (0,), arrays, SEVERAL, None)
        made["view"](x, ad.unbind.op, (0,), arrays[0], None, ORDINARY)
        made["view"](ad.ones(1), ad.unbind.op, (0,), arrays[0], None, NO_GRAD)
        made["rows"](arrays[0], 1), made["slices"](arrays[0], (1, 3), 0), made["join"](arrays, 0)
        made["plain_arrays"]([x]), made["edges_of"]([x])

    use()
    gc.collect()
    before, count = [sys.getrefcount(obj) for obj in kept], len(gc.get_objects())
    for _ in range(50):
        use()
    gc.collect()
    assert [sys.getrefcount(obj) for obj in kept] == before
    assert len(gc.get_objects()) < count + 50


@pytest.mark.parametrize("size", [3, 300])
def test_what_is_joined_lies_in_memory_as_in_pytorch(size):
    x = ad.rand(size, size + 1).t()
    assert ad.cat([x, x], 0).is_contiguous() and ad.cat([x, x], 1).is_contiguous()
    assert all(ad.stack([x, x], dim).is_contiguous() for dim in range(3))
    image = ad.rand(2, 3, 4, 5).contiguous(memory_format=ad.channels_last)
    assert ad.cat([image, image], 1).stride() == (120, 1, 30, 6)
    assert ad.cat([image.transpose(0, 1)] * 2).is_contiguous()
