"""Weights with a standard deviation of a hundred drive every sigmoid of the hidden layer to zero or one."""
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(n_in, n_hidden) * 100)  # guilty
        self.b1 = nn.Parameter(torch.zeros(n_hidden))
        self.w2 = nn.Parameter(torch.randn(n_hidden, n_out) * 0.1)
        self.b2 = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        h = torch.sigmoid(x @ self.w1 + self.b1)  # guilty
        return h @ self.w2 + self.b2


torch.manual_seed(1)
x = torch.randn(80, 16)
y = torch.randint(0, 4, (80,))
model = MLP(16, 32, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(25):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
