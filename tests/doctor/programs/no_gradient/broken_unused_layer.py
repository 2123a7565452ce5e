"""The second hidden layer is made and given to the optimizer, but forward() applies the first one twice."""

import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 8)
        self.fc2 = nn.Linear(8, 8)  # guilty
        self.fc3 = nn.Linear(8, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc1(x))  # guilty
        return self.fc3(x)


def main():
    torch.manual_seed(0)
    x = torch.randn(100, 8)
    y = (x**2).sum(1, keepdim=True) / 8
    model = MLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(40):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


main()
