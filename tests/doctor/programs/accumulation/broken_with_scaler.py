"""Accumulation with a gradient scaler in which the division by the number of batches was forgotten."""
import torch
from torch import nn

torch.manual_seed(2)
tokens = torch.randint(0, 16, (48, 6))
model = nn.Sequential(nn.Embedding(16, 12), nn.Flatten(), nn.Linear(72, 32), nn.GELU(), nn.Linear(32, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
grad_accum = 3

for it in range(24):
    batch = tokens[torch.randint(0, 48, (8,))]
    loss = nn.functional.cross_entropy(model(batch), batch[:, -1])
    scaler.scale(loss).backward()  # guilty
    if it % grad_accum == grad_accum - 1:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
print(loss.item())
