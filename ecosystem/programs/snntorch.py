"""Spiking networks: leaky and synaptic neurons trained by surrogate gradients, and spike trains."""

from typing import Any

import snntorch as snn
import torch
from snntorch import functional, spikegen, surrogate
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, target = torch.rand(8, 10), torch.randint(0, 3, (8,))
    results: dict[str, Any] = {"rate": spikegen.rate(x, num_steps=4), "latency": spikegen.latency(x, num_steps=5, tau=5, threshold=0.01)}
    for neuron in (
        snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(slope=25), init_hidden=True),
        snn.Synaptic(alpha=0.9, beta=0.8, spike_grad=surrogate.atan(), init_hidden=True),
        snn.Lapicque(beta=0.5, init_hidden=True), snn.RLeaky(beta=0.7, linear_features=12, init_hidden=True),
    ):  # fmt: skip
        first, second, last = nn.Linear(10, 12), nn.Linear(12, 3), snn.Leaky(beta=0.9, init_hidden=True, output=True)
        parameters = [*first.parameters(), *second.parameters()]
        optimizer, losses = torch.optim.Adam(parameters, lr=2e-3), []
        for _ in range(3):
            for layer in (neuron, last):
                layer.reset_mem() if hasattr(layer, "reset_mem") else layer.reset_hidden()
            spikes = torch.stack([last(second(neuron(first(x))))[0] for _ in range(10)])
            loss = functional.mse_count_loss(correct_rate=0.8, incorrect_rate=0.2)(spikes, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[type(neuron).__name__] = losses
    return results
