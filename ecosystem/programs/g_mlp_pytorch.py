"""g-mlp-pytorch: gated perceptrons for language and for images."""

from typing import Any

import torch
from g_mlp_pytorch import gMLP, gMLPVision


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    language = gMLP(num_tokens=50, dim=32, depth=3, seq_len=40, circulant_matrix=True, act=torch.nn.Tanh())
    logits = language(torch.randint(0, 50, (2, 40)))
    logits.square().mean().backward()
    vision = gMLPVision(image_size=32, patch_size=8, num_classes=10, dim=32, depth=3)
    return {"logits": logits, "gradients": [p.grad for p in language.parameters()], "scores": vision(torch.randn(2, 3, 32, 32))}
