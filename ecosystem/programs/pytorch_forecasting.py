"""pytorch-forecasting: a temporal fusion transformer and N-BEATS, fitted with lightning."""

import tempfile
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.metrics import MAE, SMAPE, QuantileLoss


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    times = np.arange(30)
    frames = [
        pd.DataFrame({"time": times, "series": name, "value": np.sin(times / 3 + phase) + 2 + times / 50, "day": (times % 7).astype(str)})
        for name, phase in (("a", 0.0), ("b", 1.0))
    ]
    table = pd.concat(frames, ignore_index=True)
    results: dict[str, Any] = {}
    options = {"accelerator": "cpu", "devices": 1, "logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    with tempfile.TemporaryDirectory() as folder:
        data = TimeSeriesDataSet(
            table,
            "time",
            "value",
            ["series"],
            max_encoder_length=12,
            max_prediction_length=4,
            static_categoricals=["series"],
            time_varying_known_reals=["time"],
            time_varying_known_categoricals=["day"],
            time_varying_unknown_reals=["value"],
            add_relative_time_idx=True,
            add_target_scales=True,
        )
        loader = data.to_dataloader(train=True, batch_size=8, num_workers=0, shuffle=False)
        fusion = TemporalFusionTransformer.from_dataset(
            data, hidden_size=8, attention_head_size=2, hidden_continuous_size=4, dropout=0.0, loss=QuantileLoss()
        )
        trainer = pl.Trainer(
            max_epochs=1, limit_train_batches=3, gradient_clip_val=0.1, default_root_dir=folder, enable_model_summary=False, **options
        )
        trainer.fit(fusion, loader)
        inputs, targets = next(iter(data.to_dataloader(train=False, batch_size=4, num_workers=0)))
        fusion.eval()
        predicted = fusion(inputs).prediction
        results |= {"fusion": predicted, "fusion loss": QuantileLoss()(predicted, targets)}
        results["smape"] = SMAPE()(fusion.to_prediction({"prediction": predicted}), targets)

        plain = TimeSeriesDataSet(
            table,
            "time",
            "value",
            ["series"],
            max_encoder_length=12,
            max_prediction_length=4,
            min_encoder_length=12,
            time_varying_unknown_reals=["value"],
        )
        torch.manual_seed(0)
        beats = NBeats.from_dataset(plain, widths=[8, 16], loss=MAE(), log_interval=-1)
        pl.Trainer(max_epochs=1, limit_train_batches=3, default_root_dir=folder, enable_model_summary=False, **options).fit(
            beats, plain.to_dataloader(train=True, batch_size=8, num_workers=0, shuffle=False)
        )
        inputs, _ = next(iter(plain.to_dataloader(train=False, batch_size=4, num_workers=0)))
        results["beats"] = beats.eval()(inputs).prediction
    return results
