"""Decompositions of tensors of several dimensions."""

from typing import Any

import tensorly as tl
import torch
from tensorly.decomposition import non_negative_parafac, parafac, tensor_train, tucker


def main() -> dict[str, Any]:
    tl.set_backend("pytorch")
    torch.manual_seed(0)
    x = torch.rand(4, 5, 6, dtype=torch.float64)
    results: dict[str, Any] = {"unfolded": tl.unfold(x, 1)}
    results["parafac"] = tl.cp_to_tensor(parafac(x, rank=2, init="svd", n_iter_max=20, tol=0))
    results["tucker"] = tl.tucker_to_tensor(tucker(x, rank=[2, 2, 2], init="svd", n_iter_max=20, tol=0))
    results["train"] = tl.tt_to_tensor(tensor_train(x, rank=[1, 2, 2, 1]))
    results["non-negative"] = tl.cp_to_tensor(non_negative_parafac(x, rank=2, init="svd", n_iter_max=20, tol=0))
    core, factors = torch.randn(2, 2, 2, requires_grad=True), [torch.randn(n, 2, requires_grad=True) for n in (4, 5, 6)]
    loss = (tl.tucker_to_tensor((core, factors)) - x.float()).pow(2).sum()
    loss.backward()
    results["loss"], results["gradient"] = loss, factors[1].grad
    results["khatri-rao"] = tl.tenalg.khatri_rao([factor.detach() for factor in factors])
    return results
