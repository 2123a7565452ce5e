"""safetensors: tensors written to a file and read again, whole and in slices."""

import tempfile
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    tensors = {
        "float": torch.randn(4, 6),
        "half": torch.randn(3).half(),
        "brain": torch.randn(3).bfloat16(),
        "long": torch.arange(5),
        "bool": torch.tensor([True, False]),
        "complex": torch.randn(2, dtype=torch.complex64),
    }
    tied = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.safetensors"
        save_file(tensors, path, metadata={"format": "pt"})
        loaded = load_file(path)
        with safe_open(path, framework="pt", device="cpu") as file:
            part, names, about = file.get_slice("float")[1:3, ::2], sorted(file.keys()), file.metadata()["format"]
        save_model(tied, path)
        again = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        again[1].weight = again[0].weight
        missing, unexpected = load_model(again, path)
    same = [bool((load(save(tensors))[name] == tensors[name]).all()) for name in tensors]
    return {
        **loaded,
        "part": part,
        "names": names,
        "about": about,
        "same": same,
        "again": again(torch.ones(4)),
        "left": len(missing) + len(unexpected),
    }
