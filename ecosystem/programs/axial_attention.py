"""axial-attention: attention along each axis of an image, with axial positions."""

from typing import Any

import torch
from axial_attention import AxialAttention, AxialImageTransformer, AxialPositionalEmbedding


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    image = torch.randn(1, 3, 8, 12, requires_grad=True)
    attended = AxialAttention(dim=3, dim_index=1, dim_heads=8, heads=1, num_dimensions=2, sum_axial_out=True)(image)
    attended.square().sum().backward()
    video = AxialAttention(dim=8, dim_index=-1, heads=4, num_dimensions=3)(torch.randn(1, 3, 5, 6, 8))
    placed = AxialPositionalEmbedding(dim=16, shape=(8, 12))(torch.randn(1, 16, 8, 12))
    model = AxialImageTransformer(dim=16, depth=2, reversible=True)
    out = model(torch.randn(1, 16, 8, 8, requires_grad=True))
    out.square().mean().backward()
    return {
        "attended": attended,
        "image": image.grad,
        "video": video,
        "placed": placed,
        "out": out,
        "gradients": [p.grad for p in model.parameters()],
    }
