"""Models trained on adjoint and loaded by PyTorch, and the other way round: `python exchange.py ADJOINT_PYTHON PYTORCH_PYTHON`.

Each argument is an interpreter in whose environment transformers, safetensors and lightning are installed, the first without PyTorch. One
trains and saves a small GPT-2, Llama and BERT (safetensors) and a Lightning checkpoint, and notes what the models answer; the other loads
the files and must answer the same, and training goes on from the checkpoint to the same weights.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-4
TOKENS = [[5, 9, 2, 44, 17, 3, 60, 8], [1, 1, 30, 7, 12, 55, 4, 6]]


# ---- in the child --------------------------------------------------------------------------------------------------------------------


def models() -> dict[str, Any]:
    from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    small = {"vocab_size": 67, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    return {
        "gpt2": (
            GPT2LMHeadModel,
            GPT2Config(vocab_size=67, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=1),
        ),
        "llama": (LlamaForCausalLM, LlamaConfig(**small, num_key_value_heads=2, max_position_embeddings=64)),
        "bert": (BertForMaskedLM, BertConfig(**small, max_position_embeddings=64)),
    }


def lightning_module() -> Any:
    import lightning as L
    import torch

    class Regression(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

        def training_step(self, batch: Any, index: int) -> Any:
            return (self.net(batch) - batch.prod(1, keepdim=True)).square().mean()

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
            return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]

    return Regression()


def fit(epochs: int, folder: Path, checkpoint: Path | None = None) -> Any:
    import lightning as L
    import torch

    torch.manual_seed(0)
    module = lightning_module()
    data = torch.utils.data.DataLoader(torch.randn(32, 3, generator=torch.Generator().manual_seed(1)), batch_size=8)
    options = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_checkpointing": False}
    trainer = L.Trainer(max_epochs=epochs, default_root_dir=folder, enable_model_summary=False, **options)
    trainer.fit(module, data, ckpt_path=checkpoint)
    return module, trainer


def write(folder: Path) -> dict[str, Any]:
    import torch

    answers = {}
    for name, (kind, config) in models().items():
        torch.manual_seed(0)
        model = kind(config)
        tokens = torch.tensor(TOKENS)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for _ in range(3):
            model(tokens, labels=tokens).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.save_pretrained(folder / name)
        answers[name] = model.eval()(tokens).logits.detach().numpy()
    _, trainer = fit(2, folder)
    trainer.save_checkpoint(folder / "half.ckpt")
    answers["lightning"] = weights(fit(4, folder)[0])
    return answers


def read(folder: Path) -> dict[str, Any]:
    import torch

    answers = {}
    for name, (kind, _) in models().items():
        answers[name] = kind.from_pretrained(folder / name).eval()(torch.tensor(TOKENS)).logits.detach().numpy()
    answers["lightning"] = weights(fit(4, folder, folder / "half.ckpt")[0])
    return answers


def weights(module: Any) -> Any:
    return np.concatenate([parameter.detach().numpy().ravel() for parameter in module.parameters()])


# ---- the two sides -------------------------------------------------------------------------------------------------------------------


def main(adjoint: str, pytorch: str) -> int:
    sides = {"adjoint": [adjoint, "-m", "adjoint", "run", __file__], "PyTorch": [pytorch, __file__]}
    failed = 0
    for writer, reader in (("adjoint", "PyTorch"), ("PyTorch", "adjoint")):
        with tempfile.TemporaryDirectory() as name:
            for side, action in ((writer, "write"), (reader, "read")):
                subprocess.run([*sides[side], action, name], check=True)
            written, found = (np.load(Path(name, f"{action}.npz")) for action in ("write", "read"))
            for model in written.files:
                difference = float(np.abs(written[model] - found[model]).max())
                failed += difference > TOLERANCE
                print(f"{model:<10} written by {writer:<8} read by {reader:<8} largest difference {difference:.1e}")
    return int(failed > 0)


if __name__ == "__main__":
    if sys.argv[1] in ("write", "read"):
        place = Path(sys.argv[2])
        np.savez(place / f"{sys.argv[1]}.npz", **(write if sys.argv[1] == "write" else read)(place))
    else:
        sys.exit(main(*sys.argv[1:3]))
