"""torchviz: the graph of a computation, walked through the nodes."""

import re
from typing import Any

import torch
from torch import nn
from torchviz import make_dot


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    x = torch.randn(1, 8)
    source = make_dot(model(x).mean(), params=dict(model.named_parameters())).source
    attributes = make_dot(model(x).mean(), params=dict(model.named_parameters()), show_attrs=True, show_saved=True).source
    activations = re.findall(r"Tanh\w+|Mean\w+|Accumulate\w+", source)
    parameters = sorted(re.findall(r"(\d\.\w+)\n", source))
    return {"nodes": sorted(activations), "parameters": parameters, "saved": "result" in attributes}
