"""siren-pytorch: a sinusoidal network fitted to an image through its wrapper."""

from typing import Any

import torch
from siren_pytorch import SirenNet, SirenWrapper


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    net = SirenNet(dim_in=2, dim_hidden=32, dim_out=3, num_layers=3, final_activation=torch.nn.Sigmoid(), w0_initial=30.0)
    wrapper = SirenWrapper(net, latent_dim=8, image_width=12, image_height=10)
    latent = torch.zeros(8).normal_(0, 1e-2).requires_grad_()
    image = torch.rand(1, 3, 10, 12)
    loss = wrapper(image, latent=latent)
    loss.backward()
    return {"loss": loss, "latent": latent.grad, "image": wrapper(latent=latent), "weight": net.layers[0].weight.grad}
