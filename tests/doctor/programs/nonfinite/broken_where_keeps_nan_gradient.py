"""torch.where chooses the finite value, but the gradient of the log at zero still comes back as NaN."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
x = torch.randn(48, 8)
exposure = torch.randint(0, 4, (48, 1)).float()
y = torch.rand(48, 4) * exposure


class Rates(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x, exposure):
        return F.softplus(self.fc2(torch.tanh(self.fc1(x)))) * exposure


model = Rates()
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for it in range(10):
    rate = model(x, exposure)
    log_rate = torch.where(rate > 0, torch.log(rate), torch.zeros_like(rate))  # guilty
    loss = (rate - y * log_rate).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
