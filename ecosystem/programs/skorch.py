"""skorch: a module as a scikit-learn classifier: fitted, searched over, checkpointed, pickled."""

import pickle
import tempfile
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import Checkpoint, EarlyStopping, EpochScoring, LRScheduler
from torch import nn


class Classifier(nn.Module):
    def __init__(self, width: int = 10) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, 2), nn.Softmax(dim=-1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((120, 6)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    with tempfile.TemporaryDirectory() as folder:
        callbacks = [
            EpochScoring("roc_auc", lower_is_better=False),
            LRScheduler("StepLR", step_size=2),
            EarlyStopping(patience=5),
            Checkpoint(dirname=folder),
        ]
        net = NeuralNetClassifier(
            Classifier, max_epochs=4, lr=0.1, optimizer=torch.optim.Adam, iterator_train__shuffle=True, callbacks=callbacks, verbose=0
        )
        pipeline = Pipeline([("scale", StandardScaler()), ("net", net)]).fit(x, y)
        probabilities = pipeline.predict_proba(x[:5])
        loaded = NeuralNetClassifier(Classifier, verbose=0).initialize()
        loaded.load_params(f"{folder}/params.pt")
    history = pipeline.named_steps["net"].history
    again = pickle.loads(pickle.dumps(pipeline.named_steps["net"].module_.state_dict()))
    search = GridSearchCV(NeuralNetClassifier(Classifier, max_epochs=2, verbose=0), {"lr": [0.1, 0.5], "module__width": [4, 8]}, cv=3)
    torch.manual_seed(0)
    search.fit(x, y)
    torch.manual_seed(0)
    regressor = NeuralNetRegressor(nn.Linear, module__in_features=6, module__out_features=1, max_epochs=3, verbose=0)
    regressor.fit(x, x.sum(1, keepdims=True))
    return {
        "losses": history[:, "train_loss"],
        "auc": history[:, "roc_auc"],
        "probabilities": probabilities,
        "loaded": loaded.predict_proba(x[:5]),
        "pickled": again["net.0.weight"],
        "scores": search.cv_results_["mean_test_score"],
        "regression": regressor.predict(x[:5]),
    }
