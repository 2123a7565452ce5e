"""vit-pytorch: vision transformers of several kinds, and masked autoencoding."""

from typing import Any

import torch
from vit_pytorch import MAE, SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.cross_vit import CrossViT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.levit import LeViT
from vit_pytorch.mobile_vit import MobileViT
from vit_pytorch.recorder import Recorder


def main() -> dict[str, Any]:
    common = {"image_size": 32, "patch_size": 8, "num_classes": 10, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 64}
    makers = {
        "vit": lambda: ViT(**common, dropout=0.1, emb_dropout=0.1),
        "simple": lambda: SimpleViT(**common),
        "deep": lambda: DeepViT(**common),
        "cait": lambda: CaiT(**common, cls_depth=1, dropout=0.1, layer_dropout=0.05),
        "cct": lambda: CCT((32, 32), 32, n_conv_layers=1, num_layers=2, num_heads=4, mlp_ratio=2, num_classes=10, kernel_size=3),
        "levit": lambda: LeViT(image_size=64, num_classes=10, stages=2, dim=(32, 48), depth=2, heads=(2, 3), mlp_mult=2, dropout=0.1),
        "mobile": lambda: MobileViT((64, 64), dims=[16, 24, 32], channels=[8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 32], num_classes=10),
        "cross": lambda: CrossViT(image_size=64, num_classes=10, depth=1, sm_dim=24, lg_dim=32, sm_patch_size=8, lg_patch_size=16),
    }
    results: dict[str, Any] = {}
    for name, make in makers.items():
        torch.manual_seed(0)
        model = make()
        size = 64 if name in ("levit", "mobile", "cross") else 32
        loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 3, size, size)), torch.tensor([2, 5]))
        loss.backward()
        results[f"{name} loss"] = loss
        results[f"{name} gradient"] = torch.stack([p.grad.abs().mean() for p in model.parameters() if p.grad is not None]).mean()
    torch.manual_seed(0)
    vit = ViT(**common, pool="mean")
    loss = MAE(encoder=vit, masking_ratio=0.75, decoder_dim=32, decoder_depth=1)(torch.rand(2, 3, 32, 32))
    loss.backward()
    predicted, attention = Recorder(vit.eval())(torch.rand(1, 3, 32, 32))
    return {**results, "masked": loss, "predicted": predicted, "attention": attention}
