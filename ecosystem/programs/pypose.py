"""Lie groups as tensors: poses, their logarithms, gradients, and a second-order optimizer."""

from typing import Any

import pypose as pp
import torch
from torch import nn


class Inverse(nn.Module):
    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.pose = pp.Parameter(pp.randn_se3(*shape))

    def forward(self, x: Any) -> torch.Tensor:
        return (self.pose.Exp() @ x).Log().tensor()


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = pp.randn_so3(2, requires_grad=True)
    points = torch.randn(2, 3)
    rotated = x.Exp() @ points
    rotated.pow(2).sum().backward()
    results: dict[str, Any] = {"rotated": rotated, "gradient": x.grad, "matrix": x.Exp().matrix(), "euler": x.Exp().euler()}
    a, b = pp.randn_SE3(3), pp.randn_SE3(3)
    results["product"], results["inverse"], results["logarithm"] = (a @ b).tensor(), a.Inv().tensor(), b.Log().tensor()
    results["adjoint"] = a.Adj(b.Log()).tensor()
    model, target = Inverse(2, 2), pp.randn_SE3(2, 2)
    optimizer = pp.optim.LM(model, strategy=pp.optim.strategy.Adaptive(damping=1e-6))
    results["errors"] = [float(optimizer.step(target)) for _ in range(4)]
    return results
