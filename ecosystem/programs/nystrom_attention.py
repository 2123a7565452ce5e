"""nystrom-attention: attention by the Nyström method."""

from typing import Any

import torch
from nystrom_attention import NystromAttention, Nystromformer


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    attention = NystromAttention(dim=32, dim_head=8, heads=4, num_landmarks=16, pinv_iterations=6, residual=True)
    x = torch.randn(1, 60, 32, requires_grad=True)
    mask = torch.ones(1, 60, dtype=torch.bool)
    mask[:, 50:] = False
    attended = attention(x, mask=mask)
    attended.square().sum().backward()
    model = Nystromformer(dim=32, dim_head=8, heads=4, depth=2, num_landmarks=16, pinv_iterations=6)
    return {"attended": attended, "x": x.grad, "model": model(x, mask=mask)}
