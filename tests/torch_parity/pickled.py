"""Objects in pickles: `pickled.py write FOLDER` makes them, `pickled.py read FOLDER` compares them with its own."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributions as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, RandomSampler, SequentialSampler, Subset, TensorDataset


def layers() -> list[nn.Module]:
    return [
        nn.Conv2d(1, 2, 3), nn.ConvTranspose2d(1, 2, 3), nn.BatchNorm2d(2), nn.SyncBatchNorm(2), nn.LayerNorm(3), nn.GroupNorm(1, 2),
        nn.RMSNorm(3), nn.InstanceNorm1d(2), nn.LocalResponseNorm(2), nn.Dropout(), nn.MaxPool2d(2), nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(1), nn.Embedding(3, 4), nn.EmbeddingBag(3, 4), nn.LSTM(2, 3, 2), nn.GRU(2, 3), nn.RNN(2, 3), nn.LSTMCell(2, 3),
        nn.MultiheadAttention(4, 2), nn.Flatten(), nn.Unflatten(1, (1, 1)), nn.Upsample(scale_factor=2), nn.PixelShuffle(2), nn.Softmax(1),
        nn.GELU(), nn.PReLU(), nn.ELU(), nn.SiLU(), nn.Hardtanh(), nn.Threshold(1, 2), nn.Softplus(), nn.ReflectionPad2d(1), nn.Identity(),
        nn.Bilinear(1, 2, 3), nn.Fold((2, 2), (1, 1)), nn.CosineSimilarity(), nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss(),
        nn.KLDivLoss(), nn.CTCLoss(), nn.NLLLoss(), nn.HuberLoss(), nn.TripletMarginLoss(),
    ]  # fmt: skip


def objects() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    trained = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    trained.step()
    rows = TensorDataset(torch.ones(3, 2))
    return {
        "model": model,
        "layers": nn.ModuleList(layers()),
        "transformer": nn.Transformer(4, 2, 1, 1, 8, batch_first=True),
        "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, activation="gelu", batch_first=True), 1),
        "containers": nn.ModuleDict({"list": nn.ParameterList([torch.ones(2)]), "dict": nn.ParameterDict({"x": torch.ones(1)})}),
        "optimizers": [trained, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), torch.optim.AdamW(model.parameters()),
                       torch.optim.RMSprop(model.parameters()), torch.optim.LBFGS(model.parameters())],
        "schedulers": [torch.optim.lr_scheduler.StepLR(torch.optim.SGD(model.parameters(), lr=0.1), 2),
                       torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD(model.parameters(), lr=0.1), 2)],
        "functions": [torch.relu, F.relu, torch.add, F.softmax, F.cross_entropy, F.gelu, F.linear, F.scaled_dot_product_attention,
                      torch.einsum, nn.init.xavier_uniform_, nn.utils.clip_grad_norm_, nn.Linear, torch.optim.SGD, torch.finfo],
        "values": [torch.float32, torch.bool, torch.Size([1, 2]), torch.device("cpu"), torch.ones(2), nn.Parameter(torch.ones(2)),
                   torch.ones(2, dtype=torch.bfloat16), torch.no_grad()],
        "data": [rows, Subset(rows, [0, 1]), ConcatDataset([rows, rows]), DataLoader(rows, batch_size=2), SequentialSampler([1, 2]),
                 RandomSampler([1, 2, 3]), BatchSampler(SequentialSampler([1, 2]), 2, False)],
        "distributions": [dist.Normal(torch.zeros(2), torch.ones(2)), dist.Categorical(logits=torch.ones(3)),
                          dist.MultivariateNormal(torch.zeros(2), torch.eye(2)), dist.Independent(dist.Normal(torch.zeros(2), 1.0), 1),
                          dist.TransformedDistribution(dist.Normal(0.0, 1.0), [dist.ExpTransform()])],
        "averaged": torch.optim.swa_utils.AveragedModel(nn.Linear(1, 1)),
    }  # fmt: skip


def compare(found: Any, own: Any, name: str) -> None:
    if isinstance(own, list):
        assert len(found) == len(own), name
        for position, (one, other) in enumerate(zip(found, own, strict=True)):
            compare(one, other, f"{name}[{position}]")
        return
    assert type(found) is type(own), (name, found, own)
    if isinstance(own, nn.Module):
        values, others = found.state_dict(), own.state_dict()
        assert list(values) == list(others) and all(torch.equal(value, others[key]) for key, value in values.items()), name
    elif hasattr(own, "state_dict") and not isinstance(own, type):
        assert str(found.state_dict()) == str(own.state_dict()), name
    assert str(found).partition(" at 0x")[0] == str(own).partition(" at 0x")[0], (name, found, own)


def use(found: dict[str, Any], own: dict[str, Any]) -> None:
    """What was read works, and computes the same."""
    for name, shape in {"model": (2, 3), "encoder": (1, 2, 4)}.items():
        torch.testing.assert_close(found[name].eval()(torch.ones(shape)), own[name].eval()(torch.ones(shape)))
    x = torch.linspace(0, 1, 8).reshape(1, 2, 4)
    torch.testing.assert_close(found["transformer"].eval()(x, x), own["transformer"].eval()(x, x))
    for one, other in zip(found["layers"], own["layers"], strict=True):
        if isinstance(one, nn.Conv2d | nn.ConvTranspose2d):
            torch.testing.assert_close(one(torch.ones(1, 1, 4, 4)), other(torch.ones(1, 1, 4, 4)))
        if isinstance(one, nn.RNNBase):
            torch.testing.assert_close(one(torch.ones(2, 1, 2))[0], other(torch.ones(2, 1, 2))[0])
    found["optimizers"][0].step()
    found["schedulers"][0].step()
    assert next(iter(found["data"][3]))[0].shape == (2, 2)


if __name__ == "__main__":
    action, folder = sys.argv[1], Path(sys.argv[2])
    own = objects()
    if action == "write":
        (folder / "all.pickle").write_bytes(pickle.dumps({name: pickle.dumps(value) for name, value in own.items()}))
        torch.save(own, folder / "all.pt")
    else:
        for found in (
            {name: pickle.loads(value) for name, value in pickle.loads((folder / "all.pickle").read_bytes()).items()},
            torch.load(folder / "all.pt", weights_only=False),
        ):
            for name, value in found.items():
                compare(value, own[name], name)
            use(found, own)
        print("the same", torch.__version__)
