"""Samples of the ops under sparse tensors. What holds for sparse tensors themselves is in tests/sparse."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adjoint.sparse._lookup import sparse_embedding
from adjoint.sparse._ops import make_sparse, sampled_product, sparse_product, sparse_values, unmasked_dense, values_at
from adjoint.sparse._pattern import Coo
from tests.ops.samples import Make, Sample, samples

SORTED = Coo(np.array([[0, 0, 1, 3], [1, 2, 0, 2]]), (4, 3), True)
TWICE = Coo(np.array([[3, 0, 3, 1], [2, 1, 2, 0]]), (4, 3), False)  # in no order, and one place twice
DEEP = Coo(np.array([[0, 2]]), (3, 2), True)  # whose last dimension is dense
PATTERNS = (SORTED, TWICE)


@samples("make_sparse", ours=lambda values, pattern: make_sparse(values, pattern).to_dense())
def put_together(make: Make) -> Iterator[Sample]:
    for pattern in (*PATTERNS, DEEP):
        yield Sample(make(*pattern.values_shape), pattern).not_in_torch()


@samples("sparse_values", ours=lambda values, pattern: sparse_values(make_sparse(values, pattern), pattern) ** 2)
def taken_apart(make: Make) -> Iterator[Sample]:
    for pattern in (SORTED, DEEP):
        yield Sample(make(*pattern.values_shape), pattern).not_in_torch()


@samples("unmasked_dense", ours=lambda values, pattern: unmasked_dense(make_sparse(values, pattern), pattern))
def unmasked(make: Make) -> Iterator[Sample]:
    for pattern in (SORTED, DEEP):
        yield Sample(make(*pattern.values_shape), pattern).not_in_torch()


@samples("values_at", ours=lambda values, pattern, other: values_at(make_sparse(values, pattern), other))
def looked_at(make: Make) -> Iterator[Sample]:
    for pattern, other in ((SORTED, TWICE), (TWICE, SORTED), (SORTED, SORTED)):
        yield Sample(make(pattern.nnz), pattern, other).not_in_torch()


@samples("sparse_product", ours=sparse_product)
def products(make: Make) -> Iterator[Sample]:
    for pattern in PATTERNS:
        yield Sample(make(pattern.nnz), make(3, 2), pattern.rows).not_in_torch()
        yield Sample(make(pattern.nnz), make(4, 5), pattern.rows.T).not_in_torch()


@samples("sampled_product", ours=sampled_product)
def sampled(make: Make) -> Iterator[Sample]:
    for pattern in PATTERNS:
        yield Sample(make(4, 2), make(3, 2), pattern.rows).not_in_torch()
        yield Sample(make(3, 5), make(4, 5), pattern.rows.T).not_in_torch()


@samples("sparse_embedding", ours=sparse_embedding)
def lookups(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 2), np.array([[0, 3], [3, 1]])).not_in_torch()
    yield Sample(make(4, 2), np.array([0, 2])).not_in_torch()
