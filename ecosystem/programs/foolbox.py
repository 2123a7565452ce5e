"""Adversarial attacks on a model, with accuracies."""

from typing import Any

import foolbox as fb
import torch
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(36, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
    model = fb.PyTorchModel(network, bounds=(0, 1), preprocessing={"mean": [0.5], "std": [0.3], "axis": -3})
    images = torch.rand(6, 1, 6, 6)
    labels = model(images).argmax(-1)
    results: dict[str, Any] = {"accuracy": fb.utils.accuracy(model, images, labels)}
    for attack in (
        fb.attacks.FGSM(), fb.attacks.LinfPGD(steps=5, random_start=False),
        fb.attacks.L2CarliniWagnerAttack(binary_search_steps=2, steps=8),
        fb.attacks.L2DeepFoolAttack(steps=5), fb.attacks.LinfBasicIterativeAttack(steps=4, random_start=False),
        fb.attacks.L2ContrastReductionAttack(),
    ):  # fmt: skip
        _, clipped, success = attack(model, images, labels, epsilons=[0.05, 0.3])
        results[type(attack).__name__] = [list(clipped), success]
    return results
