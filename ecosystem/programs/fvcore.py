"""fvcore: parameters and floating-point operations of a model, losses, and a schedule."""

from typing import Any

import torch
from fvcore.common.param_scheduler import CompositeParamScheduler, CosineParamScheduler, LinearParamScheduler
from fvcore.nn import giou_loss, parameter_count, parameter_count_table, sigmoid_focal_loss, smooth_l1_loss
from fvcore.nn.precise_bn import get_bn_modules, update_bn_stats
from fvcore.nn.weight_init import c2_msra_fill, c2_xavier_fill
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 1))
    c2_msra_fill(model[0])
    c2_xavier_fill(model[3])
    update_bn_stats(model, [torch.randn(2, 3, 8, 8) for _ in range(4)], num_iters=4)
    (norm,) = get_bn_modules(model)
    boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 4.0, 3.0]])
    logits = torch.randn(6, requires_grad=True)
    loss = (
        sigmoid_focal_loss(logits, (torch.rand(6) > 0.5).float(), alpha=0.25, reduction="mean")
        + smooth_l1_loss(logits, torch.ones(6), 0.5).sum()
    )
    loss.backward()
    schedule = CompositeParamScheduler([LinearParamScheduler(0.1, 1.0), CosineParamScheduler(1.0, 0.0)], [0.2, 0.8], ["rescaled", "fixed"])
    return {
        "parameters": parameter_count(model)[""],
        "table": parameter_count_table(model),
        "mean": norm.running_mean,
        "variance": norm.running_var,
        "overlap": giou_loss(boxes, boxes.flip(0)),
        "gradient": logits.grad,
        "schedule": [schedule(step / 10) for step in range(10)],
        "output": model(torch.ones(1, 3, 4, 4)),
    }
