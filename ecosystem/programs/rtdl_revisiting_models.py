"""rtdl-revisiting-models: a multilayer perceptron, a ResNet and FT-Transformer on tables."""

from typing import Any

import torch
import torch.nn.functional as F
from rtdl_revisiting_models import MLP, FTTransformer, ResNet


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    numbers, categories = torch.randn(16, 3), torch.stack([torch.randint(0, n, (16,)) for n in (4, 7)], 1)
    mlp = MLP(d_in=3, d_out=1, n_blocks=2, d_block=16, dropout=0.0)
    resnet = ResNet(d_in=3, d_out=1, n_blocks=2, d_block=16, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.0, dropout2=0.0)
    transformer = FTTransformer(
        n_cont_features=3,
        cat_cardinalities=[4, 7],
        d_out=1,
        **(FTTransformer.get_default_kwargs(n_blocks=2) | {"attention_dropout": 0.0, "ffn_dropout": 0.0, "residual_dropout": 0.0}),
    )
    optimizer = transformer.make_default_optimizer()
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(transformer(numbers, categories).squeeze(-1), numbers.sum(1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "mlp": mlp(numbers),
        "resnet": resnet(numbers),
        "losses": losses,
        "groups": [len(group["params"]) for group in optimizer.param_groups],
    }
