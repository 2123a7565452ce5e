"""Sparse alternatives to softmax and their losses."""

from typing import Any

import torch
from entmax import entmax15, entmax15_loss, entmax_bisect, sparsemax, sparsemax_loss


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, target = torch.randn(4, 6, requires_grad=True), torch.tensor([0, 3, 5, 1])
    alpha = torch.tensor(1.33, requires_grad=True)
    results: dict[str, Any] = {}
    for name, function in (("sparsemax", sparsemax), ("entmax15", entmax15), ("bisect", lambda x, dim: entmax_bisect(x, alpha, dim=dim))):
        x.grad = None
        out = function(x, dim=-1)
        (out**2).sum().backward()
        results[name], results[name + " gradient"] = out, x.grad.clone()
    results["alpha gradient"] = alpha.grad
    for loss in (sparsemax_loss, entmax15_loss):
        x.grad = None
        value = loss(x, target)
        value.sum().backward()
        results[loss.__name__], results[loss.__name__ + " gradient"] = value, x.grad.clone()
    return results
