"""The usual clip of an LSTM: it acts now and then, and never by much."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 16, batch_first=True)
        self.fc = nn.Linear(16, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


torch.manual_seed(0)
x = torch.randn(32, 8, 3)
y = x[:, :, 0].mean(1, keepdim=True)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
first = None
for step in range(110):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    opt.step()
    first = first or loss.item()
print(first, loss.item())
