"""Sparse matrices times dense ones, as graph networks multiply them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ._passes import Build, Case, register


@cache
def graph(nodes: int, edges: int) -> Any:
    """The ends of some edges, in order."""
    places = np.unique(np.random.default_rng(0).integers(0, nodes * nodes, edges))
    return np.stack([places // nodes, places % nodes])


def propagation(layout: str, nodes: int, edges: int, width: int, dtype: str = "float32") -> Build:
    """Each node gets the sum of what its neighbours have: the adjacency matrix, which does not change, times a matrix that is trained."""

    def build(lib: Any) -> Case:
        indices, random = graph(nodes, edges), np.random.default_rng(0)
        values = lib.tensor(random.standard_normal(indices.shape[1]).astype(dtype))
        matrix = lib.sparse_coo_tensor(lib.tensor(indices), values, (nodes, nodes), is_coalesced=True)
        matrix = matrix.to_sparse_csr() if layout == "CSR" else matrix
        return (lambda x: matrix @ x), [lib.tensor(random.standard_normal((nodes, width)).astype(dtype))]

    return build


for layout in ("CSR", "COO"):
    register(f"{layout} of 5000 edges times 1000x32", propagation(layout, 1000, 5000, 32))
    for width in (16, 64, 128):
        register(f"{layout} of 1M edges times 100000x{width}", propagation(layout, 100_000, 1_000_000, width))
    register(f"{layout} of 1M edges times 100000x64, float64", propagation(layout, 100_000, 1_000_000, 64, "float64"))
