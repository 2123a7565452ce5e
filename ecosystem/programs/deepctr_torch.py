"""deepctr-torch: DeepFM on made-up clicks, trained by its own `fit`."""

from typing import Any

import numpy as np
import torch
from deepctr_torch.inputs import DenseFeat, SparseFeat, get_feature_names
from deepctr_torch.models import DeepFM


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    columns = [SparseFeat("user", 20, embedding_dim=4), SparseFeat("item", 30, embedding_dim=4), DenseFeat("price", 1)]
    data = {"user": random.integers(0, 20, 128), "item": random.integers(0, 30, 128), "price": random.random(128).astype("float32")}
    clicked = ((data["user"] + data["item"]) % 2).astype("float32")
    model = DeepFM(columns, columns, task="binary", dnn_hidden_units=(16, 8), dnn_dropout=0.0, device="cpu", seed=1)
    model.compile("adam", "binary_crossentropy", metrics=["binary_crossentropy"])
    inputs = {name: data[name] for name in get_feature_names(columns)}
    history = model.fit(inputs, clicked, batch_size=32, epochs=3, verbose=0, shuffle=False)
    return {"loss": history.history["loss"], "predicted": model.predict(inputs, batch_size=64)}
