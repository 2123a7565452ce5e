"""lightning: Trainer.fit with a data module, validation, callbacks and loggers; a checkpoint, and training resumed from it."""

import tempfile
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Circles(L.LightningDataModule):
    """Points of the plane, labelled by whether they lie in the unit circle."""

    def setup(self, stage: str) -> None:
        points = torch.randn(160, 2, generator=torch.Generator().manual_seed(3))
        data = TensorDataset(points, (points.norm(dim=1) < 1).long())
        self.train, self.held = torch.utils.data.random_split(data, [128, 32], torch.Generator().manual_seed(4))

    def train_dataloader(self) -> Any:
        return DataLoader(self.train, batch_size=16, shuffle=True)

    def val_dataloader(self) -> Any:
        return DataLoader(self.held, batch_size=16)

    test_dataloader = predict_dataloader = val_dataloader


class Classifier(L.LightningModule):
    def __init__(self, width: int = 16, rate: float = 1e-2) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 2))
        self.losses: list[float] = []

    def training_step(self, batch: Any, index: int) -> Any:
        points, labels = batch
        loss = nn.functional.cross_entropy(self.net(points), labels)
        self.log("train_loss", loss, prog_bar=True)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        points, labels = batch
        logits = self.net(points)
        self.log("val_loss", nn.functional.cross_entropy(logits, labels))
        self.log("val_accuracy", (logits.argmax(1) == labels).float().mean())

    test_step = validation_step

    def predict_step(self, batch: Any, index: int) -> Any:
        return self.net(batch[0])

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.rate)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)}


def trainer(folder: str, epochs: int, *callbacks: Any) -> L.Trainer:
    return L.Trainer(
        default_root_dir=folder,
        max_epochs=epochs,
        accelerator="cpu",
        devices=1,
        gradient_clip_val=0.5,
        accumulate_grad_batches=2,
        log_every_n_steps=1,
        logger=CSVLogger(folder),
        callbacks=list(callbacks),
        enable_progress_bar=False,
        enable_model_summary=True,
    )


def main() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        data = Circles()
        best = ModelCheckpoint(folder, monitor="val_loss", filename="best", save_last=True)
        model = Classifier()
        first = trainer(folder, 2, best, EarlyStopping("val_loss", patience=3), LearningRateMonitor())
        first.fit(model, data)
        validated = first.validate(model, data, verbose=False)[0]
        tested = first.test(ckpt_path="best", datamodule=data, verbose=False)[0]
        predicted = torch.cat(first.predict(model, data))

        resumed = Classifier()
        second = trainer(folder, 4)
        second.fit(resumed, data, ckpt_path=str(Path(folder, "last.ckpt")))
        loaded = Classifier.load_from_checkpoint(Path(folder, "best.ckpt"))
    return {
        "losses": model.losses,
        "validated": [validated["val_loss"], validated["val_accuracy"]],
        "tested": tested["val_loss"],
        "predicted": predicted,
        "best score": best.best_model_score,
        "resumed losses": resumed.losses,
        "resumed steps": second.global_step,
        "width": loaded.hparams.width,
        "loaded weights": loaded.net[0].weight,
    }
