"""ema-pytorch: an exponential moving average of a model, and its weights kept and loaded."""

from typing import Any

import torch
from ema_pytorch import EMA, PostHocEMA
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    ema = EMA(net, beta=0.99, update_after_step=1, update_every=1)
    x = torch.randn(6, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(8):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update()
    again = EMA(net, beta=0.99)
    again.load_state_dict(ema.state_dict())
    post = PostHocEMA(net, sigma_rels=(0.05, 0.28), update_every=1, checkpoint_every_num_steps=100)
    post.update()
    return {
        "net": net.eval()(x),
        "ema": ema(x),
        "again": again.ema_model(x),
        "decay": ema.get_current_decay(),
        "post": post.ema_models[0](x),
    }
