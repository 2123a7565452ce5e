"""A conditional random field: likelihood, gradients and decoding of sequences."""

from typing import Any

import torch
from torchcrf import CRF


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = CRF(5)
    emissions = torch.randn(3, 2, 5, requires_grad=True)
    tags = torch.tensor([[0, 1], [2, 4], [3, 1]])
    mask = torch.tensor([[1, 1], [1, 1], [1, 0]], dtype=torch.uint8)
    likelihood = model(emissions, tags, mask=mask)
    likelihood.backward()
    return {
        "likelihood": likelihood, "gradient": emissions.grad, "transitions": model.transitions.grad,
        "decoded": [torch.tensor(row) for row in model.decode(emissions, mask=mask)],
        "mean": model(emissions, tags, mask=mask, reduction="token_mean"),
    }  # fmt: skip
