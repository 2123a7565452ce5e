"""Structured matrices: solves, log determinants and products with their gradients."""

from typing import Any

import torch
from linear_operator import operators, settings


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    root = torch.randn(8, 3, dtype=torch.float64, requires_grad=True)
    diagonal = torch.rand(8, dtype=torch.float64).add(0.5).requires_grad_()
    right = torch.randn(8, 2, dtype=torch.float64)
    low_rank = operators.LowRankRootLinearOperator(root) + operators.DiagLinearOperator(diagonal)
    solved = low_rank.solve(right)
    quadratic, logdet = low_rank.inv_quad_logdet(right, logdet=True)
    (quadratic + logdet + solved.sum()).backward()
    results: dict[str, Any] = {
        "solved": solved, "quadratic": quadratic, "logdet": logdet, "root gradient": root.grad, "diagonal gradient": diagonal.grad,
    }  # fmt: skip
    column = torch.tensor([4.0, 1.0, 0.5, 0.25], dtype=torch.float64)
    toeplitz = operators.ToeplitzLinearOperator(column)
    results["toeplitz"] = toeplitz @ torch.eye(4, dtype=torch.float64)
    small = torch.randn(3, 3, dtype=torch.float64)
    definite = operators.DenseLinearOperator(small @ small.T + 3 * torch.eye(3, dtype=torch.float64))
    kronecker = operators.KroneckerProductLinearOperator(definite, toeplitz)
    results["kronecker"] = kronecker.to_dense()
    results["kronecker solve"] = kronecker.add_jitter(0.1).solve(torch.ones(12, dtype=torch.float64))
    results["eigenvalues"] = definite.eigh()[0]
    results["cholesky"] = definite.cholesky().to_dense()
    with settings.fast_computations(solves=True), settings.min_preconditioning_size(1), settings.max_cholesky_size(1):
        results["conjugate gradients"] = (low_rank + toeplitz_of(8)).solve(right)
    results["block"] = operators.BlockDiagLinearOperator(operators.DenseLinearOperator(torch.stack([small, small.T]))).to_dense()
    return results


def toeplitz_of(n: int) -> operators.LinearOperator:
    return operators.ToeplitzLinearOperator(torch.tensor([2.0] + [0.1] * (n - 1), dtype=torch.float64))
