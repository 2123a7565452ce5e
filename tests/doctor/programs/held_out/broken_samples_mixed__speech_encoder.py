"""Features [batch, channels, time] are reshaped to [time, batch, channels], which mixes the samples."""
import torch
import torch.nn.functional as F
from torch import nn


class SpeechEncoder(nn.Module):
    """Convolutions over time, then a GRU, then attention pooling."""

    def __init__(self, mels=8, channels=12, hidden=12, classes=3):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(mels, channels, 3, padding=1), nn.ReLU(),
            nn.Conv1d(channels, channels, 3, padding=1), nn.ReLU(),
        )
        self.norm = nn.LayerNorm(channels)
        self.gru = nn.GRU(channels, hidden)
        self.attend = nn.Linear(hidden, 1)
        self.classify = nn.Linear(hidden, classes)

    def forward(self, mel):
        h = self.conv(mel)
        batch, channels, time = h.shape
        h = h.reshape(time, batch, channels)  # guilty
        h, _ = self.gru(self.norm(h))
        weights = torch.softmax(self.attend(h), dim=0)
        return self.classify((weights * h).sum(0))


def spectrograms(n, mels=8, time=10):
    labels = torch.randint(0, 3, (n,))
    mel = torch.randn(n, mels, time) * 0.5
    for i, label in enumerate(labels):
        mel[i, 2 * label:2 * label + 2] += 1.0
    return mel, labels


def time_mask(mel, width=2):
    start = int(torch.randint(0, mel.shape[2] - width, (1,)))
    mel = mel.clone()
    mel[:, :, start:start + width] = 0
    return mel


torch.manual_seed(14)
mel, labels = spectrograms(96)
model = SpeechEncoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
history = []
for epoch in range(10):
    for index in torch.randperm(96).split(24):
        logits = model(time_mask(mel[index]))
        loss = F.cross_entropy(logits, labels[index], label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    scheduler.step()
    history.append(loss.item())
print(history[0], history[-1])
