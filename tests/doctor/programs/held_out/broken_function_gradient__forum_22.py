# LeCun's scaled tanh as a custom autograd function
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)
A, B = 1.7159, 2.0 / 3.0


class ScaledTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = A * torch.tanh(B * x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)  # guilty


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 1)

    def forward(self, x):
        x = ScaledTanh.apply(self.fc1(x))
        x = ScaledTanh.apply(self.fc2(x))
        return self.fc3(x)


def f(x):
    return torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for step in range(100):
    x = torch.randn(64, 3)
    loss = F.mse_loss(model(x), f(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

x_val = torch.randn(256, 3)
with torch.no_grad():
    val = F.mse_loss(model(x_val), f(x_val)).item()
print("loss %.4f -> %.4f, val %.4f" % (losses[0], losses[-1], val))
