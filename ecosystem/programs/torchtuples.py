"""torchtuples: a perceptron trained by its Model, with callbacks."""

from typing import Any

import numpy as np
import torch
import torchtuples as tt


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((120, 6), dtype=np.float32)
    y = x.sum(1, keepdims=True)
    net = tt.practical.MLPVanilla(6, [16, 16], 1, batch_norm=True, dropout=None)
    model = tt.Model(net, torch.nn.MSELoss(), tt.optim.AdamWR(lr=0.01, cycle_eta_multiplier=0.8))
    log = model.fit(
        x, y, batch_size=40, epochs=6, verbose=False, shuffle=False, callbacks=[tt.cb.EarlyStopping()], val_data=(x[:30], y[:30])
    )
    return {"log": log.to_pandas().to_numpy().tolist(), "predictions": model.predict(x[:10])}
