"""rotary-embedding-torch: queries and keys rotated by their positions, along one axis and two, and extrapolated."""

from typing import Any

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    queries, keys = torch.randn(1, 4, 16, 32, requires_grad=True), torch.randn(1, 4, 16, 32)
    rotary = RotaryEmbedding(dim=16)
    q, k = rotary.rotate_queries_or_keys(queries), rotary.rotate_queries_or_keys(keys)
    (q @ k.transpose(-1, -2)).logsumexp(-1).sum().backward()
    cached_q, cached_k = rotary.rotate_queries_with_cached_keys(queries[:, :, -1:], keys)
    grid = RotaryEmbedding(dim=8, freqs_for="pixel", max_freq=256)
    plane = apply_rotary_emb(grid.get_axial_freqs(4, 4), torch.randn(1, 2, 4, 4, 32))
    xpos = RotaryEmbedding(dim=16, use_xpos=True)
    xq, xk = xpos.rotate_queries_and_keys(queries, keys)
    learned = RotaryEmbedding(dim=16, learned_freq=True, interpolate_factor=2.0)
    learned.rotate_queries_or_keys(keys).square().cumsum(-1).sum().backward()
    results = {
        "q": q,
        "k": k,
        "gradient": queries.grad,
        "cached q": cached_q,
        "cached k": cached_k,
        "plane": plane,
        "xpos q": xq,
        "xpos k": xk,
    }
    return {**results, "frequencies": learned.freqs.grad}
