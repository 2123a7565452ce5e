"""Writing in place to tensors and to views of them: values, gradients, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

Program = Callable[[Any, Any], Any]

ROW0 = np.array([[1.0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
COLUMN1 = np.array([[0.0, 1, 0, 0]] * 3)
MASK = np.array([[True, False, True, False], [False, False, True, True], [True, True, False, False]])


def outside(x: Any, mask: np.ndarray) -> Any:
    return x * ad.tensor(1 - mask)


def inside(x: Any, mask: np.ndarray) -> Any:
    return x * ad.tensor(mask)


def program(write: Callable[[Any, Any], None]) -> Program:
    """From a function that changes `x` to one that returns it."""

    def run(x: Any, y: Any) -> Any:
        x = x * 1
        write(x, y)
        return x

    return run


def number_to_row(x: Any, y: Any) -> None:
    x[0] = 5


def tensor_to_row(x: Any, y: Any) -> None:
    x[0] = y[1]


def own_row_to_row(x: Any, y: Any) -> None:
    x[0] = x[1]


def broadcast_to_column(x: Any, y: Any) -> None:
    x[:, 1] = y[0, 0]


def scaled_column(x: Any, y: Any) -> None:
    x[:, 1].mul_(2)


def scaled_by_itself(x: Any, y: Any) -> None:
    x *= x


def scaled_by_own_view(x: Any, y: Any) -> None:
    x[0].mul_(x[1])


def slice_of_slice(x: Any, y: Any) -> None:
    x[1:][:, 1:].t()[0].add_(y[0, 0])


def view_of_view(x: Any, y: Any) -> None:
    x.view(2, 6)[0].view(6)[4:].copy_(y[0, :2])


def diagonal_write(x: Any, y: Any) -> None:
    x.diagonal().mul_(y.diagonal())


def masked_write(x: Any, y: Any) -> None:
    x[ad.tensor(MASK)] = y[ad.tensor(MASK)]


def indexed_addition(x: Any, y: Any) -> None:
    x[[0, 2]] += y[[1, 1]]


def repeated_index(x: Any, y: Any) -> None:
    x.index_put_((ad.tensor([0, 0]),), y[:2], accumulate=True)


def write_then_read_old_view(x: Any, y: Any) -> None:
    row = x[0]
    x.mul_(3)
    x[1] = row


def write_view_then_base(x: Any, y: Any) -> None:
    row = x[0]
    row.mul_(y[0])
    x.mul_(2)
    row.add_(1)


def whole_copy(x: Any, y: Any) -> None:
    x.copy_(y * y)


def whole_fill(x: Any, y: Any) -> None:
    x.fill_(y[0, 0])


def unfolded_windows(x: Any, y: Any) -> None:
    x[0].unfold(0, 2, 2)[1].mul_(3)


def transposed_write(x: Any, y: Any) -> None:
    x.t()[1] = y[:, 0]


def select_of_expand(x: Any, y: Any) -> None:
    x.unsqueeze(0).squeeze(0).permute(1, 0)[2].zero_()


CORNER = np.zeros((3, 4))
CORNER[1:, 1] = 1

CASES: dict[str, tuple[Callable[[Any, Any], None], Program]] = {
    "number to row": (number_to_row, lambda x, y: outside(x, ROW0) + ad.tensor(5 * ROW0)),
    "tensor to row": (tensor_to_row, lambda x, y: ad.stack([y[1], x[1], x[2]])),
    "own row to row": (own_row_to_row, lambda x, y: ad.stack([x[1], x[1], x[2]])),
    "broadcast to column": (broadcast_to_column, lambda x, y: outside(x, COLUMN1) + inside(y[0, 0], COLUMN1)),
    "scaled column": (scaled_column, lambda x, y: x + inside(x, COLUMN1)),
    "scaled by itself": (scaled_by_itself, lambda x, y: x * x),
    "scaled by own view": (scaled_by_own_view, lambda x, y: ad.stack([x[0] * x[1], x[1], x[2]])),
    "slice of slice": (slice_of_slice, lambda x, y: x + inside(y[0, 0], CORNER)),
    "view of view": (view_of_view, lambda x, y: ad.cat([x.reshape(-1)[:4], y[0, :2], x.reshape(-1)[6:]]).reshape(3, 4)),
    "diagonal": (diagonal_write, lambda x, y: x + ad.diag_embed(x.diagonal() * (y.diagonal() - 1)) @ ad.eye(3, 4).double()),
    "masked": (masked_write, lambda x, y: ad.where(ad.tensor(MASK), y, x)),
    "indexed addition": (indexed_addition, lambda x, y: ad.stack([x[0] + y[1], x[1], x[2] + y[1]])),
    "repeated index": (repeated_index, lambda x, y: ad.stack([x[0] + y[0] + y[1], x[1], x[2]])),
    "an old view follows": (write_then_read_old_view, lambda x, y: ad.stack([3 * x[0], 3 * x[0], 3 * x[2]])),
    "view, base, view": (write_view_then_base, lambda x, y: ad.stack([2 * x[0] * y[0] + 1, 2 * x[1], 2 * x[2]])),
    "copy": (whole_copy, lambda x, y: x * 0 + y * y),
    "fill": (whole_fill, lambda x, y: x * 0 + y[0, 0]),
    "windows": (unfolded_windows, lambda x, y: x + inside(x, ROW0 * np.array([0, 0, 2.0, 2]))),
    "transposed": (transposed_write, lambda x, y: ad.stack([x[:, 0], y[:, 0], x[:, 2], x[:, 3]], 1)),
    "through views that change nothing": (select_of_expand, lambda x, y: x * ad.tensor([1.0, 1, 0, 1], dtype=ad.float64)),
}


def leaves() -> tuple[Any, Any]:
    x = ad.tensor(np.linspace(-1, 1.3, 12).reshape(3, 4), requires_grad=True)
    y = ad.tensor(np.linspace(0.4, 2, 12).reshape(3, 4), requires_grad=True)
    return x, y


def results(run: Program) -> list[np.ndarray]:
    """Value, first and second derivatives."""
    x, y = leaves()
    out = run(x, y)
    weights = ad.tensor(np.cos(np.arange(12)).reshape(3, 4))
    grads = ad.autograd.grad((out * out * weights).sum(), (x, y), create_graph=True, allow_unused=True)
    penalty = sum((g * g).sum() for g in grads if g is not None)
    second = ad.autograd.grad(penalty, (x, y), allow_unused=True)
    return [out.detach().numpy(), *(np.zeros((3, 4)) if g is None else g.detach().numpy() for g in (*grads, *second))]


@pytest.mark.parametrize("name", CASES)
def test_a_write_has_the_derivatives_of_its_functional_form(name):
    write, functional = CASES[name]
    for ours, expected in zip(results(program(write)), results(functional), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_forward_mode_follows_a_write(name):
    """The tangent of a written tensor is that of the functional form, and so are those of its views."""
    import adjoint.autograd.forward_ad as fw

    tangents = []
    for run in (program(CASES[name][0]), CASES[name][1]):
        x, y = leaves()
        with fw.dual_level():
            dual_x = fw.make_dual(x.detach(), ad.tensor(np.sin(np.arange(12)).reshape(3, 4)))
            dual_y = fw.make_dual(y.detach(), ad.tensor(np.cos(np.arange(12)).reshape(3, 4)))
            out = run(dual_x, dual_y)
            tangents.append([fw.unpack_dual(t).tangent.detach().numpy().copy() for t in (out, out[0], out.t())])
    for ours, expected in zip(*tangents, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-12)


# ---- names, sharing and versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "name"),
    [
        (0, "SelectBackward0"), (slice(1, None), "SliceBackward0"), (slice(None), "SliceBackward0"), (None, "UnsqueezeBackward0"),
        (..., "AliasBackward0"), ((), "AliasBackward0"), ((0, slice(1, 2)), "SliceBackward0"), ((0, None), "UnsqueezeBackward0"),
        ((slice(None), 0), "SelectBackward0"), ((0, slice(None)), "SelectBackward0"), ([0, 1], "IndexBackward0"),
        ((slice(None), [0, 1]), "IndexBackward0"),
    ],
)  # fmt: skip
def test_a_view_is_named_after_its_last_step(index, name):
    x = ad.ones(3, 4, requires_grad=True)
    assert x[index].grad_fn.name() == name
    assert x[index]._is_view() == (name != "IndexBackward0")


def test_views_share_memory_and_version():
    x = ad.zeros(3, 4)
    views = [x[1], x[:, 2:], x.t(), x.view(2, 6), x[None], x.diagonal(), x.unfold(1, 2, 1), x.unbind()[0], x.expand(2, 3, 4)]
    assert all(v._base is x and v.data_ptr() - x.data_ptr() == 4 * v.storage_offset() for v in views)
    x.add_(1)
    assert all(v._version == 1 and (v == 1).all() for v in views)
    views[0].add_(1)
    assert x._version == 2 and x[1].sum() == 8
    assert x[[0, 1]]._base is None


def test_reshape_is_a_view_where_it_can_be():
    x = ad.arange(12.0).reshape(3, 4)
    assert x.reshape(2, 6).data_ptr() == x.data_ptr()
    assert x[:, :2].reshape(3, 2, 1).data_ptr() == x.data_ptr()
    assert x.t().reshape(12).data_ptr() != x.data_ptr()
    with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size and stride"):
        x.t().view(12)
    assert x.t().view(2, 2, 3).tolist() == x.t().reshape(2, 2, 3).tolist()  # each dimension divides one of the old
    assert x.t().requires_grad_().reshape(12).grad_fn.name() == "UnsafeViewBackward0"


def test_contiguous_is_the_tensor_itself_if_it_is():
    x = ad.ones(3, 4)
    assert x.contiguous() is x
    y = x.t().contiguous()
    assert y.is_contiguous() and not x.t().is_contiguous() and y.stride() == (3, 1)
    image = ad.ones(2, 3, 4, 5).contiguous(memory_format=ad.channels_last)
    assert image.stride() == (60, 1, 15, 3) and image.is_contiguous(memory_format=ad.channels_last)


def test_an_index_may_be_changed_before_backward():
    """What a node keeps of an index is its own copy."""
    x = ad.ones(3, requires_grad=True)
    index = ad.tensor([0, 0])
    y = x[index]
    index.fill_(2)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 0, 0]


def test_an_overwritten_index_of_gather_is_noticed():
    x = ad.ones(3, requires_grad=True)
    index = ad.tensor([0, 0])
    y = x.gather(0, index)
    index.fill_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# ---- shape changed in place -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [
        ("unsqueeze_", (0,), (1, 1, 3)), ("squeeze_", (), (3,)), ("t_", (), (3, 1)), ("transpose_", (0, 1), (3, 1)),
        ("swapaxes_", (0, 1), (3, 1)),
    ],
)  # fmt: skip
def test_views_in_place_change_the_tensor_itself(name, args, shape):
    x = ad.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    y = x * 2
    assert getattr(y, name)(*args) is y
    assert tuple(y.shape) == shape and not y._is_view() and y._version == 1
    (y * y).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[8.0, 16.0, 24.0]]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(x, name)(*args)


def test_a_view_transposed_in_place_still_reaches_its_base():
    x = ad.ones(2, 3, requires_grad=True)
    y = x * 1
    part = y[:, 1:]
    part.t_()
    part[0] = ad.tensor([5.0, 6.0])
    assert y.tolist() == [[1, 5, 1], [1, 6, 1]]
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1, 0, 1], [1, 0, 1]]


def test_resize_keeps_what_there_is_memory_for():
    x = ad.tensor([1.0, 2.0, 3.0, 4.0])
    assert x.resize_(2).tolist() == [1, 2]
    assert x.resize_(2, 2).tolist() == [[1, 2], [3, 4]]
    assert x.resize_(6)[:4].tolist() == [1, 2, 3, 4]
    assert tuple(x.resize_as_(ad.zeros(1, 3)).shape) == (1, 3)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        ad.ones(2, requires_grad=True).resize_(3)


# ---- refused, before anything is written ----------------------------------------------------------------------------


def test_writes_to_leaves_are_refused():
    x = ad.ones(2, 3, requires_grad=True)
    for write in (lambda: x.mul_(2), x.zero_, lambda: x.__setitem__([0], 1.0)):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
            write()
    for write in (lambda: x[0].mul_(2), lambda: x.__setitem__(0, 1.0), lambda: x.__setitem__((0, [1]), 1.0)):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
            write()
    assert x.tolist() == [[1, 1, 1]] * 2 and x._version == 0
    with ad.no_grad():
        x[0] = 2.0
        x[:, 1].mul_(3)
    assert x.tolist() == [[2, 6, 2], [1, 3, 1]]


@pytest.mark.parametrize("make", [lambda x: x.unbind()[1], lambda x: x.split(1)[1], lambda x: x.chunk(2)[1], lambda x: list(x)[1]])
def test_one_of_several_views_refuses_writes(make):
    x = ad.ones(2, 3, requires_grad=True) * 1
    part = make(x)
    with pytest.raises(RuntimeError, match=r"Output 1 of (Unbind|Split) is a view and is being modified inplace"):
        part.mul_(2)
    with pytest.raises(RuntimeError, match="Output 0 of Slice is a view and is being modified inplace"):
        part[..., 1:].mul_(2)
    x.mul_(2)
    with pytest.raises(RuntimeError, match=r"Output 1 of .* is a view and its base or another view of its base has been modified"):
        part + 1
    plain = ad.ones(2, 3)
    make(plain).mul_(2)  # without grad there is nothing to confuse
    assert plain.sum() == 9


def test_views_made_without_grad_refuse_recorded_writes():
    x = ad.ones(2, 3, requires_grad=True) * 1
    with ad.no_grad():
        part = x[0]
        part.mul_(2)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        part.mul_(2)
    assert x[0].tolist() == [2, 2, 2]


def test_expanded_tensors_take_one_value_only():
    x = ad.zeros(1).expand(3)
    for write in (lambda: x.add_(1), lambda: x.copy_(ad.ones(3)), lambda: x.__setitem__(slice(None), ad.ones(3))):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
            write()
    assert x.fill_(2).tolist() == [2, 2, 2]
    x[1] = 3
    assert x.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("index", "value", "error", "words"),
    [
        (5, 1.0, IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        ((0, 0, 0), 1.0, IndexError, "too many indices for tensor of dimension 2"),
        (ad.tensor([0, 7]), 1.0, IndexError, "index 7 is out of bounds for dimension 0 with size 3"),
        (slice(None, None, -1), 1.0, ValueError, "step must be greater than zero"),
        (0, ad.ones(3), RuntimeError, r"The expanded size of the tensor \(4\) must match the existing size \(3\)"),
        (0, ad.ones(2, 4), RuntimeError, "the number of sizes provided"),
        (ad.tensor([0, 1]), ad.ones(3), RuntimeError, r"shape mismatch: value tensor of shape \[3\] cannot be broadcast"),
        (ad.tensor([0, 1]), ad.ones(4).double(), RuntimeError, "Index put requires the source and destination dtypes match"),
        (ad.tensor(MASK), ad.ones(5), RuntimeError, "shape mismatch: value tensor of shape"),
        (0, [1, 2, 3, 4], TypeError, "can't assign a list to a torch.FloatTensor"),
        (0, np.ones(4), TypeError, "can't assign a numpy.ndarray to a torch.FloatTensor"),
        (0, 1j, RuntimeError, "value cannot be converted to type float without overflow"),
        (0, 1e60, RuntimeError, "value cannot be converted to type float without overflow"),
    ],
)
def test_a_refused_assignment_changes_nothing(index, value, error, words):
    x = ad.zeros(3, 4)
    with pytest.raises(error, match=words):
        x[index] = value
    assert x.tolist() == [[0] * 4] * 3 and x._version == 0


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.scatter_(0, ad.tensor([[0, 9]]), ad.ones(1, 2)),
        lambda x: x.scatter_add_(0, ad.tensor([[0, 9]]), ad.ones(1, 2)),
        lambda x: x.index_add_(0, ad.tensor([0, 9]), ad.ones(2, 4)),
        lambda x: x.index_copy_(0, ad.tensor([0, 9]), ad.ones(2, 4)),
        lambda x: x.put_(ad.tensor([0, 99]), ad.ones(2)),
        lambda x: x.masked_scatter_(x == 0, ad.ones(5)),
        lambda x: x.masked_fill_(ad.ones(2, 3, 4) > 0, 1.0),
        lambda x: x.copy_(ad.ones(3, 3)),
        lambda x: x.index_put_((ad.tensor([0, 9]),), ad.ones(4), accumulate=True),
    ],
)
def test_a_refused_write_changes_nothing(write):
    x = ad.zeros(3, 4)
    with pytest.raises((RuntimeError, IndexError)):
        write(x)
    assert x.tolist() == [[0] * 4] * 3 and x._version == 0


def test_a_value_that_backward_needs_is_guarded_through_views():
    x = ad.ones(2, 3, requires_grad=True)
    y = x * 1
    z = y.exp()
    z[0].zero_()  # the result of exp, which its backward needs
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


# ---- dtypes and memory ----------------------------------------------------------------------------------------------


def test_assignment_converts_as_copy_does():
    x = ad.zeros(4, dtype=ad.int64)
    x[0] = 2.7
    x[1:3] = ad.tensor([1.9, -1.9])
    x[3] = True
    assert x.tolist() == [2, 1, -1, 1]


def test_overlapping_memory_is_read_before_it_is_written():
    """Where it is not refused: of parts with gaps nobody looks whether they overlap."""
    x = ad.arange(8.0).view(2, 4)
    x[:, 1:] = x[:, :-1]
    assert x.tolist() == [[0, 0, 1, 2], [4, 4, 5, 6]]
    x[:, :2].add_(x[:, 1:3])
    assert x.tolist() == [[0, 1, 1, 2], [8, 9, 5, 6]]


def test_gradients_of_repeated_rows_are_added():
    """Large enough for each of the ways in which rows are added up."""
    rng = np.random.default_rng(0)
    for shape, count in (((50, 8), 200), ((50, 8), 20), ((50,), 300), ((4, 50, 3), 90)):
        x = ad.tensor(rng.normal(size=shape), requires_grad=True)
        axis = len(shape) // 2
        rows = rng.integers(-shape[axis], shape[axis], count)
        y = x[(slice(None),) * axis + (ad.tensor(rows),)]
        weights = rng.normal(size=tuple(y.shape))
        (y * ad.tensor(weights)).sum().backward()
        expected = np.zeros(shape)
        np.add.at(expected, (slice(None),) * axis + (rows,), weights)
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-12)


def test_a_large_tensor_of_many_dimensions_in_any_order_is_copied():
    """Strides that no kernel knows, in a tensor that is large enough for one."""
    x = ad.arange(8 * 3 * 32 * 32).reshape(8, 3, 32, 32)
    patches = x.unfold(2, 8, 8).unfold(3, 8, 8).permute(0, 2, 3, 4, 5, 1)
    expected = x.numpy().reshape(8, 3, 4, 8, 4, 8).transpose(0, 2, 4, 3, 5, 1)
    assert np.array_equal(patches.flatten(3).numpy().reshape(expected.shape), expected)
    assert np.array_equal(patches.contiguous().numpy(), expected)


# ---- a base that changes its geometry -----------------------------------------------------------------------------------------------

GEOMETRIES = [
    ("t_", ()), ("transpose_", (0, 1)), ("swapaxes_", (0, 1)), ("swapdims_", (0, 1)), ("unsqueeze_", (0,)), ("squeeze_", ()),
    ("as_strided_", ((9,), (1,))),
]  # fmt: skip


def row_of(x: Any) -> Any:
    return x[0]


def flat(x: Any) -> Any:
    return x.view(-1)[:3]


def strided_row(x: Any) -> Any:
    return x.as_strided((3,), (1,))


def row_twice(x: Any) -> Any:
    return x.narrow(0, 0, 2)[0]


@pytest.mark.parametrize("grad", [True, False], ids=["recorded", "no_grad"])
@pytest.mark.parametrize("view", [row_of, flat, strided_row, row_twice])
@pytest.mark.parametrize(("name", "args"), GEOMETRIES, ids=[name for name, _ in GEOMETRIES])
def test_a_view_stays_where_it_is_when_its_base_changes_geometry(name, args, view, grad):
    x = ad.arange(9.0).reshape(3, 3).requires_grad_()
    y = x * 1
    v = view(y)
    y.mul_(2)
    with ad.set_grad_enabled(grad):
        getattr(y, name)(*args)
    (gradient,) = ad.autograd.grad((v * ad.tensor([1.0, 2, 3])).sum(), x, retain_graph=True)
    assert gradient.tolist() == [[2.0, 4.0, 6.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    v.mul_(ad.tensor([2.0, 3, 4]))
    (gradient,) = ad.autograd.grad(y.sum(), x, create_graph=True)
    assert gradient.tolist() == [[4.0, 6.0, 8.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def test_geometry_changed_without_grad_gives_gradients_the_old_shape():
    x = ad.tensor([1.0, 2, 3], requires_grad=True)
    y = x * 2
    with ad.no_grad():
        y.unsqueeze_(0)
    (y * ad.tensor([[1.0, 2, 3]])).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_view_changed_without_grad_may_still_be_written_to():
    x = ad.ones(2, 3, requires_grad=True)
    base = x.clone()
    v = base.view_as(base)
    with ad.no_grad():
        v.transpose_(0, 1)
    v.mul_(ad.tensor([[1.0], [2], [3]]))
    base.sum().backward()
    assert x.grad.tolist() == [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]


def test_a_write_through_a_strided_view_of_a_part_of_memory():
    x = ad.arange(6.0).requires_grad_()
    y = ad.zeros(8)[2:].detach()
    y.copy_(x)
    y.as_strided((2,), (2,)).mul_(10)
    (gradient,) = ad.autograd.grad(y.sum(), x)
    assert y.tolist() == [0.0, 1.0, 20.0, 3.0, 4.0, 5.0]
    assert gradient.tolist() == [10.0, 1.0, 10.0, 1.0, 1.0, 1.0]


def test_forward_mode_follows_a_change_of_geometry():
    fw = ad.autograd.forward_ad
    with fw.dual_level():
        y = fw.make_dual(ad.arange(6.0).reshape(2, 3), ad.arange(6.0).reshape(2, 3) * 2) * 1
        y.t_()
        assert fw.unpack_dual(y).tangent.tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]


@pytest.mark.parametrize("through", ["base", "view"])
def test_a_base_that_was_detached_and_written_to_has_no_history_for_its_views(through):
    x = ad.ones(2, 2, requires_grad=True)
    y = x * 1
    v = y[0]
    y.detach_()
    assert ad.autograd.grad(v.sum(), x, retain_graph=True)[0].tolist() == [[1.0, 1.0], [0.0, 0.0]]
    if through == "view":
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            v.mul_(5)
    else:
        y.mul_(5)
        assert v.requires_grad
        assert ad.autograd.grad((v * 3).sum(), x, allow_unused=True) == (None,)


def test_a_saved_tensor_that_was_detached_in_place_is_refused():
    a = ad.tensor(2.0, requires_grad=True).clone()
    s, e = a.sin(), a.exp()
    a.detach_()
    with pytest.raises(RuntimeError, match="has been detached in-place"):
        s.backward()
    e.backward()  # which has kept its result only


# ---- resize_ and set_ ---------------------------------------------------------------------------------------------------------------


def test_resize_to_the_same_size_does_nothing():
    x = ad.arange(6.0).reshape(2, 3).t().clone()
    x.resize_(3, 2)
    assert (x.stride(), x._version, x.tolist()) == ((1, 3), 0, [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]])
    assert x.resize_as_(ad.zeros(3, 2)).stride() == (1, 3)


def test_resize_keeps_where_a_view_begins():
    w = ad.arange(6.0)
    t = w[2:]
    t.resize_(2)
    assert (t.tolist(), t.storage_offset(), t._is_view()) == ([2.0, 3.0], 2, True)
    t.zero_()
    assert w.tolist() == [0.0, 1.0, 0.0, 0.0, 4.0, 5.0]
    t.resize_(2, 3)
    assert t.flatten()[:4].tolist() == [0.0, 0.0, 4.0, 5.0]


def test_resize_takes_a_memory_format():
    x = ad.zeros(1).resize_(2, 3, 4, 5, memory_format=ad.channels_last)
    assert x.stride() == (60, 1, 15, 3)
    assert ad.zeros(1).resize_as_(x, memory_format=ad.preserve_format).stride() == x.stride()
    with pytest.raises(RuntimeError, match="rank 4"):
        x.resize_(2, memory_format=ad.channels_last)


@pytest.mark.parametrize("size", [(2**61,), (2**60, 2), (-1,)])
def test_sizes_that_cannot_be_are_refused(size):
    with pytest.raises(RuntimeError, match=r"overflow"):
        ad.ones(2).resize_(*size)


def test_memory_that_numpy_shares_does_not_grow():
    shared = ad.zeros(2)
    shared.numpy()
    for x in (ad.from_numpy(np.zeros(2)), shared, ad.as_tensor(np.zeros(2)), ad.from_numpy(np.zeros(2))[:1]):
        with pytest.raises(RuntimeError, match="not resizable"):
            x.resize_(3)
        assert x.resize_(1).shape == (1,)


def test_set_takes_over_memory_with_a_geometry():
    x, y = ad.arange(6.0), ad.tensor([])
    for source in (x, x.untyped_storage(), x._typed_storage()):
        assert y.set_(source, 1, (2, 2), (2, 1)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
        assert y.set_(source, storage_offset=1, size=(2,), stride=(2,)).tolist() == [1.0, 3.0]
    y.mul_(10)
    assert x.tolist() == [0.0, 10.0, 2.0, 30.0, 4.0, 5.0]
    assert y.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="invalid storage offset"):
        y.set_(x, -1, (2,))
    with pytest.raises(TypeError, match="invalid combination"):
        y.set_(5)


def test_what_set_takes_over_has_no_derivative():
    x = ad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        x.set_(ad.zeros(2))
    y = x * 1
    y.set_(ad.full((2,), 7.0))
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        y.sum().backward()


def test_views_do_not_follow_a_base_to_other_memory():
    w = ad.ones((), requires_grad=True)
    base = ad.arange(4.0)
    view = base[:2]
    base.set_(ad.zeros(4))
    view.mul_(w)
    assert view.requires_grad
    assert not base.requires_grad
    base.add_(w)
    assert ad.autograd.grad(view.sum(), w)[0].item() == 1.0


def test_a_tensor_copied_onto_itself_stays_as_it_is():
    x = ad.ones(1, 2).expand(3, 2)  # which could not be written to
    assert x.copy_(x) is x and x._version == 1


@pytest.mark.parametrize("name", ["add_", "copy_"])
def test_a_part_is_read_before_the_whole_is_written(name):
    x = ad.tensor([2.0, 3.0], dtype=ad.float64, requires_grad=True)
    y = x.sin()
    (part,) = y.chunk(1)
    getattr(y, name)(part)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([2.0, 3.0]) * (2 if name == "add_" else 1))
