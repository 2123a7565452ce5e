"""hypll: layers on the Poincaré ball and Riemannian Adam."""

from typing import Any

import torch
from hypll import nn as hnn
from hypll.manifolds.poincare_ball import Curvature, PoincareBall
from hypll.optim import RiemannianAdam
from hypll.tensors import TangentTensor


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    manifold = PoincareBall(c=Curvature(requires_grad=True))
    model = torch.nn.Sequential(
        hnn.HConvolution2d(in_channels=3, out_channels=4, kernel_size=3, manifold=manifold),
        hnn.HReLU(manifold=manifold),
        hnn.HMaxPool2d(kernel_size=2, manifold=manifold, stride=2),
    )
    head = hnn.HLinear(in_features=36, out_features=5, manifold=manifold)
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = RiemannianAdam(parameters, lr=1e-2)
    images, labels = torch.randn(4, 3, 8, 8) * 0.1, torch.randint(0, 5, (4,))
    losses = []
    for _ in range(3):
        points = manifold.expmap(TangentTensor(data=images, man_dim=1, manifold=manifold))
        optimizer.zero_grad()
        scores = head(model(points).flatten(start_dim=1))
        loss = torch.nn.functional.cross_entropy(scores.tensor, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "scores": scores.tensor, "curvature": manifold.c()}
