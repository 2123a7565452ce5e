"""Equivariant functions: representations of rotations, spherical harmonics, tensor products."""

from typing import Any

import torch
from e3nn import io, nn, o3


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    irreps = o3.Irreps("2x0e + 1x1o + 1x2e")
    results: dict[str, Any] = {"dimension": irreps.dim, "wigner": o3.wigner_3j(1, 1, 2)}
    rotation = o3.rand_matrix()
    results["rotation"], results["matrix"] = rotation, irreps.D_from_matrix(rotation)
    points = torch.randn(5, 3, requires_grad=True)
    harmonics = o3.spherical_harmonics("0e + 1o + 2e + 3o", points, normalize=True, normalization="component")
    harmonics.pow(3).sum().backward()
    results["harmonics"], results["gradient"] = harmonics, points.grad
    product = o3.FullyConnectedTensorProduct(irreps, "1x0e + 1x1o", "3x0e + 2x1o")
    x, y = irreps.randn(4, -1), o3.Irreps("1x0e + 1x1o").randn(4, -1)
    out = product(x, y)
    out.sum().backward()
    results["product"], results["product gradient"] = out, product.weight.grad
    turned = product(x @ irreps.D_from_matrix(rotation).T, y @ o3.Irreps("1x0e + 1x1o").D_from_matrix(rotation).T)
    results["equivariance"] = turned - out @ o3.Irreps("3x0e + 2x1o").D_from_matrix(rotation).T
    results["linear"] = o3.Linear(irreps, "4x0e + 1x1o")(x)
    results["full"] = o3.FullTensorProduct("1x1o", "1x1o")(points[:, :3].detach(), points.detach())
    gate = nn.Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
    results["gate"] = gate(gate.irreps_in.randn(3, -1))
    results["norm"] = nn.BatchNorm(irreps)(x)
    results["cartesian"] = io.CartesianTensor("ij=ji").from_cartesian(torch.eye(3))
    results["angles"] = list(o3.matrix_to_angles(rotation))
    return results
