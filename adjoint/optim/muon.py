"""Muon: momentum made orthogonal, for the matrices of a network."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .._tensor import Tensor, wrap
from ..ops._primitives import loops
from ._checks import check_tensor_lr
from ._whole import Array, Whole
from .optimizer import Group, Params


class Muon(Whole):
    """Muon: every step goes equally far in all directions that the momentum of a matrix has.

    Other parameters (biases, embeddings, norms) are better trained by AdamW.

    >>> import adjoint as ad
    >>> w = ad.nn.Parameter(ad.eye(2))
    >>> optimizer = ad.optim.Muon([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> bool(w[0, 0] < 1)
    True
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_tensor_lr(lr)
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = dict(
            lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, ns_coefficients=ns_coefficients, eps=eps,
            ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn,
        )  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {param.shape}")

    def begin(self, param: Tensor) -> dict[str, Tensor]:
        return {"momentum_buffer": wrap(np.zeros_like(param._data))}

    def update(self, group: Group, state: dict[str, Tensor], param: Array, grad: Array) -> None:
        buffer = state["momentum_buffer"]._data
        buffer += (grad - buffer) * (1 - group["momentum"])
        direction = grad + (buffer - grad) * group["momentum"] if group["nesterov"] else buffer
        direction = orthogonalized(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr = group["lr"]
        rows, columns = param.shape
        matched = 0.2 * sqrt(max(rows, columns)) if group["adjust_lr_fn"] == "match_rms_adamw" else sqrt(max(1, rows / columns))
        param *= 1 - lr * group["weight_decay"]
        param -= direction.astype(param.dtype) * (lr * matched)


def orthogonalized(matrix: Array, coefficients: tuple[float, float, float], steps: int, eps: float) -> Array:
    """A matrix with about the same singular vectors and all singular values near 1, by Newton-Schulz iterations in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = rounded(np.ascontiguousarray(matrix.T if tall else matrix, np.float32))
    x = rounded(x / max(rounded(np.sqrt(np.sum(x * x, keepdims=True))), rounded(np.full((1, 1), eps, np.float32))))
    for _ in range(steps):
        gram = rounded(x.dot(x.T))
        x = rounded(x, rounded(gram, gram.dot(gram), b, c).dot(x), a)
    return x.T if tall else x


def rounded(x: Array, y: Array | None = None, a: float = 1.0, b: float = 1.0) -> Array:
    """`x`, or `a * x + b * y`, of float32 rounded to bfloat16, which has the upper half of their bits."""
    bits = np.empty(x.shape, np.uint32)
    if not loops("rounding").rounded_sum.run(bits, x, y, a, b, x.size, 1):
        x = x if y is None else np.float32(a) * x + np.float32(b) * y
        np.right_shift(x.view(np.uint32), 16, bits)
        bits &= 1
        bits += 0x7FFF
        bits += x.view(np.uint32)
        bits &= 0xFFFF0000
    return bits.view(np.float32)
