"""monai: networks, losses, metrics and transforms for medical images."""

from typing import Any

import numpy as np
import torch
from monai.data import DataLoader, Dataset, decollate_batch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss, TverskyLoss
from monai.metrics import DiceMetric, HausdorffDistanceMetric, compute_iou
from monai.networks.nets import UNETR, AttentionUnet, DenseNet121, SegResNet, SwinUNETR, UNet, ViT
from monai.transforms import (
    AsDiscrete,
    Compose,
    EnsureChannelFirst,
    NormalizeIntensity,
    RandFlip,
    RandGaussianNoise,
    RandRotate90,
    Resize,
    ScaleIntensity,
    SpatialPad,
    ToTensor,
)
from monai.utils import set_determinism


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    nets = {
        "unet": (lambda: UNet(3, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1), (16, 16, 16)),
        "segresnet": (lambda: SegResNet(2, init_filters=8, in_channels=1, out_channels=2, blocks_down=(1, 1), blocks_up=(1,)), (16, 16)),
        "attention": (lambda: AttentionUnet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2)), (16, 16)),
        "unetr": (lambda: UNETR(1, 2, (32, 32), feature_size=4, hidden_size=24, mlp_dim=32, num_heads=4, spatial_dims=2), (32, 32)),
        "swin": (lambda: SwinUNETR(1, 2, feature_size=12, depths=(1, 1, 1, 1), num_heads=(2, 2, 2, 2), spatial_dims=2), (64, 64)),
    }
    for name, (make, size) in nets.items():
        torch.manual_seed(0)
        net = make()
        images, labels = torch.rand(2, 1, *size), (torch.rand(2, 1, *size) > 0.5).long()
        loss = DiceCELoss(to_onehot_y=True, softmax=True)(net(images), labels)
        loss.backward()
        results[f"{name} loss"] = loss
        results[f"{name} gradient"] = torch.stack([p.grad.abs().mean() for p in net.parameters() if p.grad is not None]).mean()
    torch.manual_seed(0)
    results["densenet"] = DenseNet121(spatial_dims=2, in_channels=1, out_channels=3, init_features=8, growth_rate=4).eval()(
        torch.rand(1, 1, 64, 64)
    )
    results["vit"] = ViT(1, (16, 16), (8, 8), hidden_size=24, mlp_dim=32, num_layers=1, num_heads=4, spatial_dims=2)(
        torch.rand(1, 1, 16, 16)
    )[0]

    logits, truth = torch.randn(2, 3, 8, 8), torch.nn.functional.one_hot(torch.randint(0, 3, (2, 8, 8)), 3).movedim(-1, 1).float()
    results["dice loss"] = DiceLoss(softmax=True)(logits, truth)
    results["focal"] = FocalLoss()(logits, truth)
    results["tversky"] = TverskyLoss(softmax=True, alpha=0.3, beta=0.7)(logits, truth)
    chosen = torch.stack([AsDiscrete(argmax=True, to_onehot=3)(item) for item in decollate_batch(logits)])
    dice = DiceMetric(include_background=False)
    dice(chosen, truth)
    results["dice"] = dice.aggregate()
    results["hausdorff"] = HausdorffDistanceMetric()(chosen, truth)
    results["iou"] = compute_iou(chosen, truth)
    net = UNet(2, 1, 2, channels=(4, 8), strides=(2,))
    results["windows"] = sliding_window_inference(torch.rand(1, 1, 24, 24), (16, 16), 2, net, overlap=0.5, mode="gaussian")

    set_determinism(0)
    transform = Compose(
        [
            EnsureChannelFirst(channel_dim="no_channel"),
            ScaleIntensity(),
            NormalizeIntensity(),
            SpatialPad((20, 20)),
            Resize((16, 16)),
            RandFlip(0.5, 0),
            RandRotate90(0.5),
            RandGaussianNoise(0.5),
            ToTensor(),
        ]
    )
    transform.set_random_state(0)
    pictures = list(np.random.default_rng(0).random((4, 18, 14)).astype(np.float32))
    results["transformed"] = torch.cat([torch.as_tensor(batch) for batch in DataLoader(Dataset(pictures, transform), batch_size=2)])
    set_determinism(None)
    return results
