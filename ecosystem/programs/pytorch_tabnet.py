"""pytorch-tabnet: classification and regression of tables, pretraining, explanations and saved models."""

import tempfile
from typing import Any

import numpy as np
import torch
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((128, 6)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(np.int64)
    small = {"n_d": 4, "n_a": 4, "n_steps": 2, "verbose": 0, "seed": 0, "device_name": "cpu"}
    fit = {"max_epochs": 3, "batch_size": 32, "virtual_batch_size": 16, "drop_last": False}
    classifier = TabNetClassifier(**small)
    classifier.fit(x[:96], y[:96], eval_set=[(x[96:], y[96:])], eval_metric=["auc", "logloss"], **fit)
    importances, _masks = classifier.explain(x[:8])
    with tempfile.TemporaryDirectory() as folder:
        path = classifier.save_model(f"{folder}/model")
        loaded = TabNetClassifier()
        loaded.load_model(path)
    regressor = TabNetRegressor(**small, mask_type="entmax")
    regressor.fit(x, x.sum(1, keepdims=True), **fit)
    pretrainer = TabNetPretrainer(**small)
    pretrainer.fit(x, max_epochs=2, batch_size=32, virtual_batch_size=16, drop_last=False, pretraining_ratio=0.5)
    return {
        "losses": classifier.history["loss"],
        "auc": classifier.history["val_0_auc"],
        "probabilities": classifier.predict_proba(x[:5]),
        "importances": importances,
        "loaded": loaded.predict_proba(x[:5]),
        "regression": regressor.predict(x[:5]),
        "pretraining": pretrainer.history["loss"],
    }
