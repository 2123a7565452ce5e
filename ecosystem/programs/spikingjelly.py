"""Spiking networks: integrate-and-fire layers, in single and in several steps."""

from typing import Any

import torch
from spikingjelly.activation_based import encoding, functional, layer, neuron, surrogate
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, target = torch.rand(6, 20), torch.randint(0, 3, (6,))
    results: dict[str, Any] = {}
    for kind in (neuron.LIFNode, neuron.IFNode, neuron.ParametricLIFNode):
        net = nn.Sequential(layer.Flatten(), layer.Linear(20, 3, bias=False), kind(surrogate_function=surrogate.ATan()))
        optimizer, encode, losses = torch.optim.Adam(net.parameters(), lr=1e-2), encoding.PoissonEncoder(), []
        for _ in range(4):
            optimizer.zero_grad()
            rate = sum(net(encode(x)) for _ in range(8)) / 8
            loss = nn.functional.mse_loss(rate, nn.functional.one_hot(target, 3).float())
            loss.backward()
            optimizer.step()
            functional.reset_net(net)
            losses.append(loss.item())
        results[kind.__name__] = losses
    net = nn.Sequential(layer.Conv2d(1, 2, 3, padding=1), layer.BatchNorm2d(2), neuron.IFNode(), layer.MaxPool2d(2, 2))
    functional.set_step_mode(net, "m")
    out = net(torch.rand(4, 2, 1, 6, 6) * 2)
    out.sum().backward()
    results["several steps"], results["gradient"] = out, net[0].weight.grad
    return results
