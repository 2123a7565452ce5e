"""The gradient reversal of domain adaptation is the identity forward and minus it backward on purpose."""
import torch
from torch import nn


class ReverseGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


torch.manual_seed(1)
source, target = torch.randn(60, 5), torch.randn(60, 5) + 1
labels = (source[:, 0] > 0).long()
features = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
classify, domain = nn.Linear(16, 2), nn.Linear(16, 2)
params = [*features.parameters(), *classify.parameters(), *domain.parameters()]
opt = torch.optim.Adam(params, lr=1e-2)
which = torch.cat([torch.zeros(60), torch.ones(60)]).long()
losses = []
for epoch in range(40):
    h = features(torch.cat([source, target]))
    task = nn.functional.cross_entropy(classify(h[:60]), labels)
    adversary = nn.functional.cross_entropy(domain(ReverseGrad.apply(h, 0.3)), which)
    opt.zero_grad()
    (task + adversary).backward()
    opt.step()
    losses.append(task.item())
print(losses[0], losses[-1])
