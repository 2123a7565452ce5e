"""linformer: self-attention of linear cost, alone and in a language model."""

from typing import Any

import torch
from linformer import Linformer, LinformerLM, LinformerSelfAttention


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    attention = LinformerSelfAttention(dim=32, seq_len=64, heads=4, k=16, one_kv_head=True, share_kv=True)
    x, context = torch.randn(2, 64, 32, requires_grad=True), torch.randn(2, 50, 32)
    attended = attention(x, context)
    attended.square().sum().backward()
    body = Linformer(dim=32, seq_len=64, depth=2, heads=4, k=16, one_kv_head=True, share_kv=True, reversible=True)
    reversed_pass = body(x.detach().requires_grad_())
    reversed_pass.square().mean().backward()
    model = LinformerLM(num_tokens=50, dim=32, seq_len=64, depth=2, heads=4, dim_head=8, k=16)
    logits = model(torch.randint(0, 50, (2, 64)))
    return {
        "attended": attended,
        "x": x.grad,
        "reversible": reversed_pass,
        "gradients": [p.grad for p in body.parameters()],
        "logits": logits,
    }
