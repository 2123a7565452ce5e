"""A network that solves a differential equation, from its residual and its boundary values."""

import os
from typing import Any

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde as dde
import numpy as np
import torch


def residual(x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    return -dde.grad.hessian(u, x) - np.pi**2 * torch.sin(np.pi * x)


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    dde.config.set_random_seed(0)
    geometry = dde.geometry.Interval(-1, 1)
    edges = dde.icbc.DirichletBC(geometry, lambda x: np.sin(np.pi * x), lambda _, on_boundary: on_boundary)
    data = dde.data.PDE(geometry, residual, edges, 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=20)
    network = dde.nn.FNN([1] + [20] * 2 + [1], "tanh", "Glorot uniform")
    model = dde.Model(data, network)
    model.compile("adam", lr=0.001, metrics=["l2 relative error"], verbose=0)
    history, _ = model.train(iterations=30, display_every=10, verbose=0)
    return {"losses": np.array(history.loss_train), "prediction": model.predict(np.linspace(-1, 1, 5)[:, None])}
