"""A backward pass for the gradient of the input is cleared before the training pass; the training step has its own gradients."""

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import nn

ad.manual_seed(0)
images = ad.randn(32, 1, 6, 6)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
optimizer = ad.optim.SGD(model.parameters(), lr=0.1)

for step in range(25):
    clean = images.clone().requires_grad_()
    F.cross_entropy(model(clean), labels).backward()
    adversarial = (clean + 0.05 * clean.grad.sign()).detach()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(adversarial), labels)
    loss.backward()
    optimizer.step()
print("adversarial loss", round(loss.item(), 4))
