"""slot-attention: slots that compete for a set of inputs."""

from typing import Any

import torch
from slot_attention import SlotAttention


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    layer = SlotAttention(num_slots=5, dim=32, iters=3)
    inputs = torch.randn(2, 40, 32, requires_grad=True)
    slots = layer(inputs)
    slots.square().sum().backward()
    return {"slots": slots, "more": layer(inputs, num_slots=8), "inputs": inputs.grad}
