"""The matrices of a network written by hand are made of ones."""
import torch

torch.manual_seed(1)
x = torch.randn(64, 4)
y = torch.sin(x).sum(1, keepdim=True)

w1 = torch.ones(16, 4, requires_grad=True)  # guilty
b1 = torch.zeros(16, requires_grad=True)
w2 = torch.ones(1, 16, requires_grad=True)  # guilty
b2 = torch.zeros(1, requires_grad=True)
params = [w1, b1, w2, b2]
lr = 0.003

for step in range(50):
    h = torch.tanh(x @ w1.t() + b1)
    pred = h @ w2.t() + b2
    loss = (pred - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad = None
print(loss.item(), w1.std(0).max().item())
