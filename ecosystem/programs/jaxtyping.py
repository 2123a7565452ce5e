# ruff: noqa: F722, F821 (the annotations are shapes)
"""Shapes and dtypes of tensors as annotations, checked when functions are called."""

from typing import Any

import torch
from beartype import beartype
from beartype.roar import BeartypeException
from jaxtyping import Float, Int, TypeCheckError, jaxtyped
from torch import Tensor


@jaxtyped(typechecker=beartype)
def product(x: Float[Tensor, "batch inner"], y: Float[Tensor, "inner outer"]) -> Float[Tensor, "batch outer"]:
    return x @ y


@jaxtyped(typechecker=beartype)
def pick(x: Float[Tensor, "rows *rest"], index: Int[Tensor, " n"]) -> Float[Tensor, "n *rest"]:
    return x[index]


def refused(function: Any, *arguments: Any) -> int:
    try:
        function(*arguments)
    except (TypeCheckError, BeartypeException):
        return 1
    return 0


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, y = torch.randn(2, 3), torch.randn(3, 4)
    return {
        "product": product(x, y), "picked": pick(x, torch.tensor([1, 0, 1])), "wrong size": refused(product, x, x),
        "wrong dtype": refused(pick, x, torch.tensor([0.5])), "no tensor": refused(product, x, y.numpy()),
        "is": [int(isinstance(x, Float[Tensor, "2 3"])), int(isinstance(x, Float[Tensor, "2 4"])), int(isinstance(x, Int[Tensor, "..."]))],
    }  # fmt: skip
