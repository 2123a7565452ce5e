"""reformer-pytorch: attention by locality-sensitive hashing, with reversible layers."""

from typing import Any

import torch
from reformer_pytorch import LSHSelfAttention, ReformerLM


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    attention = LSHSelfAttention(dim=32, heads=4, bucket_size=8, n_hashes=2, causal=False)
    x = torch.randn(2, 64, 32, requires_grad=True)
    attended = attention(x)
    attended.square().sum().backward()
    model = ReformerLM(num_tokens=50, dim=32, depth=2, max_seq_len=64, heads=4, bucket_size=8, n_hashes=2, ff_chunks=4, causal=True)
    logits = model(torch.randint(0, 50, (1, 64)))
    logits.square().mean().backward()
    return {"attended": attended, "x": x.grad, "logits": logits, "embedding": model.token_emb.weight.grad}
