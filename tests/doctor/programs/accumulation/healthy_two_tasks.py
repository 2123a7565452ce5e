"""Two heads have a loss each, whose gradients are meant to add up in the trunk."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(4)
x = ad.randn(64, 8)
y1, y2 = (x[:, 0] > 0).long(), x.sum(1, keepdim=True)
trunk, a, b = nn.Linear(8, 24), nn.Linear(24, 2), nn.Linear(24, 1)
opt = ad.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()], lr=1e-2)
losses = []
for _ in range(40):
    opt.zero_grad()
    h = ad.relu(trunk(x))
    classify = nn.functional.cross_entropy(a(h), y1)
    classify.backward(retain_graph=True)
    regress = nn.functional.mse_loss(b(h), y2)
    regress.backward()
    opt.step()
    losses.append(classify.item() + regress.item())
print(losses[0], losses[-1])
