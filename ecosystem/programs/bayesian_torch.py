"""bayesian-torch: variational layers by reparameterization and by flipout, and a network made Bayesian."""

from typing import Any

import torch
from bayesian_torch.layers import Conv2dReparameterization, LinearFlipout, LinearReparameterization
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    linear, flipout = LinearReparameterization(8, 4), LinearFlipout(8, 4)
    x = torch.randn(5, 8)
    y, kl = linear(x)
    z, other_kl = flipout(x)
    image, image_kl = Conv2dReparameterization(3, 4, 3)(torch.randn(2, 3, 8, 8))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    options = {
        "prior_mu": 0.0,
        "prior_sigma": 1.0,
        "posterior_mu_init": 0.0,
        "posterior_rho_init": -3.0,
        "type": "Reparameterization",
        "moped_enable": True,
        "moped_delta": 0.5,
    }
    dnn_to_bnn(model, options)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), torch.arange(5) % 3) + get_kl_loss(model) / 5
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"y": y, "kl": kl, "z": z, "flipout kl": other_kl, "image": image, "image kl": image_kl, "losses": losses}
