"""First-order MAML takes the inner gradients without a graph on purpose."""
import torch
import torch.nn.functional as F

torch.manual_seed(1)
params = [(torch.randn(16, 1) * 0.5), torch.zeros(16), torch.randn(1, 16) * 0.2, torch.zeros(1)]
params = [p.requires_grad_(True) for p in params]
meta_opt = torch.optim.Adam(params, lr=1e-2)


def net(x, w):
    return F.linear(torch.tanh(F.linear(x, w[0], w[1])), w[2], w[3])


curve = []
for it in range(40):
    meta_opt.zero_grad()
    meta_loss = 0.0
    for slope in (1.0, 1.5, 2.0):
        x = torch.randn(20, 1)
        y = slope * x
        inner_loss = F.mse_loss(net(x[:10], params), y[:10])
        grads = torch.autograd.grad(inner_loss, params)
        fast = [p - 0.1 * g for p, g in zip(params, grads, strict=True)]
        meta_loss = meta_loss + F.mse_loss(net(x[10:], fast), y[10:]) / 3
    meta_loss.backward()
    meta_opt.step()
    curve.append(meta_loss.item())
print(curve[0], curve[-1])
