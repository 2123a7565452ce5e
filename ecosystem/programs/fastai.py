"""fastai: a Learner with callbacks and one-cycle training, and the tabular application."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from fastai.basics import DataLoaders, Learner, accuracy, set_seed
from fastai.callback.all import GradientClip
from fastai.optimizer import Adam, ranger
from fastai.tabular.all import Categorify, FillMissing, Normalize, TabularDataLoaders, tabular_learner
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(128, 4)
    y = (x.prod(1) > 0).long()
    train = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16)
    valid = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=16)
    results: dict[str, Any] = {}
    for name, optimizer in (("adam", Adam), ("ranger", ranger)):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        learner = Learner(
            DataLoaders(train, valid), model, loss_func=nn.CrossEntropyLoss(), opt_func=optimizer, metrics=accuracy, cbs=GradientClip(0.5)
        )
        with learner.no_bar(), learner.no_logging():
            learner.fit_one_cycle(3, 1e-2)
        results[name] = [list(row)[:3] for row in learner.recorder.values]
        results[f"{name} rates"] = learner.recorder.lrs
    set_seed(0, reproducible=True)
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {"colour": random.choice(["red", "green"], 80), "size": random.standard_normal(80), "age": random.standard_normal(80)}
    )
    table.loc[::7, "age"] = np.nan
    table["label"] = np.where((table["size"] > 0) ^ (table["colour"] == "red"), "yes", "no")
    data = TabularDataLoaders.from_df(
        table,
        procs=[Categorify, FillMissing, Normalize],
        cat_names=["colour"],
        cont_names=["size", "age"],
        y_names="label",
        bs=16,
        device="cpu",
    )
    learner = tabular_learner(data, layers=[16, 8], metrics=accuracy)
    with learner.no_bar(), learner.no_logging():
        learner.fit(2, 1e-2)
        predicted, truths = learner.get_preds()
    return {**results, "tabular": [list(row)[:3] for row in learner.recorder.values], "predicted": predicted, "truths": truths}
