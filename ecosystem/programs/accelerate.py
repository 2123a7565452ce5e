"""accelerate: the training loop with an Accelerator, gradient accumulation, saved and loaded state."""

import tempfile
from typing import Any

import torch
from accelerate import Accelerator, init_empty_weights
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
    inputs = torch.randn(64, 5)
    loader = DataLoader(TensorDataset(inputs, inputs.prod(1, keepdim=True)), batch_size=8, shuffle=True)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    losses = []
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather(loss.detach()).mean().item())
    before = model(inputs[:4])
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
        accelerator.load_state(folder)
    with init_empty_weights():
        empty = nn.Linear(1000, 1000)
    return {
        "losses": losses,
        "rate": scheduler.get_last_lr(),
        "before": before,
        "after": accelerator.unwrap_model(model)(inputs[:4]),
        "empty": empty.weight.device.type,
        "random": torch.rand(3),
    }
