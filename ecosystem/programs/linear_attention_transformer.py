"""linear-attention-transformer: a language model whose attention has linear cost."""

from typing import Any

import torch
from linear_attention_transformer import LinearAttentionTransformerLM


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = LinearAttentionTransformerLM(
        num_tokens=50,
        dim=32,
        heads=4,
        depth=2,
        max_seq_len=64,
        causal=True,
        blindspot_size=8,
        n_local_attn_heads=2,
        local_attn_window_size=16,
        reversible=True,
        ff_chunks=2,
        attend_axially=False,
    )
    logits = model(torch.randint(0, 50, (1, 64)))
    logits.square().mean().backward()
    return {"logits": logits, "gradients": [p.grad for p in model.parameters() if p.grad is not None]}
