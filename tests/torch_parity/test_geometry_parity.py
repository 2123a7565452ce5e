"""Random programs of views, changes of geometry and writes: values, gradients and refusals are PyTorch's."""

from __future__ import annotations

import random
from typing import Any

import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

GEOMETRIES = ("t_", "transpose_", "swapaxes_", "unsqueeze_", "squeeze_")
VIEWS = ("row", "part", "turned", "flat", "wider", "diagonal", "last", "same", "repeated")
WRITES = ("mul", "scaled", "copied", "zeroed", "doubled", "column")


def numbers(m: Any, like: Any) -> Any:
    return m.arange(1.0, like.numel() + 1).double().reshape(like.shape)


def view_of(x: Any, kind: str, choice: float) -> Any:
    ndim = x.dim()
    return {
        "row": lambda: x[int(choice * x.shape[0])] if ndim else x[...],
        "part": lambda: x[..., ::2] if ndim else x.view(1),
        "turned": lambda: x.transpose(0, -1) if ndim else x.view_as(x),
        "flat": lambda: x.reshape(-1),
        "wider": lambda: x.unsqueeze(int(choice * (ndim + 1))),
        "diagonal": lambda: x.diagonal() if ndim == 2 else x.view_as(x),
        "last": lambda: x.split(1)[-1] if ndim else x.view_as(x),
        "same": lambda: x.view_as(x),
        "repeated": lambda: x.expand(2, *x.shape),
    }[kind]()


def write(m: Any, x: Any, w: Any, kind: str, choice: float) -> None:
    factor = w[int(choice * 3)]
    if kind == "mul":
        x.mul_(numbers(m, x))
    elif kind == "scaled":
        x.mul_(factor)
    elif kind == "copied":
        x.copy_(factor * numbers(m, x))
    elif kind == "zeroed":
        x.zero_()
    elif kind == "doubled":
        x.add_(x * 2)
    else:
        x[..., 0] = factor


def change(x: Any, name: str, a: float, b: float) -> None:
    ndim = max(x.dim(), 1)
    two = int(a * ndim), int(b * ndim)
    dims = {"unsqueeze_": (int(a * (x.dim() + 1)),), "transpose_": two, "swapaxes_": two}
    getattr(x, name)(*dims.get(name, ()))


def run(m: Any, seed: int) -> list[Any]:
    """What happens in a program: its refusals, the values of all its tensors, and the gradients of all that it read."""
    rng, facts = random.Random(seed), []
    leaf = m.arange(1.0, 13.0).double().reshape(3, 4).requires_grad_()
    w = m.arange(1.0, 4.0).double().requires_grad_()
    tensors, total = [leaf.t() * 1 if rng.random() < 0.4 else leaf * 1], w.sum() * 0
    for _ in range(rng.randint(3, 9)):
        step = rng.choices(["geometry", "view", "write", "read"], [4, 5, 4, 2])[0]
        x, kinds = rng.choice(tensors), [rng.choice(names) for names in (GEOMETRIES, VIEWS, WRITES)]
        a, b = rng.random(), rng.random()
        try:
            if step == "geometry":
                change(x, kinds[0], a, b)
            elif step == "view":
                tensors.append(view_of(x, kinds[1], a))
            elif step == "write":
                write(m, x, w, kinds[2], a)
            else:
                total = total + (x * numbers(m, x)).sum()
        except (RuntimeError, IndexError):
            facts.append(f"{step} refused")
    for x in tensors:
        facts.append(x.detach().tolist())
        try:
            total = total + (x * x * numbers(m, x)).sum()
        except RuntimeError:
            facts.append("may not be used")
    try:
        facts.append([None if g is None else g.tolist() for g in m.autograd.grad(total, (leaf, w), allow_unused=True)])
    except RuntimeError:
        facts.append("backward refused")
    return facts


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_random_programs_of_views_and_geometry(start: int) -> None:
    for seed in range(start, start + 50):
        ours, theirs = run(ad, seed), run(torch, seed)
        if theirs[-1] == "backward refused":  # PyTorch wrote its zeros to memory that is expanded
            continue
        assert ours == theirs, f"seed {seed}"
