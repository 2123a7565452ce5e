"""performer-pytorch: attention by random features, alone and in a language model."""

from typing import Any

import torch
from performer_pytorch import FastAttention, PerformerLM, SelfAttention


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 4, 48, 16, requires_grad=True) for _ in range(3))
    attended = FastAttention(dim_heads=16, nb_features=32, causal=False)(q, k, v)
    attended.square().sum().backward()
    layer = SelfAttention(dim=32, heads=4, causal=False)
    model = PerformerLM(num_tokens=50, max_seq_len=48, dim=32, depth=1, heads=4, causal=False, nb_features=32, feature_redraw_interval=1000)
    tokens = torch.randint(0, 50, (1, 48))
    return {
        "attended": attended,
        "query": q.grad,
        "key": k.grad,
        "layer": layer(torch.randn(1, 48, 32)),
        "logits": model(tokens, mask=torch.ones_like(tokens).bool()),
    }
