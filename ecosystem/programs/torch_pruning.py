"""torch-pruning: channels removed together with all that depends on them."""

from typing import Any

import torch
import torch_pruning as tp
from torch import nn


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.left = nn.Conv2d(16, 16, 3, padding=1)
        self.right = nn.Conv2d(16, 8, 1)
        self.head = nn.Linear(24, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.stem(x)).relu()
        y = x + self.left(x)
        return self.head(torch.cat([y, self.right(y)], dim=1).mean(dim=(2, 3)))


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model, inputs = Residual().eval(), torch.randn(1, 3, 16, 16)
    graph = tp.DependencyGraph().build_dependency(model, example_inputs=inputs)
    group = graph.get_pruning_group(model.stem, tp.prune_conv_out_channels, idxs=[2, 6, 9])
    if graph.check_pruning_group(group):
        group.prune()
    results: dict[str, Any] = {"kept": model.stem.out_channels, "pruned": model(inputs)}
    operations, parameters = tp.utils.count_ops_and_params(model, inputs)
    pruner = tp.pruner.MagnitudePruner(
        model, inputs, importance=tp.importance.MagnitudeImportance(p=2), pruning_ratio=0.5, ignored_layers=[model.head], iterative_steps=2
    )
    pruner.step()
    pruner.step()
    nn.functional.cross_entropy(model(inputs), torch.tensor([1])).backward()
    return {
        **results,
        "counted": [operations, parameters],
        "channels": [model.stem.out_channels, model.right.out_channels],
        "after": model(inputs),
        "gradient": model.head.weight.grad,
    }
