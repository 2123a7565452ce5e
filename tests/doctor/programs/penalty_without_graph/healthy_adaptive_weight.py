"""As in VQGAN, the weight of the second loss is a ratio of gradient norms, a constant on purpose."""
import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(64, 10)
encoder = nn.Sequential(nn.Linear(10, 16), nn.ReLU())
decoder = nn.Linear(16, 10)
probe = nn.Linear(10, 1)
for p in probe.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)


def adaptive_weight(nll, g_loss, last):
    nll_grads = torch.autograd.grad(nll, last, retain_graph=True)[0]
    g_grads = torch.autograd.grad(g_loss, last, retain_graph=True)[0]
    return torch.clamp(torch.norm(nll_grads) / (torch.norm(g_grads) + 1e-4), 0.0, 10.0).detach()


losses = []
for step in range(50):
    rec = decoder(encoder(x))
    nll = (rec - x).abs().mean()
    g_loss = nn.functional.softplus(-probe(rec)).mean()
    loss = nll + 0.1 * adaptive_weight(nll, g_loss, decoder.weight) * g_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(nll.item())
print(losses[0], losses[-1])
