"""The weights of the experts are normalized over the samples, so each sample's weights do not sum to one."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)


class Experts(nn.Module):
    def __init__(self, features, experts):
        super().__init__()
        self.gate = nn.Linear(features, experts)
        self.experts = nn.Linear(features, experts)

    def forward(self, x):
        weights = ad.softmax(self.gate(x), 0)  # guilty
        return (weights * self.experts(x)).sum(dim=1)


x = ad.randn(48, 4)
y = ad.where(x[:, 0] > 0, x[:, 1], -x[:, 1])
model = Experts(4, 3)
optimizer = ad.optim.Adam(model.parameters(), lr=0.02)
for _ in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
