"""vector-quantize-pytorch: codebooks learned by averages, residual and grouped codes, finite scalars and lookup-free bits."""

from typing import Any

import torch
from vector_quantize_pytorch import FSQ, LFQ, GroupedResidualVQ, RandomProjectionQuantizer, ResidualFSQ, ResidualVQ, VectorQuantize


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    makers = {
        "plain": lambda: VectorQuantize(dim=16, codebook_size=32, decay=0.8, commitment_weight=1.0),
        "cosine": lambda: VectorQuantize(dim=16, codebook_size=32, use_cosine_sim=True, codebook_dim=8),
        "kmeans": lambda: VectorQuantize(dim=16, codebook_size=32, kmeans_init=True, kmeans_iters=4, threshold_ema_dead_code=2),
        "rotation": lambda: VectorQuantize(dim=16, codebook_size=32, rotation_trick=True),
        "gumbel": lambda: VectorQuantize(dim=16, codebook_size=32, stochastic_sample_codes=True, sample_codebook_temp=0.1),
        "learnable": lambda: VectorQuantize(dim=16, codebook_size=32, learnable_codebook=True, ema_update=False, orthogonal_reg_weight=10),
        "residual": lambda: ResidualVQ(dim=16, num_quantizers=3, codebook_size=32, shared_codebook=True),
        "grouped": lambda: GroupedResidualVQ(dim=16, num_quantizers=2, groups=2, codebook_size=32),
        "lookup free": lambda: LFQ(dim=16, codebook_size=64, entropy_loss_weight=0.1),
    }
    for name, make in makers.items():
        torch.manual_seed(0)
        quantizer = make()
        x = torch.randn(2, 40, 16, requires_grad=True)
        for _ in range(2):
            quantized, indices, loss = quantizer(x)
        (quantized.square().mean() + loss.sum()).backward()
        results |= {f"{name} quantized": quantized, f"{name} indices": indices, f"{name} loss": loss, f"{name} gradient": x.grad}
    torch.manual_seed(0)
    scalar = FSQ([8, 5, 5, 5])
    codes, indices = scalar(torch.randn(2, 40, 4))
    results |= {"scalar": codes, "scalar again": scalar.indices_to_codes(indices)}
    results["residual scalar"] = ResidualFSQ(dim=16, levels=[8, 5, 5, 3], num_quantizers=3)(torch.randn(1, 20, 16))[1]
    projected = RandomProjectionQuantizer(dim=16, num_codebooks=4, codebook_dim=8, codebook_size=32)
    results["projected"] = projected(torch.randn(1, 20, 16))
    return results
