"""The sigmoid lies on ctx, but the function says that it can be differentiated once only, and is."""
import torch
from torch import nn
from torch.autograd.function import once_differentiable


class MemoryEfficientSwish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.sig = torch.sigmoid(x)
        ctx.save_for_backward(x)
        return x * ctx.sig

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.sig * (1 + x * (1 - ctx.sig))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(5, 32), nn.Linear(32, 2)

    def forward(self, x):
        return self.fc2(MemoryEfficientSwish.apply(self.fc1(x)))


torch.manual_seed(1)
x = torch.randn(80, 5)
y = (x[:, 0] > x[:, 1]).long()
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.2)
losses = []
for epoch in range(40):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
