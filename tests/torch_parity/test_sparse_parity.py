"""Sparse matrices in coordinate form against PyTorch's."""

from __future__ import annotations

import io

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")

INDICES, VALUES = [[0, 2, 0, 1, 0], [1, 0, 1, 1, 3]], [1.0, 2.0, 3.0, 4.0, 5.0]


def both(compute):
    """The result of the same lines by both libraries, and what they print."""
    ours, theirs = compute(ad), compute(torch)
    np.testing.assert_allclose(np.asarray(ours.detach()), np.asarray(theirs.detach()), rtol=1e-6)
    assert repr(ours.detach()) == repr(theirs.detach())


def made(lib, **options):
    return lib.sparse_coo_tensor(lib.tensor(INDICES), lib.tensor(VALUES), (3, 4), **options)


def gradients(lib):
    values, x = lib.tensor(VALUES, requires_grad=True), lib.arange(8.0).view(4, 2).requires_grad_()
    product = lib.sparse.mm(lib.sparse_coo_tensor(lib.tensor(INDICES), values, (3, 4)), x)
    (product**2).sum().backward()
    return lib.cat([values.grad, x.grad.flatten()])


@pytest.mark.parametrize(
    "compute",
    [
        lambda lib: made(lib).to_dense(),
        lambda lib: made(lib).coalesce().indices(),
        lambda lib: made(lib).coalesce().values(),
        lambda lib: made(lib) @ lib.ones(4, 2),
        lambda lib: lib.mm(made(lib), lib.ones(4, 2)),
        lambda lib: lib.spmm(made(lib), lib.ones(4, 2)),
        lambda lib: lib.matmul(made(lib), lib.arange(4.0)),
        lambda lib: lib.ones(2, 3) @ made(lib),
        lambda lib: lib.sparse.mm(made(lib).t(), lib.ones(3, 1)),
        lambda lib: lib.sparse.addmm(lib.ones(3, 2), made(lib), lib.ones(4, 2), beta=2, alpha=3),
        lambda lib: lib.sparse.sum(made(lib)),
        lambda lib: (made(lib) * 2 + made(lib)).to_dense(),
        lambda lib: (made(lib) / 2 - made(lib)).to_dense(),
        lambda lib: made(lib).to_dense().to_sparse().values(),
        lambda lib: lib.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]]).to_dense(),
        lambda lib: made(lib).double().to_dense(),
        gradients,
    ],
)
def test_same_as_pytorch(compute):
    both(compute)


@pytest.mark.parametrize(
    "show",
    [
        lambda lib: repr(made(lib)),
        lambda lib: repr(made(lib).double().coalesce()),
        lambda lib: repr(made(lib, requires_grad=True)),
        lambda lib: [made(lib).is_sparse, made(lib).shape.numel(), made(lib)._nnz(), made(lib).coalesce()._nnz(), made(lib).is_coalesced()],
        lambda lib: [made(lib).size(1), made(lib).dim(), made(lib).sparse_dim(), made(lib).dense_dim(), repr(made(lib).layout)],
        lambda lib: repr(lib.eye(2).to_sparse()),
    ],
)
def test_same_facts(show):
    assert show(ad) == show(torch)


def checked(lib, place):
    return lib.sparse_coo_tensor([[place]], [1.0], (3,), check_invariants=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda lib: made(lib).values(), "Cannot get values on an uncoalesced tensor, please call .coalesce.. first"),
        (lambda lib: lib.sparse_coo_tensor([[0, 1]], [1.0]), "indices and values must have same nnz, but got nnz from indices: 2"),
        (lambda lib: checked(lib, 5), "size is inconsistent with indices: for dim 0, size is 3 but found index 5"),
        (lambda lib: checked(lib, -1), "found negative index -1"),
    ],
)
def test_refusals(call, message):
    for lib in (ad, torch):
        with pytest.raises(RuntimeError, match=message):
            call(lib)


def test_files_with_sparse_tensors_are_exchanged():
    theirs, ours = (lib.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 3)) for lib in (torch, ad))
    for lib, value, other in ((torch, theirs, ad), (ad, ours, torch)):
        file = io.BytesIO()
        lib.save([value], file)
        file.seek(0)
        (found,) = other.load(file)
        assert found.layout is other.sparse_coo
        assert found.to_dense().tolist() == theirs.to_dense().tolist()
