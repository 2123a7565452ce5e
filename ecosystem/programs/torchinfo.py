"""torchinfo: a summary of a model, with shapes, parameters and multiplications."""

from typing import Any

import torch
from torch import nn
from torchinfo import summary


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.rnn = nn.LSTM(8, 16, num_layers=2, batch_first=True)
        self.out = nn.Linear(16, 20)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.rnn(self.embedding(x))[0])


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    images = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(6 * 13 * 13, 10))
    pictured = summary(images, (2, 1, 28, 28), verbose=0, col_names=("input_size", "output_size", "num_params", "kernel_size", "mult_adds"))
    read = summary(Recurrent(), input_size=(4, 7), dtypes=[torch.long], verbose=0, depth=2, row_settings=("var_names", "depth"))
    given = summary(nn.Transformer(16, 2, 1, 1, 32), input_data=[torch.rand(5, 2, 16), torch.rand(4, 2, 16)], verbose=0)
    texts = [str(pictured), str(read), str(given)]
    counts = [
        [found.total_params, found.trainable_params, found.total_mult_adds, found.total_output_bytes] for found in (pictured, read, given)
    ]
    return {"texts": texts, "counts": counts}
