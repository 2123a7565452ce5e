"""The numbers of `leaves.html`: one small program in eight versions, and what every tensor of it knows afterwards."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import adjoint as ad

from ..programs import execute

SWITCHES = ("asks", "keeps", "cuts")
TENSORS = ("w", "x", "h", "y", "loss")
_count = itertools.count()


def program(asks: bool, keeps: bool, cuts: bool) -> list[str]:
    return [
        f"w = ad.tensor(2.0{', requires_grad=True' if asks else ''})",
        "x = ad.tensor(3.0)",
        "h = w * x",
        *(["h.retain_grad()"] if keeps else []),
        f"y = h{'.detach()' if cuts else ''} ** 2",
        "loss = y + w",
        "loss.backward()",
    ]


def run(lines: list[str]) -> dict[str, Any]:
    """The facts about each tensor, and the first error with its line."""
    names: dict[str, Any] = {"ad": ad}
    error = execute("\n".join(lines), names)
    return {"code": lines, "error": error, "tensors": {name: facts(names[name]) for name in TENSORS if name in names}}


def facts(tensor: ad.Tensor) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a result keeps no gradient is what the page is about
        grad = tensor.grad
    return {
        "value": tensor.item(), "leaf": tensor.is_leaf, "requires_grad": tensor.requires_grad,
        "grad_fn": tensor.grad_fn.name() if tensor.grad_fn is not None else None, "grad": None if grad is None else grad.item(),
    }  # fmt: skip


def warning() -> str:
    """What reading the gradient of a result says."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        # Said once per line of a program, hence a new one each time.
        execute(f"x = ad.ones(1, requires_grad=True)\nh = x * 2\nh.grad, {next(_count)}", {"ad": ad})
    return str(said[0].message).split(" It was made")[0]


def record() -> dict[str, Any]:
    versions = itertools.product((False, True), repeat=len(SWITCHES))
    return {"versions": {"".join(str(int(v)) for v in version): run(program(*version)) for version in versions}, "warning": warning()}
