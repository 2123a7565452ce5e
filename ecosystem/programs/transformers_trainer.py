"""transformers: the Trainer, with evaluation, checkpoints and a resumed run."""

import tempfile
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class Sums(Dataset):  # type: ignore[type-arg]
    """Sequences of digits, labelled by whether their sum is odd."""

    def __init__(self, count: int, seed: int) -> None:
        self.digits = torch.randint(0, 10, (count, 6), generator=torch.Generator().manual_seed(seed))

    def __len__(self) -> int:
        return len(self.digits)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.digits[index], "labels": self.digits[index].sum() % 2}


def accuracy(prediction: Any) -> dict[str, float]:
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def trainer(folder: str, epochs: int) -> Trainer:
    set_seed(0)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=10, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4, max_position_embeddings=8
        )
    )
    arguments = TrainingArguments(
        folder,
        num_train_epochs=epochs,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        learning_rate=5e-3,
        warmup_steps=2,
        weight_decay=0.01,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    return Trainer(model, arguments, train_dataset=Sums(64, 0), eval_dataset=Sums(24, 1), compute_metrics=accuracy)


def main() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        first = trainer(folder, epochs=2)
        outcome = first.train()
        resumed = trainer(folder, epochs=3)
        resumed.train(resume_from_checkpoint=True)
        results = {
            "loss": outcome.training_loss,
            "losses": [entry["loss"] for entry in first.state.log_history if "loss" in entry],
            "evaluated": first.evaluate()["eval_loss"],
            "resumed at": resumed.state.global_step,
            "resumed losses": [entry["loss"] for entry in resumed.state.log_history if "loss" in entry],
            "logits": resumed.predict(Sums(5, 2)).predictions,
        }
    return results
