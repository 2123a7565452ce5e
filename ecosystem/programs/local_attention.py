"""local-attention: attention within windows, and a small language model of it."""

from typing import Any

import torch
from local_attention import LocalAttention, LocalTransformer


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 64, 16, requires_grad=True) for _ in range(3))
    mask = torch.ones(2, 64, dtype=torch.bool)
    mask[1, 50:] = False
    attention = LocalAttention(dim=16, window_size=16, causal=True, look_backward=1, look_forward=0, dropout=0.1, exact_windowsize=False)
    attended = attention(q, k, v, mask=mask)
    attended.square().sum().backward()
    both = LocalAttention(dim=16, window_size=8, look_backward=1, look_forward=1, autopad=True)(q[:, :, :50], k[:, :, :50], v[:, :, :50])
    model = LocalTransformer(num_tokens=40, dim=32, depth=2, max_seq_len=64, causal=True, local_attn_window_size=16)
    tokens = torch.randint(0, 40, (1, 48))
    loss = model(tokens, return_loss=True)
    loss.backward()
    gradient = model.token_emb.weight.grad
    return {
        "attended": attended,
        "query": q.grad,
        "key": k.grad,
        "both": both,
        "loss": loss,
        "gradient": gradient,
        "logits": model.eval()(tokens),
    }
