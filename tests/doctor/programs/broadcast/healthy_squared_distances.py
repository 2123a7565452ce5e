"""The distance matrix comes from the squared norms as a column and as a row, for a metric-learning loss."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(45, 5)
labels = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 2))
optimizer = ad.optim.Adam(net.parameters(), lr=0.01)
same = (labels[:, None] == labels[None, :]).float()

for step in range(40):
    z = net(x)
    norms = z.pow(2).sum(dim=1, keepdim=True)
    distances = (norms + norms.squeeze(1) - 2 * z @ z.T).clamp(min=0)
    loss = (same * distances + (1 - same) * nn.functional.relu(1 - distances)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
