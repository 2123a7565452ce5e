"""Chains of all ops: the sample calls of the tests, on tensors that earlier steps made, with other layouts, dtypes and arguments."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tests.ops.samples import Dtype, Sample
from tests.ops.samples import load as load_rows

from ..generate import Builder, EndError, dtype, single
from ..program import Leaf, Ref

PLACES = ("", "nn.functional.", "special.", "linalg.", "fft.", "Tensor.")
UNDEFINED = {"empty_like", "empty", "new_empty", "empty_strided", "new_empty_strided", "resize_", "resize", "empty_permuted"}  # values
# Numbers that stand for names (the reduction of a loss, the mode of a grid), or must fit other arguments: PyTorch does not check them.
VERBATIM = re.compile(r"_loss$|kl_div|grid_sampler|^(rnn|lstm|gru|quantized)|embedding_bag|binary_cross_entropy")
# PyTorch's have about ten right digits, in derivatives too.
INEXACT = re.compile(r"special\.(bessel_[jy]|airy)|digamma|polygamma|psi$")
RANDOM = {"dropout", "alpha_dropout", "rrelu", "fractional_max_pool2d", "fractional_max_pool3d"}  # the samples name no seed


def resolved(library: Any, path: str) -> Any:
    for part in path.split("."):
        library = getattr(library, part, None)
    return library


@cache
def rows() -> list[tuple[str, tuple[Sample, ...], bool]]:
    """The functions that both libraries have under one name, with the samples that are compared with PyTorch, and whether these are
    about matrices."""
    import torch

    import adjoint

    found = []
    for name, row in load_rows().items():
        for path in [row.torch] if row.torch else [place + name for place in PLACES]:
            private = path.startswith(("ops.", "_", "native_"))
            if private or path.split(".")[-1] in UNDEFINED | RANDOM or INEXACT.search(path):
                break
            if resolved(torch, path) is not None and resolved(adjoint, path) is not None:
                samples = tuple(sample for sample in row.samples() if sample.torch_values)
                if samples:
                    found.append((path, samples, any(g.__module__.endswith('linalg') for g in row.generators)))
                break
    return found


def operand(b: Builder, array: np.ndarray, grad: bool, narrow: bool, exact: bool, used: list[Any]) -> Ref | Leaf:
    """A tensor of an earlier step that fits, or a new one; of exactly these values, where they have to be what they are."""
    leaf = b.like(array, grad and b.chance(0.8))
    if exact and array.dtype.kind in "fc":
        leaf = replace(leaf, values=tuple(array.ravel().tolist()), layout="")
    leaf = single(leaf) if narrow else leaf
    if leaf.dtype.startswith(("float", "complex")):
        wanted = tuple(array.shape)
        known = b.tensor(lambda t: tuple(t.shape) == wanted and str(t.dtype) == f"torch.{leaf.dtype}" and (grad or not t.requires_grad))
        known = None if known in used else known
        if known is not None and not exact and b.chance(0.5):
            used.append(known)  # used twice, it would cancel exactly here or there
            return known
    return b.leaf(leaf)


def argument(b: Builder, value: Any, grad: bool, narrow: bool, vary: bool, exact: bool, used: list[Any]) -> Any:
    """An argument of a sample: arrays become tensors, and numbers are varied where they are sizes or places."""
    if isinstance(value, np.ndarray):
        return operand(b, value, grad, narrow, exact, used)
    if isinstance(value, Dtype):
        return dtype(value.name)
    if isinstance(value, list | tuple):
        return type(value)([argument(b, item, grad, narrow, vary, exact, used) for item in value])
    if isinstance(value, bool):
        return not value if vary and b.chance(0.15) else value
    if isinstance(value, int) and vary and b.chance(0.1):
        return value + b.pick((-1, 1, -2))
    return value


def plain(value: Any) -> bool:
    """Whether a sample's argument can be printed."""
    if isinstance(value, list | tuple):
        return all(map(plain, value))
    return isinstance(value, np.ndarray | Dtype | int | float | complex | str | slice | None) and not isinstance(value, np.generic)


def sampled(b: Builder, narrow: bool) -> Ref | None:
    path, samples, matrices = b.pick(rows())
    sample = b.pick(samples)
    if not plain(list(sample.args)) or not plain(list(sample.kwargs.values())):
        return None
    vary = not VERBATIM.search(path)
    used: list[Any] = []
    how = sample.torch_gradient, narrow, vary, matrices, used  # a matrix that is to be decomposed may have to be symmetric, or regular
    args = [argument(b, value, *how) for value in sample.args]
    kwargs = {name: argument(b, value, *how) for name, value in sample.kwargs.items()}
    return b.add(f"torch.{path}", *args, **kwargs)


def program(b: Builder) -> None:
    narrow = b.chance(0.6)
    try:
        for _ in range(b.random.randint(1, 6)):
            sampled(b, narrow)
            if b.chance(0.25):
                b.backward(retain=True)
        b.backward()
    except EndError:
        pass
