"""Adversarial examples of many kinds."""

from typing import Any

import torch
import torchattacks
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)).eval()
    images, labels = torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 2, 1])
    results: dict[str, Any] = {}
    for attack in (
        torchattacks.FGSM(model, eps=8 / 255), torchattacks.PGD(model, eps=8 / 255, alpha=2 / 255, steps=4, random_start=True),
        torchattacks.BIM(model, steps=3), torchattacks.MIFGSM(model, steps=3), torchattacks.CW(model, c=1, steps=5, lr=0.01),
        torchattacks.DeepFool(model, steps=5), torchattacks.TPGD(model, steps=3), torchattacks.FFGSM(model),
        torchattacks.RFGSM(model, steps=3),
        torchattacks.PGDL2(model, steps=3), torchattacks.EOTPGD(model, steps=2), torchattacks.NIFGSM(model, steps=3),
    ):  # fmt: skip
        results[attack.attack] = attack(images, labels)
    return results
