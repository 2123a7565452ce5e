"""Sparse tensors: what they hold, what becomes of them, what reaches their values, and what is refused."""

from __future__ import annotations

import copy
import pickle

import pytest

import adjoint as ad
from adjoint.autograd import gradcheck, gradgradcheck

LAYOUTS = (ad.sparse_coo, ad.sparse_csr, ad.sparse_csc)


def matrix(layout=ad.sparse_coo, **options):
    """[[0, 4, 0], [2, 0, 0]], of which COO has the 4 in two parts."""
    made = ad.sparse_coo_tensor([[0, 1, 0], [1, 0, 1]], [1.0, 2.0, 3.0], (2, 3), **options)
    return made if layout is ad.sparse_coo else made.to_sparse(layout=layout)


WHOLE = [[0.0, 4.0, 0.0], [2.0, 0.0, 0.0]]


@pytest.mark.parametrize("layout", [*LAYOUTS, ad.sparse_bsr, ad.sparse_bsc])
def test_every_layout_leads_to_every_other(layout):
    x = ad.tensor([[0.0, 4.0, 0.0, 1.0], [2.0, 0.0, 0.0, 0.0]])
    blocks = {"blocksize": (1, 2)} if layout in (ad.sparse_bsr, ad.sparse_bsc) else {}
    made = x.to_sparse(layout=layout, **blocks)
    assert type(made) is ad.Tensor
    assert made.layout is layout
    assert made.to_dense().equal(x)
    for other in (*LAYOUTS, ad.sparse_bsr, ad.sparse_bsc):
        blocks = {"blocksize": (2, 2)} if other in (ad.sparse_bsr, ad.sparse_bsc) else {}
        again = made.to_sparse(layout=other, **blocks)
        assert again.layout is other
        assert again.to_dense().equal(x)
    assert made.t().to_dense().equal(x.t())


def test_a_sparse_tensor_is_a_tensor_with_a_gradient_hooks_and_a_detached_twin():
    x = matrix(requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.layout))
    (x * 3).to_dense().sum().backward()
    assert x.is_leaf
    assert seen == [ad.sparse_coo]
    assert x.grad.is_sparse
    assert x.grad.is_coalesced()
    assert x.grad.values().tolist() == [3.0, 3.0]
    first = x.grad
    (x * 3).to_dense().sum().backward()
    assert x.grad.values().tolist() == [6.0, 6.0]
    assert first is not None
    twin = x.detach()
    twin.mul_(2)
    assert x.to_dense().tolist() == [[0.0, 8.0, 0.0], [4.0, 0.0, 0.0]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: s @ x,
        lambda s, x: x.t() @ s.t(),
        lambda s, x: (s @ x[:, 0]) ** 2,
        lambda s, x: s.t() @ x[:2],
        lambda s, x: (s * x.t()).to_dense(),
        lambda s, x: (s * s).to_dense(),
        lambda s, x: (s + s * 2).to_dense(),
        lambda s, x: (s @ s.t()).to_dense(),
        lambda s, x: s.sin().to_dense(),
        lambda s, x: s.sum(),
        lambda s, x: s.sum(1, keepdim=True).to_dense() ** 2,
        lambda s, x: x.t() + s,
        lambda s, x: s.t().to_dense() ** 2,
        lambda s, x: s[0].to_dense() ** 2,
        lambda s, x: s[0:1].to_dense() ** 2,
        lambda s, x: ad.sparse.mm(s, x, "mean"),
        lambda s, x: ad.sparse.mm(s, x, "amax"),
        lambda s, x: ad.sparse.softmax(s.to_sparse_coo(), 1).to_dense(),
        lambda s, x: ad.sparse.log_softmax(s.to_sparse_coo(), 0).to_dense(),
        lambda s, x: ad.cat([s, s]).to_dense() ** 2,
        lambda s, x: ad.sparse.addmm(x[:2], s, x, beta=2.0, alpha=0.5),
        lambda s, x: s.to_sparse_csc().values() ** 2,
        lambda s, x: s.index_select(1, ad.tensor([2, 0, 0])).to_dense() ** 2,
        lambda s, x: s.norm(),
    ],
)
def test_derivatives_reach_the_values_and_what_they_meet(layout, function):
    values = ad.tensor([1.5, -0.5, 2.0, 0.7], dtype=ad.float64, requires_grad=True)
    x = (ad.arange(6.0, dtype=ad.float64).reshape(3, 2) / 3 + 0.3).requires_grad_()

    def of_values(values, x):
        s = ad.sparse_coo_tensor([[0, 0, 1, 1], [0, 2, 0, 1]], values, (2, 3), is_coalesced=True).to_sparse(layout=layout)
        return function(s, x)

    assert gradcheck(of_values, (values, x))
    assert gradgradcheck(of_values, (values, x))


def test_sampled_products_have_derivatives():
    values = ad.tensor([1.5, -0.5], dtype=ad.float64, requires_grad=True)
    a, b = (ad.randn(2, 2, dtype=ad.float64, requires_grad=True) for _ in range(2))

    def sampled(values, a, b):
        s = ad.sparse_csr_tensor([0, 1, 2], [1, 0], values, (2, 2))
        return ad.sparse.sampled_addmm(s, a, b, beta=0.5, alpha=2.0).values()

    assert gradcheck(sampled, (values, a, b))
    assert gradgradcheck(sampled, (values, a, b))


def test_forward_mode_goes_through():
    values, tangent = ad.tensor([1.0, 2.0]), ad.tensor([1.0, 10.0])
    _, found = ad.func.jvp(lambda v: ad.sparse_coo_tensor([[0, 1], [1, 0]], v, (2, 2)) @ ad.ones(2, 1), (values,), (tangent,))
    assert found.tolist() == [[1.0], [10.0]]


def test_hooks_on_saved_tensors_see_what_sparse_products_keep():
    seen = []
    x = ad.ones(3, 2, requires_grad=True)
    with ad.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
        product = matrix() @ x
    product.sum().backward()
    assert seen
    assert x.grad.tolist() == [[2.0, 2.0], [4.0, 4.0], [0.0, 0.0]]


def test_gradcheck_takes_sparse_inputs_and_results():
    x = matrix().double().coalesce().detach().requires_grad_()
    dense = ad.ones(3, 2, dtype=ad.float64, requires_grad=True)
    assert gradcheck(lambda x, y: ad.sparse.mm(x, y), (x, dense), masked=True)
    assert gradgradcheck(lambda x, y: ad.sparse.mm(x * x, y), (x, dense))
    assert gradcheck(lambda x: x.sin(), x)
    with pytest.raises(ValueError, match="masked=True"):
        gradcheck(lambda x: x.to_dense(), x, masked=False)


# ---- parts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index", [0, -1, slice(0, 1), slice(None, None, 2), (slice(None), slice(1, 3)), (0, 1), (slice(None), None)])
def test_parts_are_those_of_the_dense_tensor(layout, index):
    part = matrix(layout)[index]
    assert part.to_dense().equal(ad.tensor(WHOLE)[index])


def test_rows_keep_their_layout():
    assert matrix(ad.sparse_csr)[0:1].layout is ad.sparse_csr
    assert matrix()[0:1].layout is ad.sparse_coo


def test_dense_dimensions():
    x = ad.arange(12.0).reshape(2, 3, 2)
    made = x.to_sparse(2)
    assert made.dense_dim() == 1
    assert made[:, 1:].to_dense().equal(x[:, 1:])
    assert made[..., 0].to_dense().equal(x[..., 0])
    assert made.transpose(0, 1).to_dense().equal(x.transpose(0, 1))
    assert (made * x).to_dense().equal(x * x)
    assert ad.sparse.sum(made, 2).to_dense().equal(x.sum(2))
    assert ad.sparse.sum(made, (0, 1)).equal(x.sum((0, 1)))
    assert ad.cat([made, made], 2).to_dense().equal(ad.cat([x, x], 2))


# ---- writes ---------------------------------------------------------------------------------------------------------


def test_writes():
    x = matrix()
    before = x._version
    x.add_(matrix()).mul_(0.5)
    assert x.to_dense().tolist() == WHOLE
    assert x._version > before
    dense = ad.zeros(2, 3)
    dense.add_(x, alpha=2)
    assert dense.tolist() == [[0.0, 8.0, 0.0], [4.0, 0.0, 0.0]]
    assert x.zero_()._nnz() == 0
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        matrix(requires_grad=True).mul_(2)
    leaf = matrix(requires_grad=True)
    (leaf * 1).mul_(3).to_dense().sum().backward()
    assert leaf.grad.values().tolist() == [3.0, 3.0]


def test_values_are_on_the_tensors_memory():
    x = matrix().coalesce()
    x._values().mul_(2)
    assert x.to_dense().tolist() == [[0.0, 8.0, 0.0], [4.0, 0.0, 0.0]]


# ---- gradients that are sparse ------------------------------------------------------------------------------------------


def test_embeddings_have_sparse_gradients_of_the_rows_that_were_used():
    table = ad.nn.Embedding(5, 2, sparse=True, padding_idx=3)
    table(ad.tensor([[1, 1], [3, 0]])).sum().backward()
    assert table.weight.grad.is_sparse
    assert table.weight.grad._indices().tolist() == [[1, 1, 0]]
    table(ad.tensor([2])).sum().backward()
    assert table.weight.grad.to_dense().tolist() == [[1.0, 1.0], [2.0, 2.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    (table.weight**2).sum().backward()
    assert table.weight.grad.layout is ad.strided
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        ad.nn.Embedding(5, 2, sparse=True, scale_grad_by_freq=True)(ad.tensor([1]))


def test_sparse_gradients_meet_dense_ones_in_one_pass():
    weight = ad.ones(3, 2, requires_grad=True)
    used = ad.nn.functional.embedding(ad.tensor([1]), weight, sparse=True)
    (used.sum() + (weight * 2).sum() + (weight * 3).sum()).backward()
    assert weight.grad.tolist() == [[5.0, 5.0], [6.0, 6.0], [5.0, 5.0]]
    bag = ad.nn.EmbeddingBag(4, 2, sparse=True)
    bag(ad.tensor([[1, 2]])).sum().backward()
    assert bag.weight.grad.to_dense().tolist() == [[0.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]


def test_gather_with_a_sparse_gradient():
    x = ad.ones(3, 2, requires_grad=True)
    x.gather(0, ad.tensor([[0, 1], [2, 2]]), sparse_grad=True).sum().backward()
    assert x.grad.is_sparse
    assert x.grad.to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def test_optimizers_refuse_or_take_sparse_gradients():
    weight = ad.nn.Parameter(ad.ones(3, 1))
    other = ad.nn.Parameter(ad.ones(2))
    (ad.nn.functional.embedding(ad.tensor([1, 1]), weight, sparse=True).sum() + other.sum()).backward()
    ad.optim.SGD([weight, other], 0.5).step()
    assert weight.flatten().tolist() == [1.0, 0.0, 1.0]
    assert other.tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients, please consider SparseAdam instead"):
        ad.optim.Adam([weight]).step()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        ad.optim.Adagrad([weight], weight_decay=0.1).step()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        ad.optim.SparseAdam([other]).step()


def test_clipping_adds_up_what_has_one_place():
    weight = ad.nn.Parameter(ad.ones(3, 1))
    (ad.nn.functional.embedding(ad.tensor([1, 1, 2]), weight, sparse=True) * 2).sum().backward()
    assert ad.nn.utils.clip_grad_norm_([weight], 1.0).item() == pytest.approx(20**0.5)
    assert weight.grad.to_dense().norm().item() == pytest.approx(1.0, rel=1e-5)
    ad.nn.utils.clip_grad_value_([weight], 0.5)
    assert weight.grad.values().max().item() == 0.5


# ---- copies, comparisons ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_and_comparisons(layout, tmp_path):
    x = matrix(layout)
    ad.save(x, tmp_path / "x.pt")
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), ad.load(tmp_path / "x.pt"), x.clone()):
        assert again.layout is layout
        assert ad.equal(again, x)
        ad.testing.assert_close(again, x)
    assert not ad.equal(x, x * 2)
    with pytest.raises(AssertionError):
        ad.testing.assert_close(x, x * 2)


# ---- refusals ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.cos(), lambda x: x.exp(), lambda x: x.max(), lambda x: x == x, lambda x: x.view(6), lambda x: ad.linalg.svd(x),
        lambda x: x.softmax(0), lambda x: x.cumsum(0), lambda x: x.expand(2, 2, 3), lambda x: x.reshape(6), lambda x: x.sort(),
        lambda x: x.nonzero(), lambda x: 1 - x, lambda x: x + 1,
        lambda x: ad.where(x > 0, 1.0, 2.0), lambda x: x.median(), lambda x: x.flip(0), lambda x: x.gather(0, x),
    ],
)  # fmt: skip
def test_what_sparse_tensors_lack_names_the_dense_form(layout, call):
    with pytest.raises((NotImplementedError, RuntimeError, TypeError), match="to_dense"):
        call(matrix(layout))


def test_places_outside_are_always_refused():
    for wrong in ([[5]], [[-1]]):
        with pytest.raises(RuntimeError, match=r"size is inconsistent with indices|found negative index"):
            ad.sparse_coo_tensor(wrong, [1.0], (3,))
    with pytest.raises(RuntimeError, match=r"`0 <= col_indices < ncols` is not satisfied"):
        ad.sparse_csr_tensor([0, 1], [7], [1.0], (1, 3))
    with pytest.raises(NotImplementedError, match=r"linalg\.solve"):
        ad.sparse.spsolve(matrix(), ad.ones(2))


def test_checks_of_invariants_are_a_context():
    checks = ad.sparse.check_sparse_tensor_invariants
    assert not checks.is_enabled()
    with checks():
        assert checks.is_enabled()
        with checks(False):
            assert not checks.is_enabled()
        with pytest.raises(RuntimeError, match="cannot set is_coalesced to true"):
            ad.sparse_coo_tensor([[1, 0]], [1.0, 2.0], is_coalesced=True)
    assert not checks.is_enabled()
    assert checks()(checks.is_enabled)()


def test_the_old_way_to_make_another():
    x = ad.eye(3, dtype=ad.float64).to_sparse()
    again = x.new(x._indices(), x._values() * 2, ad.Size([4, 3]))
    assert again.shape == (4, 3) and again.dtype is ad.float64 and again.sum().item() == 6
    assert x.new(x._indices(), x._values()).shape == (3, 3)
    assert x.new(2, 3).shape == (2, 3) and x.new(2, 3)._nnz() == 0 and x.new().shape == (0,) and x.new().is_sparse


def test_options_that_mean_nothing_for_a_layout_are_refused():
    with pytest.raises(RuntimeError, match="sparse_csr_tensor: layout must be SparseCsr but got SparseCsc"):
        ad.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), layout=ad.sparse_csc)
    with pytest.raises(RuntimeError, match="conversion from Sparse to SparseCsr with dense_dim argument given is not supported"):
        ad.eye(3).to_sparse().to_sparse_csr(dense_dim=1)
