"""timm: image models by name with random weights: classification, features and a training step."""

from typing import Any

import numpy as np
import timm
import torch
from timm.data import Mixup
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3

MODELS = {
    "resnet18": {},
    "vit_tiny_patch16_224": {"img_size": 64},
    "convnext_atto": {},
    "efficientnet_b0": {},
    "swin_tiny_patch4_window7_224": {"img_size": 56, "window_size": 7, "depths": (1, 1, 1, 1)},
    "mobilenetv3_small_050": {},
    "regnetx_002": {},
    "mixer_s32_224": {"img_size": 64},
}


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, options in MODELS.items():
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False, num_classes=10, **options)
        size = options.get("img_size", 64)
        images = torch.randn(2, 3, size, size)
        labels = torch.tensor([3, 7])
        loss = LabelSmoothingCrossEntropy(0.1)(model(images), labels)
        loss.backward()
        results[f"{name} loss"] = loss
        results[f"{name} gradient"] = sum(p.grad.abs().sum() for p in model.parameters()) / sum(p.numel() for p in model.parameters())
        model.eval()
        with torch.no_grad():
            results[f"{name} logits"] = model(images)
            results[f"{name} pooled"] = model.forward_head(model.forward_features(images), pre_logits=True).mean()

    torch.manual_seed(0)
    backbone = timm.create_model("resnet18", features_only=True, out_indices=(1, 3)).eval()
    results["channels"] = backbone.feature_info.channels()
    with torch.no_grad():
        results["features"] = [feature.mean() for feature in backbone(torch.randn(1, 3, 64, 64))]

    torch.manual_seed(0)
    model = timm.create_model("resnet10t", num_classes=4, drop_path_rate=0.1)
    np.random.seed(0)  # noqa: NPY002 (timm draws from it)
    ema = ModelEmaV3(model, decay=0.9)
    optimizer = create_optimizer_v2(model, opt="lamb", lr=1e-2)
    schedule = CosineLRScheduler(optimizer, t_initial=4, warmup_t=2, warmup_lr_init=1e-4)
    mixup, criterion = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=4), SoftTargetCrossEntropy()
    losses = []
    for step in range(3):
        images, targets = mixup(torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 3]))
        loss = criterion(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(step + 1)
        ema.update(model)
        losses.append(loss.item())
    results["losses"] = losses
    results["averaged"] = ema.module.eval()(torch.ones(1, 3, 32, 32))
    return results
