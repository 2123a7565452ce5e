"""Rotations: vectors, quaternions and matrices; registration of points."""

from typing import Any

import roma
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    vector = torch.randn(4, 3, requires_grad=True)
    rotation = roma.rotvec_to_rotmat(vector)
    rotation.pow(3).sum().backward()
    results: dict[str, Any] = {"rotation": rotation, "gradient": vector.grad, "quaternion": roma.rotvec_to_unitquat(vector.detach())}
    results["euler"] = roma.rotmat_to_euler("xyz", rotation.detach(), degrees=True)
    results["back"] = roma.rotmat_to_rotvec(rotation.detach())
    results["procrustes"] = roma.special_procrustes(torch.randn(4, 3, 3, dtype=torch.float64))
    results["slerp"] = roma.rotvec_slerp(vector[0].detach(), vector[1].detach(), torch.linspace(0, 1, 4))
    results["random"] = roma.random_rotmat(3)
    points = torch.randn(10, 3, dtype=torch.float64)
    matrix, shift = roma.random_rotmat(dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    results["registration"] = list(roma.rigid_points_registration(points, points @ matrix.T + shift))
    results["distance"] = roma.rotmat_geodesic_distance(rotation[0].detach(), rotation[1].detach())
    return results
