"""segmentation-models-pytorch: decoders on encoders with random weights, losses and metrics."""

from typing import Any

import segmentation_models_pytorch as smp
import torch


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    images, masks = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1)), torch.zeros(2, 64, 64, dtype=torch.long)
    masks[:, 16:40, 8:48] = 1
    for kind in (smp.Unet, smp.FPN, smp.Linknet, smp.PSPNet, smp.DeepLabV3Plus, smp.UnetPlusPlus):
        torch.manual_seed(0)
        model = kind("resnet18", encoder_weights=None, classes=2)
        loss = smp.losses.DiceLoss("multiclass")(model(images), masks)
        loss.backward()
        results[f"{kind.__name__} loss"] = loss
        results[f"{kind.__name__} gradient"] = model.encoder.conv1.weight.grad.abs().mean()
    torch.manual_seed(0)
    model = smp.Unet("mobilenet_v2", encoder_weights=None, classes=1, decoder_attention_type="scse", aux_params={"classes": 3}).eval()
    with torch.no_grad():
        logits, label = model(images)
    results |= {"logits": logits.mean(dim=(2, 3)), "label": label}
    targets = masks[:, None]
    criteria = {
        "jaccard": smp.losses.JaccardLoss("binary"),
        "focal": smp.losses.FocalLoss("binary"),
        "lovasz": smp.losses.LovaszLoss("binary"),
        "tversky": smp.losses.TverskyLoss("binary", alpha=0.3, beta=0.7),
        "soft": smp.losses.SoftBCEWithLogitsLoss(smooth_factor=0.1),
    }
    results |= {name: criterion(logits, targets.float()) for name, criterion in criteria.items()}
    counts = smp.metrics.get_stats(logits.sigmoid(), targets, mode="binary", threshold=0.5)
    results["iou"] = smp.metrics.iou_score(*counts, reduction="micro")
    results["f1"] = smp.metrics.f1_score(*counts, reduction="micro-imagewise")
    return results
