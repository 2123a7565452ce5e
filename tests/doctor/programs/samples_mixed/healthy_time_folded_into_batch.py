"""Frames are folded into the batch for the CNN and unfolded again: a view that keeps samples apart."""
import torch
from torch import nn


class VideoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.frame = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 8))
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.fc = nn.Linear(8, 1)

    def forward(self, video):
        b, t = video.shape[:2]
        features = self.frame(video.view(b * t, 1, 6, 6)).view(b, t, -1)
        out, _ = self.rnn(features)
        return self.fc(out[:, -1])


torch.manual_seed(1)
video = torch.randn(12, 4, 1, 6, 6)
y = video.mean(dim=(1, 2, 3, 4)).unsqueeze(1) * 5
model = VideoNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for epoch in range(25):
    loss = nn.functional.mse_loss(model(video), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
