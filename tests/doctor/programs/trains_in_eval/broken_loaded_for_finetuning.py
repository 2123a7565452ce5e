"""A saved model is loaded for inference, which sets it to eval mode, and then fine-tuned without train()."""

import io

import torch
import torch.nn as nn


def build():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.4), nn.Linear(24, 2))


def load_model(buffer):
    model = build()
    model.load_state_dict(torch.load(buffer))
    model.eval()  # guilty
    return model


torch.manual_seed(0)
checkpoint = io.BytesIO()
torch.save(build().state_dict(), checkpoint)
checkpoint.seek(0)
model = load_model(checkpoint)

x = torch.randn(40, 6)
y = (x[:, 0] > x[:, 1]).long()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(30):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()  # guilty
    optimizer.step()
print(f"loss {loss.item():.4f}")
