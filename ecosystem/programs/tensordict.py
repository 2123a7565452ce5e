"""tensordict: dictionaries of tensors with a common batch: indexed, stacked, mapped through modules, written to disk."""

import tempfile
from typing import Any

import torch
from tensordict import TensorDict, tensorclass
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn


@tensorclass
class Sample:
    image: torch.Tensor
    label: torch.Tensor


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    data = TensorDict({"a": torch.randn(4, 3), "nested": {"b": torch.randn(4, 2, 5)}}, batch_size=[4])
    stacked = torch.stack([data, data.apply(lambda x: x + 1)])
    joined = torch.cat([data[:2], data[2:]]).exclude("a")
    model = TensorDictSequential(
        TensorDictModule(nn.Linear(3, 6), in_keys=["a"], out_keys=["hidden"]),
        TensorDictModule(nn.Tanh(), in_keys=["hidden"], out_keys=["active"]),
        TensorDictModule(nn.Linear(6, 1), in_keys=["active"], out_keys=["out"]),
    )
    out = model(data.clone())
    out["out"].square().mean().backward()
    parameters = TensorDict.from_module(nn.Linear(3, 2))
    sample = Sample(image=torch.rand(4, 2, 2), label=torch.arange(4), batch_size=[4])
    with tempfile.TemporaryDirectory() as folder:
        data.memmap(folder)
        loaded = TensorDict.load_memmap(folder)["nested", "b"].clone()
    return {
        "shape": list(stacked.shape),
        "stacked": stacked["nested", "b"],
        "joined": joined["nested", "b"],
        "out": out["out"],
        "gradient": next(iter(model.parameters())).grad,
        "arithmetic": (data * 2 - data)["a"],
        "reshaped": data.reshape(2, 2)["a"],
        "flat": sorted(data.flatten_keys(".").keys()),
        "weights": parameters["weight"],
        "sample": sample[1:3].image,
        "loaded": loaded,
        "norms": data.norm()["a"],
    }
