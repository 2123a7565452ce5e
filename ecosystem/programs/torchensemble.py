"""torchensemble: fused and snapshot ensembles of a classifier."""

from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchensemble import FusionClassifier, SnapshotEnsembleClassifier


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for kind in (FusionClassifier, SnapshotEnsembleClassifier):
        torch.manual_seed(0)
        x = torch.randn(60, 6)
        loader = DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=20)
        model = kind(estimator=Net, n_estimators=2, cuda=False)
        model.set_criterion(nn.CrossEntropyLoss())
        model.set_optimizer("Adam", lr=1e-2)
        model.fit(loader, epochs=4, save_model=False)
        results[kind.__name__] = model.predict(x)
        results[f"{kind.__name__} accuracy"] = model.evaluate(loader)
    return results
