"""The dice score is computed with NumPy and wrapped again with requires_grad=True."""

import torch
import torch.nn as nn


class DiceLoss(nn.Module):
    def forward(self, logits, target):
        probability = torch.sigmoid(logits).detach().numpy()  # guilty
        mask = target.numpy()
        overlap = (probability * mask).sum()
        dice = (2 * overlap + 1) / (probability.sum() + mask.sum() + 1)
        return torch.tensor(1 - dice, requires_grad=True)  # guilty


torch.manual_seed(0)
images = torch.randn(16, 1, 8, 8)
masks = (images > 0.3).float()
unet = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1))
optimizer = torch.optim.Adam(unet.parameters(), lr=1e-2)
dice_loss = DiceLoss()
for step in range(20):
    optimizer.zero_grad()
    loss = dice_loss(unet(images), masks)
    loss.backward()
    optimizer.step()
print(f"dice loss {loss.item():.4f}")
