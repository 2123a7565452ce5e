"""The bias of the hidden layer starts at -10, so that every ReLU gives zero for every sample."""
import torch
from torch import nn


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.constant_(module.bias, -10.0)  # guilty


torch.manual_seed(0)
x = torch.randn(100, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
model = nn.Sequential(
    nn.Linear(8, 32),
    nn.ReLU(),  # guilty
    nn.Linear(32, 2),
)
model.apply(init_weights)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(30):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
