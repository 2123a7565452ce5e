"""The scaled gradients are large, but they are unscaled before the clip looks at them."""
import torch
from torch import nn

torch.manual_seed(4)
x, y = torch.randn(64, 10), torch.randint(0, 3, (64,))
net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.2)
scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
first = None
for step in range(110):
    opt.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(net(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    scaler.step(opt)
    scaler.update()
    first = first or loss.item()
print(first, loss.item())
