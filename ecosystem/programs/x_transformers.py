"""x-transformers: decoders and encoders with variations of attention, trained and generating."""

from typing import Any

import torch
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)

VARIATIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True, "use_rmsnorm": True, "ff_glu": True, "ff_swish": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2, "use_scalenorm": True},
    "relative": {"rel_pos_bias": True, "attn_one_kv_head": True},
    "sparse": {"attn_sparse_topk": 4, "attn_qk_norm": True},
    "gated": {"attn_gate_values": True, "gate_residual": True, "shift_tokens": 1, "attn_num_mem_kv": 2},
    "flash": {"attn_flash": True, "attn_kv_heads": 2, "sandwich_norm": True, "residual_attn": False},
}


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, options in VARIATIONS.items():
        torch.manual_seed(0)
        layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
        model = AutoregressiveWrapper(TransformerWrapper(num_tokens=50, max_seq_len=24, attn_layers=layers))
        tokens = torch.randint(0, 50, (2, 17))
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(3):
            loss = model(tokens)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[f"{name} losses"] = losses
        model.eval()
        results[f"{name} greedy"] = model.generate(tokens[:1, :4], 6, temperature=0.0)
        torch.manual_seed(1)
        results[f"{name} sampled"] = model.generate(tokens[:1, :4], 6, temperature=1.0)
    torch.manual_seed(0)
    encoder = TransformerWrapper(num_tokens=50, max_seq_len=24, attn_layers=Encoder(dim=32, depth=2, heads=4))
    mask = torch.arange(20) < torch.tensor([[20], [13]])
    results["encoded"] = encoder(torch.randint(0, 50, (2, 20)), mask=mask)
    pair = XTransformer(
        dim=32,
        enc_num_tokens=40,
        enc_depth=1,
        enc_heads=4,
        enc_max_seq_len=16,
        dec_num_tokens=40,
        dec_depth=1,
        dec_heads=4,
        dec_max_seq_len=16,
    )
    source, target = torch.randint(0, 40, (2, 12)), torch.randint(0, 40, (2, 10))
    results["translated"] = pair(source, target)
    vision = ViTransformerWrapper(image_size=32, patch_size=8, num_classes=7, attn_layers=Encoder(dim=32, depth=1, heads=4))
    results["image"] = vision(torch.randn(2, 3, 32, 32))
    continuous = ContinuousTransformerWrapper(dim_in=5, dim_out=6, max_seq_len=16, attn_layers=Encoder(dim=32, depth=1, heads=4))
    results["continuous"] = continuous(torch.randn(1, 16, 5))
    return results
