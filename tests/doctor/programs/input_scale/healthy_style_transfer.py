"""Style transfer works on an image from 0 to 255, which is itself what is trained."""
import torch
from torch import nn


def gram(features):
    f = features.flatten(2)
    return f @ f.transpose(1, 2) / f.shape[2]


torch.manual_seed(2)
vgg = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU())
for p in vgg.parameters():
    p.requires_grad_(False)
content = torch.rand(1, 3, 12, 12) * 255
style = torch.rand(1, 3, 12, 12).pow(3) * 255
with torch.no_grad():
    target_content, target_style = vgg(content), gram(vgg(style))
image = content.clone().requires_grad_(True)
opt = torch.optim.Adam([image], lr=2.0)
losses = []
for step in range(50):
    features = vgg(image)
    loss = nn.functional.mse_loss(features, target_content) + 1e-2 * nn.functional.mse_loss(gram(features), target_style)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        image.clamp_(0, 255)
    losses.append(loss.item())
print(losses[0], losses[-1])
