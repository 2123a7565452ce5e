"""Calls that are seldom made, or in an old way, give what they give in PyTorch: values, dtypes, strides, history, or the error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

# What the calls are made of, as functions of the library.
NAMES: dict[str, Any] = {
    "x": lambda T: T.arange(6.0).reshape(2, 3) - 2,
    "g": lambda T: T.ones(2, 3),
    "A": lambda T: T.arange(4.0).reshape(2, 2),
    "v": lambda T: T.arange(2.0),
    "whole": lambda T: T.tensor([0, 1, 5], dtype=T.uint8),
    "short": lambda T: T.tensor([0, 1, 5], dtype=T.int8),
    "mask": lambda T: T.tensor([True, False, True]),
    "turned": lambda T: (T.arange(24.0) * 0.3).sin().reshape(2, 3, 4).transpose(0, 2),
    "r": lambda T: (T.arange(6.0).reshape(2, 3) - 2).requires_grad_(),
}

CALLS = {
    "factors before tensors": [
        "x.add(2, g)", "x.add_(-0.1, g)", "T.add(x, 2, g)", "x.sub(0.5, g)", "x.sub_(0.5, g)", "x.addcmul(0.5, g, x)",
        "x.addcmul_(2, g, g)",
        "x.addcdiv_(-0.1, x, g)", "T.addcdiv(x, 0.5, g, g)", "T.ones(2, 2).addmm_(0.5, 2, A, A)", "A.addmm(0.5, A, A)",
        "T.addmm(2, A, 0.5, A, A)",
        "T.addmm(2, A, A, A)", "T.baddbmm(2, A[None], 0.5, A[None], A[None])", "T.addmv(2, v, 0.5, A, v)", "T.addr(2, A, 0.5, v, v)",
        "x.add(2, 3)", "x.sub_(2, 3)", "T.rsub(x, 2, 3)", "r.add(2, g)", "r.addcmul(0.5, g, r)", "T.addmm(2, A, 0.5, A, r)",
    ],
    "a factor that does not fit": [
        "x.add(g, alpha=True)", "x.add_(g, alpha=True)", "T.arange(3).sub(1, alpha=False)", "mask.add(mask, alpha=True)",
        "T.arange(3).add(T.arange(3), alpha=1.0)", "x.add(g, alpha=1j)", "x.add(g, alpha=1.0)",
    ],
    "zero divides floating-point numbers": [
        "x % 0", "x // 0", "x.fmod(0)", "x.remainder_(0)", "x.div(0, rounding_mode='floor')", "x.div(0, rounding_mode='trunc')",
        "whole % 0", "whole.half() % 0", "whole // 0", "5 % x",
    ],
    "numbers that a type cannot hold": [
        "whole.clamp_min(300)", "whole.clamp_max_(-300)", "whole.clamp_min(-1)", "whole.clamp(max=300)", "short.clamp_min_(2**40)",
        "T.where(mask, whole, 300)", "T.where(mask, short, -1)", "T.full((2,), 300, dtype=T.uint8)", "T.full((2,), -1, dtype=T.uint8)",
        "T.full((2,), 1j, dtype=T.float32)", "T.full_like(short, 1e10)", "x.half().fill_(1e10)", "x.new_full((2,), 1e40)",
    ],
    "old ways to say the reduction": [
        "F.mse_loss(x, g, 0)", "F.mse_loss(x, g, None, 0)", "F.mse_loss(x, g, 1, 1)", "nn.MSELoss(False).reduction",
        "nn.MSELoss(0).reduction",
        "T.kl_div(x, g)", "T.hinge_embedding_loss(x, g)", "T.margin_ranking_loss(x, g, g)", "T.kl_div(x, g, 1)",
        "T.binary_cross_entropy_with_logits(x, g)", "T.triplet_margin_loss(x, g, x)", "T.adaptive_max_pool1d(x, 2)",
    ],
    "results in the order of their indices": [
        f"turned.{call}" for call in (
            "softmax(1)", "log_softmax(0)", "cumsum(1)", "cumprod(0)", "logcumsumexp(1)", "sum(1)", "mean(1)", "prod(0)", "amax(1)",
            "amin(0)",
            "std(1)", "var(0)", "logsumexp(1)", "all(1)", "norm(dim=1)", "count_nonzero(1)", "max(1)", "cummax(1).values",
            "median(1).values",
        )
    ] + [
        "F.layer_norm(turned, (2,))", "F.rms_norm(turned, (2,))", "F.group_norm(turned, 3)",
        "F.batch_norm(turned, None, None, training=True)",
    ],
    "views": [
        "r.view(T.int32)", "r.view(T.float32)", "x.expand(())", "T.broadcast_to(x, ())", "x.expand_as(T.tensor(1.0))", "x.expand(-1, 2, 3)",
        "T.zeros(1, 3).expand(3, 3).fill_diagonal_(5.0)", "F.dropout(whole)", "F.dropout(whole, 0.0)", "F.dropout(mask, 0.5)",
    ],
    "transposed convolutions of nothing": [
        "F.conv_transpose1d(T.ones(1, 2, 0), T.ones(2, 3, 2))", "F.conv_transpose2d(T.ones(1, 2, 0, 3), T.ones(2, 3, 2, 2))",
        "F.conv_transpose1d(T.ones(0, 2, 5), T.ones(2, 3, 2))", "F.conv_transpose2d(T.ones(1, 2, 3, 3), T.ones(2, 0, 2, 2))",
        "F.conv_transpose1d(T.ones(1, 2, 1), T.ones(2, 3, 2), padding=1)", "F.conv_transpose1d(T.ones(0, 2, 0), T.ones(2, 3, 2))",
    ],
}  # fmt: skip


def outcome(library: Any, call: str) -> Any:
    """The results of a call and the gradient, or the kind of error and its first words."""
    made = {name: make(library) for name, make in NAMES.items()}
    with warnings.catch_warnings(action="ignore"):
        try:
            result = eval(call, made | {"T": library, "F": library.nn.functional, "nn": library.nn})
        except Exception as error:
            return type(error).__name__, str(error)
    results = result if isinstance(result, tuple) else (result,)
    if not isinstance(results[0], library.Tensor):
        return results
    if results[0].requires_grad:
        results = (*results, *library.autograd.grad((results[0] * results[0]).sum(), made["r"]))
    return [(str(x.dtype), tuple(x.shape), laid_out(x), x.requires_grad, x.detach().double().numpy()) for x in results]


def laid_out(x: Any) -> list[int]:
    return [stride for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1]


@pytest.mark.parametrize("call", [call for calls in CALLS.values() for call in calls])
def test_calls(call: str) -> None:
    ours, theirs = outcome(ad, call), outcome(torch, call)
    if isinstance(theirs, tuple):
        if isinstance(theirs[0], str) and theirs[0].endswith("Error"):
            assert ours[0] == theirs[0] and ours[1].startswith(theirs[1][:35])
        else:
            assert ours == theirs
        return
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine[:4] == other[:4]
        np.testing.assert_allclose(mine[4], other[4], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("call", ["x.cumprod(1)", "x.cumsum(0)", "x.log_softmax(1)", "F.cosine_similarity(x, x * x)"])
def test_gradients_of_gradients_in_half_precision(call: str, dtype: str) -> None:
    found = []
    for library in (ad, torch):
        x = (NAMES["x"](library) / 4).to(getattr(library, dtype)).requires_grad_()
        y = eval(call, {"x": x, "F": library.nn.functional})
        (g,) = library.autograd.grad((y * y).sum(), x, create_graph=True)
        assert g.dtype == x.dtype
        (gg,) = library.autograd.grad((g * g).sum(), x)
        found.append(gg.double().numpy())
    np.testing.assert_allclose(*found, rtol=0.1, atol=0.1)
