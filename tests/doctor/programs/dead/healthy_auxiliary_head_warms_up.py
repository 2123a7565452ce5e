"""The auxiliary loss is ramped up from zero, so that its head has no gradient in the first steps."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
x = torch.randn(100, 8)
main_target = x.pow(2).sum(1, keepdim=True)
aux_target = (x[:, 0] > 0).long()
trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
main_head, aux_head = nn.Linear(32, 1), nn.Linear(32, 2)
params = [*trunk.parameters(), *main_head.parameters(), *aux_head.parameters()]
opt = torch.optim.Adam(params, lr=1e-2)

log = []
for epoch in range(60):
    weight = min(1.0, max(0.0, (epoch - 3) / 20))
    h = trunk(x)
    loss_main = F.mse_loss(main_head(h), main_target)
    loss_aux = F.cross_entropy(aux_head(h), aux_target)
    opt.zero_grad()
    (loss_main + weight * loss_aux).backward()
    opt.step()
    log.append((loss_main.item(), loss_aux.item()))
print(log[0], log[-1])
