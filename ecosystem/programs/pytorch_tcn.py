"""pytorch-tcn: a temporal convolutional network, on whole series and streaming."""

from typing import Any

import torch
from pytorch_tcn import TCN


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = TCN(
        num_inputs=6, num_channels=[8, 8, 16], kernel_size=3, dropout=0.0, causal=True, use_norm="weight_norm", use_skip_connections=True
    )
    x = torch.randn(2, 6, 40, requires_grad=True)
    y = model(x)
    y.square().mean().backward()
    model.eval()
    model.reset_buffers()
    streamed = [model(x[:1, :, i : i + 10], inference=True) for i in range(0, 40, 10)]
    other = TCN(
        num_inputs=6, num_channels=[8, 16], causal=False, dropout=0.0, input_shape="NLC", activation="leaky_relu", output_projection=4
    )
    return {"y": y, "x": x.grad, "streamed": torch.cat(streamed, -1), "other": other(x.transpose(1, 2))}
