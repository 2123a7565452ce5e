"""In-place forms: memory that overlaps, views, versions, what is recorded, and `out=`."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

REPEATS = (1, 300)  # cold, and when a kernel has taken over


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("shift", ["forward", "backward", "itself", "reversed"])
def test_operand_on_the_targets_memory_is_read_as_it_was(shift: str, repeats: int) -> None:
    for _ in range(repeats):
        x = ad.arange(8.0).reshape(2, 4)  # whose parts have gaps: those of dense memory are refused (tests/test_overlap.py)
        expected = np.arange(8.0, dtype="float32").reshape(2, 4)
        if shift == "forward":
            x[:, 1:].add_(x[:, :-1])
            expected[:, 1:] += expected[:, :-1].copy()
        elif shift == "backward":
            x[:, :-1].add_(x[:, 1:])
            expected[:, :-1] += expected[:, 1:].copy()
        elif shift == "itself":
            x.add_(x)
            expected += expected
        else:
            x.add_(x.flip(0))
            expected += expected[::-1].copy()
        assert x.numpy().tolist() == expected.tolist()


def test_foreign_memory_that_overlaps() -> None:
    array = np.arange(8, dtype="float32").reshape(2, 4)
    expected = array.copy()
    expected[:, 1:] += array[:, :-1].copy()
    ad.from_numpy(array[:, 1:]).add_(ad.from_numpy(array[:, :-1]))
    assert array.tolist() == expected.tolist()


@pytest.mark.parametrize("repeats", REPEATS)
def test_write_counts_and_names_its_line(repeats: int) -> None:
    x = ad.zeros(3)
    for _ in range(repeats):
        x.add_(1.0)
    assert x._version == repeats
    leaf = ad.ones(3, requires_grad=True)
    y = leaf.exp()
    z = y * y
    y.mul_(2.0)  # the culprit
    with pytest.raises(RuntimeError, match=r"(?s)modified by an inplace operation.*y\.mul_\(2\.0\)  # the culprit"):
        z.sum().backward()


@pytest.mark.parametrize("name", ["relu_", "sigmoid_", "tanh_", "exp_"])
def test_recorded_write_becomes_the_history(name: str) -> None:
    numbers = ad.tensor([-1.0, 0.5, 2.0])

    def gradient(of: str) -> np.ndarray:
        x = numbers.clone().requires_grad_()
        getattr(x * 2, of)().sum().backward()
        return x.grad.numpy()  # type: ignore[no-any-return]

    for _ in range(20):  # until kernels have taken over
        gradient(name[:-1])
    leaf = numbers.clone().requires_grad_()
    y = leaf * 2
    same = getattr(y, name)()
    assert same is y
    assert type(y.grad_fn).__name__ == type(getattr(leaf, name[:-1])().grad_fn).__name__
    y.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), gradient(name[:-1]))


def test_result_of_a_recorded_write_is_guarded() -> None:
    y = ad.ones(3, requires_grad=True) * 2
    y.exp_()
    y.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_recorded_write_shows_in_the_memory_of_others() -> None:
    y = ad.ones(3, requires_grad=True) * 2
    alias = y.detach()
    y.add_(1.0)
    assert alias.tolist() == [3.0, 3.0, 3.0]


def test_recorded_write_of_a_retained_tensor() -> None:
    y = ad.ones(3, requires_grad=True) * 2
    y.retain_grad()
    y.add_(1.0)
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0, 5.0, 5.0]


def test_second_derivative_through_a_recorded_write() -> None:
    x = ad.tensor(0.3, dtype=ad.float64, requires_grad=True)
    y = (x * 2).sigmoid_()
    (first,) = ad.autograd.grad(y, x, create_graph=True)
    (second,) = ad.autograd.grad(first, x)
    s = 1 / (1 + np.exp(-0.6))
    assert second.item() == pytest.approx(4 * s * (1 - s) * (1 - 2 * s), rel=1e-12)


def test_accumulating_into_a_constant() -> None:
    total, x = ad.zeros(3), ad.ones(3, requires_grad=True)
    total += x * 2
    total += x * 3
    total.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_leaf_is_refused_and_keeps_its_value() -> None:
    x = ad.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.relu_()
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("value", [2.5, True, 1 << 70])
def test_integers_take_what_fits_only(value: object) -> None:
    x = ad.tensor([1, 2], dtype=ad.int64)
    if value is True:
        assert x.add_(value).tolist() == [2, 3]
        return
    with pytest.raises((RuntimeError, OverflowError)):
        x.add_(value)
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("repeats", REPEATS)
def test_integers(repeats: int) -> None:
    x = ad.zeros((), dtype=ad.int64)
    for _ in range(repeats):
        x.add_(1).mul_(1)
    assert x.item() == repeats


# ---- out= ---------------------------------------------------------------------------------------------------------------------------


def test_out_may_be_an_operand() -> None:
    x, y = ad.tensor([1.0, 2.0]), ad.tensor([3.0, 4.0])
    assert ad.sub(x, y, out=y) is y
    assert y.tolist() == [-2.0, -2.0]
    matrix = ad.tensor([[1.0, 2.0], [3.0, 4.0]])
    ad.matmul(matrix, matrix, out=matrix)
    assert matrix.tolist() == [[7.0, 10.0], [15.0, 22.0]]
    assert matrix._version == 1


def test_out_with_history_is_refused() -> None:
    x = ad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        ad.add(x, x, out=ad.empty(2))
    with ad.no_grad():
        assert ad.add(x, x, out=ad.empty(2)).tolist() == [2.0, 2.0]


# ---- copy_, fill_, zero_ ------------------------------------------------------------------------------------------------------------


def test_copy_of_overlapping_memory() -> None:
    x = ad.arange(8.0).reshape(2, 4)
    x[:, 2:].copy_(x[:, 1:3])
    assert x.tolist() == [[0.0, 1.0, 1.0, 2.0], [4.0, 5.0, 5.0, 6.0]]


def test_one_value_may_go_to_shared_elements() -> None:
    base = ad.ones(1)
    base.expand(3).zero_()
    assert base.tolist() == [0.0]
    base.expand(3).fill_(2.0)
    assert base.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        base.expand(3).copy_(ad.arange(3.0))


def test_copy_converts_and_broadcasts() -> None:
    x = ad.zeros(2, 3)
    x.copy_(ad.tensor([1, 2, 3]))
    assert x.tolist() == [[1.0, 2.0, 3.0]] * 2
    assert x._version == 1


@pytest.mark.parametrize("name", ["add_", "mul_", "div_", "atan2_"])
def test_gradients_have_the_dtype_of_a_target_that_was_computed_in_another(name):
    x, y = ad.ones(3, requires_grad=True), ad.full((3,), 2.0, dtype=ad.float64, requires_grad=True)
    z = x * 1
    getattr(z, name)(y)
    z.sum().backward()
    assert (z.dtype, x.grad.dtype, y.grad.dtype) == (ad.float32, ad.float32, ad.float64)


def test_writes_that_do_not_overlap_or_overlap_wholly():
    x = ad.arange(8.0)
    x[:4].add_(x[4:])
    x[::2].mul_(x[1::2])  # between each other
    x.view(2, 4).add_(x.view(2, 4))
    ad.neg(x, out=x)
    x[:0].add_(x[:0])
    assert x.tolist() == [-48, -12, -160, -20, -40, -10, -84, -14]


WARNED = {
    "index_put_": lambda x: x.index_put_((ad.tensor([0, 2]),), ad.tensor(5.0)),
    "masked_fill_": lambda x: x.masked_fill_(ad.ones(3, 3) > 0, 5.0),
    "index_fill_": lambda x: x.index_fill_(0, ad.tensor([0]), 5.0),
    "index_put_, by an index": lambda x: x.__setitem__(ad.tensor([1]), ad.full((3,), 5.0)),
}


@pytest.mark.parametrize("name", WARNED)
def test_writes_by_index_to_expanded_tensors_are_done_with_a_warning(name: str) -> None:
    base = ad.zeros(3)
    with pytest.warns(UserWarning, match=f"Use of {name.partition(',')[0]} on expanded tensors is deprecated"):
        WARNED[name](base.expand(3, 3))
    assert base.tolist() == [5.0, 5.0, 5.0]


REFUSED = {
    "add_": lambda x: x.add_(1),
    "a slice": lambda x: x.__setitem__(slice(None), 1.0),
    "scatter_": lambda x: x.scatter_(0, ad.zeros(1, 3, dtype=ad.int64), 1.0),
    "scatter_add_": lambda x: x.scatter_add_(0, ad.zeros(3, 3, dtype=ad.int64), ad.ones(3, 3)),
    "index_add_": lambda x: x.index_add_(0, ad.tensor([0]), ad.ones(1, 3)),
    "cumsum_": lambda x: x.cumsum_(0),
    "out=": lambda x: ad.add(ad.ones(3, 3), 1, out=x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_writes_to_expanded_tensors_are_refused(name: str) -> None:
    base = ad.zeros(3)
    with pytest.raises(RuntimeError, match="unsupported operation: more than one element of the written-to tensor refers to a single"):
        REFUSED[name](base.expand(3, 3))
    assert base.tolist() == [0.0, 0.0, 0.0]
    assert base.expand(2, 3).t_().shape == (3, 2)  # no element is written


HOLDERS = {
    "a view": lambda x: x.view(3, 2),
    "the tensor without its history": lambda x: x.detach(),
    "an array": lambda x: x.detach().numpy(),
    "a part of an array": lambda x: x.detach().numpy()[:2],
    "what an operation kept": lambda x: x.square(),
}


@pytest.mark.parametrize("write", ["neg_", "relu_", "square_"])  # their nodes keep nothing, the result, and the value that is written over
@pytest.mark.parametrize("holder", [None, *HOLDERS])
def test_recorded_write_is_seen_by_whoever_has_the_memory(holder: str | None, write: str) -> None:
    w = ad.tensor([[1.0, -2.0, 0.5], [3.0, -0.5, 2.0]], requires_grad=True)
    for _ in range(3):
        w.grad = None
        x = w * 2
        held = HOLDERS[holder](x) if holder else None
        getattr(x, write)()
        expected = getattr(w * 2, write[:-1])()
        assert x.tolist() == expected.tolist() and x._version == 1
        if holder == "what an operation kept":
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                held.sum().backward()
        elif held is not None:
            seen = np.asarray(held.detach() if isinstance(held, ad.Tensor) else held)
            assert seen.reshape(-1).tolist() == expected.detach().numpy().reshape(-1)[: seen.size].tolist()
        x.sum().backward()
        assert w.grad.tolist() == ad.autograd.grad(expected.sum(), w)[0].tolist()


def test_recorded_write_to_memory_that_is_read_only_is_refused() -> None:
    array = np.ones(3, "float32")
    x = ad.from_numpy(array)
    array.flags.writeable = False
    del array
    with pytest.raises((RuntimeError, ValueError), match="read-only"):
        x.mul_(ad.ones(3, requires_grad=True))


def test_running_sums_in_place_stay_in_their_dtype():
    for name in ("cumsum", "cumprod"):
        x = ad.tensor([True, False])
        with pytest.raises(NotImplementedError, match=f"\"{name}_out_cpu\" not implemented for 'Bool'"):
            getattr(x, f"{name}_")(0)
        with pytest.raises(RuntimeError, match="Bad in-place call: input tensor dtype bool and output tensor dtype long int should match"):
            getattr(x, f"{name}_")(0, dtype=ad.int64)
        assert x.tolist() == [True, False]
    x = ad.tensor([1.5, 2.5])
    with pytest.raises(RuntimeError, match="input tensor dtype float and output tensor dtype double should match"):
        x.cumsum_(0, dtype=ad.float64)
    assert x.cumsum_(0, dtype=ad.float32).tolist() == [1.5, 4.0]
    assert ad.tensor([200, 100], dtype=ad.uint8).cumsum_(0).tolist() == [200, 44]
