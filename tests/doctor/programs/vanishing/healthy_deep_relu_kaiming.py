"""A ReLU network of ten layers with Kaiming's initialisation keeps its gradients in scale."""
import torch
from torch import nn

torch.manual_seed(1)
layers = []
for i in range(10):
    linear = nn.Linear(12 if i == 0 else 32, 32)
    nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
    nn.init.zeros_(linear.bias)
    layers += [linear, nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(32, 4))
x = torch.randn(96, 12)
y = x[:, :4].argmax(1)
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
losses = []
for epoch in range(40):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
