"""grad-cam: where a classifier looks, by several methods."""

from typing import Any

import numpy as np
import torch
from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, XGradCAM
from pytorch_grad_cam.utils.image import show_cam_on_image
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(48, 5),
    ).eval()
    images = torch.rand(2, 3, 32, 32)
    results: dict[str, Any] = {}
    for kind in (GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, XGradCAM, EigenCAM):
        with kind(model=model, target_layers=[model[3]]) as cam:
            results[kind.__name__] = cam(input_tensor=images, targets=[ClassifierOutputTarget(1), ClassifierOutputTarget(3)])
    shown = show_cam_on_image(images[0].permute(1, 2, 0).numpy(), results["GradCAM"][0], use_rgb=True)
    return {**results, "shown": shown.astype(np.float64).mean(axis=(0, 1))}
