"""The weights of the samples are [n] and the losses [n, 1], so every sample has the sum of all weights."""

import adjoint as ad
from adjoint import nn
from adjoint.utils.data import DataLoader, TensorDataset

ad.manual_seed(0)
x = ad.randn(80, 4)
y = (x[:, :1] > 0.8).float()
weights = ad.where(y > 0, 4.0, 1.0).squeeze(1)
loader = DataLoader(TensorDataset(x, y, weights), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = ad.optim.SGD(model.parameters(), lr=0.1)

for _ in range(6):
    for inputs, labels, weight in loader:
        per_sample = nn.functional.binary_cross_entropy_with_logits(model(inputs), labels, reduction="none")
        loss = (weight * per_sample).mean()  # guilty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"{loss.item():.4f}")
