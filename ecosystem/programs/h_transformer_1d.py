"""h-transformer-1d: hierarchical attention in a causal language model."""

from typing import Any

import torch
from h_transformer_1d import HTransformer1D


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = HTransformer1D(num_tokens=50, dim=32, depth=2, causal=True, max_seq_len=64, heads=4, dim_head=8, block_size=8)
    logits = model(torch.randint(0, 50, (1, 60)), mask=torch.ones(1, 60).bool())
    logits.square().mean().backward()
    return {"logits": logits, "gradients": [p.grad for p in model.parameters() if p.grad is not None]}
