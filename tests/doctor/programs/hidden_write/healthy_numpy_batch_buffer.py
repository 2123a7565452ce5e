"""One NumPy buffer is refilled for each batch, after the backward pass of the batch before is over."""

import numpy as np

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
rng = np.random.default_rng(0)
buffer = np.zeros((16, 4), dtype=np.float32)
batch = ad.from_numpy(buffer)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = ad.optim.Adam(model.parameters(), lr=0.01)

history = []
for step in range(60):
    buffer[:] = rng.normal(size=buffer.shape)
    target = batch[:, :1] - batch[:, 1:2]
    loss = nn.functional.mse_loss(model(batch), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.detach().numpy().copy())
print(f"{history[0]:.4f} -> {history[-1]:.4f}")
