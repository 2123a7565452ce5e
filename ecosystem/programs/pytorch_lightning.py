"""pytorch-lightning: the package under its older name: automatic and manual optimization, weight averaging, a profiler."""

import tempfile
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, StochasticWeightAveraging
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Notes(Callback):
    """What happened, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        self.events.append(f"epoch {trainer.current_epoch} at step {trainer.global_step}")

    def on_fit_end(self, trainer: Any, module: Any) -> None:
        self.events.append("end")


class Autoencoder(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 12))
        self.losses: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x)

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        (x,) = batch
        loss = nn.functional.mse_loss(self.decoder(self.encoder(x)), x)
        self.log("loss", loss, on_step=True, on_epoch=True)
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class Adversaries(pl.LightningModule):
    """Two optimizers, stepped by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Linear(4, 12)
        self.judge = nn.Linear(12, 1)
        self.losses: list[float] = []

    def training_step(self, batch: Any, index: int) -> None:
        (real,) = batch
        first, second = self.optimizers()
        noise = torch.randn(len(real), 4)
        for optimizer, sign in ((first, 1.0), (second, -1.0)):
            self.toggle_optimizer(optimizer)
            loss = sign * (self.judge(real).mean() - self.judge(self.generator(noise)).mean())
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
            self.untoggle_optimizer(optimizer)
            self.losses.append(loss.item())

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.generator.parameters(), lr=0.05), torch.optim.SGD(self.judge.parameters(), lr=0.05)


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(96, 12))
    options = {"accelerator": "cpu", "devices": 1, "logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    notes, results = Notes(), {}
    with tempfile.TemporaryDirectory() as folder:
        model = Autoencoder()
        averaging = StochasticWeightAveraging(swa_lrs=5e-3, swa_epoch_start=2)
        trainer = pl.Trainer(max_epochs=3, callbacks=[notes, averaging], default_root_dir=folder, profiler="simple", **options)
        trainer.fit(model, DataLoader(data, batch_size=16, shuffle=True))
        results |= {"losses": model.losses, "events": notes.events, "logged": trainer.callback_metrics["loss_epoch"]}
        results["codes"] = model(data.tensors[0][:3])
        pair = Adversaries()
        pl.Trainer(max_steps=6, default_root_dir=folder, **options).fit(pair, DataLoader(data, batch_size=16))
        results["adversaries"] = pair.losses
    return results
