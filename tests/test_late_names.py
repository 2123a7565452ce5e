"""Methods that are rarely used."""

from __future__ import annotations

import pytest

import adjoint as ad


def test_functions_of_python_fill_tensors():
    x = ad.tensor([1.0, 2.0, 3.0])
    assert x.apply_(lambda v: v * v) is x and x.tolist() == [1.0, 4.0, 9.0]
    assert x.map_(ad.tensor([1.0, 1.0, 2.0]), lambda a, b: a + b).tolist() == [2.0, 5.0, 11.0]
    assert x.map2_(ad.tensor(1.0), ad.tensor([0.0, 1.0, 2.0]), lambda a, b, c: a * b + c).tolist() == [2.0, 6.0, 13.0]


def test_facts():
    x = ad.zeros(2, 3)
    assert x.is_same_size(ad.ones(2, 3)) and not ad.is_same_size(x, ad.ones(3, 2))
    assert x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.clone())
    assert x.dim_order() == (0, 1) and x.t().dim_order() == (1, 0)
    assert x.to_dense() is x and x.to_dense(ad.float64).dtype is ad.float64
    assert ad.get_device(x) == -1 and not x.is_distributed()


def test_the_data_of_one_kind_of_tensor_is_not_set_to_another():
    x = ad.ones(2)
    assert ad._has_compatible_shallow_copy_type(x, ad.ones(3, dtype=ad.float64))
    assert ad._has_compatible_shallow_copy_type(x.to_sparse(), x.to_sparse())
    assert not ad._has_compatible_shallow_copy_type(x, x.to_sparse())
    assert not ad._has_compatible_shallow_copy_type(x, ad.ones(2, device="meta"))


def test_the_history_ends():
    x = ad.ones(2, requires_grad=True)
    assert not ad.detach(x * 2).requires_grad
    y = x * 2
    assert ad.detach_(y) is y and not y.requires_grad


def test_older_names():
    x = ad.arange(6)
    assert x.resize(2, 3).tolist() == x.resize_as(ad.zeros(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_checksums_differ():
    x = ad.arange(6.0)
    assert ad.hash_tensor(x) == x.clone().hash_tensor() != ad.hash_tensor(x + 1)
    with pytest.raises(RuntimeError, match="Unknown HashMode 3"):
        ad.hash_tensor(x, mode=3)


@pytest.mark.parametrize(("order", "stride"), [((0, 1, 2), (20, 5, 1)), ((2, 0, 1), (4, 1, 12)), ((0, 2, 1), (20, 1, 4))])
def test_empty_permuted(order, stride):
    assert ad.empty_permuted((3, 4, 5), order).stride() == stride
    with pytest.raises(RuntimeError, match="Number of dimensions in size does not match"):
        ad.empty_permuted((3, 4, 5), (0, 1))


def test_parts_apart_are_copies():
    x = ad.arange(6.0)
    first, _ = x.unsafe_chunk(2)
    first.zero_()
    assert x.sum() == 15
