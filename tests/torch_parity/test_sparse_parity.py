"""Sparse tensors against PyTorch's: what they print, which is their layout, places, values and history; and what is refused."""

from __future__ import annotations

import copy  # noqa: F401  (expressions below use it)
import io
import pickle  # noqa: F401

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch warns of its sparse tensors; ours are silent

INDICES, VALUES = [[0, 1, 0], [1, 0, 1]], [1.0, 2.0, 3.0]


def coo(lib, **options):
    """A matrix with one place twice."""
    return lib.sparse_coo_tensor(INDICES, VALUES, (2, 2), **options)


def csr(lib):
    return coo(lib).to_sparse_csr()


def dense(lib):
    return lib.tensor([[1.0, 2.0], [3.0, 4.0]])


def saved(lib, value):
    file = io.BytesIO()
    lib.save(value, file)
    file.seek(0)
    return lib.load(file)


# Expressions of `lib`, `s` (COO), `c` (CSR) and `x` (dense), whose results print the same.
EQUAL = """
s
c.double()
c.requires_grad_()
s.requires_grad_()
lib.nn.Parameter(s)
lib.eye(4).to_sparse_bsr((2, 2))
lib.eye(4).to_sparse_bsc((2, 1))
lib.eye(4).to_sparse_bsr((2, 2)).to_dense()
lib.sparse_coo_tensor(size=(2, 3))
lib.eye(1200).to_sparse()
lib.eye(1200).to_sparse_csr()
lib.zeros(0, 3).to_sparse()
lib.sparse_coo_tensor([[0, 1]], lib.ones(2, 3, dtype=lib.int64))
lib.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]]).to_dense()
lib.sparse_csr_tensor([0, 1, 2], [1, 0], [4, 2], (2, 2))
lib.sparse_compressed_tensor([0, 1, 2], [1, 0], [4.0, 2.0], layout=lib.sparse_csc)
lib.sparse.FloatTensor(lib.tensor([[0, 1]]), lib.tensor([1.0, 2.0]), lib.Size([3]))
lib.sparse.spdiags(lib.arange(6.0).reshape(2, 3), lib.tensor([0, 1]), (3, 3))
lib.zeros(2, 3, layout=lib.sparse_coo)
lib.zeros(2, 3, layout=lib.sparse_csr)
lib.empty(2, 3, layout=lib.sparse_coo)
lib.empty_like(s)
lib.zeros_like(c)
s.new_zeros(2)
x.to_sparse(1)
x.to_sparse_csc()
c.to_sparse()
c.to_sparse_csc()
s.to_sparse_bsr((1, 2))
lib.ones(2, 2, 2).to_sparse_csr()
lib.ones(2, 2, 2).to_sparse_csr().to_dense()
s.to_dense()
s.coalesce()
s.coalesce().indices()
s.coalesce().values()
[s.is_sparse, s.is_sparse_csr, c.is_sparse, c.is_sparse_csr, s.shape, s.numel(), s._nnz(), c._nnz(), s.is_coalesced()]
[s.sparse_dim(), s.dense_dim(), x.to_sparse(1).dense_dim(), x.sparse_dim(), s.layout, c.layout, x.layout, s.type(), s.is_contiguous()]
[c.crow_indices(), c.col_indices(), c.values(), c.t().ccol_indices(), c.t().row_indices()]
s.to(lib.float64)
s.int()
s.half()
s.clone()
s.requires_grad_().detach()
saved(lib, s)
saved(lib, {"a": s, "b": c, "c": c.t()})
pickle.loads(pickle.dumps(s))
copy.deepcopy(s)
copy.copy(c)
s[0]
s[0, 1]
s[:, 0]
c[0]
list(s)
s.select(1, 0)
s.narrow_copy(0, 0, 1)
s.index_select(0, lib.tensor([1, 0, 1]))
s.coalesce().index_select(1, lib.tensor([1, 0, 1]))
s.unsqueeze(0)
s.t()
s.T
s.permute(1, 0)
c.t()
lib.ones(2, 3, 4).to_sparse().permute(2, 0, 1).coalesce()
lib.cat([s, s])
lib.cat([s, s], 1)
lib.stack([s, s])
lib.hstack([s, s])
s + s
s - s
s.coalesce() + x.to_sparse()
x + s
x - s
s * x
x * s
s * x[0]
s * 2
2 * s
s / 2
-s
s ** 2
s.mul(lib.tensor(3.0))
lib.add(s, s, alpha=2)
c + c
c + x.to_sparse_csr()
c * c
c * x.to_sparse_csr()
c * x
x + c
c + x
c * 2
s.add_(s)
s.sub_(s)
s.mul_(2)
s.div_(2)
s.zero_()
c.zero_()
s.copy_(x.to_sparse())
s.coalesce().neg_()
x.add_(s, alpha=-1)
s.abs()
s.sin()
s.tanh()
s.relu()
s.sqrt()
s.asin()
s.log1p()
s.sign()
s.isnan()
s.trunc()
c.abs()
c.sin()
lib.isnan(c)
lib.nn.functional.relu(s)
s.sum()
s.sum(0)
s.sum(1, keepdim=True)
c.sum()
c.sum(0, keepdim=True)
c.sum(1, keepdim=True)
lib.sparse.sum(s)
lib.sparse.sum(s, (0, 1))
lib.sparse.sum(s, 0, dtype=lib.float64)
lib.sparse.sum(s.int())
lib.sparse.sum(lib.ones(2, 3, 4).to_sparse(2), (0, 2))
lib.sparse.softmax(s, 1)
lib.sparse.log_softmax(x.to_sparse(), 0)
lib.sparse.softmax(x.to_sparse(1), 1)
s.norm()
s.any()
s @ x
x @ s
c @ x
x @ c
s @ s
c @ c
s @ x[0]
c.mv(x[0])
x.to_sparse_csc() @ x
lib.mm(s, x)
lib.spmm(s, x)
lib.dsmm(s, x)
lib.smm(s, x)
lib.hspmm(s, x)
lib.sspaddmm(s, s, x)
lib.addmm(x, s, x, beta=2, alpha=3)
x.clone().addmm_(s, x)
lib.mm(s, x, out=lib.empty(2, 2))
lib.nn.functional.linear(x, s)
lib.bmm(lib.stack([s, s]).coalesce(), lib.stack([x, x]))
lib.sparse.mm(c, x, "mean")
lib.sparse.mm(c, x, "amax")
lib.sparse.mm(c, x, "amin")
lib.sparse.addmm(x, c, x, beta=2, alpha=3)
lib.sparse.sampled_addmm(c, x, x, alpha=2)
s.coalesce().sparse_mask(x.to_sparse())
x.sparse_mask(s.coalesce())
s.sparse_resize_((3, 3), 2, 0)
s.sparse_resize_and_clear_((3, 3), 2, 0)
lib._convert_indices_from_coo_to_csr(lib.tensor([0, 0, 2]), 3)
lib._convert_indices_from_csr_to_coo(c.crow_indices(), c.col_indices())
""".strip().splitlines()  # fmt: skip


def value_of(expression, lib):
    return repr(eval(expression, globals() | {"lib": lib, "s": coo(lib), "c": csr(lib), "x": dense(lib)}))


@pytest.mark.parametrize("expression", EQUAL)
def test_results_print_the_same(expression):
    assert value_of(expression, ad) == value_of(expression, torch)


# Functions of a sparse leaf whose gradients print the same.
GRADIENTS = """
s.to_dense().pow(2).sum()
s.to_dense(masked_grad=False).pow(2).sum()
lib.sparse.sum(s)
lib.sparse.sum(s, 0).to_dense().pow(2).sum()
lib.sparse.mm(s, x).pow(2).sum()
lib.sparse.addmm(x, s, x).sum()
lib.sparse.softmax(s, 1).to_dense().pow(2).sum()
(s * 2).to_dense().sum()
(s * s).to_dense().sum()
(s * x).to_dense().sum()
(s + s).to_dense().sum()
(s @ s).to_dense().sum()
s.coalesce().values().pow(2).sum()
""".strip().splitlines()


@pytest.mark.parametrize("expression", GRADIENTS)
def test_gradients_of_sparse_leaves_print_the_same(expression):
    found = []
    for lib in (ad, torch):
        leaf = coo(lib).coalesce().detach().requires_grad_()
        eval(expression, {"lib": lib, "s": leaf, "x": dense(lib)}).backward()
        found.append(repr(leaf.grad))
    assert found[0] == found[1]


@pytest.mark.parametrize("expression", ["s.to_dense().pow(2).sum()", "s.coalesce().values().pow(2).sum()", "lib.sparse.sum(s)"])
def test_the_gradient_of_a_tensor_with_one_place_twice_has_it_once(expression):
    found = []
    for lib in (ad, torch):
        leaf = coo(lib).requires_grad_()
        eval(expression, {"lib": lib, "s": leaf}).backward()
        found.append(repr(leaf.grad))
    assert found[0] == found[1]


def trained(lib, make, places=([[1, 1], [3, 0]], [[2, 1]], [[4, 4], [1, 2]])):
    table = lib.nn.Embedding(5, 2, sparse=True, padding_idx=3)
    table.weight.data = lib.arange(10.0).reshape(5, 2) / 10
    optimizer = make(lib.optim, table.parameters())
    for batch in places:
        optimizer.zero_grad()
        (table(lib.tensor(batch)) ** 2).sum().backward()
        optimizer.step()
    return table.weight.detach().numpy()


@pytest.mark.parametrize(
    "make",
    [
        lambda optim, params: optim.SGD(params, 0.1),
        lambda optim, params: optim.SGD(params, 0.1, momentum=0.9),
        lambda optim, params: optim.SGD(params, 0.1, momentum=0.9, nesterov=True),
        lambda optim, params: optim.Adagrad(params, 0.1),
        lambda optim, params: optim.SparseAdam(params, 0.1),
        lambda optim, params: optim.SparseAdam(list(params), 0.1, maximize=True),
    ],
)
def test_optimizers_with_sparse_gradients(make):
    np.testing.assert_allclose(trained(ad, make), trained(torch, make), rtol=1e-6)


REFUSED = """
s.cos()
s.exp()
s == s
s.view(4)
s.max()
s.mean()
s.tolist()
s.numpy()
s.data_ptr()
s.nbytes
s + x
s / x
s ** 0
s.to_sparse(1)
s.values()
s.crow_indices()
c.indices()
c.ccol_indices()
c.sum(0)
x.indices()
x.values()
x.coalesce()
x.copy_(s)
s.item()
lib.ones_like(s)
lib.sparse_coo_tensor([[0, 1]], [1.0])
lib.sparse_coo_tensor([[5]], [1.0], (3,), check_invariants=True)
lib.sparse_coo_tensor([[-1]], [1.0], (3,), check_invariants=True)
lib.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,), check_invariants=True, is_coalesced=True)
lib.sparse_csr_tensor([1, 1, 2], [1, 0], [4.0, 2.0], (2, 2), check_invariants=True)
lib.sparse_csr_tensor([0, 1, 2], [1, 7], [4.0, 2.0], (2, 2), check_invariants=True)
lib.optim.SparseAdam([lib.ones(1, requires_grad=True)], lr=-1)
lib.nn.functional.embedding(lib.tensor([0]), x, sparse=True, padding_idx=9)
""".strip().splitlines()


@pytest.mark.parametrize("expression", REFUSED)
def test_refusals_have_pytorchs_type(expression):
    kinds = []
    for lib in (ad, torch):
        with pytest.raises(Exception) as caught:
            value_of(expression, lib)
        kinds.append(caught.type)
    assert issubclass(*kinds)


@pytest.mark.parametrize("make", [coo, csr, lambda lib: csr(lib).t(), lambda lib: coo(lib).coalesce()])
def test_files_with_sparse_tensors_are_exchanged(make):
    for lib, other in ((torch, ad), (ad, torch)):
        file = io.BytesIO()
        lib.save([make(lib)], file)
        file.seek(0)
        assert repr(other.load(file)) == repr([make(other)])
