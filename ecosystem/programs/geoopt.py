"""Optimization on manifolds: spheres, Stiefel matrices, hyperbolic space."""

from typing import Any

import geoopt
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    results: dict[str, Any] = {}
    matrix = torch.randn(5, 5, dtype=torch.float64)
    matrix = matrix + matrix.T
    for manifold, shape in ((geoopt.Sphere(), (5,)), (geoopt.Stiefel(), (5, 2)), (geoopt.EuclideanStiefelExact(), (5, 2))):
        for kind in (geoopt.optim.RiemannianAdam, geoopt.optim.RiemannianSGD):
            start = manifold.projx(torch.randn(shape, dtype=torch.float64))
            point = geoopt.ManifoldParameter(start, manifold=manifold)
            optimizer = kind([point], lr=1e-2)
            for _ in range(10):
                optimizer.zero_grad()
                loss = (point.T @ matrix @ point).trace() if point.dim() == 2 else point @ matrix @ point
                loss.backward()
                optimizer.step()
            results[f"{type(manifold).__name__} {kind.__name__}"] = point.detach()
    ball = geoopt.PoincareBall(c=1.0)
    x, y = (ball.expmap0(torch.randn(4, 3, dtype=torch.float64) * 0.3) for _ in range(2))
    results["distance"], results["sum"], results["log"] = ball.dist(x, y), ball.mobius_add(x, y), ball.logmap(x, y)
    results["transport"] = ball.transp(x, y, torch.ones(4, 3, dtype=torch.float64))
    results["lorentz"] = geoopt.Lorentz().projx(torch.randn(3, 4, dtype=torch.float64))
    definite = geoopt.SymmetricPositiveDefinite()
    a, b = definite.random(2, 3, 3, dtype=torch.float64), definite.random(2, 3, 3, dtype=torch.float64)
    results["definite"] = definite.dist(a, b)
    return results
