"""pytorch-ignite: engines with events, metrics, checkpoints and early stopping."""

import tempfile
from typing import Any

import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping, LinearCyclicalScheduler, ModelCheckpoint
from ignite.metrics import Accuracy, ConfusionMatrix, Fbeta, Loss, Precision, Recall, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    points = torch.randn(96, 3)
    labels = (points.sum(1) > 0).long() + (points[:, 0] > 1).long()
    loader = DataLoader(TensorDataset(points, labels), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer, criterion = torch.optim.Adam(model.parameters(), lr=1e-2), nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, optimizer, criterion)
    metrics = {
        "accuracy": Accuracy(),
        "loss": Loss(criterion),
        "confusion": ConfusionMatrix(3),
        "precision": Precision(),
        "recall": Recall(average=True),
        "fbeta": Fbeta(beta=1),
    }
    evaluator = create_supervised_evaluator(model, metrics=metrics)
    RunningAverage(output_transform=float).attach(trainer, "running")
    trainer.add_event_handler(Events.ITERATION_STARTED, LinearCyclicalScheduler(optimizer, "lr", 1e-2, 1e-3, cycle_size=12))
    evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(3, lambda engine: -engine.state.metrics["loss"], trainer))
    losses: list[float] = []

    @trainer.on(Events.ITERATION_COMPLETED(every=2))
    def note(engine: Engine) -> None:
        losses.append(engine.state.output)

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine: Engine) -> None:
        evaluator.run(loader)

    with tempfile.TemporaryDirectory() as folder:
        best = ModelCheckpoint(
            folder, "best", n_saved=2, score_function=lambda engine: engine.state.metrics["accuracy"], require_empty=False
        )
        evaluator.add_event_handler(Events.COMPLETED, best, {"model": model})
        parts = {"model": model, "optimizer": optimizer, "trainer": trainer}
        trainer.add_event_handler(Events.EPOCH_COMPLETED, Checkpoint(parts, DiskSaver(folder, require_empty=False), n_saved=1))
        trainer.run(loader, max_epochs=3)
        saved = torch.load(best.last_checkpoint)
    found = evaluator.state.metrics
    return {
        "losses": losses,
        "running": trainer.state.metrics["running"],
        "scores": [found["accuracy"], found["loss"], found["recall"], found["fbeta"]],
        "confusion": found["confusion"],
        "precision": found["precision"],
        "rate": optimizer.param_groups[0]["lr"],
        "saved": saved["0.weight"],
    }
