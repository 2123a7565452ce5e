"""Dimensions by name: a small image network whose layers rearrange."""

from typing import Any

import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    images = torch.rand(4, 3, 16, 16, requires_grad=True)
    patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
    cut = Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
    model = nn.Sequential(cut, nn.Linear(48, 32), nn.GELU(), Reduce("b n d -> b d", "mean"), nn.Linear(32, 5))
    loss = model(images).logsumexp(1).sum() + repeat(reduce(patches, "b n d -> n d", "max"), "n d -> n k d", k=2).sum()
    loss.backward()
    return {"loss": loss, "gradient": images.grad}
